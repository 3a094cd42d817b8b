//! Command lines that run one turn per process and tell of it in lines of JSON: the prompt goes in by
//! stdin, which is then closed, and the end of the process is the end of the turn. Each has a small file of its own
//! beside this one that reads its lines.

mod antigravity;
mod baseline;
mod codearts;
mod copilot;
mod cursor;
mod deveco;
mod omp;
mod openclaw;
mod opencode;
mod qwen;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, limits};
use serde_json::Value;

use super::ending::{Ending, Fault, Judgement, in_doubt, resume_outcome};
use super::frame::{cut, log, parse, running};
use super::pipes::{self, Stdin, no_frame, takes_no_remark, wait};
use crate::adapter::{
    Activity, Adapter, Exit, HostCommand, Input, Ladder, Output, SideId, TimerId,
};
use crate::classify;
use crate::ledger::{self, sum};

pub(super) use antigravity::ANTIGRAVITY;
pub(super) use baseline::JSON_LINES;
pub(super) use codearts::CODEARTS;
pub(super) use copilot::COPILOT;
pub(super) use cursor::CURSOR;
pub(super) use deveco::DEVECO;
pub(super) use omp::OMP;
pub(super) use openclaw::OPENCLAW;
pub(super) use opencode::OPENCODE;
pub(super) use qwen::QWEN;

/// They are spoken to once and not again: an interrupt is a signal.
const LADDER: Ladder = Ladder {
    interrupt: Duration::ZERO,
    close: Duration::ZERO,
    term: Duration::from_secs(5),
};
/// Ends a run that has said all it has to say.
const REST_TIMER: TimerId = TimerId(0);
/// Ends a run that has only tried the same request again for too long,
const RETRY_TIMER: TimerId = TimerId(1);
/// which is so long.
const RETRIES: Duration = Duration::from_secs(180);
/// Ends what the service of one does that has one.
const INTERRUPT_CALL: SideId = SideId(0);
/// Asks it whether the turn is done.
const DOUBT_CALL: SideId = SideId(1);
/// Such a call is given so long.
const CALL: Duration = Duration::from_secs(5);
/// Lines of stderr that explain an end without a word.
const LAST_WORDS: usize = 4;

/// What a line of stdout is.
enum Read {
    /// A frame, or the end of one.
    Frame(Value),
    /// A piece of a frame that goes on.
    Piece,
    /// Neither.
    Other,
}

/// What one of them says in its lines.
trait Talk: Send + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Words on stderr with which it says that it does not know the conversation.
    const LOST: &'static [&'static str];
    /// False for one that need not say so: a failure before it names a conversation may be that too.
    const TELLS_LOSS: bool = true;
    /// What has to be said of an end without a result.
    const CAVEAT: &'static str = "";

    /// False for one that takes a conversation of any name as one that it knows.
    const TELLS_RESUME: bool = true;

    /// What a line is.
    fn read(&mut self, line: &str) -> Read {
        parse(line).map_or(Read::Other, Read::Frame)
    }

    /// Reads a frame.
    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>);

    /// Set once it has said all that it has to say: the run is over when nothing follows for this long, whether its
    /// process ends or not.
    fn over(&self) -> Option<Duration> {
        None
    }

    /// Reads a line of stderr. A fault ends the run at once.
    fn stderr(&mut self, line: &str) -> Option<Fault>;

    /// The class of the failure after which the line of stderr that was just read says that a request is tried again.
    fn tries_again(&mut self) -> Option<FailureClass> {
        None
    }

    /// It has done nothing but that for too long.
    fn gives_up(&mut self) -> Option<Fault> {
        None
    }

    /// The conversation, once it was named.
    fn session(&self) -> Option<&str>;

    /// How the turn ended, of a process that ended well; `None` where nothing was said.
    fn judge(&mut self) -> Option<Judgement>;

    /// The failure that it told, whatever its process ended with.
    fn fault(&mut self) -> Option<Fault>;

    /// Tokens of this run by model.
    fn usage(&mut self) -> BTreeMap<String, TokenUsage>;

    /// The call of its program that ends what it does, of one that works through a service.
    fn interrupts(&self) -> Option<Vec<String>> {
        None
    }

    /// The call by which its service is asked whether the turn is done, where the program ended well and did not say so.
    fn doubts(&self) -> Option<Vec<String>> {
        None
    }

    /// Takes the answer to that.
    fn answered(&mut self, _answer: &[u8], _events: &mut Vec<EventBody>) {}

    /// How many requests the model has answered so far, of one that tells; of one that may tell, once it has.
    fn answers(&self) -> Option<u32> {
        None
    }

    /// The processes that run in the background. They are asked for once.
    fn background(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// The class of the failure after which this frame says that a request is tried again.
    fn retrying(_frame: &Value) -> Option<FailureClass> {
        None
    }

    /// The run is over: calls that are open will never be answered.
    fn close(&mut self, events: &mut Vec<EventBody>);
}

