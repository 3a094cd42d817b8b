//! One run of a CLI, from its start to the end of its last process: the adapter decides what it means, this
//! does what the adapter asks for.

mod approve;
mod beside;
mod feed;
mod ladder;
mod limit;
mod steer;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use protocol::{CommentId, EventBody, FailureClass, LogLevel, Outcome, limits};
use rustix::process::Pid;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use self::beside::{Beside, Ran};
use self::feed::Feed;
use self::limit::Limit;
use crate::adapter::{
    Adapter, AdapterResult, Exit, HostCommand, Input, Ladder, Output, ResumeOutcome, TimerId,
};
use crate::approvals::{Answer, Api, Questions};
use crate::host::{Host, Message};
use crate::journal::Journal;
use crate::lines::{Line, Lines};
use crate::mcp::Room;
use crate::memory::oom_kills;
use crate::processes::{Ended, Reaper, end_all};
use crate::raw::Pipe;
use crate::remarks::Told;
use crate::spawn::Child;
use crate::stop::{Rung, StopCause};
use crate::tail::Tail;
use crate::watchdog::{self, Watch, Windows};

/// After the CLI has ended its pipes are read on for so long; what it left behind may hold them.
const PIPES: Duration = Duration::from_secs(10);
/// After KILL the end is awaited for so long.
const AFTER_KILL: Duration = Duration::from_secs(5);
/// Bytes of a line on stderr.
const STDERR_BYTES: usize = 64 * 1024;
/// Looks again at the latest after this long, when nothing is due.
const IDLE: Duration = Duration::from_secs(3600);

/// What a run is surrounded by.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Takes the events.
    pub journal: &'a mut Journal,
    /// Reasons to stop, remarks.
    pub host: &'a mut Host,
    /// Buries processes.
    pub reaper: Arc<Reaper>,
    /// How this CLI is stopped.
    pub ladder: Ladder,
    /// What it has left behind when it ends still serves it: it is ended only once the adapter has its answers.
    pub served: bool,
    /// Why a program of its version takes no remarks.
    pub deaf: Option<String>,
    /// Where the CLI runs.
    pub room: Room<'a>,
    /// Within which it is stopped.
    pub grace: Duration,
    /// When it has to end, and after how many seconds that is.
    pub deadline: (Instant, u32),
    /// The container's control groups.
    pub cgroup: &'a Path,
    /// When its watchdogs bark.
    pub windows: Windows,
    /// How often the model may be asked, where the CLI does not count itself.
    pub max_turns: Option<u32>,
    /// Takes what became of people's remarks.
    pub told: Told,
    /// Asks people about tools, where the Agent wants that.
    pub questions: Option<Questions<Api>>,
}

/// How a run ended.
#[derive(Debug)]
pub struct TurnEnd {
    /// What the adapter made of it.
    pub result: AdapterResult,
    /// Why it was stopped, if it was before the adapter had a result.
    pub stopped: Option<StopCause>,
    /// How the process ended; unknown when even KILL did not end it.
    pub exit: Option<Exit>,
    /// The last words on stderr.
    pub stderr: String,
    /// True once a tool was used: the run has had effects.
    pub used_tools: bool,
    /// How many processes the kernel killed for want of memory meanwhile.
    pub oom_kills: u64,
}

/// Drives a CLI that was just started.
pub async fn drive(
    child: Child,
    stdin: Vec<u8>,
    adapter: Box<dyn Adapter>,
    around: &mut Surroundings<'_>,
) -> TurnEnd {
    let Child {
        pid,
        mut exit,
        stdin: input,
        stdout,
        stderr,
    } = child;
    let mut stdout = Lines::new(stdout, limits::LINE_BYTES);
    let mut stderr = Lines::new(stderr, STDERR_BYTES);
    let killed_before = oom_kills(around.cgroup);
    let mut turn = Turn::new(adapter, around, Feed::new(input, stdin), pid);
    turn.give(Input::Started);
    while !turn.is_over() {
        let due = turn.next_due();
        // A CLI that is being stopped is drained, so that it can end.
        let reads = turn.stopping() || turn.around.journal.queue().has_room();
        let queue = Arc::clone(turn.around.journal.queue());
        let Surroundings {
            host, questions, ..
        } = &mut *turn.around;
        let step = tokio::select! {
            message = host.next() => Step::Host(message),
            answer = approve::next(questions) => Step::Answer(answer),
            ran = turn.beside.next() => Step::Ran(ran),
            ended = &mut exit, if turn.exited_at.is_none() => Step::Exited(ended),
            line = stdout.next(), if turn.stdout_open && reads => Step::Stdout(line),
            line = stderr.next(), if turn.stderr_open && reads => Step::Stderr(line),
            () = queue.room(), if !reads => Step::Look,
            () = sleep_until(due) => Step::Look,
        };
        turn.step(step);
        turn.tick(Instant::now());
    }
    turn.end(killed_before.unwrap_or_default()).await
}

