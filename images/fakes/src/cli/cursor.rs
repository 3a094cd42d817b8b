//! Cursor's agent, from the description of its stream.

use std::io;

use serde_json::{Value, json};

use crate::arguments::{Given, Known};
use crate::play::{Voice, play};
use crate::store::Conversation;
use crate::{complain, stdin, write};

const KNOWN: Known = Known {
    values: &["--output-format", "--workspace", "--model", "--resume"],
    switches: &["-p", "--yolo", "--trust"],
};

struct Cursor {
    session: String,
    model: String,
    words: String,
}

pub(crate) fn run(arguments: &[String]) -> io::Result<u8> {
    let given = match Given::read(&KNOWN, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&format!("error: {words}")).map(|()| 1),
    };
    if !given.has("-p") || given.value("--output-format") != Some("stream-json") {
        return complain("this stand-in speaks stream-json alone").map(|()| 1);
    }
    if !given.has("--trust") || !given.has("--yolo") {
        // It would wait for somebody who trusts the directory, or lets a tool run.
        loop {
            std::thread::park();
        }
    }
    // Words on the command line are the prompt, whatever they were meant for.
    let prompt = match given.words.join(" ") {
        words if words.is_empty() => stdin()?,
        words => words,
    };
    // It tells nothing of a conversation that it does not know: it ends without a frame.
    let new = uuid::Uuid::now_v7().to_string();
    let Some(conversation) = Conversation::open("cursor", given.value("--resume"), &new)? else {
        return Ok(1);
    };
    let mut cursor = Cursor {
        session: conversation.id.clone(),
        model: given.value("--model").unwrap_or("fake-model").to_owned(),
        words: String::new(),
    };
    play(&mut cursor, &conversation, &prompt)
}

impl Cursor {
    fn block(&self, block: &Value) -> io::Result<()> {
        write(&json!({
            "type": "assistant", "session_id": self.session,
            "message": {"role": "assistant", "content": [block]},
        }))
    }

    fn tool(&self, subtype: &str, call: &str, told: &Value) -> io::Result<()> {
        write(&json!({
            "type": "tool_call", "subtype": subtype, "call_id": format!("{call}\nfc_{call}"),
            "session_id": self.session, "tool_call": {"shellToolCall": told},
        }))
    }
}

impl Voice for Cursor {
    fn begins(&mut self, session: &str) -> io::Result<()> {
        crate::line(&format!(
            "stdout: {}",
            json!({"type": "system", "subtype": "init", "session_id": session, "model": self.model})
        ))?;
        write(&json!({"type": "user", "message": {"role": "user", "content": []}}))
    }

    fn says(&mut self, words: &str) -> io::Result<()> {
        self.words.push_str(words);
        self.block(&json!({"type": "text", "text": words}))
    }

    fn thinks(&mut self, words: &str) -> io::Result<()> {
        write(&json!({"type": "thinking", "subtype": "delta", "text": words}))?;
        write(&json!({"type": "thinking", "subtype": "completed"}))
    }

    fn runs(&mut self, call: &str, command: &str) -> io::Result<()> {
        self.tool("started", call, &json!({"args": {"command": command}}))
    }

    fn ran(&mut self, call: &str, command: &str, output: &str, code: i32) -> io::Result<()> {
        let told = json!({"stdout": output, "stderr": "", "exitCode": code});
        let result = match code {
            0 => json!({"success": told}),
            _ => json!({"failure": told}),
        };
        let told = json!({"args": {"command": command}, "result": result});
        self.tool("completed", call, &told)
    }

    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8> {
        let (subtype, words) = match ended {
            Ok(_) => ("success", self.words.as_str()),
            Err(words) => ("error", words),
        };
        write(&json!({
            "type": "result", "subtype": subtype, "is_error": ended.is_err(), "result": words,
            "session_id": self.session,
            "usage": {"inputTokens": 7, "outputTokens": 5, "cacheReadTokens": 3, "cacheWriteTokens": 0},
        }))?;
        // A worker of its lives on.
        loop {
            std::thread::park();
        }
    }
}
