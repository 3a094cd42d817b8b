//! dsh: frames of its own, one a line, both ways. One request is one turn. The profile that speaks
//! them does not come with the published program: whoever makes the image installs it.

mod launch;

use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus, limits};
use serde_json::{Value, json};

use super::Cli;
use super::calls::Calls;
use super::ending::{Ending, Fault, Judgement, resume_outcome};
use super::frame::{count, cut, flag, log, parse, running, text};
use super::pipes::{self, Stdin, no_frame, takes_no_remark, wait};
use crate::adapter::{Activity, Adapter, Exit, HostCommand, Input, Ladder, Output, TimerId};
use crate::classify;
use crate::ledger;

const NAME: &str = "dsh";
/// The version of its frames.
const VERSION: u64 = 1;
/// Names our one request.
const REQUEST: &str = "1";
/// It is ready within this time.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// After its input has ended it is given this long.
const LINGER: Duration = Duration::from_secs(2);

const HANDSHAKE_TIMER: TimerId = TimerId(0);
const LINGER_TIMER: TimerId = TimerId(1);

/// dsh.
pub(super) const DSH: Cli = Cli {
    id: NAME,
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".dsh/skills"),
    session_files: |_, _| Vec::new(),
    ladder: Ladder {
        interrupt: Duration::from_secs(3),
        close: Duration::ZERO,
        term: Duration::from_secs(2),
    },
    launch: |launch| {
        let run = Run {
            asked: launch.resume.clone(),
            request: launch::request(launch),
            ..Run::default()
        };
        (launch::command_line(launch), Box::new(run))
    },
};

/// One run.
struct Run {
    asked: Option<String>,
    /// What is asked of it, once it is ready; or why that cannot be asked.
    request: Result<Value, Fault>,
    ready: bool,
    session: Option<String>,
    calls: Calls,
    /// What it said since its last tool.
    words: String,
    usage: std::collections::BTreeMap<String, TokenUsage>,
    judgement: Option<Judgement>,
    rejection: Option<String>,
    stdin: Stdin,
    interrupted: bool,
    done: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            asked: None,
            request: Ok(Value::Null),
            ready: false,
            session: None,
            calls: Calls::default(),
            words: String::new(),
            usage: std::collections::BTreeMap::new(),
            judgement: None,
            rejection: None,
            stdin: Stdin::default(),
            interrupted: false,
            done: false,
        }
    }
}

impl Adapter for Run {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        if self.done {
            return;
        }
        match input {
            Input::Started => match &self.request {
                Ok(_) => wait(HANDSHAKE_TIMER, HANDSHAKE, out),
                Err(fault) => self.fail(fault.clone(), out),
            },
            Input::Stdout(line) => self.stdout(&String::from_utf8_lossy(line), out),
            Input::StdoutTooLong(bytes) => self.fail(Fault::too_long(NAME, bytes), out),
            Input::Stderr(line) => pipes::stderr(&String::from_utf8_lossy(line), out),
            Input::Timer(HANDSHAKE_TIMER) => {
                if !self.ready {
                    self.fail(Fault::late(NAME), out);
                }
            }
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => {
                let again = std::mem::replace(&mut self.interrupted, true);
                if !self.ready {
                    self.fail(Fault::interrupted_early(), out);
                } else if !again && self.judgement.is_none() {
                    let frame = json!({"v": VERSION, "type": "cancel", "request_id": REQUEST});
                    self.write(&frame, out);
                }
            }
            Input::Host(HostCommand::Steer { id, .. }) => takes_no_remark(id, NAME, out),
            Input::Host(HostCommand::Decide { .. } | HostCommand::InterruptBackgroundTools) => {}
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
        if self.judgement.is_some() {
            return;
        }
        if count(&frame, "v") != VERSION {
            let version = frame.get("v").unwrap_or(&Value::Null);
            let message =
                format!("{NAME} speaks version {version} of its protocol, and not {VERSION}");
            self.fail(Fault::new(FailureClass::CliCrashed, message), out);
            return;
        }
        let request = text(&frame, "request_id");
        if !request.is_empty() && request != REQUEST {
            return;
        }
        self.frame(&frame, line, out);
    }

    fn frame(&mut self, frame: &Value, line: &str, out: &mut Vec<Output>) {
        let mut events = Vec::new();
        let content = || text(frame, "content").to_owned();
        match text(frame, "type") {
            "ready" => {
                self.ready(out);
                return;
            }
            "session" => self.named(frame, &mut events),
            "text" => {
                let content = content();
                if self.words.len() + content.len() <= limits::BODY_BYTES {
                    self.words.push_str(&content);
                }
                events.push(EventBody::Text { content });
            }
            "thinking" => events.push(EventBody::Thinking { content: content() }),
            "tool_call" => {
                let said = text(frame, "arguments");
                let input = serde_json::from_str(said).unwrap_or_else(|_| json!({"raw": said}));
                let (id, name) = (text(frame, "call_id"), text(frame, "name"));
                self.words.clear();
                self.calls.start(id, name, input, &mut events);
            }
            "tool_result" => {
                let status = match flag(frame, "is_error") {
                    true => ToolStatus::Failed,
                    false => ToolStatus::Completed,
                };
                let output = text(frame, "output").to_owned();
                self.calls
                    .end(text(frame, "call_id"), output, status, &mut events);
            }
            "usage" => {
                self.count(frame);
                out.push(Output::Activity(Activity::ModelTurn));
            }
            "protocol_error" => {
                let words = format!("{NAME}: {}", words(frame));
                let class = classify::classify_or(&words, FailureClass::CliCrashed);
                self.fail(Fault::new(class, words), out);
                return;
            }
            "result" => {
                self.ended(frame, out);
                return;
            }
            _ => events.push(log(LogLevel::Debug, line)),
        }
        out.extend(events.into_iter().map(Output::Event));
    }