/// One run.
struct Run<T> {
    talk: T,
    asked: Option<String>,
    rejection: Option<String>,
    /// It said something in its protocol.
    begun: bool,
    /// The timeline was told that it runs.
    told: bool,
    /// Answers of the model that were counted.
    answers: u32,
    /// Since its last frame it has told of a request that is tried again.
    retries: bool,
    /// The end of stderr.
    last_words: VecDeque<String>,
    stdin: Stdin,
    interrupted: bool,
    /// How its process ended, while its service is asked.
    exit: Option<Exit>,
    done: bool,
}

impl<T: Talk> Adapter for Run<T> {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        if self.done {
            return;
        }
        match input {
            // The prompt is on its way; its end is the end of what is said.
            Input::Started => {
                self.stdin.close(out);
                if self.talk.answers().is_some() {
                    out.push(Output::Activity(Activity::TellsTurns));
                }
                if let Some(session) = self.talk.session() {
                    self.told = true;
                    out.push(Output::Event(running(Some(session))));
                }
            }
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => {
                self.finish(Some(Err(Fault::too_long(T::NAME, bytes))), None, out);
            }
            Input::Stderr(line) => self.stderr(&String::from_utf8_lossy(line), out),
            Input::Timer(REST_TIMER) if self.talk.over().is_some() => self.finish(None, None, out),
            Input::Timer(RETRY_TIMER) if self.retries => {
                if let Some(fault) = self.talk.gives_up() {
                    self.finish(Some(Err(fault)), None, out);
                }
            }
            Input::Timer(TimerId::CLOSED) => self.closed(out),
            Input::Timer(_) => {}
            Input::Ran { id, stdout } => self.ran(id, stdout, out),
            Input::Exited(exit) => self.exited(exit, out),
            Input::Host(HostCommand::Interrupt) => self.interrupt(out),
            Input::Host(HostCommand::Steer { id, .. }) => takes_no_remark(id, T::NAME, out),
            Input::Host(HostCommand::InterruptBackgroundTools) => self.end_background(out),
            Input::Host(HostCommand::Decide { .. }) => {}
        }
    }
}

impl<T: Talk> Run<T> {
    fn new(talk: T, asked: Option<String>) -> Self {
        Self {
            talk,
            asked,
            rejection: None,
            begun: false,
            told: false,
            answers: 0,
            retries: false,
            last_words: VecDeque::new(),
            stdin: Stdin::default(),
            interrupted: false,
            exit: None,
            done: false,
        }
    }

    /// Most have no word for it: the process is ended by signals.
    fn interrupt(&mut self, out: &mut Vec<Output>) {
        self.interrupted = true;
        out.extend(
            self.talk
                .interrupts()
                .map(|argv| call(INTERRUPT_CALL, argv)),
        );
    }

    /// A tool has run for too long: what goes on in the background is ended, and the rest goes on.
    fn end_background(&mut self, out: &mut Vec<Output>) {
        let pids = self.talk.background();
        if !pids.is_empty() {
            let words = "a command in the background has run for too long: it is ended";
            out.push(Output::Event(warning(words)));
            out.push(Output::EndProcesses { pids });
            out.push(Output::Activity(Activity::ToolsInterrupted));
        }
    }

    fn exited(&mut self, exit: Exit, out: &mut Vec<Output>) {
        let may_be_done = exit.code == Some(0) && !self.interrupted && self.rejection.is_none();
        match self.talk.doubts().filter(|_| may_be_done) {
            Some(argv) => {
                self.exit = Some(exit);
                out.push(call(DOUBT_CALL, argv));
            }
            None => self.finish(None, Some(exit), out),
        }
    }

