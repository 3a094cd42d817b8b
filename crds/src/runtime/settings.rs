//! Network, volume, timeouts and capacity of a Runtime.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AccessMode;
use crate::shared::quantity;

/// What is asked of the provider where neither Agent nor task says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Defaults {
    /// model is the model that the provider is asked for. Without one the provider decides.
    #[schemars(length(min = 1, max = 200))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// thinkingLevel is how much the model thinks, in the words of the coding agent.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = "^[A-Za-z0-9][-_.A-Za-z0-9]*$")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
}

/// Where the agent may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("self.egress == 'Allowlist' || self.allow.size() == 0")
    .message("allow has no effect with egress Open: remove allow, or set egress: Allowlist"))]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// egress says whether only what is allowed is open, or everything.
    #[serde(default)]
    pub egress: Egress,
    /// allow is the list of what is open with egress Allowlist.
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub allow: Vec<AllowedPeer>,
}

/// Whether connections out of the pod are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Egress {
    /// Only what is listed is open.
    #[default]
    Allowlist,
    /// Everything is open.
    Open,
}

/// Addresses that the agent may connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedPeer {
    /// cidr is a range of addresses, for example 203.0.113.0/24.
    #[schemars(length(min = 3, max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)")
        .message("cidr is no range of addresses: write it as address/bits, for example 203.0.113.0/24 or 203.0.113.7/32"))]
    pub cidr: String,
    /// port is the TCP port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// The volume of each session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workdir {
    /// size of the volume.
    #[schemars(schema_with = "crate::shared::size_schema")]
    #[serde(default = "size")]
    pub size: Quantity,
    /// storageClassName is the class of the volume. Without one the cluster's default class is used.
    #[schemars(length(min = 1, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// accessMode keeps a second pod away from the volume, unless the storage knows only the weaker mode.
    #[serde(default)]
    pub access_mode: AccessMode,
}

impl Default for Workdir {
    fn default() -> Self {
        Self {
            size: size(),
            storage_class_name: None,
            access_mode: AccessMode::default(),
        }
    }
}

fn size() -> Quantity {
    quantity("10Gi")
}

/// How long each part of a task's life may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// scheduleSeconds is from the pod's creation until a node takes it and its volume is bound.
    #[schemars(range(min = 1, max = 86_400))]
    pub schedule_seconds: i32,
    /// imagePullSeconds is from then until the agent's container starts.
    #[schemars(range(min = 1, max = 86_400))]
    pub image_pull_seconds: i32,
    /// prepareSeconds is from then until the agent's process runs.
    #[schemars(range(min = 1, max = 3600))]
    pub prepare_seconds: i32,
    /// taskSeconds is from then until the agent has ended its turn.
    #[schemars(range(min = 1, max = 604_800))]
    pub task_seconds: i32,
    /// graceSeconds is from the polite request to stop until the kill.
    #[schemars(range(min = 1, max = 600))]
    pub grace_seconds: i32,
    /// idleSeconds is how long the agent may be silent while none of its tools runs. 0 is for ever.
    #[schemars(range(min = 0, max = 604_800))]
    pub idle_seconds: i32,
    /// toolSeconds is how long tools may run without one beginning or ending. 0 is for ever.
    #[schemars(range(min = 0, max = 604_800))]
    pub tool_seconds: i32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            schedule_seconds: 300,
            image_pull_seconds: 600,
            prepare_seconds: 120,
            task_seconds: 7200,
            grace_seconds: 15,
            idle_seconds: 7200,
            tool_seconds: 7200,
        }
    }
}

/// How much runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Capacity {
    /// maxPods is how many pods of the Runtime there may be, those that are going away included. With 0 its tasks wait.
    #[schemars(range(min = 0, max = 10_000))]
    pub max_pods: i32,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { max_pods: 20 }
    }
}
