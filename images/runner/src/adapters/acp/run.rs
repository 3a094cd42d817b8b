//! One run of an agent that speaks ACP.

use std::collections::VecDeque;
use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, limits};
use serde_json::{Value, json};

use super::content::kind_of;
use super::dialect::{Dialect, Resume, Scope};
use super::gate::{Gate, THERE};
use super::hooked::Hooked;
use super::meter::Meter;
use super::remarks::Remarks;
use super::sessions::{self, Step};
use super::stderr::{self, Stderr};
use super::updates::Updates;
use super::verdict;
use crate::adapter::{Activity, Adapter, HostCommand, Input, Launch, Output, TimerId};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{cut, log, running, text};
use crate::adapters::json_rpc::{Client, Incoming, Refusal, Version};
use crate::adapters::names::Names;
use crate::adapters::pipes::{self, Stdin, no_frame, wait};
use crate::classify;

/// Each step between the first answer and the prompt takes no longer.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(60);
/// The last words often come after the answer: they are over when so long nothing came,
const QUIET: Duration = Duration::from_millis(250);
/// or after so long in any case.
const QUIET_AT_MOST: Duration = Duration::from_secs(2);
/// A conversation is closed within this time, or not at all.
const CLOSE: Duration = Duration::from_secs(2);

pub(super) const HANDSHAKE_TIMER: TimerId = TimerId(0);
const QUIET_TIMER: TimerId = TimerId(1);
const QUIET_AT_MOST_TIMER: TimerId = TimerId(2);
const LINGER_TIMER: TimerId = TimerId(3);
const CLOSE_TIMER: TimerId = TimerId(4);
pub(super) const HELD_TIMER: TimerId = TimerId(5);

/// Tells the tokens of the turn so far, for those that tell them so.
const STATUS: &str = "_reasonix.io/session/status_update";
/// Says that a request to the model is tried again.
const RETRYING: &str = "_session/retrying";
/// Says that the model has a remark.
const INTERJECTED: &str = "_x.ai/session/interjection";

/// Calls of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Initialize,
    Hooks,
    Trust,
    LogIn,
    New,
    GoOn(Resume),
    SetUp,
    Prompt,
    /// A person's remark, by its number.
    Remark(u32),
    Close,
}

/// One run.
pub(super) struct Run {
    pub(super) dialect: &'static Dialect,
    pub(super) launch: Launch,
    pub(super) rpc: Client<Call>,
    /// What the agent said of itself.
    pub(super) agent: Value,
    /// Ways to log in that were not tried yet.
    pub(super) logins: VecDeque<&'static str>,
    /// How often a session that is held was asked for again.
    pub(super) held_tries: u8,
    /// Ways to go on with a session that were not tried yet.
    pub(super) ways: VecDeque<Resume>,
    pub(super) session: Option<String>,
    pub(super) steps: VecDeque<Step>,
    /// The step whose answer is waited for.
    pub(super) step: Option<Step>,
    /// The prompt was written: what comes is of this turn.
    pub(super) prompted: bool,
    /// The agent began with it, so a new session is one that can be gone on with.
    pub(super) begun: bool,
    pub(super) rejection: Option<String>,
    /// Why it is not known whether the session went on.
    pub(super) doubt: Option<String>,
    /// Words with which the session asked for was refused, which may mean that it is not known.
    pub(super) perhaps_lost: Option<String>,
    pub(super) remarks: Remarks,
    pub(super) updates: Updates,
    /// Stands before its tools.
    pub(super) hooked: Hooked,
    /// The same, of one that asks itself.
    pub(super) gate: Gate,
    /// What it keeps to where it is held to the names of tools.
    pub(super) names: Names,
    pub(super) meter: Meter,
    pub(super) stderr: Stderr,
    /// The answer to the prompt.
    pub(super) answer: Option<Result<Value, Refusal>>,
    pub(super) fault: Option<Fault>,
    pub(super) stdin: Stdin,
    /// The conversation was asked to be closed.
    pub(super) closing: bool,
    pub(super) interrupted: bool,
    pub(super) done: bool,
}

