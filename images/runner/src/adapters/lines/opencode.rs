//! opencode (1.18.33), by its `run`, and what is known of its second version.

mod second;

use std::collections::BTreeMap;
use std::iter;
use std::marker::PhantomData;

use protocol::programs::Version;
use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus, limits};
use serde_json::{Map, Value, json};

use self::second::{Seen, Service};
use super::{CALL, LADDER, Run, Talk, add};
use crate::adapter::{CommandLine, JsonVariable, Ladder, Launch};
use crate::adapters::Cli;
use crate::adapters::calls::Calls;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{count, log, text};
use crate::adapters::mcp;
use crate::classify;
use crate::mcp::{At, McpServers};

/// From here on the flag that grants permissions has this short name, which earlier ones do not know. 1.14.34 has the long
/// one, and 1.3.2 neither.
const AUTO: Version = Version(1, 18, 0);
/// From here on it knows other flags.
const SECOND: Version = Version(2, 0, 0);
/// Its service is told to stop before the program is.
const SERVICE_LADDER: Ladder = Ladder {
    interrupt: CALL,
    ..LADDER
};
/// Failed calls of the model without any progress after which it would go on trying for ever.
const ATTEMPTS: u32 = 6;

/// The name of a conversation is no longer.
const SESSION_BYTES: usize = 64;

/// Of a turn whose end its program did not tell.
const NOT_TOLD: &str = "opencode ended without telling the end of its last step; its service says that the turn is done. The \
                        tokens of that step are not counted";

/// opencode.
pub(in crate::adapters) const OPENCODE: Cli = Cli {
    id: "opencode",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".config/opencode/skills"),
    // A database.
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        let mut talk = Opencode::<Name>::new(launch);
        let line = match launch.version >= Some(SECOND) {
            true => {
                talk.service = Service::of(launch);
                let line = second_line(launch);
                let service = talk.service.as_ref().map(|_| SERVICE_LADDER);
                CommandLine { service, ..line }
            }
            false => command_line(launch),
        };
        let run = Run::new(talk, launch.resume.clone());
        (line, Box::new(run))
    },
};

pub(super) const RESERVED: &Reserved = &[
    ("--format", Takes::Value),
    ("--dir", Takes::Value),
    ("--variant", Takes::Value),
    ("--log-level", Takes::Value),
    ("-m", Takes::Value),
    ("--model", Takes::Value),
    ("-s", Takes::Value),
    ("--session", Takes::Value),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("--fork", Takes::Nothing),
    ("--attach", Takes::Value),
    ("--auto", Takes::Nothing),
    ("--dangerously-skip-permissions", Takes::Nothing),
    ("--print-logs", Takes::Nothing),
    ("--thinking", Takes::Nothing),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
];

