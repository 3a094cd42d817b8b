//! dsh: frames of its own, one a line (family E).

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fakes::script::{Step, steps};
use serde_json::{Value, json};

use crate::input::{Incoming, Input};
use crate::play::recall;
use crate::store::Conversation;
use crate::{complain, write};

/// The protocol's version.
const VERSION: u64 = 1;

/// Serves one request. Gives the exit code.
pub(crate) fn run(arguments: &[String]) -> io::Result<u8> {
    if arguments == ["--version"] {
        crate::line("dsh 0.2.1")?;
        return Ok(0);
    }
    if arguments != ["--profile", "multica", "--stdio"] {
        complain(&format!("dsh: no such profile or option: {arguments:?}"))?;
        return Ok(2);
    }
    let input = Input::read();
    write(&json!({"v": VERSION, "type": "ready", "runtime": "dsh"}))?;
    loop {
        let frame = match input.next()? {
            Incoming::Frame(frame) => frame,
            Incoming::End | Incoming::Nothing => return Ok(0),
        };
        if frame["v"] != VERSION {
            write(
                &json!({"v": VERSION, "type": "protocol_error", "code": "version", "message": "unknown version"}),
            )?;
            return Ok(1);
        }
        if frame["type"] == "execute" {
            let mut request = Request {
                id: frame["request_id"].clone(),
                input: &input,
                cancelled: false,
            };
            if let Some(code) = request.execute(&frame)? {
                return Ok(code);
            }
        }
    }
}

/// A request under way.
struct Request<'a> {
    id: Value,
    input: &'a Input,
    cancelled: bool,
}

impl Request<'_> {
    fn tell(&self, kind: &str, mut frame: Value) -> io::Result<()> {
        frame["v"] = json!(VERSION);
        frame["type"] = json!(kind);
        frame["request_id"] = self.id.clone();
        write(&frame)
    }

    fn execute(&mut self, frame: &Value) -> io::Result<Option<u8>> {
        let asked = frame["resume_session_id"].as_str();
        let new = format!("s-{}", uuid::Uuid::now_v7());
        let Some(conversation) = Conversation::open("dsh", asked, &new)? else {
            let error = json!({"code": "session_not_found", "message": "no such session"});
            let result = json!({"status": "failed", "error": error, "resume_rejected": true});
            self.tell("result", result)?;
            return Ok(None);
        };
        let session = &conversation.id;
        self.tell(
            "session",
            json!({"session_id": session, "resumed": asked.is_some()}),
        )?;
        let prompt = frame["prompt"].as_str().unwrap_or_default();
        conversation.add(prompt)?;
        let ended = match self.steps(prompt, &conversation.earlier)? {
            Ok(output) => Ok(output),
            Err(Stop::Exit(code)) => return Ok(Some(code)),
            Err(Stop::Failed(words)) => Err(words),
        };
        let model = &frame["model"];
        let name = |key: &str, usual: &str| model[key].as_str().unwrap_or(usual).to_owned();
        for (input, output) in [(60, 5), (40, 15)] {
            self.tell("usage", json!({
                "provider": name("provider", "fake"), "model": name("id", "model"), "input_tokens": input,
                "output_tokens": output, "cache_read_tokens": 10, "cache_write_tokens": 0,
            }))?;
        }
        let result = match ended {
            _ if self.cancelled => json!({"status": "cancelled", "session_id": session}),
            Ok(output) => json!({"status": "completed", "output": output, "session_id": session}),
            Err(words) => {
                json!({"status": "failed", "session_id": session, "error": {"code": "provider", "message": words}})
            }
        };
        self.tell("result", result)?;
        Ok(None)
    }

    fn steps(&mut self, prompt: &str, earlier: &[String]) -> io::Result<Result<String, Stop>> {
        let mut answer = None;
        for (number, step) in steps(prompt).into_iter().enumerate() {
            self.listen(Duration::ZERO)?;
            if self.cancelled {
                break;
            }
            match step {
                Err(line) => {
                    return Ok(Err(Stop::Failed(format!("cannot read the line {line:?}"))));
                }
                Ok(Step::Remember(_)) => {}
                Ok(Step::Recall) => answer = Some(recall(earlier)),
                Ok(Step::Answer(words)) => answer = Some(words),
                Ok(Step::Think(words)) => self.tell("thinking", json!({"content": words}))?,
                Ok(Step::Run(command)) => self.run(number, &command)?,
                Ok(Step::Sleep(time)) => self.listen(time)?,
                Ok(Step::Stderr(words)) => complain(&words)?,
                Ok(Step::Bytes(bytes)) => crate::line(&String::from_utf8_lossy(&bytes))?,
                Ok(Step::Crash(code)) => {
                    return Ok(Err(Stop::Exit(u8::try_from(code).unwrap_or(1))));
                }
                Ok(Step::Fail(words)) => return Ok(Err(Stop::Failed(words))),
                Ok(_) => return Ok(Err(Stop::Failed("this stand-in cannot do that".to_owned()))),
            }
        }
        let answer = answer.unwrap_or_else(|| "Done.".to_owned());
        self.tell("text", json!({"content": answer}))?;
        Ok(Ok(answer))
    }

    fn run(&self, number: usize, command: &str) -> io::Result<()> {
        let call = format!("call-{number}");
        let arguments = json!({"command": command}).to_string();
        self.tell(
            "tool_call",
            json!({"call_id": call, "name": "shell", "arguments": arguments}),
        )?;
        let done = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .output()?;
        let output = String::from_utf8_lossy(&done.stdout);
        self.tell("tool_result", json!({
            "call_id": call, "name": "shell", "output": output, "is_error": !done.status.success(),
        }))
    }

    /// Hears the host for this long, or until it cancels.
    fn listen(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        while !self.cancelled {
            match self.input.until(until)? {
                Incoming::Frame(frame) => {
                    self.cancelled |= frame["type"] == "cancel" && frame["request_id"] == self.id;
                }
                Incoming::Nothing | Incoming::End => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Why a request has no answer.
enum Stop {
    /// It failed with these words.
    Failed(String),
    /// The process ends.
    Exit(u8),
}
