//! `OpenClaw` (2026.9.6), without its gateway: one large object at the end, over many lines, and nothing before it.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus, limits};
use serde_json::Value;

use super::{LADDER, Read, Run, Talk, add};
use crate::adapter::{CommandLine, Launch, LaunchFile};
use crate::adapters::Cli;
use crate::adapters::calls::Calls;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{content_text, count, flag, list, log, parse, text};
use crate::classify;

/// It may stay after its last word.
const REST: Duration = Duration::from_secs(2);
/// What is longer is no error, whatever it speaks of.
const ERROR_BYTES: usize = 512;
/// How a line of an object begins that is not its first. Words of the log begin otherwise.
const IN_OBJECT: [char; 5] = [' ', '}', ']', '"', '\t'];
/// Its own end of a turn comes after ten minutes; the runner has times of its own.
const NEVER: &str = "86400";

/// `OpenClaw`.
pub(in crate::adapters) const OPENCLAW: Cli = Cli {
    id: "openclaw",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".openclaw/skills"),
    // A database.
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        // It names none by itself.
        let session = launch.resume.as_ref().unwrap_or(&launch.new_session);
        let line = command_line(launch, session);
        let talk = Openclaw {
            session: session.clone(),
            ..Openclaw::default()
        };
        (line, Box::new(Run::new(talk, launch.resume.clone())))
    },
};

const RESERVED: &Reserved = &[
    ("--local", Takes::Nothing),
    ("--json", Takes::Nothing),
    ("--session-id", Takes::Value),
    ("--session-key", Takes::Value),
    ("-t", Takes::Value),
    ("--to", Takes::Value),
    ("-m", Takes::Value),
    ("--message", Takes::Value),
    ("--message-file", Takes::Value),
    ("--model", Takes::Value),
    ("--timeout", Takes::Value),
    ("--system-prompt", Takes::Value),
    ("--deliver", Takes::Nothing),
];

fn command_line(launch: &Launch, session: &str) -> CommandLine {
    let file = launch.private.join("message.md");
    let (path, cwd) = (file.to_string_lossy(), launch.cwd.to_string_lossy());
    let mut args = vec!["agent", "--local", "--json"];
    args.extend(["--session-id", session, "--timeout", NEVER]);
    // A model has its provider before it; else it is one of its agents that is named.
    let model = launch.model.as_deref();
    args.extend(option("--model", model.filter(|model| model.contains('/'))));
    args.extend(option(
        "--agent",
        model.filter(|model| !model.contains('/')),
    ));
    args.extend(option("--thinking", launch.thinking.as_deref()));
    let parts = Parts {
        program: "openclaw",
        reserved: RESERVED,
        args,
        last: vec!["--message-file", &path],
        env: vec![
            ("NO_COLOR", "1"),
            ("OPENCLAW_NO_AUTO_UPDATE", "1"),
            ("OPENCLAW_WORKSPACE_DIR", &cwd),
        ],
        files: vec![LaunchFile {
            path: file.clone(),
            content: launch.message.clone().into_bytes(),
            secret: true,
        }],
        ..Parts::default()
    };
    parts.line(launch)
}

/// What it said.
#[derive(Default)]
struct Openclaw {
    session: String,
    /// The lines of an object that is not whole yet.
    lines: String,
    calls: Calls,
    /// The object at the end.
    end: Option<Value>,
    /// The answer.
    words: String,
    /// What it says went wrong.
    errors: String,
    fault: Option<Fault>,
}

