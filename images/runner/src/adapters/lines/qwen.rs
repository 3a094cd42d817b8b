//! Qwen Code (0.24.4), which speaks Claude's frames without its questions.

use std::collections::BTreeMap;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage};
use serde_json::Value;

use super::{LADDER, Run, Talk, add, sum};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{count, flag, is_nested, log, text};
use crate::adapters::mcp;
use crate::adapters::stream_json::{Meter, Transcript};
use crate::classify;

/// How it begins what it says as the agent when its provider failed.
const API_ERROR: &str = "[API Error:";

/// Qwen Code.
pub(in crate::adapters) const QWEN: Cli = Cli {
    id: "qwen",
    context_file: "QWEN.md",
    skills: |place| place.home.join(".qwen/skills"),
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        let run = Run::new(Qwen::new(launch.resume.is_some()), launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
};

const RESERVED: &Reserved = &[
    ("-p", Takes::Value),
    ("--prompt", Takes::Value),
    ("-i", Takes::Value),
    ("--prompt-interactive", Takes::Value),
    ("-o", Takes::Value),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("-m", Takes::Value),
    ("--model", Takes::Value),
    ("-r", Takes::MaybeValue),
    ("--resume", Takes::MaybeValue),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("--chat-recording", Takes::Value),
    ("--mcp-config", Takes::Value),
    ("--approval-mode", Takes::Value),
    ("--core-tools", Takes::Value),
    ("--safe-mode", Takes::Nothing),
    ("-y", Takes::Nothing),
    ("--yolo", Takes::Nothing),
    ("--acp", Takes::Nothing),
];

fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["--output-format", "stream-json", "--yolo"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--resume", launch.resume.as_deref()));
    let servers = mcp::file_with_http_url(launch);
    let own = servers
        .iter()
        .flat_map(|file| ["--mcp-config".to_owned(), file.path.display().to_string()]);
    let parts = Parts {
        program: "qwen",
        reserved: RESERVED,
        args,
        own: own.collect(),
        files: servers.into_iter().collect(),
        env: vec![("NO_COLOR", "1"), ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")],
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}

/// What it said.
struct Qwen {
    /// It goes on with a conversation: its result then tells the tokens of all of that.
    resumed: bool,
    /// Tokens of its own messages.
    spent: TokenUsage,
    session: Option<String>,
    model: String,
    transcript: Transcript,
    /// Answers of the model. One comes in several frames, and what its tools gave follows it.
    answers: u32,
    answering: bool,
    /// Its last frame.
    result: Option<Value>,
}

impl Qwen {
    fn new(resumed: bool) -> Self {
        Self {
            resumed,
            spent: TokenUsage::default(),
            session: None,
            model: String::new(),
            transcript: Transcript::default(),
            answers: 0,
            answering: false,
            result: None,
        }
    }

    /// A frame of an answer, unless a nested agent gives it.
    fn answers(&mut self, frame: &Value) {
        if !is_nested(frame) && !std::mem::replace(&mut self.answering, true) {
            self.answers = self.answers.saturating_add(1);
        }
    }

    fn spent(&mut self, frame: &Value) {
        let usage = frame
            .get("message")
            .and_then(|message| message.get("usage"));
        if let Some(usage) = usage {
            sum(&mut self.spent, tokens(usage));
        }
    }
}

/// The class of the status with which the provider's failure is told.
fn of_status(words: &str) -> Option<FailureClass> {
    let status = words.strip_prefix(API_ERROR)?.trim_start();
    let status = status.split(|c: char| !c.is_ascii_digit()).next()?;
    classify::of_status(status.parse().ok()?)
}

/// Those from the cache are among the prompt's.
fn tokens(told: &Value) -> TokenUsage {
    let cache_read = count(told, "cache_read_input_tokens");
    TokenUsage {
        input: count(told, "input_tokens").saturating_sub(cache_read),
        output: count(told, "output_tokens"),
        cache_read,
        cache_write: count(told, "cache_creation_input_tokens"),
    }
}

impl Talk for Qwen {
    const NAME: &'static str = "qwen";
    const LOST: &'static [&'static str] = &["No saved session found with ID"];

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        // Counted here.
        let mut unused = Meter::new(false);
        match text(frame, "type") {
            "system" if text(frame, "subtype") == "init" => {
                self.session = Some(text(frame, "session_id").to_owned());
                text(frame, "model").clone_into(&mut self.model);
            }
            "assistant" => {
                self.answers(frame);
                self.spent(frame);
                self.transcript.assistant(frame, &mut unused, events);
            }
            "user" => {
                self.answering &= is_nested(frame);
                self.transcript.user(frame, events);
            }
            "result" => self.result = Some(frame.clone()),
            // Pieces of what comes whole.
            "stream_event" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
        for event in events {
            if let EventBody::Text { content } = event
                && content.starts_with(API_ERROR)
            {
                *event = EventBody::Error {
                    content: std::mem::take(content),
                };
            }
        }
    }

    fn stderr(&mut self, _line: &str) -> Option<Fault> {
        None
    }

    fn session(&self) -> Option<&str> {
        self.session
            .as_deref()
            .filter(|session| !session.is_empty())
    }

    fn judge(&mut self) -> Option<Judgement> {
        let result = self.result.as_ref()?;
        let turn = self.transcript.end_turn();
        let said = text(result, "result");
        let answer = if said.is_empty() {
            &turn.candidate
        } else {
            said
        };
        if answer.is_empty() && !turn.active {
            let nothing = "the agent said nothing and did nothing";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, nothing)));
        }
        Some(Ok(answer.to_owned()))
    }

    fn fault(&mut self) -> Option<Fault> {
        let result = self.result.as_ref()?;
        if !flag(result, "is_error") && text(result, "subtype") == "success" {
            return None;
        }
        let words = result
            .get("error")
            .map_or("", |error| text(error, "message"));
        let words = match words {
            "" => text(result, "result"),
            words => words,
        };
        let class = match text(result, "subtype") {
            "error_max_turns" => FailureClass::IterationLimit,
            _ => classify::hinted(of_status(words), words),
        };
        Some(Fault::new(class, words))
    }

    fn answers(&self) -> Option<u32> {
        Some(self.answers)
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        let told = self.result.as_ref().and_then(|result| result.get("usage"));
        // The result also counts calls beside the agent's own messages, where it can be believed.
        let spent = match told {
            Some(told) if !self.resumed => tokens(told),
            Some(_) | None => self.spent,
        };
        let mut usage = BTreeMap::new();
        if spent.total() > 0 {
            add(&mut usage, &self.model, spent);
        }
        usage
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.transcript.close(events);
    }
}
