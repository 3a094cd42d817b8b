//! What a runner gets when it opens its task.

use serde::{Deserialize, Serialize};

use crate::{AttemptId, ProviderSession};

/// Everything one attempt needs. Holds no secret: credentials travel beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    /// Whose package it is.
    pub attempt: AttemptId,
    /// Namespace of the task.
    pub namespace: String,
    /// Name of the AgentTask object.
    pub name: String,
    /// Who works.
    pub agent: AgentBrief,
    /// With what.
    pub runtime: RuntimeBrief,
    /// What the run is started with beside the model.
    #[serde(default, skip_serializing_if = "crate::RunOptions::is_empty")]
    pub options: crate::RunOptions,
    /// What the conversation is about.
    pub subject: Subject,
    /// What is asked, at most [`crate::limits::PROMPT_BYTES`]; empty when there is a cause.
    pub prompt: String,
    /// What woke the agent, when it was no prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<crate::board::Cause>,
    /// The team that it was woken for, when it was woken to lead one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<crate::board::TeamBriefing>,
    /// What a person wrote in a chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<crate::board::ChatCause>,
    /// The issue that is to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_issue: Option<crate::board::QuickCause>,
    /// What the issue's project is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<crate::board::Repository>,
    /// True when an earlier attempt of this task was interrupted; the turn then says so before the prompt.
    pub interrupted: bool,
    /// The conversation.
    pub session: SessionBrief,
    /// How long each part may take.
    pub timeouts: TaskTimeouts,
}

/// The persona.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentBrief {
    /// Name of the Agent.
    pub name: String,
    /// What people call it.
    pub display_name: String,
    /// Its standing instructions, for the context file.
    pub instructions: String,
    /// Names of its skills, which lie under [`crate::paths::SKILLS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The model asked for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which tools it may use; nothing is said where nothing is laid down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<crate::tools::ToolPolicy>,
    /// How far its token reaches, for the help of `moor`; the API decides.
    #[serde(default)]
    pub token_scope: TokenScope,
}

/// How far the token of a task reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TokenScope {
    /// Its issue and the parts of that.
    #[default]
    Issue,
    /// All issues of its issue's project.
    Project,
    /// All issues of the workspace.
    Workspace,
}

impl TokenScope {
    /// The word in the environment of an agent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "Issue",
            Self::Project => "Project",
            Self::Workspace => "Workspace",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Issue, Self::Project, Self::Workspace]
            .into_iter()
            .find(|scope| scope.as_str() == word)
    }
}

/// The CLI to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeBrief {
    /// Name of the Runtime.
    pub name: String,
    /// Which adapter drives it, for example `claude`.
    pub provider: String,
    /// The version that the CLI was found to be, where the operator knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The CLI's command; empty means the provider's usual one.
    pub command: Vec<String>,
    /// Put between the command and the protocol's arguments.
    pub launch_prefix: Vec<String>,
    /// Put after the protocol's arguments.
    pub args: Vec<String>,
}

/// What a conversation is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// One of the kinds below, or one of a newer operator.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Subject {
    /// A word that whoever makes the AgentTask has chosen.
    pub const KEY: &str = "Key";
    /// An issue, by its key.
    pub const ISSUE: &str = "Issue";
    /// What one person and one agent write to each other, by its ID.
    pub const CHAT: &str = "Chat";
    /// A sentence that is to become an issue.
    pub const QUICK_ISSUE: &str = "QuickIssue";
}

/// What to do about the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBrief {
    /// What the task asks for.
    pub policy: SessionPolicy,
    /// The provider session to resume; absent means start a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ProviderSession>,
    /// Why there is nothing to resume though the session has a past, for the notice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_resumable: Option<String>,
    /// Whether the volume is that of the last run, with the evidence.
    pub volume: crate::Evidence,
    /// True when an earlier task of this session has run.
    pub has_past: bool,
}

/// `spec.session.policy` of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionPolicy {
    /// Go on where the last run stopped, else start fresh and say so.
    Resume,
    /// Go on, else fail with `SessionUnavailable`.
    Require,
    /// Start a new conversation on the same files.
    Fresh,
}

impl SessionPolicy {
    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "Resume",
            Self::Require => "Require",
            Self::Fresh => "Fresh",
        }
    }

    /// Reads the word kept in the store.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Resume, Self::Require, Self::Fresh]
            .into_iter()
            .find(|policy| policy.as_str() == word)
    }
}

/// How long each part may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskTimeouts {
    /// From opening the package to the start of the CLI.
    pub prepare_seconds: u32,
    /// From the start of the CLI to its end.
    pub task_seconds: u32,
    /// From the polite stop to the kill.
    pub grace_seconds: u32,
    /// How long the CLI may be silent while no tool runs; 0 is for ever.
    #[serde(default)]
    pub idle_seconds: u32,
    /// How long tools may run without one beginning or ending; 0 is for ever.
    #[serde(default)]
    pub tool_seconds: u32,
}