/// What happened.
enum Step {
    Host(Message),
    Answer(Answer),
    Ran(Ran),
    Exited(Result<Exit, oneshot::error::RecvError>),
    Stdout(io::Result<Line>),
    Stderr(io::Result<Line>),
    Look,
}

struct Turn<'t, 'a> {
    adapter: Box<dyn Adapter>,
    /// The CLI's process.
    cli: Pid,
    around: &'t mut Surroundings<'a>,
    input: Feed,
    stdout_open: bool,
    stderr_open: bool,
    timers: BTreeMap<TimerId, Instant>,
    steps: VecDeque<(Instant, Rung)>,
    killed_at: Option<Instant>,
    /// When all must be dead, once the run is stopped.
    end_by: Option<Instant>,
    cause: Option<StopCause>,
    /// The cause, if the run had no result by itself before.
    stopped: Option<StopCause>,
    result: Option<AdapterResult>,
    exit: Option<Exit>,
    exited_at: Option<Instant>,
    /// The adapter was told of that.
    told_exit: bool,
    sweep: Option<JoinHandle<Ended>>,
    beside: Beside,
    stderr: Tail,
    used_tools: bool,
    /// Events for which there was no room.
    left_out: u64,
    watch: Watch,
    limit: Limit,
    /// Remarks that were offered, by the id under which the adapter has them.
    remarks: BTreeMap<String, CommentId>,
}

impl<'t, 'a> Turn<'t, 'a> {
    fn new(
        adapter: Box<dyn Adapter>,
        around: &'t mut Surroundings<'a>,
        input: Feed,
        cli: Pid,
    ) -> Self {
        let watch = Watch::new(around.windows, Instant::now());
        let limit = Limit::new(around.max_turns);
        Self {
            adapter,
            cli,
            around,
            input,
            stdout_open: true,
            stderr_open: true,
            timers: BTreeMap::new(),
            steps: VecDeque::new(),
            killed_at: None,
            end_by: None,
            cause: None,
            stopped: None,
            result: None,
            exit: None,
            exited_at: None,
            told_exit: false,
            sweep: None,
            beside: Beside::default(),
            stderr: Tail::default(),
            used_tools: false,
            left_out: 0,
            watch,
            limit,
            remarks: BTreeMap::new(),
        }
    }

    fn stopping(&self) -> bool {
        self.cause.is_some() || self.result.is_some() || self.exited_at.is_some()
    }

    fn is_over(&self) -> bool {
        let now = Instant::now();
        let drained = !self.stdout_open && !self.stderr_open;
        let exited = self
            .exited_at
            .is_some_and(|at| drained || now >= at + PIPES);
        (exited && self.sweep.is_some()) || self.killed_at.is_some_and(|at| now >= at + AFTER_KILL)
    }

