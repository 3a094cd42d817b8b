//! Processes: who has ended, who descends from us, and how all of them are ended.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgid, getpid, kill_process, kill_process_group, wait,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::adapter::Exit;

/// How often it is looked whether processes have ended.
const LOOK: Duration = Duration::from_millis(10);
/// After KILL only the kernel can be in the way.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Buries every process that ends: our own child, whose end is told, and orphans that were given to us as the
/// first process of the namespace. The only place that waits for processes.
#[derive(Debug, Default)]
pub struct Reaper {
    expected: Mutex<HashMap<Pid, oneshot::Sender<Exit>>>,
}

impl Reaper {
    /// Tells the end of a child that was started just now, before anything else could run.
    pub fn expect(&self, child: Pid) -> oneshot::Receiver<Exit> {
        let (tell, told) = oneshot::channel();
        self.expected
            .lock()
            .expect("nothing panics while it holds this")
            .insert(child, tell);
        told
    }

    /// Buries all that have ended.
    pub fn reap(&self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let ended = status.exited() || status.signaled();
            let expected = ended.then(|| {
                let mut expected = self
                    .expected
                    .lock()
                    .expect("nothing panics while it holds this");
                expected.remove(&pid)
            });
            if let Some(Some(tell)) = expected {
                // Whoever asked may have given up.
                let _ = tell.send(Exit {
                    code: status.exit_status(),
                    signal: status.terminating_signal(),
                });
            }
        }
    }
}

/// Every process that descends from us and has not ended.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn descendants() -> io::Result<Vec<Pid>> {
    below(getpid())
}

/// The same of another process.
fn below(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let mut children: HashMap<i32, Vec<(i32, bool)>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // One that has just gone is no descendant any more.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        if let Some((parent, alive)) = parse_stat(&stat) {
            children.entry(parent).or_default().push((pid, alive));
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut next = vec![ancestor.as_raw_nonzero().get()];
    while let Some(parent) = next.pop() {
        for (pid, alive) in children.remove(&parent).unwrap_or_default() {
            if seen.insert(pid) {
                next.push(pid);
                found.extend(Pid::from_raw(pid).filter(|_| alive));
            }
        }
    }
    Ok(found)
}

/// Parent, and whether it is more than a zombie. The name of a process may hold anything, so what follows the
/// last bracket counts.
fn parse_stat(stat: &str) -> Option<(i32, bool)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X" | "x");
    Some((fields.next()?.parse().ok()?, alive))
}

/// Ends those of these processes that descend from `ancestor`, with all that they began. Which it left alone.
pub fn end_below(ancestor: Pid, numbers: &[u32]) -> Vec<u32> {
    let own = below(ancestor).unwrap_or_default();
    let is_other = |number: &u32| {
        let pid = i32::try_from(*number).ok().and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|pid| own.contains(pid)) else {
            return true;
        };
        let began = below(pid).unwrap_or_default();
        // What it leads may have lost its parents. One that has ended meanwhile is no error.
        if getpgid(Some(pid)) == Ok(pid) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        for pid in began.into_iter().chain([pid]) {
            let _ = kill_process(pid, Signal::KILL);
        }
        false
    };
    numbers.iter().copied().filter(is_other).collect()
}

/// Sends a signal to every descendant; one that has ended meanwhile is no error.
pub fn signal_all(signal: Signal) {
    // One that forks and ends all the time is never where it was seen. Only the kernel reaches all at once, and
    // for the first process of a namespace all of them are its own.
    if signal == Signal::KILL && getpid().is_init() {
        // Group 1 means everybody but the caller. An error says that nobody is there.
        let _ = kill_process_group(Pid::INIT, signal);
        return;
    }
    for pid in descendants().unwrap_or_default() {
        let _ = kill_process(pid, signal);
    }
}

/// What was done to end processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many there were at first.
    pub found: usize,
    /// How many had to be killed.
    pub killed: usize,
    /// How many still live; only the kernel knows why.
    pub left: usize,
}

/// Ends every descendant: TERM, then KILL after `polite`. Also those in other groups and sessions, and those
/// that are started meanwhile.
pub async fn end_all(reaper: &Reaper, polite: Duration) -> Ended {
    let mut ended = Ended {
        found: descendants().unwrap_or_default().len(),
        ..Ended::default()
    };
    signal_all(Signal::TERM);
    gone(reaper, polite, None).await;
    ended.killed = descendants().unwrap_or_default().len();
    // Also where nobody is seen: a look misses a process that is always another one, KILL does not.
    gone(reaper, AFTER_KILL, Some(Signal::KILL)).await;
    ended.left = descendants().unwrap_or_default().len();
    ended
}

/// Waits until no descendant is left, at most `patience`, and sends a signal at every look.
async fn gone(reaper: &Reaper, patience: Duration, signal: Option<Signal>) -> bool {
    let until = Instant::now() + patience;
    loop {
        if let Some(signal) = signal {
            signal_all(signal);
        }
        reaper.reap();
        if descendants().is_ok_and(|left| left.is_empty()) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Stdio};

    use super::*;

    #[test]
    fn only_what_descends_from_a_process_is_ended() {
        let sleeper = |command: &str| {
            let mut sh = std::process::Command::new("setsid");
            let started = sh.args(["sh", "-c", command]).stdout(Stdio::piped());
            started.spawn().unwrap()
        };
        let number = |child: &mut Child| {
            let mut said = String::new();
            let stdout = BufReader::new(child.stdout.as_mut().unwrap());
            let _ = { stdout }.read_line(&mut said).unwrap();
            said.trim().parse::<u32>().unwrap()
        };
        // The one that it tells of leads a group, and is a parent.
        let mut cli = sleeper("setsid sh -c 'echo $$; sleep 600; sleep 600' & wait; exit 7");
        let mut other = sleeper("echo $$; exec sleep 600");
        let (of_cli, of_other) = (number(&mut cli), number(&mut other));
        let ancestor = Pid::from_child(&cli);
        let own = ancestor.as_raw_nonzero().get().cast_unsigned();
        let left = end_below(ancestor, &[of_other, 1, own, u32::MAX, of_cli]);
        assert_eq!(left, [of_other, 1, own, u32::MAX]);
        // It waits for its child alone.
        assert_eq!(cli.wait().unwrap().code(), Some(7));
        assert!(!std::fs::exists(format!("/proc/{of_cli}")).unwrap());
        assert!(other.try_wait().unwrap().is_none());
        assert_eq!(end_below(ancestor, &[of_cli]), [of_cli]);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn names_of_processes_may_hold_anything() {
        for (stat, wanted) in [
            ("12 (sh) S 7 12 12 0 -1", Some((7, true))),
            ("12 (a) S 99 (b) Z 7 12", Some((7, false))),
            ("12 (\n)) R 1 1", Some((1, true))),
            ("12 sh S 7", None),
            ("", None),
        ] {
            assert_eq!(parse_stat(stat), wanted, "{stat:?}");
        }
    }
}
