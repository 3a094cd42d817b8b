//! Cursor's agent. No program of it could be had: everything here is from descriptions of its protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus, limits};
use serde_json::Value;

use super::{Read, Run, Talk, add, warning};
use crate::adapter::{CommandLine, Ladder, Launch};
use crate::adapters::Cli;
use crate::adapters::calls::Calls;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{count, cut, flag, list, log, parse, text};
use crate::classify;

/// How the name of a tool ends in the key of its call.
const SUFFIX: &str = "ToolCall";
/// Commands in the background that are kept in mind.
const BACKGROUND: usize = 64;
/// What it writes to both of its pipes may name the pipe first.
const PIPES: [&str; 2] = ["stdout", "stderr"];

/// Cursor's agent.
pub(in crate::adapters) const CURSOR: Cli = Cli {
    id: "cursor",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".cursor/skills"),
    session_files: |_, _| Vec::new(),
    // It leaves a worker behind after its last word.
    ladder: Ladder {
        interrupt: Duration::ZERO,
        close: Duration::ZERO,
        term: Duration::from_millis(500),
    },
    launch: |launch| {
        let run = Run::new(Cursor::default(), launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
};

const RESERVED: &Reserved = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--output-format", Takes::Value),
    ("--stream-partial-output", Takes::Nothing),
    ("-f", Takes::Nothing),
    ("--force", Takes::Nothing),
    ("--yolo", Takes::Nothing),
    ("--trust", Takes::Nothing),
    ("--workspace", Takes::Value),
    ("--model", Takes::Value),
    ("--resume", Takes::MaybeValue),
    ("--continue", Takes::Nothing),
];

fn command_line(launch: &Launch) -> CommandLine {
    let cwd = launch.cwd.to_string_lossy();
    let mut args = vec!["-p", "--output-format", "stream-json"];
    // The second: without a terminal it would wait for somebody to trust the directory.
    args.extend(["--yolo", "--trust", "--workspace", &cwd]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--resume", launch.resume.as_deref()));
    let parts = Parts {
        program: "cursor-agent",
        reserved: RESERVED,
        args,
        env: vec![("NO_COLOR", "1")],
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}

/// What it said.
#[derive(Default)]
struct Cursor {
    session: Option<String>,
    model: String,
    calls: Calls,
    /// Words since the last tool.
    words: String,
    /// A thought has ended: the next one is another.
    thought: bool,
    /// Tokens of its steps, which older builds tell.
    steps: TokenUsage,
    answers: u32,
    /// Processes of commands that go on in the background.
    background: Vec<u32>,
    /// The failure that it told last.
    error: Option<String>,
    /// Its last frame.
    result: Option<Value>,
}

impl Talk for Cursor {
    const NAME: &'static str = "cursor";
    const LOST: &'static [&'static str] = &[];
    const TELLS_LOSS: bool = false;
    const CAVEAT: &'static str = "; what it did until then may have taken effect";

    fn read(&mut self, line: &str) -> Read {
        let line = line.trim_start();
        let named = PIPES.iter().find_map(|pipe| {
            let (name, rest) = line.split_at_checked(pipe.len())?;
            name.eq_ignore_ascii_case(pipe).then_some(rest)
        });
        let line = named.map_or(line, |rest| rest.trim_start_matches([':', '=', ' ']));
        parse(line).map_or(Read::Other, Read::Frame)
    }

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        let part = frame.get("part").unwrap_or(&Value::Null);
        match text(frame, "type") {
            "system" => self.system(frame, line, events),
            "user" | "connection" | "retry" => {}
            "assistant" => self.assistant(frame, events),
            "thinking" => self.thinking(frame, events),
            "tool_call" => self.tool_call(frame, events),
            "tool_use" => {
                let input = frame.get("parameters").cloned().unwrap_or(Value::Null);
                self.started(
                    text(frame, "tool_id"),
                    text(frame, "tool_name"),
                    input,
                    events,
                );
            }
            "tool_result" => {
                let output = words_of(frame.get("output").unwrap_or(&Value::Null));
                let id = text(frame, "tool_id");
                self.calls.end(id, output, ToolStatus::Completed, events);
            }
            "text" => self.said(text(part, "text"), events),
            "step_finish" => {
                let told = part.get("tokens").unwrap_or(&Value::Null);
                self.answers = self.answers.saturating_add(1);
                super::sum(&mut self.steps, tokens(told));
            }
            "error" => self.failed(&[text(frame, "error"), text(frame, "detail")], line, events),
            "result" => {
                self.opened(frame);
                self.result = Some(frame.clone());
            }
            // The stream of this program changes: what is not known may matter.
            other => events.push(warning(format!(
                "a frame of a kind that is not known here ({other}): {line}"
            ))),
        }
    }

    fn over(&self) -> Option<Duration> {
        self.result.as_ref().map(|_| Duration::ZERO)
    }

    fn stderr(&mut self, _line: &str) -> Option<Fault> {
        None
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn judge(&mut self) -> Option<Judgement> {
        let Some(result) = &self.result else {
            let caveat = Self::CAVEAT;
            let message = format!("cursor ended without a result{caveat}");
            return Some(Err(Fault::new(FailureClass::CliCrashed, message)));
        };
        let answer = match text(result, "result") {
            "" => std::mem::take(&mut self.words),
            answer => answer.to_owned(),
        };
        if answer.is_empty() && self.calls.is_empty() {
            let nothing = "the agent said nothing and did nothing";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, nothing)));
        }
        Some(Ok(answer))
    }

    fn fault(&mut self) -> Option<Fault> {
        let Some(result) = &self.result else {
            let words = self.error.take()?;
            let class = classify::classify(&words);
            return Some(Fault::new(class, words + Self::CAVEAT));
        };
        if !flag(result, "is_error") && text(result, "subtype") == "success" {
            return None;
        }
        let told = [
            text(result, "error"),
            text(result, "result"),
            self.error.as_deref().unwrap_or_default(),
        ];
        let words = told.into_iter().find(|words| !words.is_empty());
        let words = words.unwrap_or("cursor ended its turn with an error, and said no more");
        Some(Fault::new(classify::classify(words), words))
    }

    /// Older builds alone tell.
    fn answers(&self) -> Option<u32> {
        (self.answers > 0).then_some(self.answers)
    }

    /// It would wait for them for ever, and keep its result back.
    fn background(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.background)
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        let told = self.result.as_ref().and_then(|result| result.get("usage"));
        let told = told.map(tokens).filter(|told| told.total() > 0);
        let spent = told.unwrap_or(self.steps);
        let mut usage = BTreeMap::new();
        if spent.total() > 0 {
            add(&mut usage, &self.model, spent);
        }
        usage
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }
}

