//! Antigravity's agent, by its stream of JSON. No program of it could be had: everything here is from descriptions
//! of its protocol.

use std::collections::BTreeMap;

use protocol::{EventBody, FailureClass, LogLevel, TokenUsage, ToolStatus, limits};
use serde_json::{Map, Value, json};

use super::{LADDER, Run, Talk, add, sum};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::calls::Calls;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::{content_text, count, log, text};
use crate::classify;

/// Without a time it would end after five minutes, without a word. The runner has times of its own.
const NEVER: &str = "24h0m0s";
/// Steps whose tokens are told apart.
const STEPS: usize = 4096;
/// What it says at its end where a network failed that was no longer needed.
const LATE_NETWORK: &str = "There was a network issue connecting to the server, please try again.";

/// Antigravity's agent.
pub(in crate::adapters) const ANTIGRAVITY: Cli = Cli {
    id: "antigravity",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".gemini/antigravity-cli/skills"),
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        let talk = Antigravity {
            model: launch.model.clone().unwrap_or_default(),
            resumed: launch.resume.is_some(),
            ..Antigravity::default()
        };
        let run = Run::new(talk, launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
};

const RESERVED: &Reserved = &[
    ("-p", Takes::Value),
    ("--print", Takes::Value),
    ("--prompt", Takes::Value),
    ("--conversation", Takes::Value),
    ("--model", Takes::Value),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("--print-timeout", Takes::Value),
    ("--log-file", Takes::Value),
    ("--settings", Takes::Value),
    ("-i", Takes::Nothing),
    ("--prompt-interactive", Takes::Nothing),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("--dangerously-skip-permissions", Takes::Nothing),
    ("--notices", Takes::Nothing),
    ("--help", Takes::Nothing),
    ("-h", Takes::Nothing),
    ("--helpfull", Takes::Nothing),
];

