//! `mooring-fake-agent`: see the README of this crate, which `--help` prints.

mod conversation;
mod turn;
mod wire;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::conversation::Conversation;
use crate::turn::{Agent, answer_request};
use crate::wire::{Incoming, Wire};

/// The arguments that matter; Claude Code's others are accepted and do nothing.
#[derive(Default)]
struct Arguments {
    resume: Option<String>,
    model: Option<String>,
}

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let mut arguments = Arguments::default();
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--help" => return code(wire::write_bytes(include_bytes!("../README.md")).map(|()| 0)),
            "--version" => {
                // Of the program that it stands in for: an older one would be refused.
                return code(wire::write_bytes(b"2.1.332 (mooring-fake-agent)\n").map(|()| 0));
            }
            "--detached" => return code(detached(&given.next().unwrap_or_default())),
            "--resume" => arguments.resume = given.next(),
            "--model" => arguments.model = given.next(),
            _ => {}
        }
    }
    code(run(arguments))
}

fn code(done: io::Result<u8>) -> ExitCode {
    done.map_or_else(
        |error| {
            // Stderr may be what failed.
            let _ = wire::complain(&format!("mooring-fake-agent: {error}"));
            ExitCode::FAILURE
        },
        ExitCode::from,
    )
}

/// Becomes a shell in a session of its own, which nobody waits for.
fn detached(command: &str) -> io::Result<u8> {
    rustix::process::setsid()?;
    Err(Command::new("sh").args(["-c", command]).exec())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stand-in reads what the real program reads"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn run(arguments: Arguments) -> io::Result<u8> {
    if rustix::process::geteuid().is_root() && setting("IS_SANDBOX").as_deref() != Some("1") {
        wire::complain(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
        )?;
        return Ok(1);
    }
    let home = PathBuf::from(setting("HOME").unwrap_or_else(|| "/".to_owned()));
    let store = setting("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
    let conversation = match &arguments.resume {
        None => Conversation::create(&store, &std::env::current_dir()?)?,
        Some(id) => match Conversation::resume(&store, id)? {
            Some(conversation) => conversation,
            None => return refuse(id),
        },
    };
    let model = arguments.model.unwrap_or_else(|| "fake-model".to_owned());
    let mut agent = Agent::new(Wire::default(), conversation, model);
    let mut good = true;
    loop {
        match agent.wire.next(None)? {
            Incoming::Frame(frame) => {
                if frame["type"] == "user" {
                    good = agent.turn(&prompt_of(&frame))?;
                } else {
                    let hooks = &frame["request"]["hooks"]["PreToolUse"];
                    if let Some(hook) = hooks[0]["hookCallbackIds"][0].as_str() {
                        agent.hook = Some(hook.to_owned());
                    }
                    answer_request(&frame)?;
                }
            }
            Incoming::Garbage(line) => {
                wire::complain(&format!("Error parsing streaming input line: {line}"))?;
                return Ok(1);
            }
            Incoming::End => return Ok(u8::from(!good)),
            Incoming::Nothing => {}
        }
    }
}

/// The refusal of an id, in the words of Claude Code.
fn refuse(id: &str) -> io::Result<u8> {
    let words = if uuid::Uuid::try_parse(id).is_ok() {
        format!("No conversation found with session ID: {id}")
    } else {
        format!(
            "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p \
             --resume <session-id|title>. Provided value \"{id}\" is not a UUID and does not match any session title."
        )
    };
    wire::complain(&words)?;
    let mut frame = wire::result(id, &Err(("", words)));
    for absent in ["model_usage_since_last_result", "terminal_reason"] {
        if let Value::Object(frame) = &mut frame {
            frame.remove(absent);
        }
    }
    frame["modelUsage"] = serde_json::json!({});
    wire::write(&frame)?;
    Ok(1)
}

fn prompt_of(frame: &Value) -> String {
    let content = &frame["message"]["content"];
    let blocks = content.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let texts = blocks.iter().map(|block| &block["text"]);
    let texts: Vec<_> = texts.chain([content]).filter_map(Value::as_str).collect();
    texts.join("\n")
}
