//! Messages between a runner and the API: `POST /api/v1/runner/{open,started,events,finish}` and
//! `GET /api/v1/runner/control`; and what an agent may ask: `GET /api/v1/whoami`, `GET /api/v1/tasks/{id}`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::board::{ApprovalState, Author};
use crate::{
    ApprovalId, CommentId, EndReason, Event, Package, SessionId, SessionPolicy, Subject, TaskId,
    TaskResult, TaskState, TokenScope,
};

/// `POST open`, with the task token. The same nonce may ask again and gets the same answer.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest {
    /// 32 random bytes in hex, chosen by the runner and kept in its memory.
    pub nonce: String,
    /// Newest wire version that the runner speaks.
    pub wire_version: u32,
}

/// Answer to `open`. Its `Debug` shows no secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenResponse {
    /// The version that both speak from now on.
    pub wire_version: u32,
    /// The runner's credential for every other call.
    pub credential: String,
    /// The key of [`crate::MacKey::from_wire`].
    pub mac_key: String,
    /// The work.
    pub package: Package,
}

impl std::fmt::Debug for OpenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRequest")
            .field("wire_version", &self.wire_version)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TextRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextRequest")
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RawPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawPart")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OpenResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenResponse")
            .field("package", &self.package)
            .finish_non_exhaustive()
    }
}

/// `POST started`: the workdir stands and the CLI's process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedRequest {}

/// `POST events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsRequest {
    /// Rising by one; the first follows the last one stored, or repeats stored ones.
    pub events: Vec<Event>,
}

/// Answer to `events`: everything up to and including `acknowledged` is stored or knowingly left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsResponse {
    /// The last number taken.
    pub acknowledged: u64,
    /// How many lie past the budget, [`crate::limits::ATTEMPT_EVENTS`] and
    /// [`crate::limits::ATTEMPT_EVENT_BYTES`], and were left out so far.
    pub left_out: u64,
}

/// `POST texts`: the whole text of a tool's output that is too long for the timeline. Sent before the event itself, so
/// that who reads that finds it; sending it again changes nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextRequest {
    /// Number of the event that holds its beginning.
    pub seq: u64,
    /// The text, at most [`crate::limits::TEXT_BYTES`].
    pub text: String,
}

/// Answer to `texts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResponse {
    /// False when the attempt has used up its [`crate::limits::ATTEMPT_TEXT_BYTES`].
    pub kept: bool,
}

/// `POST raw`: a part of what the agent's program wrote, without secrets. The API keeps the end of it all,
/// [`crate::limits::ATTEMPT_RAW_BYTES`]; sending a part again changes nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawPart {
    /// Where in all that was written it begins, in bytes.
    pub start: u64,
    /// At most [`crate::limits::RAW_PART_BYTES`].
    pub text: String,
}

/// Query of `GET control`: commands after this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlQuery {
    /// Number of the last command that the runner has; 0 for none.
    pub after: u64,
}

/// Answer to `control`, at once when there is something, else empty after [`crate::limits::CONTROL_HOLD`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlResponse {
    /// Oldest first.
    pub commands: Vec<Command>,
}

/// One numbered command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Rises by one within an attempt, from 1.
    pub number: u64,
    /// What to do.
    #[serde(flatten)]
    pub kind: CommandKind,
}

/// What the API tells a runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "command",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum CommandKind {
    /// End the turn now, orderly: the verdict already stands.
    Stop {
        /// Why.
        reason: EndReason,
    },
    /// A person adds something while the turn runs. A task that says the same waits until the runner has said that the
    /// agent took it in.
    Steer {
        /// The comment that says it.
        remark: CommentId,
        /// Who wrote it.
        author: Author,
        /// The words, at most [`crate::limits::CAUSE_COMMENT_BYTES`].
        text: String,
    },
    /// A person decided on a use of a tool.
    Decide {
        /// Which.
        approval: ApprovalId,
        /// Whether it may.
        allow: bool,
        /// Who decided.
        by: String,
        /// What that person said to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// `POST steered`: what became of a [`CommandKind::Steer`]. The first answer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SteeredRequest {
    /// Which.
    pub remark: CommentId,
    /// Absent when the agent took it in; else why it did not, at most [`crate::limits::MESSAGE_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// `POST approvals`: the agent's program waits for a person's decision. Asking for the same call again changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskRequest {
    /// Names the question within the attempt.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it is to be given, at most [`crate::limits::APPROVAL_INPUT_BYTES`] as JSON.
    pub input: serde_json::Value,
    /// Why a person is asked.
    pub why: String,
    /// How long somebody can decide, from when it is asked first.
    pub seconds: u32,
}

/// Answer to `approvals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskResponse {
    /// Names it from now on.
    pub approval: ApprovalId,
    /// For how long somebody can decide, from now on.
    pub milliseconds: u64,
}

/// `POST approvals/settle`: nobody decided in time, or the agent's program does not wait any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettleRequest {
    /// Which.
    pub approval: ApprovalId,
    /// How it is settled, unless it is already.
    pub how: Settled,
}

/// How a question is settled by who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Settled {
    /// Nobody decided in time.
    Expired,
    /// The agent's program does not wait any more.
    Withdrawn,
}

/// Answer to `approvals/settle`: what stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettleResponse {
    /// A person may have been faster.
    pub state: ApprovalState,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What that person said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST finish`. The first verdict stands; a second one is kept beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishRequest {
    /// The one result.
    pub result: TaskResult,
}

/// Answer to `finish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishResponse {
    /// False when another verdict stood already.
    pub decided: bool,
}

/// `GET whoami`, for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhoAmI {
    /// Name of the Agent.
    pub agent: String,
    /// What people call it.
    pub display_name: String,
    /// Its workspace.
    pub namespace: String,
    /// Its task.
    pub task: TaskId,
    /// Which attempt of it.
    pub attempt: u32,
    /// What it works on.
    pub subject: Subject,
    /// Its volume and conversation.
    pub session: SessionId,
    /// How far its token reaches.
    pub scope: TokenScope,
    /// What it may do there, a verb and a resource each.
    pub verbs: Vec<String>,
    /// When the token ends unless the runner goes on to show life.
    pub token_expires: Timestamp,
}

/// `GET tasks/{id}`, for an agent: its own task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The task.
    pub id: TaskId,
    /// Its workspace.
    pub namespace: String,
    /// Name of the AgentTask object.
    pub name: String,
    /// Who works.
    pub agent: String,
    /// On what.
    pub subject: Subject,
    /// What is asked; empty when there is a cause.
    pub prompt: String,
    /// What woke the agent, when it was no prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<crate::board::Cause>,
    /// Where it stands.
    pub state: TaskState,
    /// Which attempt.
    pub attempt: u32,
    /// What the task asks for of its conversation.
    pub session_policy: SessionPolicy,
    /// When it was created.
    pub created: Timestamp,
}
