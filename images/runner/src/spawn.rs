//! Starting a CLI: in a process group of its own, its stdio over socket pairs. A pipe could be opened again
//! through `/proc` by any process of the same user, a socket cannot.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use protocol::FailureClass;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::oneshot;

use crate::adapter::Exit;
use crate::environment::Environment;
use crate::processes::Reaper;
use crate::signals::Blocked;

/// A running CLI.
#[derive(Debug)]
pub struct Child {
    /// Its process, which also names its group.
    pub pid: Pid,
    /// Comes once it has ended.
    pub exit: oneshot::Receiver<Exit>,
    /// Its stdin.
    pub stdin: tokio::net::UnixStream,
    /// Its stdout.
    pub stdout: tokio::net::UnixStream,
    /// Its stderr.
    pub stderr: tokio::net::UnixStream,
}

/// Why a CLI could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is nothing to start.
    #[error("the command is empty")]
    NoCommand,
    /// The program cannot be executed.
    #[error("the program {program:?} cannot be started: {source}")]
    Program {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Signals cannot be given back to it.
    #[error("the agent's signals cannot be set: {0}")]
    Signals(#[source] io::Error),
    /// Its stdio cannot be made.
    #[error("the agent's input and output cannot be made: {0}")]
    Stdio(#[source] io::Error),
}

impl SpawnError {
    /// What it means for the task.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            Self::NoCommand => FailureClass::CliMissing,
            // Missing, no right to execute, for another machine, or not a program at all.
            Self::Program { source, .. } => match source.raw_os_error() {
                Some(code) if PROGRAM_FAULTS.contains(&code) => FailureClass::CliMissing,
                _ => FailureClass::CliCrashed,
            },
            Self::Signals(_) | Self::Stdio(_) => FailureClass::CliCrashed,
        }
    }
}

/// Not found, no rights, no format that can be executed.
const PROGRAM_FAULTS: [i32; 3] = [
    rustix::io::Errno::NOENT.raw_os_error(),
    rustix::io::Errno::ACCESS.raw_os_error(),
    rustix::io::Errno::NOEXEC.raw_os_error(),
];

/// Starts `argv` in `cwd`.
///
/// # Errors
/// [`SpawnError`] by what was in the way.
pub fn spawn(
    argv: &[String],
    environment: &Environment,
    cwd: &Path,
    reaper: &Reaper,
    blocked: &Blocked,
) -> Result<Child, SpawnError> {
    let (program, arguments) = argv.split_first().ok_or(SpawnError::NoCommand)?;
    let (stdin, child_stdin) = pair().map_err(SpawnError::Stdio)?;
    let (stdout, child_stdout) = pair().map_err(SpawnError::Stdio)?;
    let (stderr, child_stderr) = pair().map_err(SpawnError::Stdio)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.variables())
        .current_dir(cwd)
        .stdin(child_stdin)
        .stdout(child_stdout)
        .stderr(child_stderr)
        .process_group(0);
    let child = blocked
        .lifted(|| command.spawn())
        .map_err(SpawnError::Signals)?
        .map_err(|source| SpawnError::Program {
            program: program.clone(),
            source,
        })?;
    let pid = Pid::from_child(&child);
    let exit = reaper.expect(pid);
    // Its end may have come while nobody was told of ends.
    reaper.reap();
    Ok(Child {
        pid,
        exit,
        stdin,
        stdout,
        stderr,
    })
}

impl Child {
    /// Sends a signal to its whole group; a group that is empty already is no error.
    pub fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }
}

fn pair() -> io::Result<(tokio::net::UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let ours = tokio::net::UnixStream::from_std(ours)?;
    Ok((ours, Stdio::from(OwnedFd::from(theirs))))
}
