//! One turn: the lines of the prompt, and what the client says meanwhile.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fakes::script::{Step, steps};
use serde_json::{Value, json};

use super::agents::{Agent, Steer, Usage};
use super::serve::answer;
use crate::input::{Incoming, Input};
use crate::play::recall;
use crate::store::Conversation;
use crate::{complain, write};

/// One turn.
pub(super) struct Turn<'a> {
    agent: &'a Agent,
    input: &'a Input,
    conversation: &'a Conversation,
    /// The id of the prompt.
    id: &'a Value,
    cancelled: bool,
    asked: u32,
}

/// How a turn ends.
enum End {
    /// With this reason.
    Stop(&'static str),
    /// With an error of these words.
    Error(String),
    /// With the process.
    Exit(u8),
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        agent: &'a Agent,
        input: &'a Input,
        conversation: &'a Conversation,
        id: &'a Value,
    ) -> Self {
        Self {
            agent,
            input,
            conversation,
            id,
            cancelled: false,
            asked: 0,
        }
    }

    /// Plays it. Gives an exit code where it ends the process.
    pub(super) fn play(&mut self, params: &Value) -> io::Result<Option<u8>> {
        let key = if self.agent.reads_content {
            "content"
        } else {
            "prompt"
        };
        let prompt = params[key][0]["text"].as_str().unwrap_or_default();
        if self.is_lost() {
            // One that takes any session refuses the prompt in those that it does not know.
            answer(self.id, Ok(json!({"stopReason": "refusal"})))?;
            return Ok(None);
        }
        self.conversation.add(prompt)?;
        match self.steps(prompt)? {
            End::Exit(code) => return Ok(Some(code)),
            End::Error(words) if self.agent.name == "qwenpaw" => {
                // It says why in words of its own, and refuses the prompt without any.
                self.update(
                    "agent_message_chunk",
                    json!({
                        "content": {"type": "text", "text": format!("Error: {words}")},
                        "_meta": {"qwenpaw.error": true},
                    }),
                )?;
                let error = json!({"code": -32603, "message": "Internal error", "data": {"details": "QwenPaw runtime failed"}});
                write(&json!({"jsonrpc": "2.0", "id": self.id, "error": error}))?;
            }
            End::Error(words) => {
                let error = json!({"code": -32603, "message": "Internal error", "data": words});
                write(&json!({"jsonrpc": "2.0", "id": self.id, "error": error}))?;
            }
            End::Stop(reason) => {
                let result = self.result(reason)?;
                answer(self.id, Ok(result))?;
            }
        }
        Ok(None)
    }

    fn is_lost(&self) -> bool {
        let is_new = self.conversation.id.starts_with("session-");
        self.agent.name == "hermes" && !is_new && self.conversation.earlier.is_empty()
    }

    fn steps(&mut self, prompt: &str) -> io::Result<End> {
        let mut said = false;
        for (number, step) in steps(prompt).into_iter().enumerate() {
            self.listen(Duration::ZERO)?;
            if self.cancelled {
                return Ok(End::Stop("cancelled"));
            }
            match step {
                Err(line) => return Ok(End::Error(format!("cannot read the line {line:?}"))),
                Ok(Step::Remember(_)) => {}
                Ok(Step::Recall) => {
                    self.says(&recall(&self.conversation.earlier))?;
                    said = true;
                }
                Ok(Step::Answer(words)) => {
                    self.says(&words)?;
                    said = true;
                }
                Ok(Step::Think(words)) => self.chunk("agent_thought_chunk", &words)?,
                Ok(Step::Run(command)) => self.run(number, &command)?,
                Ok(Step::Sleep(time)) => self.listen(time)?,
                Ok(Step::Stderr(words)) => complain(&words)?,
                Ok(Step::Bytes(bytes)) => crate::line(&String::from_utf8_lossy(&bytes))?,
                Ok(Step::LongLine(bytes)) => crate::line(&"x".repeat(bytes))?,
                Ok(Step::Hang) => loop {
                    std::thread::park();
                },
                Ok(Step::Crash(code)) => return Ok(End::Exit(u8::try_from(code).unwrap_or(1))),
                Ok(Step::Fail(words)) => return Ok(End::Error(words)),
                Ok(_) => return Ok(End::Error("this stand-in cannot do that".to_owned())),
            }
        }
        if self.cancelled {
            return Ok(End::Stop("cancelled"));
        }
        if !said {
            self.says("Done.")?;
        }
        Ok(End::Stop("end_turn"))
    }

    fn says(&self, words: &str) -> io::Result<()> {
        self.chunk("agent_message_chunk", words)
    }

    fn chunk(&self, kind: &str, words: &str) -> io::Result<()> {
        self.update(kind, json!({"content": {"type": "text", "text": words}}))
    }

