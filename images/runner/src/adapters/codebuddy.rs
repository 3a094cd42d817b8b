//! `CodeBuddy` over stream-JSON (2.117): Claude Code's frames. What differs is how it fails: in the words of the agent,
//! with exit code 0, and over and over where it tries again.

mod launch;

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, limits};
use serde_json::Value;

use super::Cli;
use super::ending::{Ending, Fault, Judgement, resume_outcome};
use super::frame::{self, count, cut, is_nested, log, running, text};
use super::own::Own;
use super::pipes::{self, Stdin, no_frame, takes_no_remark, wait};
use super::stream_json::verdict::{judge, words};
use super::stream_json::{Gate, Meter, Transcript, control};
use crate::adapter::{Activity, Adapter, Exit, HostCommand, Input, Ladder, Output, TimerId};
use crate::classify;

/// After its result a process that hangs is given this long.
const LINGER: Duration = Duration::from_secs(10);
const LINGER_TIMER: TimerId = TimerId(0);
/// Its words, as the agent's, for a turn that was interrupted.
const INTERRUPTED: &str = "Interrupted by user";
/// Words with which it says that it does not know the conversation.
const LOST: &str = "No conversation found with session ID";
/// All that it says of an answer that was cut off on its way.
const CUT_OFF: &str = "aborted";
/// How it tells that the model was asked as often as it may be.
const TURNS: &str = "Max turns (";
/// What it calls a network that fails, under the status of a server.
const NETWORK: &str = "网络";

/// `CodeBuddy`.
pub(super) const CODEBUDDY: Cli = Cli {
    id: "codebuddy",
    context_file: "CODEBUDDY.md",
    skills: launch::skills,
    session_files: launch::session_files,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::ZERO,
        term: Duration::from_secs(5),
    },
    launch: |launch| {
        let run = Run {
            asked: launch.resume.clone(),
            gate: Gate::new(launch.tools.clone(), &launch.cwd)
                .without(Own::of(launch, &launch::home(launch).links)),
            message: launch.message.clone(),
            ..Run::default()
        };
        (launch::command_line(launch), Box::new(run))
    },
};

