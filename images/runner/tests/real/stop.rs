//! How a program is stopped whose protocol knows no interrupt.

use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// As the runner does: TERM, and KILL when it has not ended `term` later. `unshare` waits for the program, and its own end
/// would kill that at once.
pub(crate) fn stop(unshare: &mut Child, term: Duration) -> Result<()> {
    let pid = unshare.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    for child in children.split_whitespace() {
        let program = Pid::from_raw(child.parse()?).context("a process has a number")?;
        // It may have ended meanwhile.
        let _ = kill_process(program, Signal::TERM);
    }
    let until = Instant::now() + term;
    while unshare.try_wait()?.is_none() {
        if Instant::now() >= until {
            return Ok(unshare.kill()?);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}
