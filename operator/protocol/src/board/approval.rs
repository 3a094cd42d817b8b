//! Uses of tools for which a person is asked.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cursor, IssueKey};
use crate::{ApprovalId, TaskId};

/// An agent that waits for a person's decision before it uses a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// For ever.
    pub id: ApprovalId,
    /// Where it stands.
    pub state: ApprovalState,
    /// Whose task asks.
    pub agent: String,
    /// The task.
    pub task: TaskId,
    /// Which attempt of it.
    pub attempt: u32,
    /// The issue that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueKey>,
    /// The tool.
    pub tool: String,
    /// What the tool is to be given: this and nothing else is approved.
    pub input: Value,
    /// Why a person is asked.
    pub why: String,
    /// When it was asked.
    pub asked: Timestamp,
    /// Until when somebody can decide.
    pub expires: Timestamp,
    /// When it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Timestamp>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What that person said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalState {
    /// It waits for a person.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It is not asked any more: the task is over, or the agent's program gave up.
    Withdrawn,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Approved,
        Self::Denied,
        Self::Expired,
        Self::Withdrawn,
    ];

    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Which approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalQuery {
    /// Those that are settled, too.
    #[serde(default)]
    pub all: bool,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// A person's word to a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decision {
    /// What the agent is told beside yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