/// One run.
#[derive(Default)]
struct Run {
    asked: Option<String>,
    session: Option<String>,
    model: String,
    rejection: Option<String>,
    /// Stands before its tools.
    gate: Gate,
    /// What is said once it does.
    message: String,
    begun: bool,
    transcript: Transcript,
    /// Tokens of the agent's own messages.
    spent: TokenUsage,
    /// Those of its result, where they are this run's alone.
    told: Option<TokenUsage>,
    /// A message of one text, which may turn out to be the failure of the provider.
    held: Option<String>,
    /// The failure that it last told in the words of the agent.
    notice: Option<String>,
    judgement: Option<Judgement>,
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
                self.judgement = Some(Err(Fault::too_long("codebuddy", bytes)));
                self.finish(None, out);
            }
            Input::Stderr(line) => pipes::stderr(&String::from_utf8_lossy(line), out),
            Input::Timer(LINGER_TIMER) => self.finish(None, out),
            Input::Started | Input::Timer(_) | Input::Ran { .. } => {}
            Input::Exited(exit) => self.finish(Some(exit), out),
            Input::Host(HostCommand::Interrupt) => {
                self.interrupted = true;
                self.stdin.write(control::interrupt(), out);
            }
            Input::Host(HostCommand::Steer { id, .. }) => takes_no_remark(id, "codebuddy", out),
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
    fn stdout(&mut self, line: &str, out: &mut Vec<Output>) {
        let Some(frame) = frame::parse(line) else {
            no_frame(line, out);
            return;
        };
        if self.gate.holds() && !self.begun {
            self.greeted(&frame, out);
            return;
        }
        match text(&frame, "type") {
            "assistant" => self.assistant(&frame, out),
            "user" => {
                self.flush(out);
                let mut events = Vec::new();
                self.transcript.user(&frame, &mut events);
                out.extend(events.into_iter().map(Output::Event));
                if let Some(fault) = self.gate.passed_by(&frame).filter(|_| !self.interrupted) {
                    self.judgement = Some(Err(fault));
                    self.finish(None, out);
                }
            }
            "system" => self.system(&frame, line, out),
            "result" => self.result(&frame, out),
            "error" => self.failed(text(&frame, "error"), out),
            "control_request" if self.gate.takes(&frame, out) => {}
            "control_request" => match control::answer(&frame).map(allowed) {
                Some(answer) if self.stdin.is_open() => out.push(Output::Write(answer)),
                _ => {
                    let words = format!("a request could not be answered: {line}");
                    out.push(Output::Event(log(LogLevel::Warn, words)));
                }
            },
            "control_response" => out.extend(control::refusal(&frame).map(Output::Event)),
            // Withdraws a question; most were answered at once.
            "control_cancel_request" => self.gate.cancelled(&frame, out),
            // Pieces of what comes whole later, signs of life, and its own book of files.
            "stream_event" | "keep_alive" | "file-history-snapshot" => {
                out.push(Output::Activity(Activity::Frame));
            }
            _ => out.push(Output::Event(log(LogLevel::Debug, line))),
        }
    }

    /// Before it has taken our hook nothing is said to it. It plays the conversation that it resumes once more until then.
    fn greeted(&mut self, frame: &Value, out: &mut Vec<Output>) {
        out.push(Output::Activity(Activity::Frame));
        match control::is_begun(frame) {
            Some(true) => {
                self.begun = true;
                self.stdin.write(control::user_message(&self.message), out);
            }
            Some(false) => {
                let message = "codebuddy does not take the hook that holds the agent to its tools";
                self.judgement = Some(Err(Fault::new(FailureClass::CliCrashed, message)));
                self.finish(None, out);
            }
            None if text(frame, "type") == "error" => self.failed(text(frame, "error"), out),
            None => {}
        }
    }

    fn system(&mut self, frame: &Value, line: &str, out: &mut Vec<Output>) {
        let session = text(frame, "session_id");
        match text(frame, "subtype") {
            "init" if self.session.is_none() && !session.is_empty() => {
                text(frame, "model").clone_into(&mut self.model);
                if let Some(asked) = self.asked.as_deref().filter(|asked| *asked != session) {
                    self.rejection = Some(format!(
                        "codebuddy began session {session} where {asked} was asked for"
                    ));
                    self.finish(None, out);
                    return;
                }
                self.session = Some(session.to_owned());
                out.push(Output::Event(running(Some(session))));
            }
            "init" | "status" => out.push(Output::Activity(Activity::Frame)),
            _ => out.push(Output::Event(log(LogLevel::Debug, line))),
        }
    }

    fn assistant(&mut self, frame: &Value, out: &mut Vec<Output>) {
        let message = frame.get("message").unwrap_or(&Value::Null);
        if !is_nested(frame) {
            let usage = message.get("usage").unwrap_or(&Value::Null);
            add(&mut self.spent, tokens(usage));
        }
        let mut events = Vec::new();
        // Counted above: its numbers hold those of the cache.
        let mut unused = Meter::new(false);
        self.transcript.assistant(frame, &mut unused, &mut events);
        match <[EventBody; 1]>::try_from(events) {
            Ok([EventBody::Text { content }]) => self.said(content, out),
            Ok([event]) => self.more(vec![event], out),
            Err(events) => self.more(events, out),
        }
    }

    /// A message of one text: the agent's, or what went wrong.
    fn said(&mut self, words: String, out: &mut Vec<Output>) {
        let again = self.held.as_ref() == Some(&words) || self.notice.as_ref() == Some(&words);
        if !again && status(&words).is_none() {
            self.flush(out);
            self.notice = None;
            self.held = Some(words);
            return;
        }
        if self.held.as_ref() == Some(&words) {
            self.held = None;
        }
        self.flush(out);
        out.push(Output::Event(log(
            LogLevel::Warn,
            format!("the provider failed: {words}"),
        )));
        out.push(Output::Activity(Activity::Retrying(class_of(&words))));
        self.notice = Some(cut(words, limits::MESSAGE_BYTES));
    }

    /// It got on.
    fn more(&mut self, events: Vec<EventBody>, out: &mut Vec<Output>) {
        self.flush(out);
        self.notice = None;
        out.extend(events.into_iter().map(Output::Event));
    }

    fn flush(&mut self, out: &mut Vec<Output>) {
        out.extend(self.held.take().map(|content| {
            let said = EventBody::Text { content };
            Output::Event(said)
        }));
    }

    fn result(&mut self, frame: &Value, out: &mut Vec<Output>) {
        let turn = self.transcript.end_turn();
        // One that goes on tells the tokens of the whole conversation.
        if self.asked.is_none() {
            self.told = frame.get("usage").map(tokens);
        }
        let mut judgement = judge(frame, &turn, self.interrupted);
        let said_so = self.held.as_deref() == Some(INTERRUPTED);
        if self.interrupted && (said_so || text(frame, "result").is_empty()) {
            // It tells an end that was asked for as a success, with the answer of an earlier turn if there was one, and says
            // so in the words of the agent.
            self.held = None;
            judgement = Err(Fault::no_result("codebuddy", true));
        }
        if let Err(fault) = &mut judgement {
            if self.held.as_ref() == Some(&words(frame)) {
                self.held = None;
            }
            if fault.class == FailureClass::Unknown {
                fault.class = class_of(&fault.message);
            }
            self.note_rejection(&words(frame));
        }
        if let (Ok(answer), Some(notice)) = (&judgement, &self.notice)
            && answer == notice
        {
            judgement = Err(Fault::new(class_of(notice), notice));
        }
        self.flush(out);
        self.judgement = Some(judgement);
        if count(frame, "queued_turn_count") == 0 {
            self.stdin.close(out);
            wait(LINGER_TIMER, LINGER, out);
        }
    }

    /// Its last word, without a result.
    fn failed(&mut self, words: &str, out: &mut Vec<Output>) {
        self.flush(out);
        self.note_rejection(words);
        let known = Some(class_of(words)).filter(|class| *class != FailureClass::Unknown);
        let class = known.unwrap_or(FailureClass::CliCrashed);
        self.judgement = Some(Err(Fault::new(class, words)));
        self.stdin.close(out);
        wait(LINGER_TIMER, LINGER, out);
    }

    fn note_rejection(&mut self, words: &str) {
        let rejected = words.contains(LOST) || classify::refuses_history(words);
        if rejected && self.asked.is_some() && self.rejection.is_none() {
            self.rejection = Some(cut(words.to_owned(), limits::MESSAGE_BYTES));
        }
    }

    fn finish(&mut self, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        self.flush(out);
        let judgement = self.judge_run();
        let mut events = Vec::new();
        self.transcript.close(&mut events);
        if let Err(fault) = &judgement
            && fault.class != FailureClass::Cancelled
        {
            events.push(EventBody::Error {
                content: fault.message.clone(),
            });
        }
        out.extend(events.into_iter().map(Output::Event));
        let resume = resume_outcome(
            self.asked.as_deref(),
            self.rejection.take().filter(|_| judgement.is_err()),
            self.session.is_some(),
            "codebuddy began its turn in session",
            "codebuddy named no session",
        );
        let ending = Ending {
            judgement,
            exit,
            asked: self.asked.take(),
            session: self.session.take(),
            usage: self.usage(),
            resume,
        };
        out.push(Output::Done(ending.result()));
    }

    fn judge_run(&mut self) -> Judgement {
        let judgement = self
            .judgement
            .take()
            .unwrap_or_else(|| match self.notice.take() {
                Some(notice) if !self.interrupted => Err(Fault::new(class_of(&notice), notice)),
                _ => Err(Fault::no_result("codebuddy", self.interrupted)),
            });
        match (judgement, &self.rejection) {
            (Err(fault), Some(words)) if fault.class != FailureClass::HistoryRejected => {
                Err(Fault::new(FailureClass::SessionRejected, words))
            }
            (judgement, _) => judgement,
        }
    }

    fn usage(&self) -> BTreeMap<String, TokenUsage> {
        let told = self.told.filter(|told| told.total() > 0);
        let spent = told.unwrap_or(self.spent);
        let model = match self.model.as_str() {
            "" => "unknown",
            model => model,
        };
        let used = (spent.total() > 0).then(|| (model.to_owned(), spent));
        used.into_iter().collect()
    }
}

