//! What is said on the live connection, one message of JSON at a time in each direction.
//!
//! A connection is for one workspace. The client names what it wants to follow and under which word it will be told;
//! the server numbers its messages. Who was cut off subscribes again: to a task after the last position that it has,
//! to an issue and compares the revision. A reader that is too slow is told of the gap and reads it over HTTP.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{IssueKey, RunView, TimelineItem};
use crate::TaskId;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum LiveRequest {
    /// Follows something from now on.
    Subscribe {
        /// The word under which it will be told, at most [`crate::limits::LIVE_WORD_BYTES`]. One that is in use
        /// stands for the new target from now on.
        id: String,
        /// What.
        to: LiveTarget,
    },
    /// Does not follow it any more.
    Unsubscribe {
        /// The word.
        id: String,
    },
}

/// What can be followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum LiveTarget {
    /// Which issues and tasks change.
    Workspace {},
    /// One issue, its comments, and where the tasks on it stand.
    Issue {
        /// Which.
        key: IssueKey,
    },
    /// What happens in one task, and where it stands.
    Task {
        /// Which.
        task: TaskId,
        /// Only what follows this position; 0 for all.
        #[serde(default)]
        after: u64,
    },
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveMessage {
    /// Rises by one within a connection, from 1.
    pub number: u64,
    /// The word of the subscription that it is for; absent where it is for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: LiveBody,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum LiveBody {
    /// From now on it is followed. What stands then is told next.
    Subscribed {},
    /// An issue is as it says here: something of it or of its comments has changed.
    Issue {
        /// Which.
        key: IssueKey,
        /// Its revision.
        revision: u32,
        /// How many comments it has.
        comments: u32,
        /// When it was changed last.
        updated: Timestamp,
    },
    /// A task stands as it says here.
    Run {
        /// The task.
        run: Box<RunView>,
    },
    /// Something happened in a task.
    Event {
        /// What.
        item: Box<TimelineItem>,
    },
    /// More has happened than is told: of a task, what follows `after` up to and including `until`; of anything
    /// else, without them. It can be read over HTTP.
    Gap {
        /// The last position that was told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        /// The last one that is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// It is not followed, or not any more, for this reason.
    Ended {
        /// A constant of [`crate::code`].
        code: String,
        /// In words.
        message: String,
    },
}
