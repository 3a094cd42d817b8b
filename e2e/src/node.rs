//! Processes of pods as the machine sees them: the tests run as root on the node.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// A process in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id on the machine.
    pub id: i32,
    /// Its id in the container, 1 for the container's first.
    pub inner_id: i32,
    /// Its command line, arguments separated by blanks.
    pub command: String,
}

/// The processes of a pod, the sandbox's own left out.
///
/// # Errors
/// When /proc cannot be read.
pub fn processes(pod_uid: &str) -> Result<Vec<Process>> {
    let mut found = Vec::new();
    for folder in fs::read_dir("/proc")? {
        let folder = folder?;
        let Some(id) = folder
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        // A process may end while it is looked at: then it is none.
        let Ok(groups) = fs::read_to_string(folder.path().join("cgroup")) else {
            continue;
        };
        if !groups.contains(&format!("pod{pod_uid}/")) {
            continue;
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let command = read("cmdline").replace('\0', " ").trim().to_owned();
        let inner_id = read("status")
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))
            .and_then(last_number);
        // A zombie has no command line and runs nothing any more; runc has not become the container's program yet.
        let is_none = command.is_empty() || command == "/pause" || command.ends_with("runc init");
        if let (false, Some(inner_id)) = (is_none, inner_id) {
            found.push(Process {
                id,
                inner_id,
                command,
            });
        }
    }
    Ok(found)
}

fn last_number(text: &str) -> Option<i32> {
    text.split_whitespace().last()?.parse().ok()
}

/// Waits until a pod has a process that `wanted` accepts.
///
/// # Errors
/// When that does not happen.
pub async fn process(
    pod_uid: &str,
    what: &str,
    wanted: impl Fn(&Process) -> bool,
) -> Result<Process> {
    wait::polled(what, wait::USUAL, async || {
        Ok(processes(pod_uid)?.into_iter().find(&wanted))
    })
    .await
}

/// Waits until nothing of a pod runs.
///
/// # Errors
/// When something still runs at the end; the message says what.
pub async fn nothing_runs(pod_uid: &str, limit: Duration) -> Result<()> {
    let waited = wait::polled("nothing of the pod runs", limit, async || {
        Ok(processes(pod_uid)?.is_empty().then_some(()))
    });
    match waited.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(format!("{:?}", processes(pod_uid)?))),
    }
}

/// Sends a signal to a process. One that is gone already is no error: what matters is checked by the caller.
///
/// # Errors
/// When the signal may not be sent.
pub fn signal(process: &Process, signal: Signal) -> Result<()> {
    let id = Pid::from_raw(process.id).context("a process id is not zero")?;
    match kill_process(id, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("signal {process:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_id_is_the_last() {
        assert_eq!(last_number("\t4711\t1"), Some(1));
        assert_eq!(last_number(""), None);
    }

    #[test]
    fn nothing_runs_in_a_pod_that_never_was() {
        assert_eq!(
            processes("00000000-0000-0000-0000-000000000000").unwrap(),
            []
        );
    }
}