fn command_line(launch: &Launch) -> CommandLine {
    let grants = match launch.version >= Some(AUTO) {
        true => "--auto",
        false => "--dangerously-skip-permissions",
    };
    let mut args = vec!["run", "--format", "json", grants];
    // Failures that it tries again without a word stand in its log.
    args.extend(["--print-logs", "--log-level", "ERROR", "--thinking"]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--variant", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: "opencode",
        reserved: RESERVED,
        args,
        env_json: launch.mcp.as_ref().map(servers),
        env: ENVIRONMENT.to_vec(),
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}

/// Of the second version no program could be had: this is from descriptions. It has lost flags, and how much the model
/// thinks is a part of that one's name. It takes no configuration from variables, and so no servers.
fn second_line(launch: &Launch) -> CommandLine {
    let model = match (&launch.model, &launch.thinking) {
        (Some(model), Some(level)) => Some(format!("{model}#{level}")),
        (model, _) => model.clone(),
    };
    let mut args = vec!["run", "--format", "json", "--dangerously-skip-permissions"];
    args.push("--thinking");
    args.extend(option("--model", model.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: "opencode",
        reserved: RESERVED,
        args,
        env: ENVIRONMENT.to_vec(),
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    let mut line = parts.line(launch);
    if let (None, Some(level)) = (&launch.model, &launch.thinking) {
        line.notes.push(log(
            LogLevel::Warn,
            format!(
                "opencode can be told of thinkingLevel {level} with a model alone: it is left out"
            ),
        ));
    }
    line
}

/// Its configuration, in a variable of its own: a file would lie on the volume.
pub(super) fn servers(servers: &McpServers) -> JsonVariable {
    let entries = servers.0.iter().map(|server| {
        let entry = match &server.at {
            At::Program { command, args, env } => {
                let command: Vec<_> = iter::once(command).chain(args).collect();
                json!({"type": "local", "command": command, "environment": mcp::object(env), "enabled": true})
            }
            At::Address { url, headers, .. } => {
                json!({"type": "remote", "url": url, "headers": mcp::object(headers), "enabled": true})
            }
        };
        (server.name.clone(), entry)
    });
    JsonVariable {
        name: "OPENCODE_CONFIG_CONTENT".to_owned(),
        value: json!({"mcp": entries.collect::<Map<_, _>>()}),
    }
}

/// Which of those it is that speak alike.
pub(super) trait Named: Default + Send + 'static {
    /// Its name.
    const NAME: &'static str;
    /// It is known to say so when it does not know a conversation.
    const TELLS_LOSS: bool = true;
}

#[derive(Default)]
struct Name;

impl Named for Name {
    const NAME: &'static str = "opencode";
}

/// What it said.
#[derive(Default)]
pub(super) struct Opencode<N> {
    name: PhantomData<N>,
    /// What was asked for: its frames do not name it.
    model: String,
    session: Option<String>,
    /// The one that is to go on.
    asked: Option<String>,
    calls: Calls,
    usage: BTreeMap<String, TokenUsage>,
    /// The step that it is in.
    step: Option<Step>,
    /// The last one that ended, and why it did.
    last: Option<(Step, String)>,
    /// Text of the last step that had any.
    answer: String,
    fault: Option<Fault>,
    /// Steps that have ended: each is an answer of the model.
    answers: u32,
    /// Failed calls of the model since it last said something.
    attempts: u32,
    /// The failure of the last one, until it was told.
    again: Option<FailureClass>,
    /// What it was, in its words.
    failure: String,
    /// What does the work, of the second version.
    service: Option<Service>,
}

/// A call of the model, with what it asked for.
#[derive(Debug, Default)]
struct Step {
    words: String,
    tools: bool,
    tokens: bool,
    seen: Seen,
}

impl<N: Named> Talk for Opencode<N> {
    const NAME: &'static str = N::NAME;
    const LOST: &'static [&'static str] = &["Session not found"];
    const TELLS_LOSS: bool = N::TELLS_LOSS;

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        self.attempts = 0;
        let session = text(frame, "sessionID");
        if self.session.is_none() && !session.is_empty() {
            self.session = Some(session.to_owned());
        }
        let part = frame.get("part").unwrap_or(&Value::Null);
        match text(frame, "type") {
            "step_start" => self.step = Some(Step::default()),
            "text" => self.said(text(part, "text"), events),
            "reasoning" => {
                let content = text(part, "text").to_owned();
                if !content.is_empty() {
                    events.push(EventBody::Thinking { content });
                }
            }
            "tool_use" => self.tool(part, events),
            "step_finish" => self.ended(part),
            "error" => self.failed(frame.get("error").unwrap_or(&Value::Null)),
            _ => events.push(log(LogLevel::Debug, line)),
        }
        if let (Some(step), Some(_)) = (&mut self.step, &self.service) {
            let is_ours = self.session.as_deref() == Some(session);
            step.seen.note(text(frame, "type"), part, is_ours);
        }
    }

    fn stderr(&mut self, line: &str) -> Option<Fault> {
        let counts = line.contains("message=\"stream error\"") && line.contains("small=false");
        if !counts || !self.is_ours(line) {
            return None;
        }
        self.attempts = self.attempts.saturating_add(1);
        let words = line
            .split_once("error.error=")
            .map_or(line, |(_, words)| words);
        words.clone_into(&mut self.failure);
        self.again = Some(self.class_of_failure());
        (self.attempts == ATTEMPTS).then(|| self.given_up())
    }

    fn tries_again(&mut self) -> Option<FailureClass> {
        self.again.take()
    }

    fn gives_up(&mut self) -> Option<Fault> {
        (self.attempts > 0).then(|| self.given_up())
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn judge(&mut self) -> Option<Judgement> {
        let unfinished = |why: String| Some(Err(Fault::new(FailureClass::CliCrashed, why)));
        if self.step.is_some() {
            let cut = format!("{} stream ended inside a step", N::NAME);
            return Some(Err(Fault::new(FailureClass::ProviderNetwork, cut)));
        }
        let (step, reason) = self.last.as_ref()?;
        if reason == "tool-calls" || (step.tools && !matches!(reason.as_str(), "stop" | "length")) {
            let name = N::NAME;
            return unfinished(format!(
                "{name} ended before the model had answered to its tools"
            ));
        }
        if reason == "length" {
            let cut = "the answer was cut off at the limit of tokens";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, cut)));
        }
        if step.words.is_empty() && !step.tools && !step.tokens {
            let nothing = "the agent said nothing and did nothing";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, nothing)));
        }
        Some(Ok(std::mem::take(&mut self.answer)))
    }

    fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    fn answers(&self) -> Option<u32> {
        Some(self.answers)
    }

    fn interrupts(&self) -> Option<Vec<String>> {
        let session = self.session.as_deref().or(self.asked.as_deref())?;
        self.service.as_ref()?.interrupt(session)
    }

    /// 2.0.18 may end without having told the end of its last step.
    fn doubts(&self) -> Option<Vec<String>> {
        let is_open = self.step.is_some() && self.fault.is_none();
        let service = self.service.as_ref().filter(|_| is_open)?;
        service.newest(self.session.as_deref()?)
    }

    fn answered(&mut self, answer: &[u8], events: &mut Vec<EventBody>) {
        let Some(step) = self.step.take_if(|step| step.seen.is_done(answer)) else {
            return;
        };
        events.push(log(LogLevel::Info, NOT_TOLD));
        self.last = Some((step, "stop".to_owned()));
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        std::mem::take(&mut self.usage)
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }
}

