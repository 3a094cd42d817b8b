//! Relatives of opencode, from the descriptions of what each of them takes.

mod service;

use std::io;

use serde_json::{Value, json};

use self::service::Records;
pub(crate) use self::service::{api, serve};
use crate::arguments::{Given, Known};
use crate::play::{Voice, play};
use crate::store::Conversation;
use crate::{complain, setting, stdin, write};

/// One of them.
pub(crate) struct Relative {
    program: &'static str,
    known: Known,
    /// Without it every tool is refused.
    approval: &'static str,
    /// The prompt is the last argument; else all of stdin.
    prompt_is_argument: bool,
    /// Variables without which it does not find its own settings.
    needs: &'static [&'static str],
}

/// The one called `codearts`.
pub(crate) const CODEARTS: Relative = Relative {
    program: "codearts",
    known: Known {
        values: &["--format", "--model", "--session"],
        switches: &["--auto", "--sandbox", "--dangerously-skip-permissions"],
    },
    approval: "--auto",
    prompt_is_argument: false,
    needs: &["PWD", "KERNEL_DATA_DIR", "OPENCODE_CONFIG", "SCENARIO"],
};

/// The one called `deveco`.
pub(crate) const DEVECO: Relative = Relative {
    program: "deveco",
    known: Known {
        values: &["--format", "--dir", "--model", "--variant", "--session"],
        switches: &["--dangerously-skip-permissions"],
    },
    approval: "--dangerously-skip-permissions",
    prompt_is_argument: true,
    needs: &["PWD"],
};

/// Any other that speaks alike.
pub(crate) const ANY: Relative = Relative {
    program: "json-lines",
    known: Known {
        values: &["--format", "--dir", "--model", "--variant", "--session"],
        switches: &["--dangerously-skip-permissions"],
    },
    approval: "--dangerously-skip-permissions",
    prompt_is_argument: false,
    needs: &["PWD"],
};

/// The second version of opencode itself.
pub(crate) const SECOND: Relative = Relative {
    program: "opencode",
    known: Known {
        values: &["--format", "--model", "--session"],
        switches: &[
            "--dangerously-skip-permissions",
            "--standalone",
            "--thinking",
        ],
    },
    approval: "--dangerously-skip-permissions",
    prompt_is_argument: false,
    needs: &["PWD"],
};

struct Talker {
    session: String,
    in_step: bool,
    /// Of the second version.
    records: Option<Records>,
}

pub(crate) fn run(relative: &Relative, arguments: &[String]) -> io::Result<u8> {
    let given = match Given::read(&relative.known, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&words).map(|()| 1),
    };
    let (command, words) = given.words.split_first().unzip();
    let program = relative.program;
    if command.map(String::as_str) != Some("run") || given.value("--format") != Some("json") {
        return complain(&format!("Usage: {program} run --format json")).map(|()| 1);
    }
    if !given.has(relative.approval) {
        return complain("every tool would be refused").map(|()| 1);
    }
    if let Some(lacking) = relative.needs.iter().find(|name| setting(name).is_none()) {
        return complain(&format!("{lacking} is not set")).map(|()| 1);
    }
    let prompt = match (relative.prompt_is_argument, words.unwrap_or_default()) {
        (true, [prompt]) => prompt.clone(),
        (false, []) => stdin()?,
        (_, words) => {
            return complain(&format!("{} words are no prompt", words.len())).map(|()| 1);
        }
    };
    let new = format!("ses_{}", uuid::Uuid::now_v7().simple());
    let Some(conversation) = Conversation::open(program, given.value("--session"), &new)? else {
        return complain("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found").map(|()| 1);
    };
    let is_second = program == SECOND.program;
    if is_second && !given.has("--standalone") {
        return service::follow(&conversation, &prompt);
    }
    let records = is_second.then(|| Records::of(&conversation.id));
    let mut talker = Talker {
        session: conversation.id.clone(),
        in_step: false,
        records: records.transpose()?,
    };
    play(&mut talker, &conversation, &prompt)
}

impl Talker {
    fn part(&self, kind: &str, mut part: Value) -> io::Result<()> {
        if let Some(records) = &self.records {
            part["messageID"] = records.message().into();
        }
        write(&json!({"type": kind, "timestamp": 0, "sessionID": self.session, "part": part}))
    }

    fn step(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.in_step, true) {
            return Ok(());
        }
        self.part("step_start", json!({"type": "step-start"}))
    }

    /// For the record of the second version.
    fn hold(&mut self, part: Value) {
        if let Some(records) = &mut self.records {
            records.hold(part);
        }
    }

    fn finish(&mut self, reason: &str) -> io::Result<()> {
        self.step()?;
        self.in_step = false;
        let tokens =
            json!({"input": 7, "output": 4, "reasoning": 1, "cache": {"read": 3, "write": 0}});
        // As 2.0.18 does it: the end of the last step is not told.
        if self.records.is_none() || reason != "stop" {
            self.part(
                "step_finish",
                json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0}),
            )?;
        }
        match &mut self.records {
            Some(records) => records.finish(reason, None),
            None => Ok(()),
        }
    }
}

impl Voice for Talker {
    fn begins(&mut self, _session: &str) -> io::Result<()> {
        self.step()
    }

    fn says(&mut self, words: &str) -> io::Result<()> {
        self.step()?;
        let part = json!({"type": "text", "text": words});
        self.hold(part.clone());
        self.part("text", part)
    }

    fn thinks(&mut self, words: &str) -> io::Result<()> {
        self.step()?;
        let part = json!({"type": "reasoning", "text": words});
        self.hold(part.clone());
        self.part("reasoning", part)
    }

    // It tells of a tool once that has ended.
    fn runs(&mut self, _call: &str, _command: &str) -> io::Result<()> {
        self.step()
    }

    fn ran(&mut self, call: &str, command: &str, output: &str, code: i32) -> io::Result<()> {
        let input = json!({"command": command});
        let state = match code {
            0 => json!({"status": "completed", "input": input, "output": output}),
            _ => json!({"status": "error", "input": input, "error": output}),
        };
        let status = state["status"].clone();
        self.hold(json!({"type": "tool", "id": call, "name": "bash", "state": {"status": status}}));
        let id = match self.records {
            Some(_) => "id",
            None => "callID",
        };
        self.part(
            "tool_use",
            json!({"type": "tool", "tool": "bash", id: call, "state": state}),
        )?;
        self.finish("tool-calls")
    }

    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8> {
        let Err(words) = ended else {
            self.finish("stop")?;
            if let Some(records) = &mut self.records {
                records.idle("succeeded")?;
            }
            return Ok(0);
        };
        let error = match &mut self.records {
            Some(records) => {
                let error = json!({"type": "APIError", "message": words});
                records.finish("error", Some(&error))?;
                records.idle("failed")?;
                error
            }
            None => json!({"name": "APIError", "data": {"message": words, "isRetryable": false}}),
        };
        write(
            &json!({"type": "error", "timestamp": 0, "sessionID": self.session, "error": error}),
        )?;
        Ok(1)
    }
}
