//! One turn: the steps of a prompt, done one after another.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fakes::flood::Chain;
use fakes::script::{Step, steps};
use nix::sys::signal::{SigSet, Signal};
use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::wire::{self, Incoming, Wire};

/// What lives as long as the process.
pub(crate) struct Agent {
    pub(crate) wire: Wire,
    pub(crate) conversation: Conversation,
    pub(crate) model: String,
    messages: u64,
    chain: Chain,
    memory: Vec<Vec<u8>>,
    /// The callback to be asked before each tool.
    pub(crate) hook: Option<String>,
}

/// Why a turn ends before its script does.
enum Broken {
    Interrupted,
    Failed(String),
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Agent {
    pub(crate) fn new(wire: Wire, conversation: Conversation, model: String) -> Self {
        Self {
            wire,
            conversation,
            model,
            messages: 0,
            chain: Chain::default(),
            memory: Vec::new(),
            hook: None,
        }
    }

    /// Does what `prompt` says and ends the turn with a result. True when that is a success.
    pub(crate) fn turn(&mut self, prompt: &str) -> io::Result<bool> {
        let earlier = self.conversation.prompts().to_vec();
        self.conversation.add_prompt(prompt)?;
        wire::write(&json!({
            "type": "system", "subtype": "init", "session_id": self.conversation.id, "model": self.model,
            "cwd": std::env::current_dir()?, "tools": ["Bash"], "mcp_servers": [],
            "permissionMode": "bypassPermissions", "claude_code_version": env!("CARGO_PKG_VERSION"),
        }))?;
        let ended = match self.steps(prompt, &earlier) {
            Ok(answer) => Ok(answer),
            Err(Broken::Interrupted) => {
                Err(("aborted_streaming", "the turn was interrupted".to_owned()))
            }
            Err(Broken::Failed(words)) => Err(("model_error", words)),
            Err(Broken::Io(error)) => return Err(error),
        };
        if let Ok(answer) = &ended {
            self.conversation.add_answer(answer)?;
        }
        wire::write(&wire::result(&self.conversation.id, &ended))?;
        Ok(ended.is_ok())
    }

    fn steps(&mut self, prompt: &str, earlier: &[String]) -> Result<String, Broken> {
        let mut answer = None;
        for step in steps(prompt) {
            self.listen(Duration::ZERO)?;
            match step {
                Ok(step) => {
                    if let Some(said) = self.step(step, earlier)? {
                        self.say("text", &said)?;
                        answer = Some(said);
                    }
                }
                Err(line) => return Err(Broken::Failed(format!("cannot read the line {line:?}"))),
            }
        }
        match answer {
            Some(answer) => Ok(answer),
            None => {
                self.say("text", "Done.")?;
                Ok("Done.".to_owned())
            }
        }
    }

    /// Does one step; gives what it answers.
    fn step(&mut self, step: Step, earlier: &[String]) -> Result<Option<String>, Broken> {
        match step {
            Step::Remember(_) => {}
            Step::Recall => return Ok(Some(recall(earlier))),
            Step::Answer(text) => return Ok(Some(text)),
            Step::Think(text) => self.say("thinking", &text)?,
            Step::Run(command) => self.run(&command)?,
            Step::Background(command) => {
                let program = std::env::current_exe()?;
                let mut child = Command::new(program);
                child.args(["--detached", &command]);
                child
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                child.spawn()?;
            }
            Step::Sleep(time) => self.listen(time)?,
            Step::Flood { count, pause } => self.flood(count, pause)?,
            Step::StopChain => {
                let end = self.chain.end();
                self.say("text", &end)?;
            }
            Step::LongLine(bytes) => {
                let piece = vec![b'x'; 1 << 20];
                let mut left = bytes;
                while left > 0 {
                    let now = left.min(piece.len());
                    wire::write_bytes(&piece[..now])?;
                    left -= now;
                }
                wire::write_bytes(b"\n")?;
            }
            Step::Bytes(mut bytes) => {
                bytes.push(b'\n');
                wire::write_bytes(&bytes)?;
            }
            Step::Stderr(words) => wire::complain(&words)?,
            Step::FloodStderr { mebibytes } => {
                let line = "x".repeat((1 << 10) - 1);
                for _ in 0..mebibytes << 10 {
                    wire::complain(&line)?;
                }
            }
            Step::CloseStdout => {
                let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
                rustix::stdio::dup2_stdout(nowhere).map_err(io::Error::from)?;
            }
            Step::Memory { mebibytes } => {
                self.memory
                    .extend((0..mebibytes).map(|n| vec![(n % 255) as u8 + 1; 1 << 20]));
            }
            Step::IgnoreTerm => {
                // Blocked rather than ignored, which safe code can do: there is but one thread.
                let mut signals = SigSet::empty();
                signals.add(Signal::SIGTERM);
                signals.thread_block().map_err(io::Error::from)?;
            }
            Step::Hang => loop {
                std::thread::park();
            },
            Step::Crash(code) => std::process::exit(code),
            Step::Fail(words) => return Err(Broken::Failed(words)),
        }
        Ok(None)
    }

    fn say(&mut self, kind: &str, words: &str) -> io::Result<()> {
        let mut block = json!({"type": kind});
        block[kind] = words.into();
        self.block(&block)
    }

    fn block(&mut self, block: &Value) -> io::Result<()> {
        self.messages += 1;
        wire::write(&wire::assistant(
            &self.conversation.id,
            self.messages,
            block,
        ))
    }

    fn flood(&mut self, count: u64, pause: Duration) -> Result<(), Broken> {
        for number in 0..count {
            let word = self.chain.next_word();
            self.say(if number % 2 == 0 { "thinking" } else { "text" }, &word)?;
            if !pause.is_zero() {
                self.listen(pause)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, command: &str) -> Result<(), Broken> {
        let call = format!("toolu_{}", uuid::Uuid::now_v7().simple());
        self.block(
            &json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}),
        )?;
        let Some(command) = self.may_run(&call, command)? else {
            return Ok(self.gave(&call, "the tool may not be used", true)?);
        };
        let done = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::null())
            .output()?;
        let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
        output.push_str(&String::from_utf8_lossy(&done.stderr));
        if !done.status.success() {
            output.push_str(&format!("[{}]", done.status));
        }
        Ok(self.gave(&call, &output, !done.status.success())?)
    }