    fn ran(&mut self, id: SideId, answer: Option<&[u8]>, out: &mut Vec<Output>) {
        let Some(exit) = self.exit.filter(|_| id == DOUBT_CALL) else {
            return;
        };
        let mut events = Vec::new();
        if let Some(answer) = answer {
            self.talk.answered(answer, &mut events);
        }
        out.extend(events.into_iter().map(Output::Event));
        self.finish(None, Some(exit), out);
    }

    fn stdout(&mut self, line: &str, out: &mut Vec<Output>) {
        let frame = match self.talk.read(line) {
            Read::Frame(frame) => frame,
            Read::Piece => return,
            Read::Other => {
                no_frame(line, out);
                return;
            }
        };
        self.retries = false;
        let mut events = Vec::new();
        self.talk.frame(&frame, line, &mut events);
        if let Some(class) = T::retrying(&frame) {
            out.push(Output::Activity(Activity::Retrying(class)));
        }
        if let Some(words) = self.elsewhere() {
            self.rejection = Some(words.clone());
            let fault = Fault::new(FailureClass::SessionRejected, words);
            self.finish(Some(Err(fault)), None, out);
            return;
        }
        self.begun = true;
        if !std::mem::replace(&mut self.told, true) {
            // Who names it at the end only has at least taken the one that was asked for.
            let session = self.talk.session().or(self.asked.as_deref());
            out.push(Output::Event(running(session)));
        }
        out.extend(events.into_iter().map(Output::Event));
        let answers = self.talk.answers().unwrap_or_default();
        let more = answers.saturating_sub(std::mem::replace(&mut self.answers, answers));
        out.extend((0..more).map(|_| Output::Activity(Activity::ModelTurn)));
        match self.talk.over() {
            Some(Duration::ZERO) => self.finish(None, None, out),
            Some(rest) => wait(REST_TIMER, rest, out),
            None => {}
        }
    }

    /// Words for a conversation that is another one than was asked for.
    fn elsewhere(&self) -> Option<String> {
        let asked = self.asked.as_deref()?;
        let session = self.talk.session().filter(|session| *session != asked)?;
        let name = T::NAME;
        Some(format!(
            "{name} opened session {session} where {asked} was asked for"
        ))
    }

    fn stderr(&mut self, line: &str, out: &mut Vec<Output>) {
        pipes::stderr(line, out);
        if line.trim().is_empty() {
            return;
        }
        let is_lost = T::LOST.iter().any(|words| line.contains(words));
        if is_lost && self.asked.is_some() && !self.begun {
            let words = cut(line.to_owned(), limits::MESSAGE_BYTES);
            self.rejection.get_or_insert(words);
        }
        if self.last_words.len() == LAST_WORDS {
            self.last_words.pop_front();
        }
        let words = cut(line.to_owned(), limits::MESSAGE_BYTES / LAST_WORDS);
        self.last_words.push_back(words);
        let fault = self.talk.stderr(line);
        // Some name it there before their first frame.
        if let Some(session) = self.talk.session().filter(|_| !self.told) {
            self.told = true;
            out.push(Output::Event(running(Some(session))));
        }
        if let Some(class) = self.talk.tries_again() {
            out.push(Output::Activity(Activity::Retrying(class)));
            if !std::mem::replace(&mut self.retries, true) {
                wait(RETRY_TIMER, RETRIES, out);
            }
        }
        if let Some(fault) = fault {
            self.finish(Some(Err(fault)), None, out);
        }
    }

    /// Nothing more comes, and its process does not end: what it has said counts, if that is a result.
    fn closed(&mut self, out: &mut Vec<Output>) {
        if self.interrupted || self.rejection.is_some() {
            return;
        }
        let told = match self.talk.fault() {
            Some(fault) => Some(Err(fault)),
            None => self.talk.judge().filter(Result::is_ok),
        };
        if told.is_some() {
            self.finish(told, None, out);
        }
    }

