//! AgentTask: one turn of one agent on one subject.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentRef, Subject};

mod cause;
mod prompt;
mod reasons;
mod requester;
mod status;

pub use cause::{CauseKind, TaskCause};
pub use prompt::PromptSource;
pub use reasons::{condition, reason};
pub use requester::Requester;
pub use status::{
    Answer, AttemptRecord, EvidenceStatus, FailureStatus, ModelUsage, ResultStatus, ResumedStatus,
    RetryAdvice, TaskTimes, WaitingLimit, WaitingStatus,
};

/// One turn of one agent on one subject.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentTask",
    plural = "agenttasks",
    namespaced,
    status = "AgentTaskStatus",
    shortname = "at",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentTask is one turn of one agent on one subject. kubectl wait --for=condition=Finished waits for its end, Succeeded is the verdict.",
    selectable = ".spec.agentRef.name",
    selectable = ".spec.subject.name",
    selectable = ".spec.desiredState",
    printcolumn(name = "Agent", type_ = "string", json_path = ".spec.agentRef.name"),
    printcolumn(name = "Subject", type_ = "string", json_path = ".spec.subject.name"),
    printcolumn(
        name = "Doing",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Succeeded")].reason"#
    ),
    printcolumn(
        name = "Waits for",
        type_ = "string",
        json_path = ".status.waiting.limit"
    ),
    printcolumn(name = "Pod", type_ = "string", json_path = ".status.podName"),
    printcolumn(name = "Started", type_ = "date", json_path = ".status.times.started"),
    printcolumn(
        name = "Finished",
        type_ = "date",
        json_path = ".status.times.finished"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Succeeded",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Succeeded")].status"#,
        priority = 1
    ),
    printcolumn(
        name = "Runtime",
        type_ = "string",
        json_path = ".status.runtimeName",
        priority = 1
    ),
    printcolumn(
        name = "Attempt",
        type_ = "integer",
        json_path = ".status.attempt",
        priority = 1
    ),
    printcolumn(
        name = "Id",
        type_ = "string",
        json_path = ".status.taskId",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("self.agentRef == oldSelf.agentRef && self.subject == oldSelf.subject && has(self.prompt) == has(oldSelf.prompt) && (!has(self.prompt) || self.prompt == oldSelf.prompt) && has(self.promptFrom) == has(oldSelf.promptFrom) && (!has(self.promptFrom) || self.promptFrom == oldSelf.promptFrom) && has(self.cause) == has(oldSelf.cause) && (!has(self.cause) || self.cause == oldSelf.cause) && self.session == oldSelf.session && has(self.deadlineSeconds) == has(oldSelf.deadlineSeconds) && (!has(self.deadlineSeconds) || self.deadlineSeconds == oldSelf.deadlineSeconds) && has(self.startAfter) == has(oldSelf.startAfter) && (!has(self.startAfter) || self.startAfter == oldSelf.startAfter) && has(self.model) == has(oldSelf.model) && (!has(self.model) || self.model == oldSelf.model) && has(self.maxTurns) == has(oldSelf.maxTurns) && (!has(self.maxTurns) || self.maxTurns == oldSelf.maxTurns)")
    .message("of a task only desiredState, priority and ttlSecondsAfterFinished can change: create another AgentTask"))]
#[x_kube(validation = Rule::new("(has(self.prompt) ? 1 : 0) + (has(self.promptFrom) ? 1 : 0) + (has(self.cause) ? 1 : 0) == 1")
    .message("a task has exactly one of prompt, promptFrom and cause: give it a prompt; one with a cause is made by Mooring when somebody wakes an agent on an issue"))]
#[x_kube(validation = Rule::new("(self.subject.kind != 'Key') == has(self.cause) && (!has(self.cause) || (has(self.cause.issue) ? self.subject.kind == 'Issue' && self.subject.name == self.cause.issue : self.subject.kind == self.cause.kind))")
    .message("a task on an issue has that issue as its cause, and those of kind Chat and QuickIssue are made by Mooring: choose a subject of kind Key, or wake the agent by a comment on the issue"))]
