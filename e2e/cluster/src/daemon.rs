//! Long-running programs of the cluster: started in the background, recorded, found again, ended.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::command::{describe, tail};

const LOG_LINES: usize = 15;

/// A program of the cluster, as it was or will be started.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Daemon {
    /// What it is called here: the name of its log and its record.
    pub name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// Network namespace to run in, if not the machine's.
    netns: Option<PathBuf>,
    #[serde(default)]
    process: Option<Process>,
}

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Process {
    id: i32,
    /// Clock ticks from boot to its start (field 22 of /proc/<id>/stat).
    started: u64,
    boot: String,
}

impl Daemon {
    pub(crate) fn new(name: &str, program: PathBuf, arguments: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            program,
            arguments,
            netns: None,
            process: None,
        }
    }

    pub(crate) fn in_netns(self, netns: Option<PathBuf>) -> Self {
        Self { netns, ..self }
    }

    /// Starts it in a process group of its own, with nothing of ours but a log, and records it.
    pub(crate) fn start(&mut self, state: &Path) -> Result<()> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(log_file(state, &self.name))?;
        let mut command = match &self.netns {
            // Not `ip netns exec`, which would mount another /sys and hide the cgroups.
            Some(netns) => {
                let mut enter = Command::new("nsenter");
                enter
                    .arg(format!("--net={}", netns.display()))
                    .arg(&self.program);
                enter
            }
            None => Command::new(&self.program),
        };
        command
            .args(&self.arguments)
            .process_group(0)
            .current_dir("/")
            .env("PATH", self.path()?);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command
            .spawn()
            .with_context(|| format!("start {}", describe(&command)))?;
        let id = i32::try_from(child.id()).context("process id")?;
        let started = start_time(id).with_context(|| format!("{} ended at once", self.name))?;
        self.process = Some(Process {
            id,
            started,
            boot: boot_id()?,
        });
        fs::write(
            record_file(state, &self.name),
            serde_json::to_vec_pretty(self)?,
        )
        .context("record the process")
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.as_ref().is_some_and(Process::is_alive)
    }

    /// The id of its process while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<i32> {
        self.process
            .as_ref()
            .filter(|process| process.is_alive())
            .map(|process| process.id)
    }

    /// Fails with its last words if it does not run any more.
    pub(crate) fn check(&self, state: &Path) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let log = log_file(state, &self.name);
        let text = fs::read(&log).unwrap_or_default();
        let words = tail(&String::from_utf8_lossy(&text), LOG_LINES);
        bail!(
            "{} does not run; the end of {}:\n{words}",
            self.name,
            log.display()
        )
    }

    /// Kills it, if it still runs. The state of the cluster is disposable, so nobody is asked politely.
    pub(crate) fn kill(&self) {
        if let Some(pid) = self.process_id().and_then(Pid::from_raw) {
            // It may have ended since we looked, which is what we want.
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn path(&self) -> Result<std::ffi::OsString> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let own = self.program.parent().map(Path::to_path_buf);
        let system = crate::packages::SYSTEM_FOLDERS.iter().map(PathBuf::from);
        Ok(std::env::join_paths(
            own.into_iter()
                .chain(std::env::split_paths(&inherited))
                .chain(system),
        )?)
    }
}

impl Process {
    fn is_alive(&self) -> bool {
        boot_id().is_ok_and(|boot| boot == self.boot) && start_time(self.id) == Some(self.started)
    }
}

/// All recorded daemons, by name.
pub(crate) fn recorded(state: &Path) -> Vec<Daemon> {
    let files = fs::read_dir(state.join("run"))
        .into_iter()
        .flatten()
        .flatten();
    let mut daemons: Vec<Daemon> = files
        .filter_map(|file| fs::read(file.path()).ok())
        .filter_map(|text| serde_json::from_slice(&text).ok())
        .collect();
    daemons.sort_by(|a, b| a.name.cmp(&b.name));
    daemons
}

/// Where a daemon of that name writes.
pub(crate) fn log_file(state: &Path, name: &str) -> PathBuf {
    state.join("log").join(format!("{name}.log"))
}

fn record_file(state: &Path, name: &str) -> PathBuf {
    state.join("run").join(format!("{name}.json"))
}

fn boot_id() -> Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").context("read the boot id")?;
    Ok(id.trim().to_owned())
}

/// When a process started, unless it is gone or only waits to be reaped.
fn start_time(id: i32) -> Option<u64> {
    parse_stat(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Reads the start time out of a line of /proc/<id>/stat; the name in it may hold spaces and brackets.
fn parse_stat(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z" && state != "X")
        .then(|| fields.nth(18)?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_are_read() {
        let rest = "1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        assert_eq!(parse_stat(&format!("7 (a) b)) S {rest}")), Some(4711));
        assert_eq!(parse_stat(&format!("7 (dead) Z {rest}")), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_daemon_is_started_recorded_found_and_killed() {
        let state = tempfile::tempdir().unwrap();
        for folder in ["log", "run"] {
            fs::create_dir(state.path().join(folder)).unwrap();
        }
        let script = vec!["-c".to_owned(), "echo hello; exec sleep 600".to_owned()];
        Daemon::new("sleeper", PathBuf::from("/bin/sh"), script)
            .start(state.path())
            .unwrap();
        let found = recorded(state.path());
        assert_eq!(found.len(), 1);
        assert!(found[0].is_running());
        found[0].check(state.path()).unwrap();
        let log = log_file(state.path(), "sleeper");
        let limit = std::time::Duration::from_secs(10);
        crate::command::wait_until("it said hello", limit, || {
            Ok(fs::read_to_string(&log)?.contains("hello"))
        })
        .unwrap();
        found[0].kill();
        crate::command::wait_until("it is gone", limit, || Ok(!found[0].is_running())).unwrap();
        let error = found[0].check(state.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("sleeper does not run") && error.ends_with("hello"),
            "{error}"
        );
    }
}
