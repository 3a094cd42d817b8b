//! pi in its mode `rpc`: JSON lines both ways. The prompt goes in once it is known which
//! conversation runs, and the run is over when the agent has come to rest. Then stdin is closed and the process
//! ends; its exit code is 0 whatever happened.

mod baseline;
mod gate;
mod launch;
mod steer;
mod talk;

use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, limits};
use serde_json::{Value, json};

pub(super) use self::baseline::RPC;
use self::gate::{Frame, Gate};
use self::steer::Remarks;
pub(super) use self::talk::Talk;
use super::Cli;
use super::ending::{Closing, Fault, Judgement};
use super::frame::{count, cut, flag, log, parse, running, text};
use super::pipes::{self, Stdin, no_frame, wait};
use crate::adapter::{Activity, Adapter, Exit, HostCommand, Input, Ladder, Output, TimerId};
use crate::classify;

/// The first answer comes within this time.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// An older pi does not say that it has come to rest: it has when nothing follows the end within this time.
const REST: Duration = Duration::from_secs(1);
/// After its input has ended a process that hangs is given this long.
const LINGER: Duration = Duration::from_secs(5);

/// Ids of our requests.
const STATE: &str = "1";
const PROMPT: &str = "2";
const ABORT: &str = "3";

const HANDSHAKE_TIMER: TimerId = TimerId(0);
const REST_TIMER: TimerId = TimerId(1);
const LINGER_TIMER: TimerId = TimerId(2);

/// Its id.
const ID: &str = "pi";

/// pi.
pub(super) const PI: Cli = Cli {
    id: ID,
    context_file: "AGENTS.md",
    skills: launch::skills,
    session_files: launch::session_files,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::from_secs(1),
        term: Duration::from_secs(5),
    },
    launch: |launch| {
        let run = Run {
            name: ID,
            asked: launch.resume.clone(),
            message: launch.message.clone(),
            gate: Gate::of(launch),
            ..Run::default()
        };
        (launch::command_line(launch), Box::new(run))
    },
};

/// True for words with which pi says that it cannot go on with the conversation. After the second it would wait
/// for somebody to say yes.
fn rejects_session(words: &str) -> bool {
    [
        "No session found matching",
        "Session found in different project",
        "Stored session working directory does not exist",
    ]
    .iter()
    .any(|phrase| words.contains(phrase))
}

/// One run.
#[derive(Default)]
struct Run {
    /// What it is called.
    name: &'static str,
    asked: Option<String>,
    message: String,
    session: Option<String>,
    rejection: Option<String>,
    talk: Talk,
    /// Stands before its tools.
    gate: Gate,
    /// It has said how it is.
    ready: bool,
    /// The prompt was written.
    prompted: bool,
    /// The agent works at it.
    begun: bool,
    /// It has come to its end, and may yet try again.
    ended: bool,
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
                out.push(Output::Activity(Activity::TellsTurns));
                self.write(&json!({"id": STATE, "type": "get_state"}), out);
                wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            }
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => self.fail(Fault::too_long(self.name, bytes), out),
            Input::Stderr(line) => {
                let line = String::from_utf8_lossy(line);
                pipes::stderr(&line, out);
                if self.asked.is_some() && !self.begun && rejects_session(&line) {
                    self.reject(line.into_owned(), out);
                }
            }
            Input::Timer(HANDSHAKE_TIMER) => {
                if !self.prompted && !self.begun {
                    self.late(out);
                }
            }
            Input::Timer(REST_TIMER) => {
                if self.ended {
                    self.settled(out);
                }
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => {
                let again = std::mem::replace(&mut self.interrupted, true);
                if !self.prompted && !self.begun {
                    self.fail(Fault::interrupted_early(), out);
                } else if !again {
                    self.write(&json!({"id": ABORT, "type": "abort"}), out);
                }
            }
            Input::Host(HostCommand::Steer { id, text }) => self.steer(id, text, out),
            Input::Host(HostCommand::Decide { id, allow, why }) => {
                if let Some(answer) = self.gate.decide(id, allow, why) {
                    self.stdin.write(answer, out);
                }
            }
            Input::Host(HostCommand::InterruptBackgroundTools) => {}
        }
    }
}

impl Run {
    fn write(&self, frame: &Value, out: &mut Vec<Output>) {
        let mut line = frame.to_string().into_bytes();
        line.push(b'\n');
        self.stdin.write(line, out);
    }

