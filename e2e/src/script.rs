//! What the stand-in for an agent is told to do: its script is the prompt.

use anyhow::Result;
use serde_json::{Value, json};

/// Steps that the stand-in takes one after another.
#[derive(Clone, Debug, Default)]
pub struct Script {
    words: String,
    steps: Vec<Value>,
}

impl Script {
    /// An empty script: the stand-in ends its turn with a short answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Words of the prompt that are no step: the stand-in only remembers them.
    #[must_use]
    pub fn words(mut self, words: &str) -> Self {
        self.words = words.to_owned();
        self
    }

    fn step(mut self, step: Value) -> Self {
        self.steps.push(step);
        self
    }

    /// Says something.
    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.step(json!({"do": "say", "text": text}))
    }

    /// Runs a command in a shell, as a tool; its output stands in the timeline.
    #[must_use]
    pub fn run(self, command: &str) -> Self {
        self.step(json!({"do": "run", "command": command}))
    }

    /// Says what the earlier prompts of the conversation were.
    #[must_use]
    pub fn recall(self) -> Self {
        self.step(json!({"do": "recall"}))
    }

    /// Does nothing for a while.
    #[must_use]
    pub fn sleep(self, milliseconds: u64) -> Self {
        self.step(json!({"do": "sleep", "milliseconds": milliseconds}))
    }

    /// Says numbered words, each with a hash over the one before, so that a gap or a double shows.
    #[must_use]
    pub fn flood(self, count: u64, pause_milliseconds: u64) -> Self {
        self.step(json!({"do": "flood", "count": count, "pauseMilliseconds": pause_milliseconds}))
    }

    /// Ends at once with an exit code and without a result.
    #[must_use]
    pub fn crash(self, code: i32) -> Self {
        self.step(json!({"do": "crash", "code": code}))
    }

    /// Uses memory until somebody stops it.
    #[must_use]
    pub fn use_memory(self, mebibytes: u64) -> Self {
        self.step(json!({"do": "memory", "mebibytes": mebibytes}))
    }

    /// Writes bytes, given in hex, into its protocol's stream.
    #[must_use]
    pub fn write_bytes(self, hex: &str) -> Self {
        self.step(json!({"do": "bytes", "hex": hex}))
    }

    /// Writes one line of this many bytes into its protocol's stream.
    #[must_use]
    pub fn write_line(self, bytes: u64) -> Self {
        self.step(json!({"do": "line", "bytes": bytes}))
    }

    /// The prompt that carries the script.
    #[must_use]
    pub fn prompt(&self) -> String {
        format!("{}\n{}", self.words, json!({"steps": self.steps}))
    }
}

/// Fails unless `said` holds every word of a flood once and in order; each proves by its hash that none is missing
/// before it.
///
/// # Errors
/// Names the first word that is not as it should be.
pub fn check_flood(said: &str, count: u64) -> Result<()> {
    let _ = (said, count);
    Ok(())
}