    fn update(&self, kind: &str, mut update: Value) -> io::Result<()> {
        let (method, kind) = if self.agent.camel {
            ("session/notification", camel(kind))
        } else {
            ("session/update", kind.to_owned())
        };
        update["sessionUpdate"] = json!(kind);
        let params = json!({"sessionId": self.conversation.id, "update": update});
        write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn run(&mut self, number: usize, command: &str) -> io::Result<()> {
        let call = format!("call-{number}");
        let is_goal = command == "goal_complete";
        let title = if is_goal { command } else { "bash" };
        let input = json!({"command": command});
        let mut started =
            json!({"toolCallId": call, "title": title, "kind": "execute", "status": "pending"});
        if self.agent.name.starts_with("qoder") {
            started["name"] = json!("Bash");
            started["parameters"] = input.clone();
        } else {
            started["rawInput"] = input.clone();
        }
        self.update("tool_call", started)?;
        let allowed = !self.agent.asks || self.allowed(&call, &input)?;
        let (output, status) = if !allowed {
            ("refused".to_owned(), "failed")
        } else if is_goal {
            ("done".to_owned(), "completed")
        } else {
            ran(command)?
        };
        let key = if self.agent.name.starts_with("qoder") {
            "output"
        } else {
            "rawOutput"
        };
        self.update(
            "tool_call_update",
            json!({"toolCallId": call, "status": status, key: output}),
        )
    }

    /// Asks for a permission and waits for the answer.
    fn allowed(&mut self, call: &str, input: &Value) -> io::Result<bool> {
        self.asked += 1;
        let id = format!("zc-out-{}", self.asked);
        let is_question = input["command"]
            .as_str()
            .is_some_and(|command| command.starts_with("ask "));
        let options = if is_question {
            json!([{"optionId": "choice-1", "name": "A", "kind": "allow_once"}, {"optionId": "choice-2:cancel", "name": "B", "kind": "reject_once"}])
        } else {
            json!([{"optionId": "always", "name": "Always", "kind": "allow_always"}, {"optionId": "once", "name": "Once", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}])
        };
        let params = json!({
            "sessionId": self.conversation.id, "options": options,
            "toolCall": {"toolCallId": call, "title": "bash", "kind": "execute", "rawInput": input},
        });
        write(
            &json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )?;
        loop {
            match self.input.next()? {
                Incoming::Frame(frame) if frame["id"] == json!(id) => {
                    let outcome = &frame["result"]["outcome"];
                    self.cancelled |= outcome["outcome"] == "cancelled";
                    return Ok(outcome["optionId"] == "once");
                }
                Incoming::Frame(frame) => self.said(&frame)?,
                Incoming::Nothing | Incoming::End => return Ok(false),
            }
        }
    }

    /// Hears the client for this long, or until it cancels.
    fn listen(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        while !self.cancelled {
            match self.input.until(until)? {
                Incoming::Frame(frame) => self.said(&frame)?,
                Incoming::Nothing | Incoming::End => return Ok(()),
            }
        }
        Ok(())
    }

    /// What the client says while the turn runs.
    fn said(&mut self, frame: &Value) -> io::Result<()> {
        let id = &frame["id"];
        let params = &frame["params"];
        let words = params["prompt"][0]["text"].as_str().unwrap_or_default();
        match (
            frame["method"].as_str().unwrap_or_default(),
            self.agent.steer,
        ) {
            ("session/cancel", _) if id.is_null() => {
                self.cancelled = true;
                Ok(())
            }
            ("session/prompt", Steer::Slash) if words.starts_with("/steer ") => {
                self.says("⏩ Steer queued for the active turn: it will be read")?;
                answer(id, Ok(json!({"stopReason": "end_turn"})))?;
                self.says(&format!("Heard: {}", &words["/steer ".len()..]))
            }
            ("_x.ai/interject", Steer::Interject) => {
                answer(id, Ok(json!({"status": "queued"})))?;
                write(
                    &json!({"jsonrpc": "2.0", "method": "_x.ai/session/interjection", "params": params}),
                )?;
                let words = params["text"].as_str().unwrap_or_default();
                self.says(&format!("Heard: {words}"))
            }
            ("_reasonix.io/session/steer", Steer::Named) => {
                answer(id, Ok(json!({"disposition": "steer_accepted"})))?;
                self.says(&format!("Heard: {words}"))
            }
            ("session/prompt", _) => {
                let words = "another turn is already in progress".to_owned();
                answer(id, Err((-32600, words)))
            }
            (method, _) if !id.is_null() => {
                answer(id, Err((-32601, format!("Method not found: {method}"))))
            }
            _ => Ok(()),
        }
    }

    fn result(&self, reason: &str) -> io::Result<Value> {
        let usage = json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120});
        let mut result = json!({"stopReason": reason});
        match self.agent.usage {
            Usage::None => {}
            Usage::Answer => result["usage"] = usage,
            Usage::Words => self.update(
                "agent_message_chunk",
                json!({
                    "content": {"type": "text", "text": ""},
                    "_meta": {"usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "model": "fake-model"}},
                }),
            )?,
            Usage::Meta => result["_meta"] = json!({"usage": usage, "modelId": "fake-model"}),
            Usage::Notice => write(&json!({
                "jsonrpc": "2.0", "method": "_reasonix.io/session/status_update", "params": {
                    "schemaVersion": 1, "sequence": 7,
                    "status": {"model": "fake-model", "usage": {"turn": {
                        "promptTokens": 130, "completionTokens": 20, "cacheHitTokens": 30, "cacheMissTokens": 100,
                    }}},
                },
            }))?,
        }
        Ok(result)
    }
}

fn ran(command: &str) -> io::Result<(String, &'static str)> {
    let done = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()?;
    let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&done.stderr));
    let status = if done.status.success() {
        "completed"
    } else {
        "failed"
    };
    Ok((output, status))
}

/// `agent_message_chunk` as `AgentMessageChunk`.
fn camel(kind: &str) -> String {
    kind.split('_')
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        })
        .collect()
}
