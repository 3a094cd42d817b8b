//! How programs say which models they know and how much those can be told to think: without a login, without a network,
//! and without a turn. Those that cannot are not here.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use protocol::probe::Catalog;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::probe;

mod known;

pub(crate) use known::of;

/// Bytes of what a program prints that are read.
const READ_BYTES: u64 = 8 * 1024 * 1024;
/// Lines that wait to be looked at. A full channel blocks the reader, and with it the program.
const WAITING_LINES: usize = 64;

/// How a program is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    /// What stands behind its command.
    args: &'static [&'static str],
    /// Variables beside those that it is asked for its version with.
    env: &'static [(&'static str, &'static str)],
    /// Lines for its stdin: the first at once, each other one after an answer.
    says: &'static [&'static str],
    /// Where it names them.
    answer: Answer,
}

/// Where it names them.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// In frames, one on each line; true once it has named all.
    Frames(fn(&Value, &mut Found) -> bool),
    /// In all that it prints.
    Printed(fn(&str, &mut Found)),
}

/// What it has named so far.
#[derive(Debug, Default)]
struct Found {
    models: Vec<String>,
    levels: Vec<String>,
}

impl Found {
    /// A model, if that is a word.
    fn model(&mut self, name: &Value) {
        self.models.extend(name.as_str().map(str::to_owned));
    }

    /// The words at a place in each of these.
    fn levels(&mut self, values: &[Value], pointer: &str) {
        let words = values
            .iter()
            .filter_map(|value| value.pointer(pointer)?.as_str());
        self.levels.extend(words.map(str::to_owned));
    }

    fn catalog(self) -> Catalog {
        Catalog::new(self.models, self.levels)
    }
}

impl Listing {
    /// Asks the program. None where it has no answer, or none in time.
    pub(crate) fn ask(
        &self,
        program: &Path,
        prefix: &[String],
        limit: Duration,
    ) -> Option<Catalog> {
        let until = Instant::now() + limit;
        let stdin = if self.says.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        };
        let mut child = Command::new(program)
            .args(prefix)
            .args(self.args)
            .env("NO_COLOR", "1")
            .envs(self.env.iter().copied())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let group = Pid::from_child(&child);
        let mut says = self.says.iter();
        let mut stdin = child.stdin.take();
        let mut say = || {
            if let (Some(words), Some(stdin)) = (says.next(), stdin.as_mut()) {
                // One that does not listen has no answer.
                let _ = stdin.write_all(words.as_bytes());
            }
        };
        say();
        let lines = child.stdout.take().map(lines);
        let catalog = lines.and_then(|lines| self.read(&lines, until, say));
        // What it left behind goes as well, and it itself also where it has gone to another group.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.kill();
        let _ = probe::end(child).recv_timeout(probe::LINGER);
        catalog.filter(|catalog| !catalog.is_empty())
    }

    fn read(
        &self,
        lines: &Receiver<String>,
        until: Instant,
        mut answered: impl FnMut(),
    ) -> Option<Catalog> {
        let mut printed = String::new();
        let mut found = Found::default();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left);
            match (self.answer, line) {
                (Answer::Printed(read), Err(RecvTimeoutError::Disconnected)) => {
                    read(&printed, &mut found);
                    return Some(found.catalog());
                }
                (_, Err(_)) => return None,
                (Answer::Printed(_), Ok(line)) => {
                    printed.push_str(&line);
                    printed.push('\n');
                }
                (Answer::Frames(read), Ok(line)) => {
                    let Ok(frame) = serde_json::from_str::<Value>(&line) else {
                        continue;
                    };
                    if read(&frame, &mut found) {
                        return Some(found.catalog());
                    }
                    if frame.get("id").is_some() && frame.get("method").is_none() {
                        answered();
                    }
                }
            }
        }
    }
}

/// What is printed, line by line, until its end or until it is too much.
fn lines(out: ChildStdout) -> Receiver<String> {
    let (tell, told) = sync_channel(WAITING_LINES);
    thread::spawn(move || {
        let lines = BufReader::new(out.take(READ_BYTES)).split(b'\n');
        for line in lines.map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use rustix::process::{getpgid, getppid, setpgid};

    use super::*;

    /// Set in the child of a test, which is this program.
    const IS_CHILD: &str = "MOORING_TEST_LEAVES_ITS_GROUP";

    /// No test but in the child of the next one, where it leaves the group of processes that it was started in.
    #[test]
    fn leaves_its_group() {
        if std::env::var_os(IS_CHILD).is_some() {
            setpgid(None, Some(getpgid(getppid()).unwrap())).unwrap();
            writeln!(std::io::stdout(), "{{\"pid\":{}}}", std::process::id()).unwrap();
            thread::sleep(Duration::from_secs(600));
        }
    }

    #[test]
    fn a_program_that_leaves_its_group_does_not_stay() {
        let listing = Listing {
            args: &["catalog::tests::leaves_its_group", "--exact", "--nocapture"],
            env: &[(IS_CHILD, "1")],
            says: &[],
            answer: Answer::Frames(|frame, found| {
                // It has left by now.
                found.models.push(frame["pid"].to_string());
                true
            }),
        };
        let program = std::env::current_exe().unwrap();
        let (tell, told) = sync_channel(1);
        thread::spawn(move || {
            let limit = Duration::from_secs(60);
            let _ = tell.send(listing.ask(&program, &[], limit));
        });
        let catalog = told.recv_timeout(Duration::from_secs(120));
        let pid = &catalog.expect("it is not waited for").unwrap().models[0];
        assert!(!Path::new("/proc").join(pid).exists());
    }
}
