//! Codex over its app-server: a thread is started or resumed, one turn runs in it, and
//! `turn/completed` decides. Then stdin is closed and the process ends.

mod baseline;
pub(super) mod bridge;
pub(super) mod gate;
mod items;
mod launch;
mod meter;
mod notices;
mod opening;
mod requests;
mod servers;
mod shown;
mod steer;
mod verdict;

pub(super) use baseline::APP_SERVER;
pub(super) use launch::{session_files, skills};

use std::time::Duration;

use protocol::{FailureClass, LogLevel, limits};
use serde_json::{Value, json};

use self::gate::Gate;
use self::items::Items;
use self::meter::Meter;
use self::servers::Awaited;
use self::steer::Remarks;
use super::Cli;
use super::ending::{Closing, Fault, Judgement};
use super::frame::{cut, log, text};
use super::json_rpc::{Client, Incoming, Refusal, Version};
use super::pipes::{self, Stdin, no_frame, wait};
use crate::adapter::{
    Activity, Adapter, Exit, HostCommand, Input, Ladder, Launch, Output, TimerId,
};
use crate::classify;
use crate::mcp::McpServers;

/// `initialize` is answered within this time.
const INITIALIZE: Duration = Duration::from_secs(30);
/// So is everything else until the turn runs.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// After the end of the turn a process that hangs is given this long.
const LINGER: Duration = Duration::from_secs(10);

const HANDSHAKE_TIMER: TimerId = TimerId(0);
const REST_TIMER: TimerId = TimerId(1);
const LINGER_TIMER: TimerId = TimerId(2);
const SERVERS_TIMER: TimerId = TimerId(3);

/// Its id.
const ID: &str = "codex";

/// Codex.
pub(super) const CODEX: Cli = Cli {
    id: ID,
    context_file: launch::CONTEXT,
    skills,
    session_files,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::from_secs(10),
        term: Duration::from_secs(2),
    },
    launch: |launch| (launch::command_line(launch), Box::new(Run::new(launch))),
};

/// True for words with which Codex says that it can never go on with the thread: it does not know it, or has
/// kept nothing of it.
fn rejects_thread(words: &str) -> bool {
    let words = words.to_lowercase();
    let nothing_kept = words.contains("session metadata") && words.contains("is empty");
    nothing_kept
        || ["no rollout found", "invalid session id", "thread not found"]
            .iter()
            .any(|phrase| words.contains(phrase))
}

/// Calls of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Initialize,
    Hooks,
    Settings,
    Thread,
    Turn,
    Interrupt,
    /// A remark, by its number.
    Steer(usize),
    /// Ends what runs.
    EndCommands,
}

/// One run.
struct Run {
    /// What it is called.
    name: &'static str,
    asked: Option<String>,
    model: Option<String>,
    cwd: String,
    message: String,
    thinking: Option<String>,
    service_tier: Option<String>,
    servers: Option<McpServers>,
    /// Those that it finds by itself are asked for, so that they can be switched off.
    replaces: bool,
    awaited: Awaited,
    /// Stands before its tools,
    gate: Gate,
    /// asks by this server,
    gate_server: Value,
    /// and by these hooks, once they are known.
    hooks: Option<Value>,
    rpc: Client<Call>,
    version: String,
    thread: Option<String>,
    turn: Option<String>,
    /// Words with which the thread asked for was refused.
    rejection: Option<String>,
    items: Items,
    meter: Meter,
    /// The last failure that Codex does not get over.
    fault: Option<Fault>,
    judgement: Option<Judgement>,
    /// What people add.
    remarks: Remarks,
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
            Input::Started => {
                let params = json!({
                    "clientInfo": {"name": "mooring", "title": "Mooring", "version": env!("CARGO_PKG_VERSION")},
                    "capabilities": {"experimentalApi": true},
                });
                self.call(Call::Initialize, "initialize", &params, out);
                wait(HANDSHAKE_TIMER, INITIALIZE, out);
            }
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => {
                let fault = Fault::too_long(self.name, bytes);
                // It would be as long every time that the thread is asked for.
                if self.asked.is_some() && self.rpc.waits(Call::Thread) {
                    self.reject(fault.message, out);
                } else {
                    self.fail(fault, out);
                }
            }
            Input::Stderr(line) => pipes::stderr(&String::from_utf8_lossy(line), out),
            Input::Timer(HANDSHAKE_TIMER) => {
                if self.turn.is_none() && self.judgement.is_none() {
                    self.fail(Fault::late(self.name), out);
                }
            }
            Input::Timer(REST_TIMER) => {
                if self.judgement.is_none() {
                    let judgement = match self.fault.take() {
                        Some(fault) => Err(fault),
                        None => verdict::of_answer(self.items.answer()),
                    };
                    self.judged(judgement, out);
                }
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Timer(SERVERS_TIMER) => self.servers_late(out),
            Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => {
                self.interrupted = true;
                self.interrupt(out);
            }
            Input::Host(HostCommand::Steer { id, text }) => self.steer(id, text, out),
            Input::Host(HostCommand::Decide { id, allow, why }) => {
                if let Some((request, taken)) = self.gate.decide(id, allow, why) {
                    self.answer_gate(&request, taken, out);
                }
            }
            Input::Host(HostCommand::InterruptBackgroundTools) => self.end_commands(out),
        }
    }
}

