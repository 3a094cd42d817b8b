//! One run of an agent that speaks ACP.

use std::collections::VecDeque;
use std::time::Duration;

use protocol::{FailureClass, LogLevel, limits};
use serde_json::{Value, json};

use super::dialect::{Dialect, Model, Resume};
use super::meter::Meter;
use super::sessions::{self, Step};
use super::stderr::Stderr;
use super::updates::Updates;
use super::{permissions, verdict};
use crate::adapter::{Adapter, HostCommand, Input, Launch, Output, TimerId};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{cut, log, running, text};
use crate::adapters::json_rpc::{Client, Incoming, Refusal, Version};
use crate::adapters::pipes::{self, Stdin, no_frame, takes_no_remark, wait};

/// Each step between the first answer and the prompt takes no longer.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// The last words often come after the answer: they are over when so long nothing came,
const QUIET: Duration = Duration::from_millis(250);
/// or after so long in any case.
const QUIET_AT_MOST: Duration = Duration::from_secs(2);
/// After its input has ended a process is given this long. Some never leave by themselves.
const LINGER: Duration = Duration::from_secs(2);

const HANDSHAKE_TIMER: TimerId = TimerId(0);
const QUIET_TIMER: TimerId = TimerId(1);
const QUIET_AT_MOST_TIMER: TimerId = TimerId(2);
const LINGER_TIMER: TimerId = TimerId(3);

/// Calls of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Initialize,
    New,
    GoOn(Resume),
    SetUp,
    Prompt,
}

/// One run.
pub(super) struct Run {
    pub(super) dialect: &'static Dialect,
    pub(super) launch: Launch,
    pub(super) rpc: Client<Call>,
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
    pub(super) updates: Updates,
    pub(super) meter: Meter,
    pub(super) stderr: Stderr,
    /// The answer to the prompt.
    pub(super) answer: Option<Result<Value, Refusal>>,
    pub(super) fault: Option<Fault>,
    pub(super) stdin: Stdin,
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
                let params = json!({
                    "protocolVersion": 1,
                    "clientInfo": {"name": "mooring", "version": env!("CARGO_PKG_VERSION")},
                    // What is announced has to be served.
                    "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
                });
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
                pipes::stderr(&line, out);
            }
            Input::Timer(HANDSHAKE_TIMER) => {
                if !self.prompted {
                    self.fail(Fault::late(self.dialect.id), out);
                }
            }
            Input::Timer(QUIET_TIMER | QUIET_AT_MOST_TIMER) => {
                if self.answer.is_some() && self.stdin.is_open() {
                    self.stdin.close(out);
                    wait(LINGER_TIMER, LINGER, out);
                }
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Timer(_) => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => self.interrupt(out),
            Input::Host(HostCommand::Steer { id, .. }) => {
                takes_no_remark(id, self.dialect.id, out);
            }
            Input::Host(HostCommand::Decide { .. } | HostCommand::InterruptBackgroundTools) => {}
        }
    }
}

impl Run {
    pub(super) fn new(dialect: &'static Dialect, launch: &Launch) -> Self {
        Self {
            dialect,
            launch: launch.clone(),
            rpc: Client::new(Version::Said),
            ways: VecDeque::new(),
            session: None,
            steps: VecDeque::new(),
            step: None,
            prompted: false,
            begun: false,
            rejection: None,
            doubt: None,
            updates: Updates::default(),
            meter: Meter::new(dialect.usage, launch.resume.is_some()),
            stderr: Stderr::default(),
            answer: None,
            fault: None,
            stdin: Stdin::default(),
            interrupted: false,
            done: false,
        }
    }

    fn call(&mut self, call: Call, method: &str, params: &Value, out: &mut Vec<Output>) {
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
            (Call::Initialize, Ok(result)) => {
                let agent = result.get("agentInfo").unwrap_or(&Value::Null);
                let name = [text(agent, "title"), text(agent, "name"), self.dialect.id];
                let name = name
                    .into_iter()
                    .find(|name| !name.is_empty())
                    .unwrap_or_default();
                let headline = format!("{name} {}", text(agent, "version"));
                out.push(Output::Event(log(LogLevel::Info, headline.trim_end())));
                self.ways = sessions::ways(self.dialect, &result).into();
                self.open(out);
            }
            (Call::New | Call::GoOn(_), Ok(result)) => self.opened(call, &result, out),
            (Call::SetUp, Ok(_)) => self.set_up(out),
            (Call::SetUp, Err(refusal)) => self.not_set(&refusal, out),
            (Call::GoOn(_), Err(refusal)) if refusal.is_unknown_method() => self.open(out),
            (Call::GoOn(_), Err(refusal)) if sessions::is_lost(self.dialect, &refusal, true) => {
                self.reject(refusal.words, out);
            }
            (Call::Initialize, Err(refusal)) => {
                self.fail(
                    verdict::of_refusal(&refusal, "the agent does not begin"),
                    out,
                );
            }
            (Call::New | Call::GoOn(_), Err(refusal)) => {
                self.fail(
                    verdict::of_refusal(&refusal, "no session could be opened"),
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
                wait(QUIET_TIMER, QUIET, out);
                wait(QUIET_AT_MOST_TIMER, QUIET_AT_MOST, out);
            }
        }
    }