impl Cursor {
    fn opened(&mut self, frame: &Value) {
        let session = text(frame, "session_id");
        if !session.is_empty() {
            self.session = Some(session.to_owned());
        }
    }

    fn system(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        match text(frame, "subtype") {
            "init" => {
                self.opened(frame);
                text(frame, "model").clone_into(&mut self.model);
            }
            "error" => {
                let told = ["error", "message", "detail"].map(|key| text(frame, key));
                self.failed(&told, line, events);
            }
            _ => events.push(log(LogLevel::Debug, line)),
        }
    }

    fn assistant(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let message = frame.get("message").unwrap_or(&Value::Null);
        for block in list(message, "content") {
            match text(block, "type") {
                "text" | "output_text" => self.said(text(block, "text"), events),
                "thinking" => {
                    let words = [text(block, "thinking"), text(block, "text")];
                    let words = words.into_iter().find(|words| !words.is_empty());
                    events.extend(words.map(|content| EventBody::Thinking {
                        content: content.to_owned(),
                    }));
                }
                "tool_use" => {
                    let input = block.get("input").cloned().unwrap_or(Value::Null);
                    self.started(text(block, "id"), text(block, "name"), input, events);
                }
                _ => events.push(log(LogLevel::Debug, block.to_string())),
            }
        }
    }

    fn said(&mut self, words: &str, events: &mut Vec<EventBody>) {
        if words.is_empty() {
            return;
        }
        if self.words.len() + words.len() <= limits::BODY_BYTES {
            self.words.push_str(words);
        }
        events.push(EventBody::Text {
            content: words.to_owned(),
        });
    }

    fn thinking(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let words = text(frame, "text");
        if text(frame, "subtype") == "completed" {
            self.thought = true;
        } else if !words.is_empty() {
            let between = if std::mem::take(&mut self.thought) {
                "\n\n"
            } else {
                ""
            };
            events.push(EventBody::Thinking {
                content: format!("{between}{words}"),
            });
        }
    }