fn command_line(launch: &Launch) -> CommandLine {
    let cwd = launch.cwd.to_string_lossy();
    let mut args = vec!["--dangerously-skip-permissions"];
    args.extend(["--input-format", "stream-json"]);
    args.extend(["--output-format", "stream-json"]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(["--print-timeout", NEVER]);
    args.extend(option("--conversation", launch.resume.as_deref()));
    args.extend(["--add-dir", &cwd]);
    let message = json!({"event": "user", "message": {"content": launch.message}});
    let parts = Parts {
        program: "agy",
        reserved: RESERVED,
        args,
        env: vec![("NO_COLOR", "1")],
        stdin: format!("{message}\n").into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}

/// What it said.
#[derive(Default)]
struct Antigravity {
    session: Option<String>,
    model: String,
    /// It goes on with a conversation: its result then tells the tokens of all of that.
    resumed: bool,
    calls: Calls,
    /// Tokens by step: a step tells its own again and again.
    steps: BTreeMap<String, TokenUsage>,
    /// Words since the last tool.
    words: String,
    /// Its last frame.
    result: Option<Value>,
}

impl Talk for Antigravity {
    const NAME: &'static str = "antigravity";
    const LOST: &'static [&'static str] = &[];
    const TELLS_LOSS: bool = false;

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        match text(frame, "event") {
            "init" => {
                self.opened(text(frame, "conversation_id"));
                let model = frame.get("init").map_or("", |init| text(init, "model"));
                if !model.is_empty() {
                    model.clone_into(&mut self.model);
                }
            }
            "step_update" => {
                if let Some(update) = frame.get("step_update") {
                    self.update(update, events);
                }
            }
            "result" => {
                let result = frame.get("result").cloned().unwrap_or_default();
                self.opened(text(&result, "conversation_id"));
                self.result = Some(result);
            }
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
        let result = self.result.as_ref()?;
        let answer = match text(result, "response") {
            "" => std::mem::take(&mut self.words),
            response => response.to_owned(),
        };
        if answer.is_empty() && self.calls.is_empty() {
            // That is also all it says of a model that it does not know.
            let nothing = "the agent said nothing and did nothing; a model that it does not know ends like that too";
            return Some(Err(Fault::new(FailureClass::EmptyOutput, nothing)));
        }
        Some(Ok(answer))
    }

    fn fault(&mut self) -> Option<Fault> {
        let result = self.result.as_ref()?;
        let (status, error) = (text(result, "status"), text(result, "error"));
        let answered = !text(result, "response").is_empty() || !self.words.is_empty();
        if status == "SUCCESS" || (answered && error == LATE_NETWORK) {
            return None;
        }
        let words = match error {
            "" => format!("antigravity ended its turn as {status}"),
            error => error.to_owned(),
        };
        let class = match status {
            _ if error == LATE_NETWORK => FailureClass::ProviderNetwork,
            // Nobody of ours asked for it, or the end that it asks for would count.
            "CANCELLED" | "ABORTED" | "TIMEOUT" => FailureClass::CliCrashed,
            _ => FailureClass::Unknown,
        };
        Some(Fault::new(classify::classify_or(&words, class), words))
    }

    /// Each step of its own that tells tokens was one.
    fn answers(&self) -> Option<u32> {
        let own = format!("{}/", self.session.as_deref().unwrap_or_default());
        let steps = self.steps.keys();
        let count = steps
            .filter(|step| step.starts_with(&own) || step.starts_with('/'))
            .count();
        u32::try_from(count).ok().filter(|count| *count > 0)
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        let mut spent = TokenUsage::default();
        for step in self.steps.values() {
            sum(&mut spent, *step);
        }
        let told = self.result.as_ref().and_then(|result| result.get("usage"));
        if let Some(told) = told.filter(|_| self.steps.is_empty() && !self.resumed) {
            spent = tokens(told);
        }
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

impl Antigravity {
    fn opened(&mut self, conversation: &str) {
        // Conversations beside it, of agents that it asks, have names of their own.
        if self.session.is_none() && !conversation.is_empty() {
            self.session = Some(conversation.to_owned());
        }
    }

    fn update(&mut self, update: &Value, events: &mut Vec<EventBody>) {
        // The same number comes again in a conversation beside it.
        let (conversation, step) = (text(update, "conversation_id"), count(update, "step_index"));
        let step = format!("{conversation}/{step}");
        if let Some(usage) = update.get("usage") {
            let known = self.steps.contains_key(&step) || self.steps.len() < STEPS;
            if known && text(update, "state") == "DONE" {
                self.steps.insert(step.clone(), tokens(usage));
            }
        }
        match text(update, "step_type") {
            "tool" => self.tool(&step, update, events),
            "agent_response" => {
                let main = self.session.as_deref() == Some(conversation) || conversation.is_empty();
                let words = text(update, "text_delta");
                if main && !words.is_empty() {
                    if self.words.len() + words.len() <= limits::BODY_BYTES {
                        self.words.push_str(words);
                    }
                    events.push(EventBody::Text {
                        content: words.to_owned(),
                    });
                }
            }
            _ => {}
        }
    }

    /// A snapshot of a tool, which comes as often as anything changes.
    fn tool(&mut self, step: &str, update: &Value, events: &mut Vec<EventBody>) {
        let info = update.get("tool_info").unwrap_or(&Value::Null);
        let names = [text(update, "tool_name"), text(info, "name")];
        let name = names.into_iter().find(|name| !name.is_empty());
        if let Some(name) = name {
            self.words.clear();
            let input = named(info.get("parameters").unwrap_or(&Value::Null));
            self.calls.start(step, name, input, events);
        }
        let status = match text(update, "state") {
            "DONE" => ToolStatus::Completed,
            "ERROR" | "FAILED" | "CANCELLED" | "ABORTED" => ToolStatus::Failed,
            _ => return,
        };
        let output = content_text(info.get("output"));
        let error = info.get("error").unwrap_or(&Value::Null);
        let error = [text(error, "type"), text(error, "message")];
        let error = error.into_iter().filter(|words| !words.is_empty());
        let told = error.chain([output.as_str()]).collect::<Vec<_>>();
        let told = told.join(if told.len() > 1 { "\n" } else { "" });
        let told = told.trim_end_matches('\n').to_owned();
        self.calls.end(step, told, status, events);
    }
}

/// What a tool is given, under the names that others use.
fn named(parameters: &Value) -> Value {
    let Some(parameters) = parameters.as_object() else {
        return parameters.clone();
    };
    let named = parameters.iter().map(|(name, value)| {
        let name = match name.as_str() {
            "CommandLine" => "command",
            "AbsolutePath" | "TargetFile" => "file_path",
            "CodeContent" => "content",
            "TargetContent" => "old_string",
            "ReplacementContent" => "new_string",
            other => other,
        };
        (name.to_owned(), value.clone())
    });
    Value::Object(named.collect::<Map<_, _>>())
}

/// Thoughts are told beside the answer, and count with it.
fn tokens(told: &Value) -> TokenUsage {
    TokenUsage {
        input: count(told, "input_tokens"),
        output: count(told, "output_tokens").saturating_add(count(told, "thinking_tokens")),
        cache_read: count(told, "cache_read_tokens"),
        cache_write: count(told, "cache_write_tokens"),
    }
}
