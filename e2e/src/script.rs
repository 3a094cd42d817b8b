//! What the stand-in for an agent is told to do: its script is the prompt, see `images/fakes/README.md`.

use anyhow::Result;

/// The file in the working directory that a script waits for.
pub(crate) const GO_ON: &str = "go-on";

/// Steps that the stand-in takes one after another.
#[derive(Clone, Debug, Default)]
pub struct Script {
    lines: Vec<String>,
}

impl Script {
    /// An empty script: the stand-in ends its turn with a short answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A word that is in the conversation from now on.
    #[must_use]
    pub fn remember(self, word: &str) -> Self {
        self.line(format!("remember: {word}"))
    }

    /// Says which words earlier prompts of the conversation held.
    #[must_use]
    pub fn recall(self) -> Self {
        self.line("do: recall".to_owned())
    }

    /// Says something; the last answer is the result.
    #[must_use]
    pub fn answer(self, text: &str) -> Self {
        self.line(format!("do: answer {}", quoted(text)))
    }

    /// Runs a command in a shell, as a tool; its output stands in the timeline.
    #[must_use]
    pub fn run(self, command: &str) -> Self {
        self.line(format!("do: run {}", quoted(command)))
    }

    /// Does nothing for a while.
    #[must_use]
    pub fn sleep(self, milliseconds: u64) -> Self {
        self.line(format!(
            "do: sleep {}.{:03}",
            milliseconds / 1000,
            milliseconds % 1000
        ))
    }

    /// Goes on once [`crate::Workspace::let_go_on`] says so.
    #[must_use]
    pub fn wait(self) -> Self {
        self.run(&format!("until [ -e {GO_ON} ]; do sleep 0.1; done"))
    }

    /// Says numbered words, each with a hash over the one before, so that a gap or a double shows.
    #[must_use]
    pub fn flood(self, count: u64, pause_milliseconds: u64) -> Self {
        self.line(format!("do: flood {count} {pause_milliseconds}"))
    }

    /// Leaves a child behind, in a session and group of its own.
    #[must_use]
    pub fn background(self, command: &str) -> Self {
        self.line(format!("do: background {}", quoted(command)))
    }

    /// Does not react to TERM from now on.
    #[must_use]
    pub fn ignore_term(self) -> Self {
        self.line("do: ignore-term".to_owned())
    }

    /// Ends at once with an exit code and without a result.
    #[must_use]
    pub fn crash(self, code: i32) -> Self {
        self.line(format!("do: crash {code}"))
    }

    /// Takes so much memory and keeps it.
    #[must_use]
    pub fn use_memory(self, mebibytes: u64) -> Self {
        self.line(format!("do: memory {mebibytes}"))
    }

    /// Writes bytes, given in hex, and a newline into its protocol's stream.
    #[must_use]
    pub fn write_bytes(self, hex: &str) -> Self {
        self.line(format!("do: bytes {hex}"))
    }

    /// Writes one line of this many bytes into its protocol's stream.
    #[must_use]
    pub fn write_line(self, bytes: u64) -> Self {
        self.line(format!("do: long-line {bytes}"))
    }

    /// The prompt that carries the script.
    #[must_use]
    pub fn prompt(&self) -> String {
        format!("Do what these lines say.\n{}", self.lines.join("\n"))
    }

    fn line(mut self, line: String) -> Self {
        self.lines.push(line);
        self
    }
}

/// As a JSON string, which may hold several lines.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Words as one word for a shell.
#[must_use]
pub fn shell(words: &str) -> String {
    format!("'{}'", words.replace('\'', r"'\''"))
}

/// Fails unless `said`, all texts and thoughts of a run in order, holds every word of a flood once and in order.
///
/// # Errors
/// Names the first word that is not as it should be.
pub fn check_flood(said: &str, count: u64) -> Result<()> {
    Ok(fakes::flood::check(said, count)?)
}
