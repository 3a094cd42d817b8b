//! Parts of an AgentTask's status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One pod's try at a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// number of the attempt, from 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub number: i32,
    /// runtimeName is the Runtime that was used.
    #[schemars(length(max = 253))]
    pub runtime_name: String,
    /// podUid is the pod's UID.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,
    /// nodeName is the node that took the pod.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// claimed is when the attempt began.
    pub claimed: Time,
    /// started is when the agent's process ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// ended is when the attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    /// reason is why it ended.
    #[schemars(length(max = 128))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What of the earlier conversation was there again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumedStatus {
    /// volume is the same as that of the last run.
    pub volume: EvidenceStatus,
    /// workdir is the same working directory.
    pub workdir: EvidenceStatus,
    /// session was found in the agent's own store before it was started.
    pub session: EvidenceStatus,
    /// provider said that it goes on with the session asked for.
    pub provider: EvidenceStatus,
}

/// An answer and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceStatus {
    /// answer is Yes, No, or Unknown without evidence.
    pub answer: Answer,
    /// evidence is what the answer rests on.
    #[schemars(length(max = 1024))]
    pub evidence: String,
}

/// Yes, no, or nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Answer {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// There is no evidence.
    Unknown,
}

/// Which limit holds a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingStatus {
    /// limit that holds the task.
    pub limit: WaitingLimit,
    /// message tells the particulars.
    #[schemars(length(max = 1024))]
    pub message: String,
    /// since is when this limit began to hold the task.
    pub since: Time,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WaitingLimit {
    /// The time before which it is not to begin has not come.
    StartTime,
    /// Another task has the session.
    Session,
    /// The Agent's `maxConcurrentTasks` is reached.
    Agent,
    /// The `maxConcurrent` of the namespace's `AgentQuota` is reached.
    QuotaConcurrent,
    /// The `runsPerHour` of the namespace's `AgentQuota` were begun.
    QuotaRunsPerHour,
    /// As many pods exist as all workspaces together may have.
    Capacity,
    /// The Runtime's `maxPods` is reached.
    Runtime,
    /// Something it needs does not exist or is not ready; the condition `Accepted` says what.
    Reference,
    /// The namespace is no workspace.
    Workspace,
    /// The store or the cluster cannot be written.
    Operator,
}

/// Why a task did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureStatus {
    /// class of the failure; the documentation explains each.
    #[schemars(length(max = 64))]
    pub class: String,
    /// message tells the particulars.
    #[schemars(length(max = 2048))]
    pub message: String,
    /// exitCode of the agent's process or container.
    #[schemars(range(min = -2_147_483_647, max = 2_147_483_647))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// signal that ended the agent's process or container.
    #[schemars(range(min = 0, max = 128))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// retry says whether the same task may be tried again. Nothing is retried by itself.
    pub retry: RetryAdvice,
}

/// Whether a failed task may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RetryAdvice {
    /// Not before something is changed.
    Never,
    /// After a pause.
    AfterBackoff,
    /// At once.
    AtOnce,
}

/// What the agent answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultStatus {
    /// summary is the beginning of the answer; the whole of it is in the timeline.
    #[schemars(length(max = 4096))]
    pub summary: String,
}

/// Tokens of one turn with one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// model that was used.
    #[schemars(length(max = 200))]
    pub model: String,
    /// inputTokens of the prompt, without what the cache held or took.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub input_tokens: i64,
    /// outputTokens of the answer, reasoning included.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub output_tokens: i64,
    /// cacheReadTokens of the prompt that the cache held.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub cache_read_tokens: i64,
    /// cacheWriteTokens of the prompt that the cache took.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub cache_write_tokens: i64,
}

/// When a task reached each step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskTimes {
    /// queued is when the task was entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Time>,
    /// claimed is when the last attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Time>,
    /// started is when the agent's process ran, of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// finished is when the verdict was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Time>,
}