    /// When something is to be done though nothing happens.
    fn next_due(&self) -> Instant {
        let deadline = self.cause.is_none().then_some(self.around.deadline.0);
        let watched = (!self.stopping()).then(|| self.watch.due()).flatten();
        let all = [
            self.timers.values().min().copied(),
            self.steps.front().map(|(at, _)| *at),
            deadline,
            watched,
            self.around.journal.due(),
            self.exited_at.map(|at| at + PIPES),
            self.lingers_until(),
            self.killed_at.map(|at| at + AFTER_KILL),
        ];
        let soonest = all.into_iter().flatten().min();
        soonest.unwrap_or_else(|| Instant::now() + IDLE)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Look => {}
            Step::Host(Message::Stop(cause)) => self.stop(cause),
            Step::Host(Message::Remark(remark)) => self.around.journal.record(remark),
            Step::Host(Message::Command(command)) => self.commanded(command),
            Step::Answer(answer) => self.answered(&answer),
            Step::Ran(ran) => self.ran(ran),
            Step::Exited(exit) => self.exited(exit.ok()),
            Step::Stdout(Ok(Line::Whole(line))) => {
                self.around.journal.raw(Pipe::Stdout, &line);
                self.give(Input::Stdout(&line));
            }
            Step::Stdout(Ok(Line::TooLong(bytes))) => self.give(Input::StdoutTooLong(bytes)),
            Step::Stdout(Ok(Line::End) | Err(_)) => {
                self.stdout_open = false;
                self.watch.closed(Instant::now());
            }
            Step::Stderr(Ok(Line::Whole(line))) => self.stderr_line(&line),
            Step::Stderr(Ok(Line::TooLong(bytes))) => {
                self.stderr_line(format!("(a line of {bytes} bytes)").as_bytes());
            }
            Step::Stderr(Ok(Line::End) | Err(_)) => self.stderr_open = false,
        }
    }

    fn stderr_line(&mut self, line: &[u8]) {
        // Before the tail is cut: half of a value would not be found any more.
        let words = String::from_utf8_lossy(line);
        self.stderr
            .push(self.around.journal.redactor().text(&words).as_bytes());
        self.around.journal.raw(Pipe::Stderr, line);
        self.give(Input::Stderr(line));
    }

    /// Does what is due.
    fn tick(&mut self, now: Instant) {
        let due: Vec<_> = self
            .timers
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.timers.remove(&id);
            self.give(Input::Timer(id));
        }
        let (deadline, seconds) = self.around.deadline;
        if self.cause.is_none() && now >= deadline {
            self.stop(StopCause::TimedOut(seconds));
        }
        if let Some(most) = self.limit.reached().filter(|_| !self.stopping()) {
            self.stop(StopCause::Turns(most));
        }
        self.watch(now);
        while let Some((_, rung)) = self.steps.pop_front_if(|(at, _)| *at <= now) {
            self.climb(rung, now);
        }
        self.linger(now);
        if self.around.journal.due().is_some_and(|due| due <= now) {
            self.around.journal.write();
        }
    }

    /// Asks the watchdogs.
    fn watch(&mut self, now: Instant) {
        if !self.around.journal.queue().has_room() {
            // Nothing is read, so nothing can be seen.
            self.watch.held(now);
        }
        while !self.stopping()
            && let Some(step) = self.watch.look(now)
        {
            match step {
                watchdog::Step::InterruptTools => {
                    self.give(Input::Host(HostCommand::InterruptBackgroundTools));
                }
                watchdog::Step::Judge => self.give(Input::Timer(TimerId::CLOSED)),
                watchdog::Step::End(bark) => self.stop(StopCause::Watchdog(bark)),
            }
        }
    }

    /// Gives the adapter an input, unless its run is over, and does what it asks for.
    fn give(&mut self, input: Input<'_>) {
        if self.result.is_some() {
            return;
        }
        let now = Instant::now();
        // Stderr is no sign of life: a CLI that fails again and again complains there.
        let seen = matches!(input, Input::Stdout(_) | Input::StdoutTooLong(_));
        if seen {
            self.watch.line(now);
        }
        let mut outputs = Vec::new();
        self.adapter.handle(input, &mut outputs);
        for output in outputs {
            match output {
                Output::Event(body) => {
                    self.used_tools |= matches!(body, EventBody::ToolUse { .. });
                    self.limit.event(&body);
                    if seen {
                        self.watch.event(&body, now);
                    }
                    // One that is being stopped is read on whatever it says, and may say more than there is memory.
                    if self.stopping() && self.around.journal.queue().overflows() {
                        self.left_out += 1;
                    } else {
                        self.around.journal.record(body);
                    }
                }
                Output::Write(bytes) => self.write(bytes),
                Output::CloseStdin => self.input.close(),
                Output::SetTimer { id, after } => {
                    self.timers.insert(id, Instant::now() + after);
                }
                Output::Steered { id, taken } => self.steered(&id, taken),
                Output::Ask {
                    id,
                    tool,
                    input,
                    why,
                } => self.ask(id, tool, input, why),
                Output::Withdrawn { id } => self.withdrawn(&id),
                Output::Run { id, argv, within } => self.beside(id, &argv, within),
                Output::EndProcesses { pids } => self.end_processes(&pids),
                Output::Activity(activity) => {
                    self.limit.activity(activity);
                    self.watch.activity(activity, now);
                }
                Output::Done(result) => self.done(result),
            }
        }
    }

    fn write(&mut self, bytes: Vec<u8>) {
        if !self.input.write(bytes) {
            warn!("the agent's program does not read its input");
            self.around.journal.remark(
                LogLevel::Warn,
                "the agent's program does not read its input: an answer to it was dropped",
            );
        }
    }

    fn done(&mut self, result: AdapterResult) {
        if self.result.is_some() {
            warn!("the adapter gave a second result");
            return;
        }
        self.result = Some(result);
        self.timers.clear();
        if self.exited_at.is_none() && self.stopped.is_none() {
            self.begin(Rung::Close);
        }
    }

    /// Ends what is left and gives the whole.
    async fn end(mut self, killed_before: u64) -> TurnEnd {
        self.beside.close();
        let sweep = match self.sweep.take() {
            Some(sweep) => sweep.await.unwrap_or_default(),
            None => end_all(&self.around.reaper, Duration::ZERO).await,
        };
        if sweep.found > 0 {
            let Ended {
                found,
                killed,
                left,
            } = sweep;
            let mut words = format!(
                "{found} processes that the agent's program left behind were ended, {killed} of them by KILL"
            );
            if left > 0 {
                words.push_str(&format!("; {left} cannot be ended"));
            }
            self.around.journal.remark(LogLevel::Info, words);
        }
        let oom_kills = oom_kills(self.around.cgroup).unwrap_or_default();
        let oom_kills = oom_kills.saturating_sub(killed_before);
        if oom_kills > 0 {
            self.around.journal.remark(
                LogLevel::Warn,
                format!("the kernel killed {oom_kills} processes of the pod for want of memory"),
            );
        }
        self.tell_exit();
        self.give_up_beside();
        let open: Vec<_> = self.remarks.keys().cloned().collect();
        for id in open {
            self.steered(&id, Err("the turn ended before".to_owned()));
        }
        if self.left_out > 0 {
            let words = format!(
                "{} events of the run were left out: they came while it was being ended, and the API had not taken those before",
                self.left_out
            );
            self.around.journal.remark(LogLevel::Warn, words);
        }
        TurnEnd {
            result: self.result.unwrap_or_else(no_result),
            stopped: self.stopped,
            exit: self.exit,
            stderr: self.stderr.text(),
            used_tools: self.used_tools,
            oom_kills,
        }
    }
}

