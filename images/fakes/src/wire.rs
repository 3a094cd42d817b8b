//! Frames in and out: one JSON object a line.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// What came in.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A frame.
    Frame(Value),
    /// A line that is none.
    Garbage(String),
    /// The end of the input.
    End,
    /// Nothing, in the time given.
    Nothing,
}

/// Stdin, read without a second thread, so that blocking a signal blocks it for the whole process.
#[derive(Default)]
pub(crate) struct Wire {
    buffer: Vec<u8>,
    ended: bool,
}

impl Wire {
    /// The next frame, waiting at most `wait`; for ever when `None`.
    pub(crate) fn next(&mut self, wait: Option<Duration>) -> io::Result<Incoming> {
        let until = wait.map(|wait| Instant::now() + wait);
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                return Ok(match serde_json::from_str(&line) {
                    Ok(frame) => Incoming::Frame(frame),
                    Err(_) => Incoming::Garbage(line),
                });
            }
            if self.ended {
                // Nothing more comes, but whoever waits for a while still waits.
                match until {
                    None => return Ok(Incoming::End),
                    Some(until) => {
                        std::thread::sleep(until.saturating_duration_since(Instant::now()))
                    }
                }
                return Ok(Incoming::Nothing);
            }
            if !readable(until)? {
                return Ok(Incoming::Nothing);
            }
            let mut chunk = [0; 65536];
            let count = io::stdin().lock().read(&mut chunk)?;
            self.ended = count == 0;
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }
}

fn readable(until: Option<Instant>) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.map(|left| Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(&mut fds, left.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Writes a frame.
pub(crate) fn write(frame: &Value) -> io::Result<()> {
    let mut line = frame.to_string();
    line.push('\n');
    write_bytes(line.as_bytes())
}

/// Writes bytes as they are.
pub(crate) fn write_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Writes a line to stderr.
pub(crate) fn complain(words: &str) -> io::Result<()> {
    writeln!(io::stderr().lock(), "{words}")
}

/// A frame with one block of content of the agent.
pub(crate) fn assistant(session: &str, message: u64, block: &Value) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": session,
        "message": {
            "id": format!("msg_{message:06}"), "type": "message", "role": "assistant", "model": "fake-model",
            "content": [block], "stop_reason": null,
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1},
        },
    })
}

/// The frame that ends a turn.
pub(crate) fn result(session: &str, ended: &Result<String, (&str, String)>) -> Value {
    let tokens = json!({"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0});
    let mut frame = json!({
        "type": "result", "session_id": session, "num_turns": 1, "duration_ms": 1, "duration_api_ms": 1,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
        "modelUsage": {"fake-model": tokens}, "model_usage_since_last_result": {"fake-model": tokens},
        "total_cost_usd": 0, "queued_turn_count": 0, "permission_denials": [],
    });
    let rest = match ended {
        Ok(answer) => json!({
            "subtype": "success", "is_error": false, "result": answer,
            "terminal_reason": "completed", "stop_reason": "end_turn",
        }),
        Err((reason, words)) => json!({
            "subtype": "error_during_execution", "is_error": true, "errors": [words],
            "terminal_reason": reason, "stop_reason": null,
        }),
    };
    if let (Value::Object(frame), Value::Object(rest)) = (&mut frame, rest) {
        frame.extend(rest);
    }
    frame
}
