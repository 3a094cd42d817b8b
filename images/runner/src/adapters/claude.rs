//! Claude Code over stream-JSON. One process runs one turn: the message goes in by stdin, the
//! `result` frame decides, then stdin is closed and the process ends.

mod background;
mod baseline;
mod launch;
mod retry;
mod servers;
mod steer;

pub(super) use baseline::STREAM_JSON;
pub(super) use launch::{session_files, skills};

use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel};
use serde_json::Value;

use self::background::Background;
use self::retry::{retry_notice, retrying};
use self::servers::{AGAIN_TIMER, LATE_TIMER, Servers};
use self::steer::Remarks;
use super::Cli;
use super::ending::{Closing, Fault, Judgement};
use super::frame::{self, log, running, text};
use super::own::Own;
use super::pipes::{self, Stdin, no_frame, takes_no_remark, wait};
use super::stream_json::verdict::{judge, words};
use super::stream_json::{Gate, Meter, Transcript, control};
use crate::adapter::{
    Activity, Adapter, Exit, HostCommand, Input, Ladder, Launch, Output, ResumeOutcome, TimerId,
};
use crate::classify;

/// After the last result a process that hangs is given this long.
const LINGER: Duration = Duration::from_secs(10);
const LINGER_TIMER: TimerId = TimerId(0);

/// What is said when the session was recorded under another login, but also when there is no login at all:
/// good enough to try without the session, not to give it up.
const OTHER_LOGIN: &str = "could not resolve authentication method";

/// Its id.
const ID: &str = "claude";

/// Claude Code.
pub(super) const CLAUDE: Cli = Cli {
    id: ID,
    context_file: "CLAUDE.md",
    skills,
    session_files,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::from_secs(1),
        term: Duration::from_secs(5),
    },
    launch: |launch| (launch::command_line(launch), Box::new(Run::new(launch))),
};

fn is_other_login(words: &str) -> bool {
    words.to_lowercase().contains(OTHER_LOGIN)
}

/// True for words with which the CLI says that it can never go on with the session asked for.
fn rejects_session(words: &str) -> bool {
    let words = words.to_lowercase();
    [
        "no conversation found with session id",
        "no saved session found",
        "--resume requires a valid session id",
        "bound to another account",
        "bound to a different account",
        "已绑定另外",
        OTHER_LOGIN,
    ]
    .iter()
    .any(|phrase| words.contains(phrase))
}

/// One run.
struct Run {
    /// What it is called.
    name: &'static str,
    asked: Option<String>,
    session: Option<String>,
    /// Words with which the session asked for was refused.
    rejection: Option<String>,
    transcript: Transcript,
    meter: Meter,
    judgement: Option<Judgement>,
    /// Stands before its tools.
    gate: Gate,
    /// What people add, for one whose hooks can carry it.
    remarks: Option<Remarks>,
    servers: Servers,
    /// What the CLI runs in the background, as it last said.
    background: Background,
    stdin: Stdin,
    interrupted: bool,
    done: bool,
}

impl Adapter for Run {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        if self.done {
            return;
        }
        match input {
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => {
                self.judgement = Some(Err(Fault::too_long(self.name, bytes)));
                self.finish(None, out);
            }
            Input::Stderr(line) => {
                let line = String::from_utf8_lossy(line);
                if rejects_session(&line) {
                    self.note_rejection(&line);
                }
                pipes::stderr(&line, out);
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Started => self.await_servers(out),
            Input::Timer(AGAIN_TIMER) => self.ask_servers(out),
            Input::Timer(LATE_TIMER) => self.servers_late(out),
            Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => {
                self.interrupted = true;
                self.stdin.write(control::interrupt(), out);
            }
            Input::Host(HostCommand::Steer { id, text }) => match &mut self.remarks {
                Some(remarks) => remarks.add(id, text, out),
                None => takes_no_remark(id, self.name, out),
            },
            Input::Host(HostCommand::Decide { id, allow, why }) => {
                if let Some(answer) = self.gate.decide(id, allow, why) {
                    self.stdin.write(answer, out);
                }
            }
            Input::Host(HostCommand::InterruptBackgroundTools) => {
                if self.name == ID && self.stdin.is_open() {
                    self.background.end_tools(out);
                }
            }
        }
    }
}

