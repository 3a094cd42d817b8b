//! Chats of a person with an agent, and issues that an agent writes from a sentence.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, Cursor, IssueKey, WakeOutcome};
use crate::{ChatId, FailureClass, TaskId};

/// What an agent answers when nothing is to be said: its whole last message.
pub const NO_RESPONSE: &str = "NO_RESPONSE";

/// A conversation of one person with one agent. Nobody else sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// For ever.
    pub id: ChatId,
    /// Who answers: the name of an Agent.
    pub agent: String,
    /// Whose it is.
    pub member: Author,
    /// One line.
    pub title: String,
    /// True when it was put away. The next message brings it back.
    pub archived: bool,
    /// How many messages it has; the position of the newest.
    pub messages: u32,
    /// Messages of the person that no run has taken in yet.
    pub waiting: u32,
    /// When it was begun.
    pub created: Timestamp,
    /// When the newest message was written.
    pub last_activity: Timestamp,
}

/// `POST chats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChat {
    /// Name of the Agent.
    pub agent: String,
    /// One line; without it the beginning of the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first message, which wakes the agent.
    pub body: String,
}

/// `POST chats/{id}/messages`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChatMessage {
    /// At most [`crate::limits::COMMENT_BYTES`].
    pub body: String,
}

/// `PATCH chats/{id}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatEdit {
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Put away, or brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Query of `GET chats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatQuery {
    /// True lists those that were put away, and no others.
    #[serde(default)]
    pub archived: bool,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// Its place in the chat, from 1, without gaps.
    pub position: u32,
    /// What it is.
    pub kind: ChatMessageKind,
    /// Who wrote it.
    pub author: Author,
    /// The text; empty when there is none.
    pub body: String,
    /// Of a person's message the task that has taken it in, of an agent's the one that it is the end of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// When it was written.
    pub created: Timestamp,
}

/// What a message of a chat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChatMessageKind {
    /// Words of the person or of the agent.
    Message,
    /// The agent has read what was written and has nothing to say.
    NoResponse,
    /// The run has failed or was stopped; what was written is given to the next one, unless it was stopped after
    /// it had begun.
    Failed,
}

impl ChatMessageKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Message, Self::NoResponse, Self::Failed];

    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::NoResponse => "noResponse",
            Self::Failed => "failed",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Answer to a message: how the chat stands, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatSent {
    /// The chat.
    pub chat: Chat,
    /// The message.
    pub message: ChatMessage,
    /// Whether a task was queued, or one that waits takes it in.
    pub wake: WakeOutcome,
}

/// What a package says of a chat: what the person wrote and no run has been given yet, and not what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatCause {
    /// Which chat.
    pub chat: ChatId,
    /// Its title.
    pub title: String,
    /// Whose it is.
    pub member: Author,
    /// What is to be answered, oldest first, at most [`crate::limits::CHAT_BATCH`], each cut to
    /// [`crate::limits::CAUSE_COMMENT_BYTES`].
    pub messages: Vec<ChatMessage>,
    /// True when texts above were cut or messages left out.
    pub cut: bool,
    /// Messages in the chat before these.
    pub before: u32,
}

/// `POST quick-issues`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewQuickIssue {
    /// Name of the Agent that writes the issue.
    pub agent: String,
    /// What it is about, in the person's words; at most [`crate::limits::COMMENT_BYTES`].
    pub text: String,
}

/// An issue that an agent is to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuickIssue {
    /// The task that writes it.
    pub task: TaskId,
    /// Name of the Agent.
    pub agent: String,
    /// What was asked for.
    pub text: String,
    /// The issue, once its task has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueKey>,
    /// Why the task failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When the task was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// What a package says of an issue to be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuickCause {
    /// Who asks for it.
    pub author: Author,
    /// In which words.
    pub text: String,
    /// The issue that an earlier attempt of the same task has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueKey>,
}