impl Talk for Openclaw {
    const NAME: &'static str = "openclaw";
    const LOST: &'static [&'static str] = &[];
    // It makes a conversation of any name.
    const TELLS_RESUME: bool = false;

    fn read(&mut self, line: &str) -> Read {
        if let Some(frame) = parse(line) {
            return Read::Frame(frame);
        }
        if line.starts_with('{') {
            // Another object at the left edge: what was before it was none.
            self.lines.clear();
        } else if self.lines.is_empty() || !line.starts_with(IN_OBJECT) {
            return Read::Other;
        }
        if self.lines.len() + line.len() >= limits::LINE_BYTES {
            self.lines.clear();
            return Read::Other;
        }
        self.lines.push_str(line);
        self.lines.push('\n');
        if line.trim_end() == "}"
            && let Some(frame) = parse(&self.lines)
        {
            self.lines.clear();
            return Read::Frame(frame);
        }
        Read::Piece
    }

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        if frame.get("payloads").is_some() || frame.get("meta").is_some() {
            self.ended(frame, events);
            return;
        }
        if frame.get("ok") == Some(&Value::Bool(false)) {
            let error = frame.get("error").unwrap_or(&Value::Null);
            self.failed(&[text(error, "message"), text(error, "type")]);
            return;
        }
        match text(frame, "type") {
            "text" => self.said(text(frame, "text"), events),
            "tool_use" => {
                let input = frame.get("input").cloned().unwrap_or(Value::Null);
                let (id, tool) = (text(frame, "callId"), text(frame, "tool"));
                self.calls.start(id, tool, input, events);
            }
            "tool_result" => {
                let output = content_text(frame.get("output"));
                let id = text(frame, "callId");
                self.calls.end(id, output, ToolStatus::Completed, events);
            }
            "error" => {
                let error = frame.get("error").unwrap_or(&Value::Null);
                let data = error.get("data").unwrap_or(&Value::Null);
                self.failed(&[text(data, "message"), text(error, "name")]);
            }
            "lifecycle" if matches!(text(frame, "phase"), "error" | "failed" | "cancelled") => {
                self.failed(&[text(frame, "error"), text(frame, "phase")]);
            }
            "step_start" | "step_finish" | "lifecycle" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
    }

    fn over(&self) -> Option<Duration> {
        self.end.as_ref().map(|_| REST)
    }

    fn stderr(&mut self, _line: &str) -> Option<Fault> {
        None
    }

    fn session(&self) -> Option<&str> {
        Some(self.session.as_str()).filter(|session| !session.is_empty())
    }

    fn judge(&mut self) -> Option<Judgement> {
        let nothing = |words: &str| Some(Err(Fault::new(FailureClass::EmptyOutput, words)));
        if self.end.is_none() && self.words.is_empty() {
            return nothing("openclaw returned no parseable output");
        }
        if self.words.is_empty() && self.tools().is_empty() {
            return nothing("the agent said nothing and did nothing");
        }
        Some(Ok(std::mem::take(&mut self.words)))
    }

    fn fault(&mut self) -> Option<Fault> {
        if let Some(fault) = self.fault.take() {
            return Some(fault);
        }
        let meta = self.end.as_ref()?.get("meta")?;
        if flag(meta, "aborted") {
            let words = "the turn was ended from outside, and not by Mooring";
            return Some(Fault::new(FailureClass::CliCrashed, words));
        }
        let error = meta.get("error").unwrap_or(&Value::Null);
        let told = [self.errors.as_str(), text(error, "message")];
        if let Some(words) = told.into_iter().find(|words| !words.is_empty()) {
            let class = match text(error, "kind") {
                "context_overflow" => FailureClass::ContextOverflow,
                _ => classify::classify(&told.concat()),
            };
            return Some(Fault::new(class, words));
        }
        // An error in the words of the agent, which an answer of any length may speak of.
        let class = classify::classify(&self.words);
        let told = class != FailureClass::Unknown && self.tools().is_empty();
        (told && self.words.len() <= ERROR_BYTES).then(|| Fault::new(class, &self.words))
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        let mut usage = BTreeMap::new();
        let agent = self.agent();
        if let Some(told) = agent.get("usage") {
            let spent = TokenUsage {
                input: count(told, "input"),
                output: count(told, "output"),
                cache_read: count(told, "cacheRead"),
                cache_write: count(told, "cacheWrite"),
            };
            if spent.total() > 0 {
                add(&mut usage, text(agent, "model"), spent);
            }
        }
        usage
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }
}

impl Openclaw {
    fn agent(&self) -> &Value {
        let meta = self.end.as_ref().and_then(|end| end.get("meta"));
        meta.and_then(|meta| meta.get("agentMeta"))
            .unwrap_or(&Value::Null)
    }

    /// The tools that did what they should.
    fn tools(&self) -> &[Value] {
        let receipt = self.agent().get("terminalReceipt");
        receipt.map_or(&[], |receipt| list(receipt, "successfulToolNames"))
    }

    fn ended(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        self.end = Some(frame.clone());
        let told = text(self.agent(), "sessionId").to_owned();
        if !told.is_empty() {
            self.session = told;
        }
        self.words.clear();
        for payload in list(frame, "payloads") {
            let words = text(payload, "text");
            match flag(payload, "isError") {
                true if self.errors.is_empty() => words.clone_into(&mut self.errors),
                true => {}
                false => self.said(words, events),
            }
        }
    }

    fn said(&mut self, words: &str, events: &mut Vec<EventBody>) {
        if words.is_empty() {
            return;
        }
        if self.words.len() + words.len() <= limits::BODY_BYTES {
            if !self.words.is_empty() {
                self.words.push_str("\n\n");
            }
            self.words.push_str(words);
        }
        events.push(EventBody::Text {
            content: words.to_owned(),
        });
    }

    fn failed(&mut self, told: &[&str]) {
        let words = told.iter().find(|words| !words.is_empty());
        let words = *words.unwrap_or(&"openclaw told of an error without a word");
        let class = classify::classify_or(words, FailureClass::CliCrashed);
        self.fault.get_or_insert(Fault::new(class, words));
    }
}
