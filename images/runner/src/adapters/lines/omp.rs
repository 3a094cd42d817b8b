//! omp (18.2.0), a relative of pi: the same events, one process a turn. Unlike pi it ends with 1 where its last step failed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use protocol::{EventBody, LogLevel, TokenUsage};
use serde_json::Value;

use super::{LADDER, Run, Talk, warning};
use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::flags::{Reserved, Takes, without_words};
use crate::adapters::frame::{flag, log, text};
use crate::adapters::pi::Talk as Steps;
use crate::adapters::stores::{self, is_uuid};

/// Folders between the store and a file: one for each working directory.
const DEPTH: u32 = 1;

/// omp.
pub(in crate::adapters) const OMP: Cli = Cli {
    id: "omp",
    context_file: "AGENTS.md",
    skills: |place| home(place).join("skills"),
    session_files,
    ladder: LADDER,
    launch: |launch| {
        let run = Run::new(Omp::default(), launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
};

const RESERVED: &Reserved = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--mode", Takes::Value),
    ("--thinking", Takes::Value),
    ("--session", Takes::Value),
    ("--session-dir", Takes::Value),
    ("--no-session", Takes::Nothing),
    ("--fork", Takes::Value),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("-r", Takes::MaybeValue),
    ("--resume", Takes::MaybeValue),
    ("--approval-mode", Takes::Value),
    ("--auto-approve", Takes::Nothing),
    ("--yolo", Takes::Nothing),
    ("--from-claude", Takes::Nothing),
    ("--from-codex", Takes::Nothing),
];

/// Flags that take a value.
const VALUES: &[&str] = &[
    "--cwd",
    "--config",
    "--add-dir",
    "--mode",
    "--provider",
    "--model",
    "--smol",
    "--slow",
    "--plan",
    "--prewalk-into",
    "--plan-yolo-into",
    "--max-time",
    "--service-tier",
    "--api-key",
    "--system-prompt",
    "--append-system-prompt",
    "--provider-session-id",
    "--prompt-cache-key",
    "--models",
    "--tools",
    "--thinking",
    "--session",
    "--export",
    "--hook",
    "--extension",
    "-e",
    "--trusted-extension",
    "--plugin-dir",
    "--skills",
    "--profile",
    "--alias",
];

fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["-p", "--mode", "json", "--auto-approve"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--thinking", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: "omp",
        reserved: RESERVED,
        args,
        // Behind an allow-list a look for updates would only run into its time-out.
        env: vec![("NO_COLOR", "1"), ("PI_OFFLINE", "1")],
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    let mut line = parts.line(launch);
    let (argv, notes) = without_words(line.argv, VALUES);
    line.argv = argv;
    line.notes.extend(notes);
    line
}

fn home(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "PI_CODING_AGENT_DIR", ".omp/agent")
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let end = format!("_{session}.jsonl");
    let store = home(place).join("sessions");
    stores::look(&store, DEPTH, &format!("{session}.jsonl"), |name| {
        name.ends_with(&end)
    })
}

/// What it said.
#[derive(Default)]
struct Omp {
    session: Option<String>,
    steps: Steps,
    /// The agent has come to its end.
    ended: bool,
    /// Steps that have ended: each is an answer of the model.
    answers: u32,
}

impl Talk for Omp {
    const NAME: &'static str = "omp";
    const LOST: &'static [&'static str] = &["Error: Session \""];

    fn frame(&mut self, frame: &Value, line: &str, events: &mut Vec<EventBody>) {
        let message = frame.get("message").unwrap_or(&Value::Null);
        match text(frame, "type") {
            "session" => self.session = Some(text(frame, "id").to_owned()),
            "agent_start" => self.ended = false,
            "message_start" => self.steps.begin(),
            "message_update" => self.steps.piece(frame, events),
            "message_end" => self.steps.whole(message, events),
            "tool_execution_start" => self.steps.tool(frame, events),
            "tool_execution_end" => self.steps.tool_ended(frame, events),
            "turn_end" => {
                self.answers = self.answers.saturating_add(1);
                self.steps.step(message);
            }
            "agent_end" => self.ended = true,
            "auto_retry_start" => {
                let words = text(frame, "errorMessage");
                events.push(warning(format!(
                    "the provider failed, and is tried again: {words}"
                )));
            }
            "auto_retry_end" if !flag(frame, "success") => {
                let words = text(frame, "finalError");
                events.push(warning(format!("the provider is given up: {words}")));
            }
            "compaction_start" | "auto_compaction_start" => {
                events.push(log(LogLevel::Info, "the conversation is being compacted"));
            }
            "notice" => events.push(warning(text(frame, "message"))),
            "error" => {
                let words = [text(frame, "error"), text(frame, "message")];
                let words = words.into_iter().find(|words| !words.is_empty());
                events.push(EventBody::Error {
                    content: words.unwrap_or(line).to_owned(),
                });
            }
            "turn_start"
            | "tool_execution_update"
            | "queue_update"
            | "entry_appended"
            | "advisor_cost_changed"
            | "auto_retry_end"
            | "compaction_end"
            | "auto_compaction_end"
            | "agent_settled" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
    }

    fn retrying(frame: &Value) -> Option<protocol::FailureClass> {
        let again = text(frame, "type") == "auto_retry_start";
        again.then(|| crate::classify::classify(text(frame, "errorMessage")))
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
        self.ended.then(|| self.steps.judge(false))
    }

    fn fault(&mut self) -> Option<Fault> {
        // A step that failed explains the end, whatever was tried after it.
        if !self.steps.failed() {
            return None;
        }
        self.steps.judge(false).err()
    }

    fn answers(&self) -> Option<u32> {
        Some(self.answers)
    }

    fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        self.steps.usage()
    }

    fn close(&mut self, events: &mut Vec<EventBody>) {
        self.steps.close(events);
    }
}