impl Adapter for Run {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        if self.done {
            return;
        }
        match input {
            Input::Started => {
                let mut params = json!({
                    "protocolVersion": 1,
                    "clientInfo": {"name": "mooring", "version": env!("CARGO_PKG_VERSION")},
                    // What is announced has to be served.
                    "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
                });
                self.hooked.capabilities(&mut params["clientCapabilities"]);
                self.call(Call::Initialize, "initialize", &params, out);
                wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            }
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => {
                self.fail(Fault::too_long(self.dialect.id, bytes), out);
            }
            Input::Stderr(line) => {
                let line = String::from_utf8_lossy(line);
                self.stderr.line(&line);
                out.extend(
                    stderr::retrying(&line)
                        .map(|class| Output::Activity(Activity::Retrying(class))),
                );
                pipes::stderr(&line, out);
            }
            Input::Timer(HANDSHAKE_TIMER) => {
                if !self.prompted {
                    self.fail(Fault::late(self.dialect.id), out);
                }
            }
            Input::Timer(QUIET_TIMER | QUIET_AT_MOST_TIMER) => {
                if self.answer.is_some() {
                    self.close(out);
                }
            }
            Input::Timer(CLOSE_TIMER) => self.leave(out),
            Input::Timer(HELD_TIMER) => {
                if self.session.is_none() {
                    self.open(out);
                }
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => self.interrupt(out),
            Input::Host(HostCommand::Steer { id, text }) => self.steer(id, text, out),
            Input::Host(HostCommand::Decide { id, allow, why }) => {
                self.hook_decided(id, allow, why, out);
                self.gate_decided(id, allow, why, out);
            }
            Input::Host(HostCommand::InterruptBackgroundTools) => {}
        }
    }
}

impl Run {
    pub(super) fn new(dialect: &'static Dialect, launch: &Launch) -> Self {
        Self {
            dialect,
            launch: launch.clone(),
            rpc: Client::new(Version::Said),
            agent: Value::Null,
            logins: VecDeque::new(),
            held_tries: 0,
            ways: VecDeque::new(),
            session: None,
            steps: VecDeque::new(),
            step: None,
            prompted: false,
            begun: false,
            rejection: None,
            doubt: None,
            perhaps_lost: None,
            remarks: Remarks::default(),
            updates: Updates::default(),
            hooked: Hooked::of(dialect, launch),
            gate: Gate::of(dialect, launch),
            names: (dialect.kept).map_or_else(Names::default, |kept| Names::of(launch, kept)),
            meter: Meter::new(dialect.usage, launch.resume.is_some()),
            stderr: Stderr::default(),
            answer: None,
            fault: None,
            stdin: Stdin::default(),
            closing: false,
            interrupted: false,
            done: false,
        }
    }

    /// The turn is over, and so is what there was to say of it: the conversation is closed where that is needed.
    fn close(&mut self, out: &mut Vec<Output>) {
        if !self.dialect.closes {
            self.leave(out);
        } else if !std::mem::replace(&mut self.closing, true) {
            let params = json!({"sessionId": self.session});
            self.call(Call::Close, "session/close", &params, out);
            wait(CLOSE_TIMER, CLOSE, out);
        }
    }

    /// It may go. Some never do by themselves.
    fn leave(&mut self, out: &mut Vec<Output>) {
        if !self.stdin.is_open() {
            return;
        }
        self.stdin.close(out);
        if self.dialect.linger.is_zero() {
            self.finish(None, out);
        } else {
            wait(LINGER_TIMER, self.dialect.linger, out);
        }
    }

    pub(super) fn call(&mut self, call: Call, method: &str, params: &Value, out: &mut Vec<Output>) {
        let line = self.rpc.call(call, method, params);
        self.stdin.write(line, out);
    }

    fn stdout(&mut self, line: &str, out: &mut Vec<Output>) {
        match self.rpc.read(line) {
            Incoming::Answer { call, result } => self.answered(call, result, out),
            Incoming::Request { id, method, params } => self.asked(&id, &method, &params, out),
            Incoming::Notice { method, params } => self.notice(&method, &params, line, out),
            Incoming::Other => no_frame(line, out),
        }
    }

