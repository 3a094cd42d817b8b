//! Copilot CLI (1.0.102).

mod held;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use protocol::programs::Version;
use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus};
use serde_json::Value;

use self::held::{GATED, KEPT};
use super::{LADDER, Run, Talk, add, warning};
use crate::adapter::{CommandLine, Launch, LaunchFile, Place};
use crate::adapters::Cli;
use crate::adapters::calls::Calls;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{count, flag, list, log, text};
use crate::adapters::mcp;
use crate::adapters::names::Names;
use crate::adapters::stores;
use crate::classify;
use crate::ledger::UsageFile;

/// The version that was seen to take a name for a new conversation. 1.0.49 had no flag for it.
const NAMED: Version = Version(1, 0, 102);
/// Messages and thoughts that are told in pieces; past it a whole one may show once more.
const IN_PIECES: usize = 4096;

/// Copilot CLI.
pub(in crate::adapters) const COPILOT: Cli = Cli {
    id: "copilot",
    context_file: "AGENTS.md",
    skills: |place| stores::folder(place, "COPILOT_HOME", ".copilot").join("skills"),
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        let copilot = Copilot {
            names: Names::of(launch, KEPT),
            named: named(launch).map(str::to_owned),
            ..Copilot::default()
        };
        let run = Run::new(copilot, launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
};

const RESERVED: &Reserved = &[
    ("-p", Takes::Value),
    ("--prompt", Takes::Value),
    ("-i", Takes::Value),
    ("--output-format", Takes::Value),
    ("--model", Takes::Value),
    ("--resume", Takes::MaybeValue),
    ("--continue", Takes::Nothing),
    ("--session-id", Takes::Value),
    ("--usage-output-file", Takes::Value),
    ("--additional-mcp-config", Takes::Value),
    ("--reasoning-effort", Takes::Value),
    ("--allow-all", Takes::Nothing),
    ("--allow-all-tools", Takes::Nothing),
    ("--allow-all-paths", Takes::Nothing),
    ("--allow-all-urls", Takes::Nothing),
    ("--yolo", Takes::Nothing),
    ("--no-ask-user", Takes::Nothing),
    ("--no-auto-update", Takes::Nothing),
    ("--acp", Takes::Nothing),
];

/// The name of a new conversation, where it can be given one. Otherwise it tells it at its end.
fn named(launch: &Launch) -> Option<&str> {
    let takes_one = launch.resume.is_none() && launch.version >= Some(NAMED);
    let name = launch.new_session.as_str();
    // It refuses any other name.
    (takes_one && stores::is_uuid(name)).then_some(name)
}

fn command_line(launch: &Launch) -> CommandLine {
    let gated = !launch.tools.is_empty();
    let (excluded, available) = held::names(launch);
    let mut args = vec!["--output-format", "json", "--allow-all"];
    // A flag has to follow, or the next word would be taken for a tool.
    if gated {
        args.push("--excluded-tools");
        args.extend(excluded.iter().map(String::as_str));
    }
    if !available.is_empty() {
        args.push("--available-tools");
        args.extend(available.iter().map(String::as_str));
    }
    args.extend(["--no-ask-user", "--no-auto-update"]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--reasoning-effort", launch.thinking.as_deref()));
    let servers = mcp::file(launch);
    let usage = usage_file(launch);
    let path = usage.path.display().to_string();
    let own = servers.iter().flat_map(|file| {
        let path = format!("@{}", file.path.display());
        ["--additional-mcp-config".to_owned(), path]
    });
    let own = own.chain(["--usage-output-file".to_owned(), path]);
    // Without the sign between them the flag would ask which.
    let resume = launch.resume.as_ref().map(|id| format!("--resume={id}"));
    args.extend(resume.as_deref());
    let named = named(launch).map(|name| format!("--session-id={name}"));
    args.extend(named.as_deref());
    let reserved = match gated {
        true => [RESERVED, GATED].concat(),
        false => RESERVED.to_vec(),
    };
    let (links, variables) = match gated {
        true => held::home(launch),
        false => Default::default(),
    };
    let parts = Parts {
        program: "copilot",
        reserved: &reserved,
        links,
        secret_env: variables,
        args,
        own: own.collect(),
        files: servers.iter().cloned().chain([emptied(&usage)]).collect(),
        usage_file: Some(usage),
        env: vec![("NO_COLOR", "1"), ("COPILOT_AUTO_UPDATE", "false")],
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}

/// Where it writes its tokens at its end: all of them, while its frames tell those of GitHub's own models only.
fn usage_file(launch: &Launch) -> UsageFile {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let store = stores::folder(&place, "COPILOT_HOME", ".copilot").join("session-state");
    UsageFile {
        path: launch.private.join("usage.json"),
        read: |written| models(&serde_json::from_slice(written).ok()?),
        earlier: launch
            .resume
            .as_deref()
            .map(|session| match stores::is_uuid(session) {
                true => store.join(session).join("events.jsonl"),
                false => store.join("none"),
            }),
        line: |line| {
            let event: Value = serde_json::from_slice(line).ok()?;
            let is_end = text(&event, "type") == "session.shutdown";
            is_end.then(|| models(event.get("data")?.get("accountingSnapshot")?))?
        },
    }
}

/// Tokens by model, as it tells them in several places.
fn models(told: &Value) -> Option<BTreeMap<String, TokenUsage>> {
    let models = told.get("modelMetrics")?.as_object()?;
    let of_model = |(model, metrics): (&String, &Value)| {
        let usage = tokens(metrics.get("usage").unwrap_or(&Value::Null));
        (model.clone(), usage)
    };
    Some(models.iter().map(of_model).collect())
}

/// What stands there before, so that nothing of an earlier run is read. It is gone after the run.
fn emptied(usage: &UsageFile) -> LaunchFile {
    LaunchFile {
        path: usage.path.clone(),
        content: b"{}".to_vec(),
        secret: true,
    }
}

/// The prompt's tokens are told with those from the cache.
fn tokens(usage: &Value) -> TokenUsage {
    let cache_read = count(usage, "cacheReadTokens");
    let cache_write = count(usage, "cacheWriteTokens");
    let cached = cache_read.saturating_add(cache_write);
    TokenUsage {
        input: count(usage, "inputTokens").saturating_sub(cached),
        output: count(usage, "outputTokens"),
        cache_read,
        cache_write,
    }
}

/// What it said.
#[derive(Default)]
struct Copilot {
    /// The name of the new conversation, until it has begun.
    named: Option<String>,
    session: Option<String>,
    calls: Calls,
    /// Whether it keeps to its tools.
    names: Names,
    passed: Option<Fault>,
    usage: BTreeMap<String, TokenUsage>,
    /// Messages and thoughts of which pieces were shown.
    in_pieces: HashSet<String>,
    /// Messages of its own, each an answer of the model.
    answers: u32,
    /// The last message without tools, and the last one with words.
    answer: Option<String>,
    words: String,
    /// The exit code in its last frame.
    result: Option<u64>,
    fault: Option<Fault>,
}

impl Talk for Copilot {
    const NAME: &'static str = "copilot";
    const LOST: &'static [&'static str] = &["No session, task, or name matched"];

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        let data = frame.get("data").unwrap_or(&Value::Null);
        if let Some(named) = self.named.take() {
            self.session = Some(named);
        }
        match text(frame, "type") {
            "session.start" => self.opened(text(data, "sessionId")),
            "assistant.message_delta" => {
                self.piece(text(data, "messageId"));
                let content = text(data, "deltaContent").to_owned();
                events.push(EventBody::Text { content });
            }
            "assistant.reasoning_delta" => {
                self.piece(text(data, "reasoningId"));
                let content = text(data, "deltaContent").to_owned();
                events.push(EventBody::Thinking { content });
            }
            "assistant.message" => {
                if text(frame, "agentId").is_empty() && text(data, "parentToolCallId").is_empty() {
                    self.answers = self.answers.saturating_add(1);
                }
                self.message(data, events);
            }
            "assistant.reasoning" => {
                let content = text(data, "content").to_owned();
                let is_new = !self.in_pieces.contains(text(data, "reasoningId"));
                if is_new && !content.is_empty() {
                    events.push(EventBody::Thinking { content });
                }
            }
            "tool.execution_start" => {
                let input = data.get("arguments").cloned().unwrap_or(Value::Null);
                let (id, tool) = (text(data, "toolCallId"), text(data, "toolName"));
                let passed = self.names.begins(id, tool);
                self.passed = self.passed.take().or(passed);
                self.calls.start(id, tool, input, events);
            }
            "tool.execution_complete" => self.tool_ended(data, events),
            "assistant.usage" => self.spent(data),
            "model.call_failure" | "assistant.turn_retry" | "session.warning" => {
                events.push(warning(line));
            }
            "session.error" => self.failed(data),
            "result" => {
                self.opened(text(frame, "sessionId"));
                self.result = Some(count(frame, "exitCode"));
            }
            "session.info" => events.push(log(LogLevel::Info, text(data, "message"))),
            // What is under way, and comes whole later.
            kind if kind.starts_with("session.")
                || kind.starts_with("model.")
                || kind.starts_with("assistant.")
                || kind.starts_with("tool.")
                || kind == "user.message" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
    }

    fn stderr(&mut self, _line: &str) -> Option<Fault> {
        None
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn judge(&mut self) -> Option<Judgement> {
        let code = self.result?;
        if code != 0 {
            let message = format!("copilot ended its turn with code {code}");
            return Some(Err(Fault::new(FailureClass::CliCrashed, message)));
        }
        let answer = self.answer.take();
        let answer = answer.unwrap_or_else(|| std::mem::take(&mut self.words));
        if answer.is_empty() && self.calls.is_empty() {
            let nothing = "the agent said nothing and did nothing";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, nothing)));
        }
        Some(Ok(answer))
    }

    fn over(&self) -> Option<Duration> {
        self.passed.as_ref().map(|_| Duration::ZERO)
    }

    fn fault(&mut self) -> Option<Fault> {
        let passed = self.passed.take().or_else(|| self.names.left());
        passed.or_else(|| self.fault.take())
    }

    fn answers(&self) -> Option<u32> {
        Some(self.answers)
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        std::mem::take(&mut self.usage)
    }

    fn retrying(frame: &Value) -> Option<FailureClass> {
        let retries = matches!(
            text(frame, "type"),
            "model.call_failure" | "assistant.turn_retry"
        );
        let words = frame.get("data").unwrap_or(&Value::Null).to_string();
        retries.then(|| classify::classify_or(&words, FailureClass::ProviderServerError))
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }
}

