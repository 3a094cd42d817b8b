//! Antigravity's agent, from the description of its stream.

use std::io;

use serde_json::{Value, json};

use crate::arguments::{Given, Known};
use crate::play::{Voice, play};
use crate::store::Conversation;
use crate::{complain, stdin, write};

const KNOWN: Known = Known {
    values: &[
        "--input-format",
        "--output-format",
        "--model",
        "--print-timeout",
        "--log-file",
        "--conversation",
        "--add-dir",
    ],
    switches: &["--dangerously-skip-permissions"],
};

struct Antigravity {
    conversation: String,
    model: String,
    step: u64,
    answer: String,
}

pub(crate) fn run(arguments: &[String]) -> io::Result<u8> {
    let given = match Given::read(&KNOWN, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&words).map(|()| 2),
    };
    let formats = ["--input-format", "--output-format"].map(|flag| given.value(flag));
    if formats != [Some("stream-json"); 2] || !given.words.is_empty() {
        return complain("this stand-in speaks stream-json alone").map(|()| 2);
    }
    if !given.has("--dangerously-skip-permissions") || given.value("--print-timeout").is_none() {
        // It would end after five minutes without a word, or wait for somebody.
        return Ok(0);
    }
    let input = stdin()?;
    let frame: Value = serde_json::from_str(input.trim())?;
    let Some(prompt) = frame["message"]["content"]
        .as_str()
        .filter(|_| frame["event"] == "user")
    else {
        return complain("no message of a user came in").map(|()| 2);
    };
    let new = uuid::Uuid::now_v7().to_string();
    let asked = given.value("--conversation");
    let Some(conversation) = Conversation::open("antigravity", asked, &new)? else {
        return Ok(1);
    };
    let mut antigravity = Antigravity {
        conversation: conversation.id.clone(),
        model: given.value("--model").unwrap_or("fake-model").to_owned(),
        step: 0,
        answer: String::new(),
    };
    play(&mut antigravity, &conversation, prompt)
}

impl Antigravity {
    fn update(&self, state: &str, kind: &str, more: &Value) -> io::Result<()> {
        let mut update = json!({
            "conversation_id": self.conversation, "step_index": self.step, "state": state, "step_type": kind,
        });
        if let (Some(update), Some(more)) = (update.as_object_mut(), more.as_object()) {
            update.extend(more.clone());
        }
        write(&json!({"event": "step_update", "step_update": update}))
    }

    fn tool(&self, state: &str, command: &str, more: &Value) -> io::Result<()> {
        let mut info = json!({"name": "run_command", "parameters": {"CommandLine": command}});
        if let (Some(info), Some(more)) = (info.as_object_mut(), more.as_object()) {
            info.extend(more.clone());
        }
        let told = json!({"tool_name": "run_command", "tool_info": info});
        self.update(state, "tool", &told)
    }
}

impl Voice for Antigravity {
    fn begins(&mut self, session: &str) -> io::Result<()> {
        write(&json!({"event": "init", "conversation_id": session, "init": {"model": self.model}}))
    }

    fn says(&mut self, words: &str) -> io::Result<()> {
        self.step += 1;
        words.clone_into(&mut self.answer);
        self.update("ACTIVE", "agent_response", &json!({"text_delta": words}))?;
        let usage = json!({"input_tokens": 7, "output_tokens": 5, "cache_read_tokens": 3, "cache_write_tokens": 0});
        // The same step's usage may come more than once.
        for _ in 0..2 {
            self.update("DONE", "agent_response", &json!({"usage": usage}))?;
        }
        Ok(())
    }

    fn thinks(&mut self, _words: &str) -> io::Result<()> {
        Ok(())
    }

    fn runs(&mut self, _call: &str, command: &str) -> io::Result<()> {
        self.step += 1;
        // A snapshot comes as often as anything changes.
        self.tool("ACTIVE", command, &json!({}))?;
        self.tool("ACTIVE", command, &json!({}))
    }

    fn ran(&mut self, _call: &str, command: &str, output: &str, code: i32) -> io::Result<()> {
        match code {
            0 => self.tool("DONE", command, &json!({"output": output})),
            _ => {
                let error = json!({"type": "EXIT", "message": format!("exit code {code}")});
                self.tool("ERROR", command, &json!({"output": output, "error": error}))
            }
        }
    }

    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8> {
        let mut result = json!({
            "conversation_id": self.conversation, "status": "SUCCESS", "response": self.answer,
            "usage": {"input_tokens": 7000, "output_tokens": 5000},
        });
        if let Err(words) = ended {
            result["status"] = "ERROR".into();
            result["error"] = words.into();
        }
        write(&json!({"event": "result", "result": result}))?;
        Ok(0)
    }
}