    fn gave(&self, call: &str, output: &str, is_error: bool) -> io::Result<()> {
        wire::write(&json!({
            "type": "user", "parent_tool_use_id": null, "session_id": self.conversation.id,
            "message": {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": call, "content": output, "is_error": is_error,
            }]},
        }))
    }

    /// Calls the hook, where there is one, and waits for its answer: the command that it lets pass.
    fn may_run(&mut self, call: &str, command: &str) -> Result<Option<String>, Broken> {
        let Some(hook) = &self.hook else {
            return Ok(Some(command.to_owned()));
        };
        let id = uuid::Uuid::now_v7().to_string();
        wire::write(
            &json!({"type": "control_request", "request_id": id, "request": {
                "subtype": "hook_callback", "callback_id": hook, "input": {
                    "hook_event_name": "PreToolUse", "session_id": self.conversation.id, "tool_name": "Bash",
                    "tool_use_id": call, "tool_input": {"command": command},
                },
            }}),
        )?;
        loop {
            let frame = match self.wire.next(None)? {
                Incoming::Frame(frame) => frame,
                Incoming::End => return Err(Broken::Failed("nobody answers the hook".to_owned())),
                Incoming::Garbage(_) | Incoming::Nothing => continue,
            };
            if frame["type"] == "control_response" && frame["response"]["request_id"] == id.as_str()
            {
                let answer = &frame["response"]["response"]["hookSpecificOutput"];
                let changed = answer["updatedInput"]["command"].as_str();
                let may = answer["permissionDecision"] != "deny";
                return Ok(may.then(|| changed.unwrap_or(command).to_owned()));
            }
            if answer_request(&frame)? {
                return Err(Broken::Interrupted);
            }
        }
    }

    /// Answers requests for this long. An interrupt ends the turn.
    fn listen(&mut self, time: Duration) -> Result<(), Broken> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.wire.next(Some(left))? {
                Incoming::Nothing => return Ok(()),
                Incoming::Frame(frame) => {
                    if answer_request(&frame)? {
                        return Err(Broken::Interrupted);
                    }
                }
                Incoming::Garbage(_) | Incoming::End => {}
            }
        }
    }
}

/// Answers a control request. True for an interrupt.
pub(crate) fn answer_request(frame: &Value) -> io::Result<bool> {
    if frame["type"] != "control_request" {
        return Ok(false);
    }
    let id = &frame["request_id"];
    let kind = frame["request"]["subtype"].as_str().unwrap_or_default();
    let response = match kind {
        "initialize" => {
            json!({"subtype": "success", "request_id": id, "response": {"commands": [], "models": []}})
        }
        "interrupt" => {
            json!({"subtype": "success", "request_id": id, "response": {"still_queued": []}})
        }
        other => json!({
            "subtype": "error", "request_id": id, "error_code": "unsupported_request",
            "error": format!("Unsupported control request subtype: {other}"),
        }),
    };
    wire::write(&json!({"type": "control_response", "response": response}))?;
    Ok(kind == "interrupt")
}

fn recall(earlier: &[String]) -> String {
    let words: Vec<_> = earlier
        .iter()
        .flat_map(|prompt| steps(prompt))
        .filter_map(|step| match step {
            Ok(Step::Remember(word)) => Some(word),
            _ => None,
        })
        .collect();
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(" ")
    }
}
