//! Comments and their threads.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Attachment, Author, Cursor, WakeOutcome};
use crate::{AttachmentId, CommentId, TaskId};

/// A comment. A thread is one level deep: a root and its replies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// For ever.
    pub id: CommentId,
    /// The comment that begins its thread; its own id when it does so itself.
    pub thread: CommentId,
    /// Who wrote it.
    pub author: Author,
    /// Markdown, at most [`crate::limits::COMMENT_BYTES`].
    pub body: String,
    /// The task in which an agent wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// True when the thread that it begins needs no more answer.
    pub resolved: bool,
    /// How many replies the thread has that it begins; 0 for replies.
    pub replies: u32,
    /// When the last of them was written, or itself.
    pub last_activity: Timestamp,
    /// Rises with every change.
    pub revision: u32,
    /// When it was written.
    pub created: Timestamp,
    /// When it was last edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Timestamp>,
    /// Files that came with it and are still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// `POST issues/{key}/comments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewComment {
    /// Markdown. Mentions are links: `[label](mention://agent/NAME)`.
    pub body: String,
    /// A comment of the thread that it answers in. An agent that was woken by a comment answers there, and may
    /// leave this out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CommentId>,
    /// Agents that are not to be woken although the comment would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppress: Vec<String>,
    /// Files that come with it: they are on its issue already. At most [`crate::limits::COMMENT_FILES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentId>,
    /// Whom it wakes is not woken before this moment, at most [`crate::limits::DEFER_DAYS`] ahead; the comment itself
    /// is there at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// Likewise, so many seconds from when it is asked; one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_after_seconds: Option<u32>,
}

/// `PATCH comments/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentEdit {
    /// The revision that was read; 409 when it is not the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The new text.
    pub body: String,
}

/// Answer to a write of a comment: how it stands, and who is woken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// The comment.
    pub comment: Comment,
    /// One for each recipient.
    pub wakes: Vec<WakeOutcome>,
}

/// A page of comments, oldest first.
pub type CommentPage = super::Page<Comment>;

/// Query of `GET issues/{key}/comments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentQuery {
    /// Only what was written after this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only the thread of this comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<CommentId>,
    /// True lists roots only.
    #[serde(default)]
    pub roots: bool,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}
