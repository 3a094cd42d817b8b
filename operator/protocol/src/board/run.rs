//! Tasks as people see them under an issue, and what woke an agent.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, Comment, IssueKey, IssueStatus};
use crate::{CommentId, EventBody, FailureClass, Subject, TaskId, TaskState, TokenUsage};

/// A task, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The task.
    pub id: TaskId,
    /// Name of its AgentTask object.
    pub name: String,
    /// Who works.
    pub agent: String,
    /// On what.
    pub subject: Subject,
    /// Where it stands.
    pub state: TaskState,
    /// Which attempt; 0 before the first.
    pub attempt: u32,
    /// Which limit holds it while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Until when it waits, whatever room there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_until: Option<Timestamp>,
    /// True when it ended well, false when not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<bool>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// The particulars of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What woke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseKind>,
    /// Tokens that its attempts have used, as far as that was told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// The same by model; in lists it is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, TokenUsage>,
    /// When it was made.
    pub created: Timestamp,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One event of a task's timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineItem {
    /// Gap-free in the task, from 1.
    pub position: u64,
    /// Which attempt it is of.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// What.
    pub body: EventBody,
    /// Bytes of the whole text, where the event holds the beginning alone and the rest can be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_bytes: Option<u64>,
}

/// What kind of thing woke an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CauseKind {
    /// A comment that names it, or answers it, or that it is there for.
    Comment,
    /// An issue was given to it.
    Assignment,
    /// The parts of its issue are done.
    Children,
    /// A person wrote to it in a chat.
    Chat,
    /// A person asked it to write an issue.
    QuickIssue,
}

impl CauseKind {
    /// The word kept in the store and in the AgentTask.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Assignment => "assignment",
            Self::Children => "children",
            Self::Chat => "chat",
            Self::QuickIssue => "quickIssue",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Comment,
            Self::Assignment,
            Self::Children,
            Self::Chat,
            Self::QuickIssue,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Why an agent was woken, as its package says it: what it needs to begin, and never the issue's description or
/// history, which it reads itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// What kind of thing.
    pub kind: CauseKind,
    /// The issue.
    pub issue: IssueKey,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: IssueStatus,
    /// Who caused it.
    pub author: Author,
    /// On whose behalf: the person at the top of the chain of causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originator: Option<String>,
    /// The comment that woke it, its body cut to [`crate::limits::CAUSE_COMMENT_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Comment>,
    /// The comments that were taken in beside it, oldest first, at most [`crate::limits::CAUSE_COMMENTS`], cut alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coalesced: Vec<Comment>,
    /// True when bodies above were cut or comments left out.
    pub cut: bool,
    /// The comment to answer under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<CommentId>,
    /// When the agent's last run on this issue began: what came after it is new to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Timestamp>,
    /// Comments of others since then; all, when there was no run.
    pub new_comments: u32,
    /// True only when title and description are as they were when the last run began.
    pub unchanged: bool,
    /// That a person asks once more for what another run was there for; its author is that person then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

/// A run that is asked for once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Again {
    /// The task that is done again.
    pub task: TaskId,
    /// Why that one failed; none when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
}

/// How a task is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retry {
    /// True for a new conversation on the same files.
    pub fresh: bool,
    /// Not before this moment, at most [`crate::limits::DEFER_DAYS`] ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// Likewise, so many seconds from when it is asked; one of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_after_seconds: Option<u32>,
}

/// What a person adds while a task works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Steer {
    /// The words, as those of a comment.
    pub body: String,
}

/// When a task is done again. A request without a body is one without a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Rerun {
    /// Not before this moment, at most [`crate::limits::DEFER_DAYS`] ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// Likewise, so many seconds from when it is asked; one of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_after_seconds: Option<u32>,
}