    fn stdout(&mut self, line: &str, out: &mut Vec<Output>) {
        let Some(frame) = parse(line) else {
            no_frame(line, out);
            return;
        };
        let message = frame.get("message").unwrap_or(&Value::Null);
        let mut events = Vec::new();
        match text(&frame, "type") {
            "response" => self.answered(&frame, out),
            "session" => self.opened(text(&frame, "id"), out),
            "agent_start" => self.works(out),
            "message_start" => {
                self.steered(message, out);
                self.talk.begin();
            }
            "message_update" => self.talk.piece(&frame, &mut events),
            "message_end" => self.talk.whole(message, &mut events),
            "tool_execution_start" => self.talk.tool(&frame, &mut events),
            "tool_execution_end" => {
                self.talk.tool_ended(&frame, &mut events);
                if let Some(fault) = self.gate.passed_by(&frame) {
                    out.extend(events.into_iter().map(Output::Event));
                    self.fail(fault, out);
                    return;
                }
            }
            "extension_ui_request" if self.stdin.is_open() => match self.gate.takes(&frame, out) {
                Frame::There => self.prompt(out),
                Frame::Taken => {}
                Frame::Other => events.push(log(LogLevel::Debug, line)),
            },
            "turn_end" => {
                out.push(Output::Activity(Activity::ModelTurn));
                self.talk.step(message);
            }
            "agent_end" | "compaction_end" | "auto_compaction_end" | "auto_retry_end" => {
                self.ended = self.begun;
                if self.ended && self.interrupted {
                    // What was aborted is not tried again.
                    self.settled(out);
                } else {
                    wait(REST_TIMER, REST, out);
                }
            }
            "agent_settled" => self.settled(out),
            "auto_retry_start" => {
                self.ended = false;
                let class = classify::classify_or(
                    text(&frame, "errorMessage"),
                    FailureClass::ProviderNetwork,
                );
                out.push(Output::Activity(Activity::Retrying(class)));
                events.push(log(LogLevel::Warn, retry_notice(&frame)));
            }
            "compaction_start" | "auto_compaction_start" => {
                self.ended = false;
                events.push(log(LogLevel::Info, "the conversation is being compacted"));
            }
            "error" => {
                let words = [text(&frame, "error"), text(&frame, "message")];
                let words = words.into_iter().find(|words| !words.is_empty());
                events.push(EventBody::Error {
                    content: words.unwrap_or(line).to_owned(),
                });
            }
            "turn_start" | "tool_execution_update" | "queue_update" | "entry_appended" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
        out.extend(events.into_iter().map(Output::Event));
    }

    fn answered(&mut self, frame: &Value, out: &mut Vec<Output>) {
        let data = frame.get("data").unwrap_or(&Value::Null);
        let (id, success) = (text(frame, "id"), flag(frame, "success"));
        if !success {
            if self.not_steered(id, text(frame, "error"), out) {
                return;
            }
            let command = text(frame, "command");
            let name = self.name;
            let message = format!("{name} refused {command}: {}", text(frame, "error"));
            if matches!(id, STATE | PROMPT) {
                let class = classify::classify_or(&message, FailureClass::CliCrashed);
                self.fail(Fault::new(class, message), out);
            } else {
                out.push(Output::Event(log(LogLevel::Warn, message)));
            }
            return;
        }
        if id == STATE && !self.ready {
            let model = data.get("model").map_or("", |model| text(model, "id"));
            out.push(Output::Event(log(
                LogLevel::Info,
                format!("{} with {model}", self.name),
            )));
            self.opened(text(data, "sessionId"), out);
            self.ready = true;
            self.prompt(out);
        }
    }

    /// Says what is to be done, once it is known which conversation runs, and that no tool is used without being looked at.
    fn prompt(&mut self, out: &mut Vec<Output>) {
        if self.done || !self.ready || self.prompted || !self.gate.stands() {
            return;
        }
        self.prompted = true;
        let prompt = json!({"id": PROMPT, "type": "prompt", "message": self.message});
        self.write(&prompt, out);
    }

    fn late(&mut self, out: &mut Vec<Output>) {
        let fault = if self.ready {
            let message = "pi did not load the extension that holds the agent to its tools: it has to be of a version \
                           that knows --no-extensions and --extension";
            Fault::new(FailureClass::CliCrashed, message)
        } else {
            Fault::late(self.name)
        };
        self.fail(fault, out);
    }

    /// The conversation is known. Nothing has been done in it yet.
    fn opened(&mut self, session: &str, out: &mut Vec<Output>) {
        if session.is_empty() || self.session.is_some() {
            return;
        }
        if let Some(asked) = self.asked.as_deref().filter(|asked| *asked != session) {
            let name = self.name;
            let words = format!("{name} opened session {session} where {asked} was asked for");
            self.reject(words, out);
            return;
        }
        self.session = Some(session.to_owned());
    }

    /// The agent works, for the first time or once more.
    fn works(&mut self, out: &mut Vec<Output>) {
        self.ended = false;
        if !std::mem::replace(&mut self.begun, true) {
            out.push(Output::Event(running(self.session.as_deref())));
            self.steer_early(out);
        }
    }

    fn settled(&mut self, out: &mut Vec<Output>) {
        let judgement = self.talk.judge(self.interrupted);
        if let Err(fault) = &judgement {
            if self.asked.is_some() && classify::refuses_history(&fault.message) {
                self.rejection = Some(fault.message.clone());
            }
            if fault.class != FailureClass::Cancelled {
                out.push(Output::Event(EventBody::Error {
                    content: fault.message.clone(),
                }));
            }
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
        self.talk.close(&mut events);
        out.extend(events.into_iter().map(Output::Event));
        let judgement = self.judgement.take().unwrap_or_else(|| {
            // A step that failed explains it, whatever was tried after it.
            if self.ended || self.talk.failed() {
                return self.talk.judge(self.interrupted);
            }
            Err(Fault::no_result(self.name, self.interrupted))
        });
        let name = self.name;
        let closing = Closing {
            judgement,
            exit,
            asked: self.asked.take(),
            session: self.session.take(),
            rejection: self.rejection.take(),
            // A new conversation without a word was never kept.
            begun: self.begun,
            usage: self.talk.usage(),
            continued: format!("{name} went on with session"),
            unknown: format!("{name} named no session"),
            doubts: name != ID,
        };
        out.push(Output::Done(closing.result()));
    }
}

fn retry_notice(frame: &Value) -> String {
    format!(
        "the provider failed ({}); retry {} of {} in {} ms",
        text(frame, "errorMessage"),
        count(frame, "attempt"),
        count(frame, "maxAttempts"),
        count(frame, "delayMs"),
    )
}