impl Run {
    fn new(launch: &Launch) -> Self {
        let asked = launch.resume.clone();
        Self {
            name: ID,
            gate: Gate::new(launch.tools.clone(), &launch.cwd).without(Own::of(launch, &[])),
            remarks: Some(Remarks::default()),
            servers: Servers::new(launch),
            meter: Meter::new(asked.is_some()),
            asked,
            session: None,
            rejection: None,
            transcript: Transcript::default(),
            judgement: None,
            background: Background::default(),
            stdin: Stdin::default(),
            interrupted: false,
            done: false,
        }
    }

    fn title(&self) -> &'static str {
        match self.name {
            ID => "Claude Code",
            name => name,
        }
    }

    fn stdout(&mut self, line: &str, out: &mut Vec<Output>) {
        let Some(frame) = frame::parse(line) else {
            no_frame(line, out);
            return;
        };
        let mut events = Vec::new();
        match text(&frame, "type") {
            "assistant" => {
                self.spoken(&frame, out);
                self.transcript
                    .assistant(&frame, &mut self.meter, &mut events);
            }
            "user" => {
                self.transcript.user(&frame, &mut events);
                let passed = self.gate.passed_by(&frame);
                // What an interrupt ended is told as failed, also what had not begun.
                if let Some(fault) = passed.filter(|_| !self.interrupted) {
                    out.extend(events.into_iter().map(Output::Event));
                    self.judgement = Some(Err(fault));
                    self.finish(None, out);
                    return;
                }
            }
            "system" if text(&frame, "subtype") == "init" => {
                if self.init(&frame, &mut events) {
                    self.finish(None, out);
                    return;
                }
            }
            "system" => {
                match text(&frame, "subtype") {
                    "api_retry" => out.push(Output::Activity(retrying(&frame))),
                    "thinking_tokens" => out.push(Output::Activity(Activity::Frame)),
                    _ => {}
                }
                self.system(&frame, line, &mut events, out);
            }
            "result" => {
                self.result(&frame, out);
                return;
            }
            "control_request" if self.gate.takes(&frame, out) => {}
            "control_request" if self.carries_remark(&frame, out) => {}
            "control_request" => match control::answer(&frame) {
                Some(answer) if self.stdin.is_open() => out.push(Output::Write(answer)),
                _ => events.push(log(
                    LogLevel::Warn,
                    format!("a request could not be answered: {line}"),
                )),
            },
            "control_response" if self.servers_told(&frame, out) => return,
            "control_response" => events.extend(control::refusal(&frame)),
            // Takes a question back; most were answered at once.
            "control_cancel_request" => self.gate.cancelled(&frame, out),
            // Pieces of what comes whole later, and signs of life.
            "stream_event" => out.push(Output::Activity(Activity::Frame)),
            "keep_alive" | "ui_invalidate" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
        out.extend(events.into_iter().map(Output::Event));
    }

    /// The model goes on.
    fn spoken(&mut self, frame: &Value, out: &mut Vec<Output>) {
        if let Some(remarks) = &mut self.remarks {
            remarks.spoken(frame, out);
        }
        if !frame::is_nested(frame) {
            self.background.moved_on();
        }
    }

    /// True when a remark went with the answer to this request.
    fn carries_remark(&mut self, frame: &Value, out: &mut Vec<Output>) -> bool {
        let remarks = self.remarks.as_mut().filter(|_| self.stdin.is_open());
        remarks.is_some_and(|remarks| remarks.answer(frame, out))
    }

    /// The start of a turn. True when it is in another conversation than the one asked for: nothing has
    /// been done in it yet, so the runner can start anew and say so to the agent.
    fn init(&mut self, frame: &Value, events: &mut Vec<EventBody>) -> bool {
        let session = text(frame, "session_id");
        if session.is_empty() {
            return false;
        }
        self.meter.model(text(frame, "model"));
        if let Some(remarks) = &mut self.remarks {
            remarks.begin();
        }
        if self.session.is_none() {
            if let Some(asked) = self.asked.as_deref().filter(|asked| *asked != session) {
                let name = self.name;
                self.rejection = Some(format!(
                    "{name} began session {session} where {asked} was asked for"
                ));
                return true;
            }
            events.push(running(Some(session)));
            let (version, model) = (text(frame, "claude_code_version"), text(frame, "model"));
            let headline = format!("{} {version} with {model}", self.title());
            events.push(log(LogLevel::Info, headline));
        }
        // A turn may move to a new conversation, as `/clear` does: the newest is the one to resume.
        self.session = Some(session.to_owned());
        false
    }

    fn system(
        &mut self,
        frame: &Value,
        line: &str,
        events: &mut Vec<EventBody>,
        out: &mut Vec<Output>,
    ) {
        match text(frame, "subtype") {
            "api_retry" => events.push(log(LogLevel::Warn, retry_notice(frame))),
            "status" => {
                let (status, compacted) = (text(frame, "status"), text(frame, "compact_result"));
                if status == "compacting" {
                    events.push(log(LogLevel::Info, "the conversation is being compacted"));
                } else if !compacted.is_empty() {
                    events.push(log(
                        LogLevel::Info,
                        format!("compacting ended: {compacted}"),
                    ));
                }
            }
            "permission_denied" => events.push(log(LogLevel::Warn, text(frame, "message"))),
            "background_tasks_changed" => {
                self.background.changed(frame, out);
            }
            "thinking_tokens" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
    }

    fn result(&mut self, frame: &Value, out: &mut Vec<Output>) {
        self.meter.result(frame);
        let turn = self.transcript.end_turn();
        let judgement = judge(frame, &turn, self.interrupted);
        if judgement.is_err() {
            let words = words(frame);
            if rejects_session(&words) || classify::refuses_history(&words) {
                self.note_rejection(&words);
            }
        }
        if let Err(fault) = &judgement
            && fault.class == FailureClass::IterationLimit
        {
            // No other frame tells of it.
            let content = fault.message.clone();
            out.push(Output::Event(EventBody::Error { content }));
        }
        // A turn that the CLI added by itself and in which nothing happened does not undo an answer.
        let idle = matches!(&judgement, Err(fault) if fault.class == FailureClass::EmptyOutput);
        if !(idle && matches!(self.judgement, Some(Ok(_)))) {
            self.judgement = Some(judgement);
        }
        if frame::count(frame, "queued_turn_count") == 0 {
            self.stdin.close(out);
            wait(LINGER_TIMER, LINGER, out);
        }
    }

    fn note_rejection(&mut self, words: &str) {
        if self.asked.is_some() && self.rejection.is_none() {
            self.rejection = Some(frame::cut(
                words.to_owned(),
                protocol::limits::MESSAGE_BYTES,
            ));
        }
    }

    fn finish(&mut self, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        let mut events = Vec::new();
        self.transcript.close(&mut events);
        let judgement = self.judge_run(&mut events);
        out.extend(events.into_iter().map(Output::Event));

        let name = self.name;
        let rejection = self.rejection.take().filter(|_| judgement.is_err());
        let (other_login, rejection) = match rejection {
            Some(words) if is_other_login(&words) => (Some(words), None),
            rejection => (None, rejection),
        };
        let closing = Closing {
            rejection,
            judgement,
            exit,
            asked: self.asked.take(),
            session: self.session.take(),
            // It is named once it is kept.
            begun: true,
            usage: self.meter.total(),
            continued: format!("{name} began its turn in session"),
            unknown: format!("{name} named no session"),
            doubts: name != ID,
        };
        let mut result = closing.result();
        if let Some(words) = other_login {
            result.resume = ResumeOutcome::Doubtful(words);
        }
        out.push(Output::Done(result));
    }

    /// The judgement of the run, from that of its last turn.
    fn judge_run(&mut self, events: &mut Vec<EventBody>) -> Judgement {
        let judgement = self
            .judgement
            .take()
            .unwrap_or_else(|| Err(Fault::no_result(self.name, self.interrupted)));
        match (judgement, &self.rejection) {
            (Ok(output), _) => self.background.check(output, events),
            (Err(fault), Some(words)) if fault.class != FailureClass::HistoryRejected => {
                let class = if is_other_login(words) {
                    FailureClass::ProviderAuth
                } else {
                    FailureClass::SessionRejected
                };
                Err(Fault::new(class, words))
            }
            (fault, _) => fault,
        }
    }
}