impl<N: Named> Opencode<N> {
    /// One that runs.
    pub(super) fn new(launch: &Launch) -> Self {
        Self {
            model: launch.model.clone().unwrap_or_default(),
            asked: launch.resume.clone(),
            ..Self::default()
        }
    }

    /// A line of the log that names our conversation, or none. It may be named there before the first frame; those of
    /// sub-agents have names of their own.
    fn is_ours(&mut self, line: &str) -> bool {
        let Some((_, rest)) = line.split_once(" session.id=") else {
            return true;
        };
        let named = rest.split_ascii_whitespace().next().unwrap_or_default();
        match self.session.as_deref().or(self.asked.as_deref()) {
            Some(ours) => named == ours,
            None => {
                let is_one = named.starts_with("ses_") && named.len() <= SESSION_BYTES;
                self.session = is_one.then(|| named.to_owned());
                is_one
            }
        }
    }

    fn class_of_failure(&self) -> FailureClass {
        classify::classify_or(&self.failure, FailureClass::ProviderNetwork)
    }

    fn given_up(&self) -> Fault {
        let (attempts, words) = (self.attempts, &self.failure);
        let times = if attempts == 1 { "time" } else { "times" };
        Fault::new(
            self.class_of_failure(),
            format!("the provider failed {attempts} {times}, and nothing came of it: {words}"),
        )
    }

    fn said(&mut self, words: &str, events: &mut Vec<EventBody>) {
        if words.is_empty() {
            return;
        }
        let step = self.step.get_or_insert_default();
        if step.words.len() + words.len() <= limits::BODY_BYTES {
            if !step.words.is_empty() {
                step.words.push_str("\n\n");
            }
            step.words.push_str(words);
            self.answer.clone_from(&step.words);
        }
        events.push(EventBody::Text {
            content: words.to_owned(),
        });
    }

    /// It comes once the tool has ended.
    fn tool(&mut self, part: &Value, events: &mut Vec<EventBody>) {
        let state = part.get("state").unwrap_or(&Value::Null);
        let failed = text(state, "status") == "error";
        let (status, output) = match failed {
            true => (ToolStatus::Failed, text(state, "error")),
            false => (ToolStatus::Completed, text(state, "output")),
        };
        // Later versions name it otherwise.
        let ids = [text(part, "callID"), text(part, "id")];
        let id = ids
            .into_iter()
            .find(|id| !id.is_empty())
            .unwrap_or_default();
        let input = state.get("input").cloned().unwrap_or(Value::Null);
        self.calls.start(id, text(part, "tool"), input, events);
        self.calls.end(id, output.to_owned(), status, events);
        let metadata = part.get("metadata");
        let by_provider = metadata.is_some_and(|metadata| metadata["providerExecuted"] == true);
        self.step.get_or_insert_default().tools |= !by_provider;
    }

    fn ended(&mut self, part: &Value) {
        let mut step = self.step.take().unwrap_or_default();
        self.answers = self.answers.saturating_add(1);
        if let Some(tokens) = part.get("tokens") {
            let cache = tokens.get("cache").unwrap_or(&Value::Null);
            let spent = TokenUsage {
                input: count(tokens, "input"),
                output: count(tokens, "output").saturating_add(count(tokens, "reasoning")),
                cache_read: count(cache, "read"),
                cache_write: count(cache, "write"),
            };
            step.tokens = spent.total() > 0;
            add(&mut self.usage, &self.model, spent);
        }
        self.last = Some((step, text(part, "reason").to_owned()));
    }

    fn failed(&mut self, error: &Value) {
        let data = error.get("data").unwrap_or(&Value::Null);
        let words = [
            text(data, "message"),
            text(error, "message"),
            text(error, "name"),
            // As the second version has it.
            text(error, "type"),
        ];
        let words = words.into_iter().find(|words| !words.is_empty());
        let words = words.unwrap_or("it told of an error without a word");
        let status = u16::try_from(count(data, "statusCode")).ok();
        let of_status = status.and_then(classify::of_status);
        let names = [text(error, "name"), text(error, "type")];
        let of_name = names.into_iter().find_map(of_name);
        let class = of_name.unwrap_or_else(|| classify::hinted(of_status, words));
        self.fault.get_or_insert(Fault::new(class, words));
    }
}

/// The names of its errors that say what is wrong.
fn of_name(name: &str) -> Option<FailureClass> {
    match name {
        "ContextOverflowError" => Some(FailureClass::ContextOverflow),
        "ProviderAuthError" => Some(FailureClass::ProviderAuth),
        _ => None,
    }
}
