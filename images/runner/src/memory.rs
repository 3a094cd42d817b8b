//! Whether the kernel killed processes of the container for want of memory. Where it kills the whole container
//! the kubelet says so; where it kills one process, only this counter does.

use std::fs;
use std::path::Path;

/// How many processes of the container were killed so far; `None` where the kernel does not tell.
#[must_use]
pub fn oom_kills(cgroup: &Path) -> Option<u64> {
    // Version 2 of control groups, then version 1.
    ["memory.events", "memory/memory.oom_control"]
        .iter()
        .find_map(|file| count(&fs::read_to_string(cgroup.join(file)).ok()?))
}

fn count(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))
        .and_then(|count| count.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let two = "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 9\n";
        let one = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        for (file, text, wanted) in [
            ("memory.events", two, Some(2)),
            ("memory/memory.oom_control", one, Some(3)),
            ("memory.events", "", None),
            ("other", one, None),
        ] {
            let cgroup = tempfile::tempdir().unwrap();
            fs::create_dir(cgroup.path().join("memory")).unwrap();
            fs::write(cgroup.path().join(file), text).unwrap();
            assert_eq!(oom_kills(cgroup.path()), wanted, "{file} {text}");
        }
    }
}
