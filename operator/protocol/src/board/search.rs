//! What is found of all that was written.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, Cursor, IssueKey, IssueStatus};
use crate::CommentId;

/// Query of `GET search`. What was written last comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchQuery {
    /// Words, all of which a text must hold, in any order and in letters of any case; what stands between letters and
    /// digits divides them. At most [`crate::limits::SEARCH_BYTES`].
    pub q: String,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// A text that was found: the title and description of an issue, or a comment on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Where.
    pub issue: IssueKey,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: IssueStatus,
    /// In which comment; absent for the issue itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// Who wrote it.
    pub author: Author,
    /// When it was written.
    pub created: Timestamp,
    /// What stands around the first of the words, on one line; `…` where something was left out.
    pub snippet: String,
}