    fn ready(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.ready, true)
            && let Ok(request) = &self.request
        {
            let request = request.clone();
            self.write(&request, out);
        }
    }

    /// It names the conversation. What it says of another one afterwards is of no use.
    fn named(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let session = text(frame, "session_id");
        if session.is_empty() || self.session.is_some() {
            return;
        }
        self.session = Some(session.to_owned());
        events.push(running(Some(session)));
    }

    fn count(&mut self, frame: &Value) {
        let model = match (text(frame, "provider"), text(frame, "model")) {
            ("", "") => "unknown".to_owned(),
            ("", model) => model.to_owned(),
            (provider, model) => format!("{provider}/{model}"),
        };
        let spent = TokenUsage {
            input: count(frame, "input_tokens"),
            output: count(frame, "output_tokens"),
            cache_read: count(frame, "cache_read_tokens"),
            cache_write: count(frame, "cache_write_tokens"),
        };
        ledger::add(&mut self.usage, &model, spent);
    }

    /// The end of the turn. Then the process has nothing more to do.
    fn ended(&mut self, frame: &Value, out: &mut Vec<Output>) {
        let named = text(frame, "session_id");
        if self.session.is_none() && !named.is_empty() {
            self.session = Some(named.to_owned());
            out.push(Output::Event(running(Some(named))));
        }
        let error = frame.get("error").unwrap_or(&Value::Null);
        let why = match words(error) {
            words if words.is_empty() => {
                format!("{NAME} ended its turn as {:?}", text(frame, "status"))
            }
            words => words,
        };
        if self.asked.is_some() && flag(frame, "resume_rejected") {
            self.rejection = Some(cut(why.clone(), limits::MESSAGE_BYTES));
        }
        self.judgement = Some(match text(frame, "status") {
            "completed" => {
                let answer = match text(frame, "output") {
                    "" => self.words.as_str(),
                    output => output,
                };
                judged(answer, !self.calls.is_empty())
            }
            "cancelled" | "aborted" if self.interrupted => Err(Fault::no_result(NAME, true)),
            _ if self.rejection.is_some() => Err(Fault::new(FailureClass::SessionRejected, why)),
            _ => Err(Fault::new(
                classify::classify_or(&why, FailureClass::CliCrashed),
                why,
            )),
        });
        self.stdin.close(out);
        wait(LINGER_TIMER, LINGER, out);
    }

    fn fail(&mut self, fault: Fault, out: &mut Vec<Output>) {
        self.judgement = Some(Err(fault));
        self.finish(None, out);
    }

    fn finish(&mut self, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        let mut events = Vec::new();
        self.calls.close(&mut events);
        out.extend(events.into_iter().map(Output::Event));
        let judgement = self.judgement.take().unwrap_or_else(|| Err(self.unended()));
        if let Err(fault) = &judgement
            && self.asked.is_some()
            && classify::refuses_history(&fault.message)
        {
            self.rejection = Some(fault.message.clone());
        }
        let resume = resume_outcome(
            self.asked.as_deref(),
            self.rejection.take().filter(|_| judgement.is_err()),
            self.session.is_some() && self.session == self.asked,
            "dsh went on with session",
            "dsh did not say that it went on with the session",
        );
        let ending = Ending {
            judgement,
            exit,
            session: self.session.take().or_else(|| self.asked.clone()),
            asked: self.asked.take(),
            usage: std::mem::take(&mut self.usage),
            resume,
        };
        out.push(Output::Done(ending.result()));
    }

    fn unended(&self) -> Fault {
        if self.ready || self.interrupted {
            return Fault::no_result(NAME, self.interrupted);
        }
        let message = "dsh ended before it was ready; its profile multica may not be installed";
        Fault::new(FailureClass::CliCrashed, message)
    }
}

/// An answer, unless it is one of those that stand for a failure, or there is none and nothing was done.
fn judged(answer: &str, active: bool) -> Judgement {
    if answer.is_empty() && !active {
        let nothing = "the agent said nothing and did nothing";
        return Err(Fault::new(FailureClass::EmptyOutput, nothing));
    }
    match classify::of_poisoned_output(answer) {
        Some(class) => Err(Fault::of_spent(class, answer)),
        None => Ok(answer.to_owned()),
    }
}

/// What an error says, with its code where that says something.
fn words(error: &Value) -> String {
    match (text(error, "code"), text(error, "message")) {
        ("", message) => message.to_owned(),
        (code, "") => code.to_owned(),
        (code, message) => format!("{message} ({code})"),
    }
}

#[cfg(test)]
mod tests;