impl Run {
    fn new(launch: &Launch) -> Self {
        Self {
            name: ID,
            asked: launch.resume.clone(),
            model: launch.model.clone(),
            cwd: launch.cwd.display().to_string(),
            message: launch.message.clone(),
            thinking: launch.thinking.clone(),
            service_tier: launch::tier(launch).map(str::to_owned),
            awaited: Awaited::new(launch.mcp.as_ref()),
            servers: launch.mcp.clone(),
            replaces: true,
            gate: Gate::of(launch),
            gate_server: launch::gate_server(launch),
            hooks: None,
            rpc: Client::new(Version::Unsaid),
            version: String::new(),
            thread: None,
            turn: None,
            rejection: None,
            items: Items::default(),
            meter: Meter::default(),
            fault: None,
            judgement: None,
            remarks: Remarks::default(),
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
            Incoming::Request { id, method, params } => self.requested(&id, &method, &params, out),
            Incoming::Notice { method, params } => self.notice(&method, &params, line, out),
            Incoming::Other => no_frame(line, out),
        }
    }

    fn answered(&mut self, call: Call, result: Result<Value, Refusal>, out: &mut Vec<Output>) {
        let result = match (call, result) {
            (_, Ok(result)) => result,
            // It was over already.
            (Call::Steer(number), Err(refusal)) => {
                self.not_steered(number, &refusal.words, out);
                return;
            }
            (Call::Interrupt | Call::EndCommands, Err(refusal)) => {
                out.push(Output::Event(log(LogLevel::Debug, refusal.words)));
                return;
            }
            (_, Err(refusal)) => {
                self.refused(call, &refusal, out);
                return;
            }
        };
        match call {
            Call::Initialize => self.greeted(&result, out),
            Call::Hooks => self.hooks_told(&result, out),
            Call::Settings => {
                let settings = result.get("config").unwrap_or(&Value::Null);
                self.open_thread(settings, out);
            }
            Call::Thread => self.opened(&result, out),
            Call::Turn => {
                let turn = result.get("turn").map(|turn| text(turn, "id").to_owned());
                self.began(turn.unwrap_or_default(), out);
            }
            Call::Interrupt | Call::EndCommands | Call::Steer(_) => {}
        }
    }

    fn interrupt(&mut self, out: &mut Vec<Output>) {
        let (Some(thread), Some(turn)) = (&self.thread, &self.turn) else {
            // Once the turn was asked for, its name comes with the answer.
            if !self.rpc.waits(Call::Turn) {
                self.fail(Fault::interrupted_early(), out);
            }
            return;
        };
        if self.judgement.is_none() && !self.rpc.waits(Call::Interrupt) {
            let params = json!({"threadId": thread, "turnId": turn});
            self.call(Call::Interrupt, "turn/interrupt", &params, out);
        }
    }

    /// A command has run for too long: all that run are ended, and the model sees what they gave.
    fn end_commands(&mut self, out: &mut Vec<Output>) {
        let runs = self.turn.is_some() && self.judgement.is_none();
        let Some(thread) = self.thread.as_deref().filter(|_| runs && self.name == ID) else {
            return;
        };
        let params = json!({"threadId": thread});
        self.call(
            Call::EndCommands,
            "thread/backgroundTerminals/clean",
            &params,
            out,
        );
        let words = "a command has run for too long: those that run are ended";
        out.push(Output::Event(log(LogLevel::Warn, words)));
        out.push(Output::Activity(Activity::ToolsInterrupted));
    }

    fn refused(&mut self, call: Call, refusal: &Refusal, out: &mut Vec<Output>) {
        let words = &refusal.words;
        let of_thread = call == Call::Thread || call == Call::Turn;
        if of_thread && self.asked.is_some() && rejects_thread(words) {
            self.reject(words.clone(), out);
            return;
        }
        let class = classify::classify_or(words, FailureClass::CliCrashed);
        let message = format!("{} refused to begin: {words}", self.name);
        self.fail(Fault::new(class, message), out);
    }

    /// The turn is over. A later judgement is a better one: the first may rest on the thread's rest alone.
    fn judged(&mut self, judgement: Judgement, out: &mut Vec<Output>) {
        if let Err(fault) = &judgement
            && self.asked.is_some()
            && classify::refuses_history(&fault.message)
        {
            self.rejection = Some(fault.message.clone());
        }
        self.judgement = Some(judgement);
        self.stdin.close(out);
        wait(LINGER_TIMER, LINGER, out);
    }

    fn reject(&mut self, words: String, out: &mut Vec<Output>) {
        let words = cut(words, limits::MESSAGE_BYTES);
        self.rejection = Some(words.clone());
        self.fail(Fault::new(FailureClass::SessionRejected, words), out);
    }

    fn fail(&mut self, fault: Fault, out: &mut Vec<Output>) {
        self.judgement = Some(Err(fault));
        self.finish(None, out);
    }

    fn finish(&mut self, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        let mut events = Vec::new();
        self.items.close(&mut events);
        out.extend(events.into_iter().map(Output::Event));
        let judgement = self.judgement.take().unwrap_or_else(|| {
            let fault = self.fault.take().filter(|_| !self.interrupted);
            Err(fault.unwrap_or_else(|| Fault::no_result(self.name, self.interrupted)))
        });
        let name = self.name;
        let closing = Closing {
            judgement,
            exit,
            asked: self.asked.take(),
            session: self.thread.take(),
            rejection: self.rejection.take(),
            // A new thread without a turn was never kept.
            begun: self.turn.is_some(),
            usage: self.meter.total(),
            continued: format!("{name} resumed thread"),
            unknown: format!("{name} opened no thread"),
            doubts: name != ID,
        };
        out.push(Output::Done(closing.result()));
    }
}
