//! Where a task stands.

use serde::{Deserialize, Serialize};

/// The state of a task's row. `operator/docs/design.md` draws the life cycle; `store::life` holds its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    /// Waits for its session, its agent and its runtime to have room.
    Queued,
    /// Has the session; its objects are being made. The package is not open yet.
    Claimed,
    /// The runner has opened the package and prepares the workdir.
    Preparing,
    /// The agent's process runs.
    Running,
    /// The verdict is in and the token is dead; Secret, pod and session holder are being cleared away.
    Finishing,
    /// Put aside by `desiredState: Suspend`; its attempt, if any, is being cleared away.
    Suspended,
    /// Over, and nothing of it is left but its record.
    Finished,
}

impl TaskState {
    /// True while an attempt holds a live token: claimed, preparing or running.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Claimed | Self::Preparing | Self::Running)
    }

    /// True once a verdict stands; no later one replaces it.
    #[must_use]
    pub fn has_verdict(self) -> bool {
        matches!(self, Self::Finishing | Self::Finished)
    }

    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Finishing => "finishing",
            Self::Suspended => "suspended",
            Self::Finished => "finished",
        }
    }

    /// Reads the word kept in the store.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Claimed,
            Self::Preparing,
            Self::Running,
            Self::Finishing,
            Self::Suspended,
            Self::Finished,
        ]
        .into_iter()
        .find(|state| state.as_str() == word)
    }
}

/// Why the operator ends an attempt before its runner has given a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    /// `desiredState: Cancel`, or the object was deleted.
    Cancelled,
    /// `desiredState: Suspend`.
    Suspended,
    /// `deadlineSeconds` or a timeout of the Runtime ran out.
    TimedOut,
    /// The Agent was deleted.
    AgentDeleted,
    /// The operator saw the attempt fail otherwise.
    Failed,
}
