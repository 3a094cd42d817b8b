//! All traces that a cluster leaves on the machine: found without its records, so that no crash can hide them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::command::{self, wait_until};
use crate::home::Home;
use crate::node::{self, NODES};
use crate::{cgroups, daemon, rules};

const LIMIT: Duration = Duration::from_secs(20);
/// Programs of ours that people run themselves.
const TOOLS: [&str; 3] = ["kubectl", "helm", "ctr"];
const SHIM_SOCKETS: &str = "/run/containerd/s";
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// Everything that is there, one line each; empty when the machine is clean.
#[must_use]
pub fn leftovers(home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(
        processes(home)
            .into_iter()
            .map(|id| format!("process {id}")),
    );
    found.extend(
        mounts(&home.state())
            .into_iter()
            .map(|mount| format!("mount {}", mount.display())),
    );
    found.extend(links().into_iter().map(|link| format!("link {link}")));
    found.extend(rules::found());
    found.extend(
        cgroup_folders()
            .into_iter()
            .map(|folder| format!("cgroup {}", folder.display())),
    );
    found
}

/// Takes everything away, then the state; logs move to [`Home::last_logs`].
pub(crate) fn remove(home: &Home) -> Result<()> {
    let state = home.state();
    // A few rounds: a runtime that is being killed may still start something.
    let killed = wait_until("the cluster's processes are gone", LIMIT, || {
        let found = processes(home);
        found
            .iter()
            .filter_map(|id| Pid::from_raw(*id))
            .for_each(|pid| {
                let _ = kill_process(pid, Signal::KILL);
            });
        Ok(found.is_empty())
    });
    killed?;
    for mount in mounts(&state) {
        let plain = command::succeeds(Command::new("umount").arg(&mount));
        if !plain {
            command::run(Command::new("umount").arg("--lazy").arg(&mount))?;
        }
    }
    for link in links() {
        // Those of pods go by themselves with their namespaces, perhaps just now.
        let _ = command::run(Command::new("ip").args(["link", "delete", &link]));
    }
    rules::remove()?;
    wait_until("the pods' cgroups are gone", LIMIT, || {
        let found = cgroup_folders();
        found.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        Ok(found.is_empty())
    })?;
    restore_settings(&state)?;
    remove_pod_log_links(&state);
    remove_dead_sockets();
    keep_logs(home)?;
    if state.exists() {
        fs::remove_dir_all(&state).with_context(|| format!("remove {}", state.display()))?;
    }
    match leftovers(home) {
        found if found.is_empty() => Ok(()),
        found => bail!(
            "the cluster left something behind that could not be removed:\n{}",
            found.join("\n")
        ),
    }
}

/// Notes what the machine's settings were, so that they can be restored.
pub(crate) fn remember_settings(state: &Path) -> Result<()> {
    let forwarding = fs::read_to_string(FORWARDING).context("read the forwarding setting")?;
    fs::write(state.join("ip_forward"), forwarding).context("note the forwarding setting")
}

fn restore_settings(state: &Path) -> Result<()> {
    match fs::read_to_string(state.join("ip_forward")) {
        Ok(before) => fs::write(FORWARDING, before).context("restore the forwarding setting"),
        Err(_) => Ok(()),
    }
}

/// Recorded daemons, everything that was started from our programs, and all that runs in the pods' cgroups.
fn processes(home: &Home) -> Vec<i32> {
    let mut found: Vec<i32> = daemon::recorded(&home.state())
        .iter()
        .filter_map(daemon::Daemon::process_id)
        .collect();
    let programs = home.root().join("programs");
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(program) = fs::read_link(entry.path().join("exe")) else {
            continue;
        };
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if program.starts_with(&programs) && !TOOLS.contains(&name.trim_end_matches(" (deleted)")) {
            found.push(id);
        }
    }
    for folder in cgroup_folders() {
        found.extend(cgroups::processes(&folder));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Mounts below the state, the deepest first.
fn mounts(state: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(|path| PathBuf::from(path.replace("\\040", " ")))
        .filter(|path| path.starts_with(state))
        .collect();
    found.sort();
    found.reverse();
    found
}

/// Our bridge, the cable to the second node, and what pods had plugged into the bridge.
fn links() -> Vec<String> {
    let present = |name: &str| Path::new("/sys/class/net").join(name).exists();
    let ports = NODES.iter().flat_map(|node| {
        fs::read_dir(format!("/sys/class/net/{}/brif", node.bridge))
            .into_iter()
            .flatten()
            .flatten()
    });
    let mut found: Vec<String> = ports
        .map(|port| port.file_name().to_string_lossy().into_owned())
        .collect();
    found.extend(
        node::links()
            .filter(|name| present(name))
            .map(str::to_owned),
    );
    found.sort();
    found.dedup();
    found
}

fn cgroup_folders() -> Vec<PathBuf> {
    NODES
        .iter()
        .flat_map(|node| cgroups::folders(&node.cgroup()))
        .collect()
}

/// The kubelet links pods' logs into a folder that log collectors expect.
fn remove_pod_log_links(state: &Path) {
    for entry in fs::read_dir("/var/log/containers")
        .into_iter()
        .flatten()
        .flatten()
    {
        if fs::read_link(entry.path()).is_ok_and(|target| target.starts_with(state)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Shims put their sockets into a folder that cannot be chosen; those that nobody listens on any more are dead.
fn remove_dead_sockets() {
    let open = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    for entry in fs::read_dir(SHIM_SOCKETS).into_iter().flatten().flatten() {
        if !open.contains(&*entry.path().to_string_lossy()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn keep_logs(home: &Home) -> Result<()> {
    let logs = home.state().join("log");
    if !logs.exists() {
        return Ok(());
    }
    let kept = home.last_logs();
    if kept.exists() {
        fs::remove_dir_all(&kept).context("remove older logs")?;
    }
    fs::rename(logs, kept).context("keep the logs")
}