    fn started(&mut self, id: &str, tool: &str, input: Value, events: &mut Vec<EventBody>) {
        self.words.clear();
        self.calls.start(id, tool, input, events);
    }

    fn tool_call(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let Some((tool, call)) = call_of(frame) else {
            events.push(warning(format!("a tool without a name: {frame}")));
            return;
        };
        let ids = [
            text(frame, "call_id").lines().next().unwrap_or_default(),
            text(call, "toolCallId"),
        ];
        let id = ids.into_iter().find(|id| !id.is_empty());
        let id = id.unwrap_or_default();
        let input = call.get("args").cloned().unwrap_or(Value::Null);
        self.started(id, tool, input, events);
        if text(frame, "subtype") != "completed" {
            return;
        }
        let result = call.get("result").unwrap_or(&Value::Null);
        if let Some(pid) = background(tool, result) {
            // It has not ended: its result would be a lie.
            if self.background.len() < BACKGROUND {
                self.background.push(pid);
            }
            events.push(warning(format!(
                "a command goes on in the background, as process {pid}"
            )));
            return;
        }
        let (status, output) = outcome(result);
        self.calls.end(id, output, status, events);
    }

    fn failed(&mut self, told: &[&str], line: &str, events: &mut Vec<EventBody>) {
        let words = told.iter().find(|words| !words.is_empty());
        let words = cut((*words.unwrap_or(&line)).to_owned(), limits::MESSAGE_BYTES);
        events.push(EventBody::Error {
            content: words.clone(),
        });
        self.error = Some(words);
    }
}

/// The name of a call's tool, and what is told of it.
fn call_of(frame: &Value) -> Option<(&str, &Value)> {
    let call = frame.get("tool_call")?.as_object()?;
    let named = call.iter().find(|(key, _)| key.ends_with(SUFFIX));
    let (key, told) = named.or_else(|| call.iter().find(|(_, told)| told.is_object()))?;
    Some((key.strip_suffix(SUFFIX).unwrap_or(key), told))
}

/// The process of a shell's command that goes on. Words that say so elsewhere do not count.
fn background(tool: &str, result: &Value) -> Option<u32> {
    let goes_on = tool == "shell" && flag(result, "isBackground");
    let success = result.get("success").filter(|_| goes_on)?;
    // One is the pod's first process, and none is a group of ours.
    let pid = u32::try_from(success.get("pid")?.as_u64()?).ok();
    pid.filter(|pid| *pid > 1)
}

/// How a tool ended, and what it gave.
fn outcome(result: &Value) -> (ToolStatus, String) {
    let failure = ["error", "failure", "rejected"];
    let failure = failure.into_iter().find_map(|key| result.get(key));
    match (failure, result.get("success")) {
        (Some(failure), _) => (ToolStatus::Failed, words_of(failure)),
        (None, Some(success)) => (ToolStatus::Completed, words_of(success)),
        (None, None) => (ToolStatus::Completed, words_of(result)),
    }
}

/// What a tool gave, in words where there are any.
fn words_of(told: &Value) -> String {
    if let Some(words) = told.as_str() {
        return words.to_owned();
    }
    let shell = ["stdout", "stderr"].map(|key| text(told, key)).concat();
    let other = ["content", "output", "errorMessage", "message", "reason"];
    let other = other.into_iter().map(|key| text(told, key));
    let words = std::iter::once(shell.as_str()).chain(other);
    match words.into_iter().find(|words| !words.is_empty()) {
        Some(words) => words.to_owned(),
        None if told.is_null() => String::new(),
        None => told.to_string(),
    }
}

/// Tokens, whichever of its ways to write them; those from the cache are told beside the prompt's.
fn tokens(told: &Value) -> TokenUsage {
    let any = |keys: &[&str]| {
        let told = keys.iter().map(|key| count(told, key));
        told.max().unwrap_or_default()
    };
    let cache = told.get("cache").unwrap_or(&Value::Null);
    TokenUsage {
        input: any(&["inputTokens", "input_tokens", "input"]),
        output: any(&["outputTokens", "output_tokens", "output"]),
        cache_read: any(&["cacheReadTokens", "cache_read_tokens"]).max(count(cache, "read")),
        cache_write: any(&["cacheWriteTokens", "cache_write_tokens"]).max(count(cache, "write")),
    }
}
