//! AgentQuota: what a workspace may have of what the workspaces share.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the one AgentQuota of a namespace.
pub const QUOTA_NAME: &str = "default";

/// What a workspace may have of what the workspaces share. One for each namespace, written by the platform team.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentQuota",
    plural = "agentquotas",
    namespaced,
    status = "AgentQuotaStatus",
    shortname = "aq",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentQuota is what a workspace may have of what the workspaces share. One for each namespace, written by the platform team.",
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.running"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxConcurrent"),
    printcolumn(name = "Queued", type_ = "integer", json_path = ".status.queued"),
    printcolumn(name = "MaxQueued", type_ = "integer", json_path = ".spec.maxQueued"),
    printcolumn(name = "PerHour", type_ = "integer", json_path = ".spec.runsPerHour"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name == 'default'")
        .message("a namespace has one AgentQuota: name it default"),
)]
#[serde(rename_all = "camelCase")]
pub struct AgentQuotaSpec {
    /// weight is the workspace's part of the pods that all workspaces share, beside the weights of the others.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "weight")]
    pub weight: i32,
    /// maxConcurrent is how many tasks of the workspace may have a pod at a time. Without it no more limits than those of Agents and Runtimes.
    #[schemars(range(min = 0, max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<i32>,
    /// maxQueued is how many tasks of the workspace may wait. What would be one more is refused.
    #[schemars(range(min = 0, max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queued: Option<i32>,
    /// runsPerHour is how many runs the workspace may begin within any sixty minutes. What is more waits.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_hour: Option<i32>,
}

/// What the operator has found out about a workspace's share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentQuotaStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether the quota is in force.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// running is how many tasks have a pod, counted again a few seconds after it changes.
    #[schemars(range(min = 0, max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<i32>,
    /// queued is how many tasks wait, counted again a few seconds after it changes.
    #[schemars(range(min = 0, max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<i32>,
}

/// Reasons of an AgentQuota's `Ready`.
pub mod reason {
    /// It is in force.
    pub const READY: &str = "Ready";
}

fn weight() -> i32 {
    100
}