impl Copilot {
    fn opened(&mut self, session: &str) {
        if !session.is_empty() {
            self.session = Some(session.to_owned());
        }
    }

    fn piece(&mut self, id: &str) {
        if self.in_pieces.len() < IN_PIECES {
            self.in_pieces.insert(id.to_owned());
        }
    }

    fn message(&mut self, data: &Value, events: &mut Vec<EventBody>) {
        let content = text(data, "content");
        let requests = list(data, "toolRequests");
        if !content.is_empty() {
            if !self.in_pieces.contains(text(data, "messageId")) {
                events.push(EventBody::Text {
                    content: content.to_owned(),
                });
            }
            content.clone_into(&mut self.words);
            // A word after a failure says that it was got over.
            self.fault = None;
        }
        self.answer = (requests.is_empty() && !content.is_empty()).then(|| content.to_owned());
        for request in requests {
            let input = request.get("arguments").cloned().unwrap_or(Value::Null);
            let (id, tool) = (text(request, "toolCallId"), text(request, "name"));
            self.calls.start(id, tool, input, events);
        }
    }

    fn tool_ended(&mut self, data: &Value, events: &mut Vec<EventBody>) {
        let (status, part, key) = match flag(data, "success") {
            true => (ToolStatus::Completed, "result", "content"),
            false => (ToolStatus::Failed, "error", "message"),
        };
        let output = data.get(part).map_or("", |part| text(part, key)).to_owned();
        let id = text(data, "toolCallId");
        let failed_with = (status == ToolStatus::Failed).then_some(output.as_str());
        let passed = self.names.ends(id, failed_with);
        self.passed = self.passed.take().or(passed);
        self.calls.end(id, output, status, events);
    }

    fn spent(&mut self, data: &Value) {
        add(&mut self.usage, text(data, "model"), tokens(data));
    }

    fn failed(&mut self, data: &Value) {
        let words = text(data, "message");
        let status = u16::try_from(count(data, "statusCode")).ok();
        let of_kind = match text(data, "errorType") {
            "authentication" => Some(FailureClass::ProviderAuth),
            "rate_limit" => Some(FailureClass::ProviderOverloaded),
            _ => None,
        };
        let class = of_kind.or_else(|| status.and_then(classify::of_status));
        let class = classify::hinted(class, words);
        self.fault = Some(Fault::new(class, words));
    }
}