/// An adapter owes a result; a run ends also when it breaks its word.
fn no_result() -> AdapterResult {
    AdapterResult {
        outcome: Outcome::failed(
            FailureClass::CliCrashed,
            "the agent's program ended without a result",
        ),
        output: String::new(),
        session: None,
        retired: Vec::new(),
        usage: BTreeMap::new(),
        resume: ResumeOutcome::Unknown("the adapter gave no result".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use protocol::EndReason;

    use super::*;
    use crate::journal::system_clock;
    use crate::redact::Redactor;
    use crate::transcript::Transcript;

    /// Says everything that it hears.
    struct Echo;

    impl Adapter for Echo {
        fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
            if let Input::Stdout(line) = input {
                let content = String::from_utf8_lossy(line).into_owned();
                out.push(Output::Event(EventBody::Error { content }));
            }
        }
    }

    #[tokio::test]
    async fn a_flood_while_it_is_stopped_fills_no_more_than_the_room() {
        let transcript = Transcript::new(Box::new(io::sink()));
        let mut journal = Journal::new(
            Redactor::default(),
            transcript,
            system_clock,
            Arc::default(),
        );
        let (_sender, mut host) = crate::host::channel();
        let (reaper, blocked) = (Arc::<Reaper>::default(), crate::signals::block().unwrap());
        let environment = crate::environment::Environment::default();
        let mut around = Surroundings {
            journal: &mut journal,
            host: &mut host,
            reaper: Arc::clone(&reaper),
            served: false,
            deaf: None,
            room: Room {
                environment: &environment,
                cwd: Path::new("/nowhere"),
                reaper: &reaper,
                blocked: &blocked,
            },
            max_turns: None,
            told: Told::to_nobody(),
            questions: None,
            windows: Windows {
                first_frame: None,
                idle: None,
                tool: None,
                progress: None,
                first_progress: None,
            },
            ladder: Ladder {
                interrupt: Duration::ZERO,
                close: Duration::ZERO,
                term: Duration::ZERO,
            },
            grace: Duration::ZERO,
            deadline: (Instant::now() + IDLE, 3600),
            cgroup: Path::new("/nowhere"),
        };
        let (input, _program) = tokio::net::UnixStream::pair().unwrap();
        let input = Feed::new(input, Vec::new());
        let mut turn = Turn::new(Box::new(Echo), &mut around, input, Pid::INIT);
        turn.stop(StopCause::Commanded(EndReason::Cancelled));
        let line = vec![b'x'; 50_000];
        for _ in 0..800 {
            turn.step(Step::Stdout(Ok(Line::Whole(line.clone().into()))));
        }
        turn.end(0).await;
        journal.close();
        let written = journal.last_seq();
        assert!((600..740).contains(&written), "{written} events");
        let last = journal.queue().last().unwrap();
        assert!(format!("{last:?}").contains("were left out"), "{last:?}");
    }
}
