//! The cgroups of the nodes' pods: made before a kubelet starts, emptied and removed with the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const ROOT: &str = "/sys/fs/cgroup";
/// What a kubelet asks for; a kernel without one of them gets along.
const CONTROLLERS: [&str; 6] = ["cpu", "cpuset", "memory", "pids", "io", "hugetlb"];

/// Makes a top-level cgroup of that name in every hierarchy.
pub(crate) fn create(name: &str) -> Result<()> {
    if Path::new(ROOT).join("cgroup.controllers").exists() {
        return create_unified(name);
    }
    for hierarchy in hierarchies() {
        // Some hierarchies of a container cannot be written; the kubelet names those it needs.
        let _ = fs::create_dir_all(hierarchy.join(name));
    }
    // A new cpuset is empty, and nothing can run in it.
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let parent = Path::new(ROOT).join("cpuset");
        let all = fs::read_to_string(parent.join(file)).with_context(|| format!("read {file}"))?;
        fs::write(parent.join(name).join(file), all)
            .with_context(|| format!("write {file} of {name}"))?;
    }
    Ok(())
}

/// Version 2: controllers are handed down one by one, and only by a group that holds no process itself.
fn create_unified(name: &str) -> Result<()> {
    let root = Path::new(ROOT);
    let hand_down = || {
        CONTROLLERS.iter().all(|controller| {
            fs::write(
                root.join("cgroup.subtree_control"),
                format!("+{controller}"),
            )
            .is_ok()
        })
    };
    if !hand_down() && root.join("cgroup.type").exists() {
        // Only in a container does the root we see have a type and processes: they move aside.
        let aside = root.join("init");
        fs::create_dir_all(&aside)?;
        for process in processes(root) {
            let _ = fs::write(aside.join("cgroup.procs"), process.to_string());
        }
        hand_down();
    }
    fs::create_dir_all(root.join(name)).with_context(|| format!("make the cgroup {name}"))
}

/// The folders of a top-level cgroup and of all below it, the deepest first.
pub(crate) fn folders(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for hierarchy in hierarchies() {
        collect(&hierarchy.join(name), &mut found);
    }
    found
}

/// The processes in one cgroup.
pub(crate) fn processes(cgroup: &Path) -> Vec<i32> {
    let listed = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

fn hierarchies() -> Vec<PathBuf> {
    if Path::new(ROOT).join("cgroup.controllers").exists() {
        return vec![PathBuf::from(ROOT)];
    }
    let entries = fs::read_dir(ROOT).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), found);
        }
    }
    if folder.is_dir() {
        found.push(folder.to_path_buf());
    }
}
