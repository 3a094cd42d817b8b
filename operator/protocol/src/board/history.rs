//! What happened on an issue.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Comment, RunView};

/// Something that happened on an issue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When: a comment was written, or a task was made.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub what: History,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum History {
    /// Somebody said something.
    Comment {
        /// What.
        comment: Box<Comment>,
    },
    /// An agent was woken.
    Run {
        /// Its task as it stands now.
        run: Box<RunView>,
    },
}