    /// A session, or the one that is to go on, in the next of the ways that the agent offers.
    fn open(&mut self, out: &mut Vec<Output>) {
        let mut params = json!({"cwd": self.launch.cwd, "mcpServers": []});
        if let (Model::WhenOpened, Some(model)) = (self.dialect.model, &self.launch.model) {
            params["model"] = json!(model);
        }
        let (call, method) = match &self.launch.resume {
            None => (Call::New, "session/new"),
            Some(session) => {
                let Some(way) = self.ways.pop_front() else {
                    let words =
                        format!("{} does not offer to go on with a session", self.dialect.id);
                    self.reject(words, out);
                    return;
                };
                params["sessionId"] = json!(session);
                let method = match way {
                    Resume::Resume => "session/resume",
                    Resume::Load => "session/load",
                };
                (Call::GoOn(way), method)
            }
        };
        self.call(call, method, &params, out);
        wait(HANDSHAKE_TIMER, HANDSHAKE, out);
    }

    fn opened(&mut self, call: Call, result: &Value, out: &mut Vec<Output>) {
        let named = match (self.dialect.renamed)(result) {
            "" => text(result, "sessionId"),
            renamed => renamed,
        };
        let session = match &self.launch.resume {
            // Some do not say it again.
            Some(asked) if named.is_empty() => asked.clone(),
            _ => named.to_owned(),
        };
        if session.is_empty() {
            let message = format!("{} named no session", self.dialect.id);
            self.fail(Fault::new(FailureClass::CliCrashed, message), out);
            return;
        }
        if call != Call::New && self.launch.resume.as_deref() != Some(&session) {
            self.doubt = Some(format!(
                "{} went on under another id, {session}",
                self.dialect.id
            ));
        }
        self.meter.model(sessions::current_model(result));
        match sessions::steps(self.dialect, &self.launch, &session, result) {
            Ok(steps) => self.steps = steps.into(),
            Err(message) => {
                self.fail(Fault::new(FailureClass::ModelNotFound, message), out);
                return;
            }
        }
        self.session = Some(session);
        self.set_up(out);
    }

    /// The next step, or the prompt after the last.
    fn set_up(&mut self, out: &mut Vec<Output>) {
        if let Some(step) = self.step.take().filter(|step| step.needed) {
            let model = self.launch.model.as_deref().unwrap_or_default();
            self.meter.model(model);
            out.push(Output::Event(log(
                LogLevel::Info,
                format!("set: {}", step.what),
            )));
        }
        if let Some(step) = self.steps.pop_front() {
            self.call(Call::SetUp, step.method, &step.params, out);
            self.step = Some(step);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            return;
        }
        self.prompted = true;
        let params = json!({
            "sessionId": self.session,
            "prompt": [{"type": "text", "text": self.launch.message}],
        });
        self.call(Call::Prompt, "session/prompt", &params, out);
    }

    fn not_set(&mut self, refusal: &Refusal, out: &mut Vec<Output>) {
        let Some(step) = self.step.take() else { return };
        if step.needed {
            let mut fault = verdict::of_refusal(refusal, &format!("could not set {}", step.what));
            if fault.class == FailureClass::Unknown {
                fault.class = FailureClass::ModelNotFound;
            }
            self.fail(fault, out);
            return;
        }
        let message = format!("could not set {}: {}", step.what, refusal.words);
        out.push(Output::Event(log(LogLevel::Warn, message)));
        self.set_up(out);
    }

    fn asked(&mut self, id: &Value, method: &str, params: &Value, out: &mut Vec<Output>) {
        let answer = if method == "session/request_permission" {
            let mut events = Vec::new();
            let call = params.get("toolCall").unwrap_or(&Value::Null);
            if self.is_ours(params) {
                self.begin(out);
                self.updates.asked(self.dialect, call, &mut events);
            }
            out.extend(events.into_iter().map(Output::Event));
            permissions::answer(params, self.interrupted)
        } else {
            None
        };
        let line = match answer {
            Some(result) => self.rpc.answer(id, &result),
            None => {
                let message = format!(
                    "{} asked for {method}, and got no answer that it can use",
                    self.dialect.id
                );
                out.push(Output::Event(log(LogLevel::Warn, message)));
                self.rpc.refuse(id, method)
            }
        };
        self.stdin.write(line, out);
    }

    /// True for what is of our session and of this turn: a session that is loaded tells its history again.
    fn is_ours(&self, params: &Value) -> bool {
        self.prompted && self.session.as_deref() == Some(text(params, "sessionId"))
    }

    fn notice(&mut self, method: &str, params: &Value, line: &str, out: &mut Vec<Output>) {
        if self.answer.is_some() {
            wait(QUIET_TIMER, QUIET, out);
        }
        if !matches!(method, "session/update" | "session/notification") {
            out.push(Output::Event(log(LogLevel::Debug, line)));
            return;
        }
        let update = params.get("update").unwrap_or(&Value::Null);
        if text(update, "sessionUpdate") == "usage_update" {
            self.meter.update(update, self.prompted);
        }
        if !self.is_ours(params) {
            return;
        }
        let mut events = Vec::new();
        if self.updates.update(self.dialect, update, &mut events) {
            self.begin(out);
        }
        out.extend(events.into_iter().map(Output::Event));
    }

    /// The agent works: from now on the session can be gone on with.
    fn begin(&mut self, out: &mut Vec<Output>) {
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
        }
    }

    fn reject(&mut self, words: String, out: &mut Vec<Output>) {
        let words = cut(words, limits::MESSAGE_BYTES);
        if self.launch.resume.is_some() {
            self.rejection = Some(words.clone());
        }
        self.fail(Fault::new(FailureClass::SessionRejected, words), out);
    }

    fn fail(&mut self, fault: Fault, out: &mut Vec<Output>) {
        self.fault = Some(fault);
        self.finish(None, out);
    }
}