    fn finish(&mut self, told: Option<Judgement>, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        let mut events = Vec::new();
        self.talk.close(&mut events);
        // A tool that has no result yet is closed here.
        let cut_short = !events.is_empty();
        let judgement = match (told, &self.rejection) {
            (Some(told), _) => told.and_then(spoken),
            (None, Some(words)) => Err(Fault::new(FailureClass::SessionRejected, words)),
            (None, None) => self.judge(exit, cut_short),
        };
        if let Err(fault) = &judgement {
            if self.asked.is_some() && classify::refuses_history(&fault.message) {
                self.rejection = Some(fault.message.clone());
            }
            if fault.class != FailureClass::Cancelled {
                events.push(EventBody::Error {
                    content: fault.message.clone(),
                });
            }
        }
        out.extend(events.into_iter().map(Output::Event));
        let name = T::NAME;
        // Of one that need not say that it does not know a conversation, only its name is a sign.
        let opened = self.begun && (T::TELLS_LOSS || self.talk.session().is_some());
        let resume = resume_outcome(
            self.asked.as_deref(),
            self.rejection.take().filter(|_| judgement.is_err()),
            opened && T::TELLS_RESUME,
            &format!("{name} went on with session"),
            &format!("{name} said nothing of its session"),
        );
        let resume = if T::TELLS_LOSS {
            resume
        } else {
            in_doubt(resume, &judgement)
        };
        let session = self.talk.session().map(str::to_owned);
        let ending = Ending {
            judgement,
            exit,
            // One that was taken and is not named is the one that was asked for.
            session: session.or_else(|| self.asked.clone().filter(|_| self.begun)),
            asked: self.asked.take(),
            usage: self.talk.usage(),
            resume,
        };
        out.push(Output::Done(ending.result()));
    }

    fn judge(&mut self, exit: Option<Exit>, cut_short: bool) -> Judgement {
        let judgement = self.judge_end(exit);
        // Whatever a program says when it is stopped, it is the stop: some call it a success, without an answer.
        let is_the_stop = match &judgement {
            Ok(answer) => cut_short || answer.is_empty(),
            Err(_) => true,
        };
        match judgement {
            _ if self.interrupted && is_the_stop => Err(Fault::no_result(T::NAME, true)),
            judgement => judgement,
        }
    }

    fn judge_end(&mut self, exit: Option<Exit>) -> Judgement {
        if let Some(fault) = self.talk.fault() {
            return Err(fault);
        }
        let is_over = exit.is_none() && self.talk.over().is_some();
        if !is_over && exit.is_none_or(|exit| exit.code != Some(0)) {
            return Err(self.unexplained(exit));
        }
        let answer = self.talk.judge().unwrap_or_else(|| {
            let nothing = format!("{} ended without a word in its protocol", T::NAME);
            Err(Fault::new(FailureClass::CliCrashed, nothing))
        })?;
        spoken(answer)
    }

    /// An end of the process that its frames do not explain: what it wrote to stderr may.
    fn unexplained(&self, exit: Option<Exit>) -> Fault {
        let words: Vec<_> = self.last_words.iter().map(String::as_str).collect();
        let words = words.join("\n");
        let name = T::NAME;
        let how = match exit.and_then(|exit| exit.code) {
            Some(code) => format!("{name} ended with exit code {code}"),
            None => format!("{name} ended without a result"),
        };
        let how = how + T::CAVEAT;
        let class = classify::classify_or(&words, FailureClass::CliCrashed);
        let message = match words.is_empty() {
            true => how,
            false => format!("{how}: {words}"),
        };
        Fault::new(class, message)
    }
}

/// An answer, unless it is one of those that stand for a failure.
fn spoken(answer: String) -> Judgement {
    match classify::of_poisoned_output(&answer) {
        Some(class) => Err(Fault::of_spent(class, answer)),
        None => Ok(answer),
    }
}

fn call(id: SideId, argv: Vec<String>) -> Output {
    Output::Run {
        id,
        argv,
        within: CALL,
    }
}

/// Adds tokens of a model, whatever numbers it tells.
fn add(usage: &mut BTreeMap<String, TokenUsage>, model: &str, more: TokenUsage) {
    let model = if model.is_empty() { "unknown" } else { model };
    ledger::add(usage, model, more);
}

/// A remark that explains what is going on.
fn warning(words: impl Into<String>) -> EventBody {
    log(LogLevel::Warn, words)
}