    fn answered(&mut self, call: Call, result: Result<Value, Refusal>, out: &mut Vec<Output>) {
        match (call, result) {
            (Call::Initialize, Ok(result)) => self.initialized(result, out),
            (Call::Hooks, Ok(result)) => self.hooks_listed(&result, out),
            (Call::Trust, Ok(result)) => self.hook_trusted(&result, out),
            (Call::Hooks | Call::Trust, Err(refusal)) => self.no_hook(&refusal.words, out),
            (Call::LogIn, Ok(_)) => self.open(out),
            (Call::LogIn, Err(refusal)) => self.log_in(Some(refusal), out),
            (Call::New | Call::GoOn(_), Ok(result)) => self.opened(call, &result, out),
            (Call::New | Call::GoOn(_), Err(refusal)) => self.not_opened(call, refusal, out),
            (Call::SetUp, Ok(result)) => {
                self.read_back(&result, out);
                self.set_up(out);
            }
            (Call::SetUp, Err(refusal)) => self.not_set(&refusal, out),
            (Call::Remark(number), result) => self.remarked(number, result, out),
            (Call::Close, _) => self.leave(out),
            (Call::Initialize, Err(refusal)) => {
                self.fail(
                    verdict::of_refusal(&refusal, "the agent does not begin"),
                    out,
                );
            }
            (Call::Prompt, Err(refusal)) if sessions::is_lost(self.dialect, &refusal, false) => {
                self.reject(refusal.words, out);
            }
            (Call::Prompt, result) => {
                if let Ok(result) = &result {
                    self.meter.answer(result);
                    self.begin(out);
                }
                self.answer = Some(result);
                self.forget_remarks(out);
                wait(QUIET_TIMER, QUIET, out);
                wait(QUIET_AT_MOST_TIMER, QUIET_AT_MOST, out);
            }
        }
    }

    /// True for what is of our session, also before it is open: some tell then what it has used up so far.
    fn is_of_session(&self, params: &Value) -> bool {
        let ours = self.session.as_deref().or(self.launch.resume.as_deref());
        ours == Some(text(params, "sessionId"))
    }

    /// True for what is of our session and of this turn: a session that is loaded tells its history again.
    pub(super) fn is_ours(&self, params: &Value) -> bool {
        self.prompted && self.session.as_deref() == Some(text(params, "sessionId"))
    }

    fn notice(&mut self, method: &str, params: &Value, line: &str, out: &mut Vec<Output>) {
        if self.answer.is_some() {
            wait(QUIET_TIMER, QUIET, out);
        }
        match (self.dialect.usage, method) {
            (Scope::Notice, STATUS) => {
                self.meter.status(params, self.prompted);
                return;
            }
            (_, INTERJECTED) => {
                self.interjected(params, out);
                return;
            }
            (_, THERE) => {
                self.gate.there = true;
                return;
            }
            _ => {}
        }
        if method == RETRYING {
            let words = params.to_string();
            let class = classify::classify_or(&words, FailureClass::ProviderServerError);
            out.push(Output::Activity(Activity::Retrying(class)));
        }
        if !matches!(method, "session/update" | "session/notification") {
            out.push(Output::Event(log(LogLevel::Debug, line)));
            return;
        }
        let update = params.get("update").unwrap_or(&Value::Null);
        let (kind, fields) = kind_of(update);
        if matches!(kind.as_str(), "usageupdate" | "turnend") && self.is_of_session(params) {
            self.meter.update(fields, self.prompted);
        }
        if !self.is_ours(params) {
            return;
        }
        let answered = self.dialect.usage == Scope::Answer && self.meter.words(update);
        let mut events = Vec::new();
        if self.updates.update(self.dialect, update, &mut events) {
            self.begin(out);
        }
        let a_tool_ended = events
            .iter()
            .any(|event| matches!(event, EventBody::ToolResult { .. }));
        out.extend(events.into_iter().map(Output::Event));
        out.extend(answered.then_some(Output::Activity(Activity::ModelTurn)));
        if let Some(fault) = self.went_past(update) {
            self.fail(fault, out);
        } else if a_tool_ended {
            self.handed_on(out);
        }
    }

    /// The agent works: from now on the session can be gone on with.
    pub(super) fn begin(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.begun, true) {
            out.push(Output::Event(running(self.session.as_deref())));
        }
    }

    fn interrupt(&mut self, out: &mut Vec<Output>) {
        let again = std::mem::replace(&mut self.interrupted, true);
        if !self.prompted {
            self.fail(Fault::interrupted_early(), out);
        } else if self.answer.is_none() && !again {
            let params = json!({"sessionId": self.session});
            let line = self.rpc.notify("session/cancel", Some(&params));
            self.stdin.write(line, out);
            self.gate_closes(out);
        }
    }

    pub(super) fn reject(&mut self, words: String, out: &mut Vec<Output>) {
        let words = cut(words, limits::MESSAGE_BYTES);
        if self.launch.resume.is_some() {
            self.rejection = Some(words.clone());
        }
        self.fail(Fault::new(FailureClass::SessionRejected, words), out);
    }

    pub(super) fn fail(&mut self, fault: Fault, out: &mut Vec<Output>) {
        self.fault = Some(fault);
        self.finish(None, out);
    }
}
