//! How a task ended, and what shows that its conversation went on.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::FailureClass;

/// How a run ended, as the runner saw it. Exactly one per attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskResult {
    /// Success or failure. Unknown things are failures.
    pub outcome: Outcome,
    /// The final answer, at most [`crate::limits::OUTPUT_BYTES`]; empty unless it succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// From the start of the CLI to its end.
    pub duration_ms: u64,
    /// The conversation that can be resumed; absent leaves what is known as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_session: Option<ProviderSession>,
    /// Provider session ids that can never be resumed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired_sessions: Vec<String>,
    /// What of the earlier conversation was there again.
    pub resumed: Resumed,
    /// Tokens of this turn by model; absent where nothing is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, TokenUsage>,
    /// Number of the last event of the attempt, so that a gap is noticed.
    pub last_seq: u64,
}

/// Success, or why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "outcome",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Outcome {
    /// The agent ended its turn with an answer.
    Succeeded,
    /// It did not.
    Failed {
        /// Why.
        class: FailureClass,
        /// The particulars, redacted, at most [`crate::limits::MESSAGE_BYTES`].
        message: String,
        /// Exit code of the CLI or of the container, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Signal that ended it, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
}

impl Outcome {
    /// A failure with neither exit code nor signal.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::Failed {
            class,
            message: message.into(),
            exit_code: None,
            signal: None,
        }
    }

    /// The class of a failure.
    #[must_use]
    pub fn class(&self) -> Option<FailureClass> {
        match self {
            Self::Succeeded => None,
            Self::Failed { class, .. } => Some(*class),
        }
    }
}

/// The provider's own conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSession {
    /// Who made it, for example `claude`.
    pub provider: String,
    /// The provider's id.
    pub id: String,
}

/// What of the earlier conversation was there again, each with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    /// The same volume.
    pub volume: Evidence,
    /// The same working directory.
    pub workdir: Evidence,
    /// The session was found in the CLI's own store before it was started.
    pub session: Evidence,
    /// The CLI said that it goes on with the session asked for.
    pub provider: Evidence,
}

impl Resumed {
    /// The sentences of evidence.
    pub fn sentences(&mut self) -> [&mut String; 4] {
        [
            &mut self.volume.evidence,
            &mut self.workdir.evidence,
            &mut self.session.evidence,
            &mut self.provider.evidence,
        ]
    }

    /// Nothing is known about anything.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        let unknown = Evidence {
            answer: Answer::Unknown,
            evidence: why.to_owned(),
        };
        Self {
            volume: unknown.clone(),
            workdir: unknown.clone(),
            session: unknown.clone(),
            provider: unknown,
        }
    }
}

/// An answer and what it rests on. No evidence is `Unknown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The answer.
    pub answer: Answer,
    /// What it rests on, in a short sentence.
    pub evidence: String,
}

impl Evidence {
    /// Yes, because.
    pub fn yes(evidence: impl Into<String>) -> Self {
        Self {
            answer: Answer::Yes,
            evidence: evidence.into(),
        }
    }

    /// No, because.
    pub fn no(evidence: impl Into<String>) -> Self {
        Self {
            answer: Answer::No,
            evidence: evidence.into(),
        }
    }

    /// Nobody knows, because.
    pub fn unknown(evidence: impl Into<String>) -> Self {
        Self {
            answer: Answer::Unknown,
            evidence: evidence.into(),
        }
    }
}

/// Yes, no, or nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// There is no evidence.
    Unknown,
}

/// Tokens of one turn with one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Prompt tokens, without what came from or went into the cache.
    pub input: u64,
    /// Answer tokens, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
}

/// The one verdict of a task. The first stands; a later truth from the same attempt is attached to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Success or failure.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// When it was reached.
    pub at: Timestamp,
    /// The runner's result, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<TaskResult>>,
}
