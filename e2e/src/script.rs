//! What the stand-in for an agent is told to do: its script is the prompt.

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

    /// The prompt that carries the script.
    #[must_use]
    pub fn prompt(&self) -> String {
        format!("{}\n{}", self.words, json!({"steps": self.steps}))
    }
}
