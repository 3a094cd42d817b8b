//! What a person should look at.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, IssueKey};
use crate::{ApprovalId, CommentId, InboxId, TaskId};

/// One thing that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxEntry {
    /// For ever.
    pub id: InboxId,
    /// What happened.
    pub kind: InboxKind,
    /// On which issue; none for an issue that was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueKey>,
    /// Its title; the beginning of the text for an issue that was not made.
    pub title: String,
    /// What an agent was to write an issue from, when there is none: nothing that a person wrote is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The task that did not make it, or that waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// By which comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// What waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// Who did it.
    pub author: Author,
    /// True once it was read.
    pub read: bool,
    /// When it happened.
    pub created: Timestamp,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InboxKind {
    /// A comment names the person.
    Mention,
    /// An issue was assigned to the person.
    Assignment,
    /// Somebody wrote on an issue that the person follows.
    Reply,
    /// A run that the person caused has failed.
    Failure,
    /// A guard stopped agents that woke each other for the person.
    Guard,
    /// An issue that the person asked for is there.
    IssueMade,
    /// An agent waits for a decision before it uses a tool.
    Approval,
}

impl InboxKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Mention,
        Self::Assignment,
        Self::Reply,
        Self::Failure,
        Self::Guard,
        Self::IssueMade,
        Self::Approval,
    ];

    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Assignment => "assignment",
            Self::Reply => "reply",
            Self::Failure => "failure",
            Self::Guard => "guard",
            Self::IssueMade => "issueMade",
            Self::Approval => "approval",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}
