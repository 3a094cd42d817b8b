//! Any agent that is spoken to in commands and tells events, both in lines of JSON, as its protocol is described.

use std::io;

use serde_json::{Value, json};

use crate::arguments::{Given, Known};
use crate::input::{Incoming, Input};
use crate::play::{Voice, play};
use crate::store::Conversation;
use crate::{complain, write};

const KNOWN: Known = Known {
    values: &["--mode", "--model", "--thinking", "--session"],
    switches: &[],
};

struct Talker {
    session: String,
    model: String,
    /// Of the model call that goes on.
    words: String,
}

pub(crate) fn run(arguments: &[String]) -> io::Result<u8> {
    let given = match Given::read(&KNOWN, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&format!("Error: {words}")).map(|()| 1),
    };
    if given.value("--mode") != Some("rpc") || !given.words.is_empty() {
        return complain("this stand-in speaks rpc alone").map(|()| 1);
    }
    let asked = given.value("--session");
    let new = uuid::Uuid::now_v7().to_string();
    let Some(conversation) = Conversation::open("rpc", asked, &new)? else {
        let asked = asked.unwrap_or_default();
        return complain(&format!("No session found matching '{asked}'")).map(|()| 1);
    };
    let mut talker = Talker {
        session: conversation.id.clone(),
        model: given.value("--model").unwrap_or("fake-model").to_owned(),
        words: String::new(),
    };
    let input = Input::read();
    loop {
        let command = match input.next()? {
            Incoming::Frame(command) => command,
            Incoming::End => return Ok(0),
            Incoming::Nothing => continue,
        };
        match command["type"].as_str().unwrap_or_default() {
            "get_state" => {
                let data = json!({"sessionId": talker.session, "model": {"id": talker.model}, "isStreaming": false});
                respond(&command, Ok(data))?;
            }
            "prompt" => {
                respond(&command, Ok(Value::Null))?;
                let prompt = command["message"].as_str().unwrap_or_default();
                play(&mut talker, &conversation, prompt)?;
            }
            other => respond(&command, Err(format!("Unknown command: {other}")))?,
        }
    }
}

fn respond(command: &Value, result: Result<Value, String>) -> io::Result<()> {
    let (id, kind) = (&command["id"], &command["type"]);
    write(&match result {
        Ok(data) => {
            json!({"id": id, "type": "response", "command": kind, "success": true, "data": data})
        }
        Err(words) => {
            json!({"id": id, "type": "response", "command": kind, "success": false, "error": words})
        }
    })
}

impl Talker {
    fn delta(&self, kind: &str, words: &str) -> io::Result<()> {
        write(
            &json!({"type": "message_update", "assistantMessageEvent": {"type": kind, "delta": words}}),
        )
    }

    /// A model call has ended, with its tools.
    fn step(&mut self, reason: &str, failure: Option<&str>) -> io::Result<()> {
        let words = std::mem::take(&mut self.words);
        let usage = json!({"input": 7, "output": 5, "cacheRead": 3, "cacheWrite": 0});
        let mut message = json!({
            "role": "assistant", "model": self.model, "content": [{"type": "text", "text": words}],
            "usage": usage, "stopReason": reason,
        });
        if let Some(failure) = failure {
            message["errorMessage"] = failure.into();
        }
        write(&json!({"type": "turn_end", "message": message, "toolResults": []}))
    }
}

impl Voice for Talker {
    fn begins(&mut self, _session: &str) -> io::Result<()> {
        write(&json!({"type": "agent_start"}))?;
        write(&json!({"type": "turn_start"}))
    }

    fn says(&mut self, words: &str) -> io::Result<()> {
        self.words.push_str(words);
        self.delta("text_delta", words)
    }

    fn thinks(&mut self, words: &str) -> io::Result<()> {
        self.delta("thinking_delta", words)
    }

    fn runs(&mut self, call: &str, command: &str) -> io::Result<()> {
        let args = json!({"command": command});
        write(
            &json!({"type": "tool_execution_start", "toolCallId": call, "toolName": "bash", "args": args}),
        )
    }

    fn ran(&mut self, call: &str, _command: &str, output: &str, code: i32) -> io::Result<()> {
        let result = json!({"content": [{"type": "text", "text": output}]});
        write(&json!({
            "type": "tool_execution_end", "toolCallId": call, "toolName": "bash", "result": result,
            "isError": code != 0,
        }))?;
        self.step("toolUse", None)?;
        write(&json!({"type": "turn_start"}))
    }

    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8> {
        match ended {
            Ok(_) => self.step("stop", None)?,
            Err(words) => self.step("error", Some(words))?,
        }
        write(&json!({"type": "agent_end", "messages": []}))?;
        write(&json!({"type": "agent_settled", "aborted": false}))?;
        Ok(0)
    }
}