/// Those from the cache are among the prompt's.
fn tokens(usage: &Value) -> TokenUsage {
    let cache_read = count(usage, "cache_read_input_tokens");
    TokenUsage {
        input: count(usage, "input_tokens").saturating_sub(cache_read),
        output: count(usage, "output_tokens"),
        cache_read,
        cache_write: count(usage, "cache_creation_input_tokens"),
    }
}

fn add(sum: &mut TokenUsage, more: TokenUsage) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
    sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
}

/// The status of the provider's answer that words begin with.
fn status(words: &str) -> Option<u16> {
    let (status, _) = words.split_once(' ')?;
    let status = status.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

/// The class of a failure that is told in words.
fn class_of(words: &str) -> FailureClass {
    if words.starts_with(TURNS) {
        return FailureClass::IterationLimit;
    }
    if words.contains(NETWORK) {
        return FailureClass::ProviderNetwork;
    }
    let of_status = status(words).and_then(classify::of_status);
    let cut_off = (words == CUT_OFF).then_some(FailureClass::ProviderNetwork);
    let vaguely = of_status.or(cut_off).unwrap_or(FailureClass::Unknown);
    classify::classify_or(words, vaguely)
}

/// Its permissions have one word more than Claude Code's.
fn allowed(answer: Vec<u8>) -> Vec<u8> {
    let Ok(mut frame) = serde_json::from_slice::<Value>(&answer) else {
        return answer;
    };
    let response = &mut frame["response"]["response"];
    let Some(behavior) = response.get("behavior").and_then(Value::as_str) else {
        return answer;
    };
    response["allowed"] = Value::Bool(behavior == "allow");
    let mut line = frame.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_given_in_both_words() {
        let ask = serde_json::json!({"type": "control_request", "request_id": "r",
            "request": {"subtype": "can_use_tool", "tool_name": "Write", "input": {"a": 1}}});
        let answer = control::answer(&ask).map(allowed).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let given = &answer["response"]["response"];
        assert_eq!(given["behavior"], "allow");
        assert_eq!(given["allowed"], true);
    }

    #[test]
    fn a_failure_in_words_has_a_class() {
        for (words, class) in [
            ("401 Unauthorized", FailureClass::ProviderAuth),
            ("502 网络连接失败", FailureClass::ProviderNetwork),
            ("429 slow down", FailureClass::ProviderOverloaded),
            ("aborted", FailureClass::ProviderNetwork),
            ("404 model: m (x/y)", FailureClass::ModelNotFound),
            ("12 monkeys", FailureClass::Unknown),
        ] {
            assert_eq!(class_of(words), class, "{words}");
        }
    }
}
