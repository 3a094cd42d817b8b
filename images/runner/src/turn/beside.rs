//! Programs that run beside the CLI for a moment: how one that works through a service of its own is told something, or
//! asked.

use std::future::pending;
use std::time::Duration;

use protocol::LogLevel;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Turn;
use crate::adapter::{Exit, Input, SideId};
use crate::mcp::Room;
use crate::processes;
use crate::spawn::{Child, spawn};

/// Bytes of an answer; a longer one is none.
const ANSWER_BYTES: u64 = 4 << 20;
/// As many run at once.
const AT_ONCE: usize = 4;
/// So long after its end the pipes of a CLI are waited for, before what it left behind is ended.
const LINGER: Duration = Duration::from_secs(2);

/// How one ended.
#[derive(Debug)]
pub(super) struct Ran {
    id: SideId,
    /// What it said, if it ended well; else why it did not.
    said: Result<Vec<u8>, String>,
}

/// Those that run.
#[derive(Default)]
pub(super) struct Beside {
    tasks: JoinSet<Ran>,
    ids: Vec<SideId>,
    /// Everything is being ended: no more.
    closed: bool,
}

/// Ends a program's group, whatever becomes of the program.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        self.0.signal_group(Signal::KILL);
    }
}

impl Beside {
    /// Starts one. What cannot be started has ended badly.
    fn start(&mut self, id: SideId, argv: &[String], within: Duration, room: Room<'_>) {
        let started = match self.ids.len() < AT_ONCE {
            true => spawn(argv, room.environment, room.cwd, room.reaper, room.blocked)
                .map_err(|error| error.to_string()),
            false => Err("too many run already".to_owned()),
        };
        self.ids.push(id);
        self.tasks.spawn(async move {
            let said = match started {
                Ok(child) => match timeout(within, answer(Group(child))).await {
                    Ok(said) => said,
                    Err(_) => Err(format!("it did not end within {within:?}")),
                },
                Err(why) => Err(why),
            };
            Ran { id, said }
        });
    }

    /// The next that ends; never where none runs.
    pub(super) async fn next(&mut self) -> Ran {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(ran)) => {
                    self.ids.retain(|id| *id != ran.id);
                    return ran;
                }
                // Its task was ended; who did that knows.
                Some(Err(_)) => {}
                None => pending().await,
            }
        }
    }

    /// None is started any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Ends all of them; who waited for them.
    fn give_up(&mut self) -> Vec<SideId> {
        self.tasks.abort_all();
        std::mem::take(&mut self.ids)
    }
}

async fn answer(group: Group) -> Result<Vec<u8>, String> {
    let mut group = group;
    let Child {
        pid: _,
        exit,
        stdin,
        stdout,
        stderr,
    } = &mut group.0;
    // It is asked by its arguments.
    let _ = stdin.shutdown().await;
    let mut said = Vec::new();
    let mut words = Vec::new();
    let mut whole = stdout.take(ANSWER_BYTES + 1);
    let mut complaints = stderr.take(ANSWER_BYTES);
    let (read, _) = tokio::join!(
        whole.read_to_end(&mut said),
        complaints.read_to_end(&mut words)
    );
    read.map_err(|error| format!("its answer cannot be read: {error}"))?;
    if said.len() as u64 > ANSWER_BYTES {
        return Err(format!("its answer has more than {ANSWER_BYTES} bytes"));
    }
    match exit.await {
        Ok(Exit { code: Some(0), .. }) => Ok(said),
        Ok(Exit {
            code: Some(code), ..
        }) => Err(format!("it ended with exit code {code}")),
        Ok(Exit { code: None, .. }) | Err(_) => Err("it was ended".to_owned()),
    }
}

impl Turn<'_, '_> {
    /// Runs a program beside the CLI. Once everything is being ended there is nothing that it could ask.
    pub(super) fn beside(&mut self, id: SideId, argv: &[String], within: Duration) {
        if self.beside.closed {
            self.give(Input::Ran { id, stdout: None });
            return;
        }
        let within = self
            .end_by
            .map_or(within, |by| within.min(by - Instant::now()));
        self.beside.start(id, argv, within, self.around.room);
    }

    /// Ends processes that the CLI says it runs. It may say anything, so others are left alone.
    pub(super) fn end_processes(&mut self, pids: &[u32]) {
        for pid in processes::end_below(self.cli, pids) {
            let words = format!(
                "process {pid} is none that the agent's program still runs: it is left alone"
            );
            self.around.journal.remark(LogLevel::Warn, words);
        }
    }

    /// One has ended.
    pub(super) fn ran(&mut self, ran: Ran) {
        let Ran { id, said } = ran;
        if let Err(why) = &said {
            let words = format!("a call of the agent's program beside it came to nothing: {why}");
            self.around.journal.remark(LogLevel::Warn, words);
        }
        self.give(Input::Ran {
            id,
            stdout: said.as_deref().ok(),
        });
        // What was to end the run does not, so there is nothing to wait for.
        if said.is_err() && self.stopping() {
            let now = Instant::now();
            let early = self.steps.front().map(|(due, _)| *due - now);
            for (due, _) in &mut self.steps {
                *due -= early.unwrap_or_default();
            }
        }
    }

    /// What still runs beside it is ended, and whoever waits for it is told.
    pub(super) fn give_up_beside(&mut self) {
        for id in self.beside.give_up() {
            self.give(Input::Ran { id, stdout: None });
        }
    }

    /// When a CLI that has ended is not waited for any more: what it left behind, which still serves it, is ended then.
    pub(super) fn lingers_until(&self) -> Option<Instant> {
        // While it is asked, its answer is what is waited for.
        let is_asked = self.told_exit && !self.beside.is_empty();
        let at = self
            .exited_at
            .filter(|_| self.sweep.is_none() && !is_asked)?;
        Some(at + LINGER)
    }

    /// Looks after one that has ended and whose service still runs: it is told of its end, and the service ended once it
    /// has the answers that it then asks for.
    pub(super) fn linger(&mut self, now: Instant) {
        let Some(until) = self.lingers_until() else {
            return;
        };
        let drained = !self.stdout_open && !self.stderr_open;
        if self.cause.is_none() && !drained && now < until {
            return;
        }
        if self.cause.is_none() && drained {
            self.tell_exit();
            if !self.beside.is_empty() {
                return;
            }
        }
        self.sweep();
    }
}
