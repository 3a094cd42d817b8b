//! What a person should look at.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, IssueKey};
use crate::{CommentId, InboxId};

/// One thing that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxEntry {
    /// For ever.
    pub id: InboxId,
    /// What happened.
    pub kind: InboxKind,
    /// On which issue.
    pub issue: IssueKey,
    /// Its title.
    pub title: String,
    /// By which comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
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
    /// Somebody answered in a thread of the person.
    Reply,
    /// A run that the person caused has failed.
    Failure,
    /// A guard stopped agents that woke each other for the person.
    Guard,
}

impl InboxKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Mention,
        Self::Assignment,
        Self::Reply,
        Self::Failure,
        Self::Guard,
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
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}