#[x_kube(validation = Rule::new("oldSelf.desiredState != 'Cancel' || self.desiredState == 'Cancel'")
    .message("a cancelled task stays cancelled: create another AgentTask"))]
#[x_kube(validation = Rule::new("has(self.requestedBy) == has(oldSelf.requestedBy) && (!has(self.requestedBy) || self.requestedBy == oldSelf.requestedBy)")
    .message("requestedBy says who made the task and cannot change: leave it out"))]
#[serde(rename_all = "camelCase")]
pub struct AgentTaskSpec {
    /// agentRef names the Agent in the same namespace that does the task. It cannot change.
    pub agent_ref: AgentRef,
    /// subject is what the conversation is about. It cannot change.
    pub subject: Subject,
    /// prompt is what the agent is asked, at most 65536 bytes of UTF-8. It cannot change. Every task that a person makes has one, or takes it from elsewhere.
    #[schemars(length(min = 1, max = 65536))]
    #[x_kube(validation = Rule::new("bytes(self).size() <= 65536")
        .message("prompt is longer than 65536 bytes of UTF-8: shorten it, or let the agent read the rest from a file"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// promptFrom takes the prompt from elsewhere. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_from: Option<PromptSource>,
    /// cause is what woke the agent, in a task that Mooring makes. One that was made by hand is not run. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<TaskCause>,
    /// requestedBy is who made the task, written in by the cluster; where it is too old for that, no other name than one's own is taken. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<Requester>,
    /// model is the model that the provider is asked for, in the place of the Agent's. It cannot change.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// maxTurns is how often the model is asked at most, in the place of the Agent's. It cannot change.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<i32>,
    /// session says what the task wants of the conversation. It cannot change.
    #[serde(default)]
    pub session: TaskSession,
    /// priority lets a waiting task go before others: each point counts as 36 seconds that it has waited already.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(default)]
    pub priority: i32,
    /// startAfter is the time before which the task is not begun, at most 30 days after its creation. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_after: Option<Time>,
    /// deadlineSeconds is how long after its creation, or after startAfter, the task is ended, time suspended not counted. It cannot change.
    #[schemars(range(min = 1, max = 31_536_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<i32>,
    /// ttlSecondsAfterFinished is how long the finished task stays before it is deleted. Without it for ever.
    #[schemars(range(min = 0, max = 31_536_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// desiredState runs the task, puts it aside, or ends it for ever.
    #[serde(default)]
    pub desired_state: DesiredState,
}

/// What a task wants of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskSession {
    /// policy is Resume (go on, else start fresh and say so), Require (go on, else fail) or Fresh (start anew on the same files).
    pub policy: SessionPolicy,
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SessionPolicy {
    /// Go on where the last run stopped, else start fresh and say so.
    #[default]
    Resume,
    /// Go on, else fail with `SessionUnavailable`.
    Require,
    /// Start a new conversation on the same files.
    Fresh,
}

/// What its author wants of a task now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DesiredState {
    /// It runs as soon as there is room.
    #[default]
    Run,
    /// Its pod is ended and its session free for others; Run goes on.
    Suspend,
    /// It is ended for ever.
    Cancel,
}

/// What is known about a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTaskStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Finished is any end, Succeeded the verdict.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// taskId is the id under which the task's history is kept.
    #[schemars(length(max = 36))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// cause is what woke the agent, as it stands now: until the run begins, a later comment takes the place of an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<TaskCause>,
    /// attempt is the number of the last attempt; each is one pod's try.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i32>,
    /// attempts are the last ten, oldest first.
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["number".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptRecord>,
    /// podName is the pod of the attempt, named after the session.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_name: Option<String>,
    /// sessionName is the AgentSession.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// runtimeName is the Runtime of the attempt.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_name: Option<String>,
    /// resumed says what of the earlier conversation was there again, each with its evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<ResumedStatus>,
    /// waiting says which limit holds the task, when it has waited for more than two seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingStatus>,
    /// failure says why the task did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureStatus>,
    /// result is what the agent answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultStatus>,
    /// usage is what the turn cost, by model.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["model".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ModelUsage>,
    /// times are when the task reached each step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<TaskTimes>,
}
