//! What may be set of a task's pod: a bounded part, so that nothing in it can weaken the pod.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::env::{EnvFromSource, EnvVar};

/// The part of a task's pod that may be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSettings {
    /// resources of the agent's container.
    #[serde(default)]
    pub resources: Resources,
    /// nodeSelector are labels that a node must have.
    #[schemars(schema_with = "node_selector_schema")]
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// tolerations of the pod, beside those for a lost node, which Mooring sets.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    /// runAsUser is the user id of all processes. A session keeps the one it was made with.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[x_kube(validation = Rule::new("self > 0").message("runAsUser must not be 0, agents never run as root: choose another id, for example 10001"))]
    #[serde(default = "agent_id")]
    pub run_as_user: i64,
    /// runAsGroup is the group id of all processes. A session keeps the one it was made with.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[x_kube(validation = Rule::new("self > 0").message("runAsGroup must not be 0, agents never run as root: choose another id, for example 10001"))]
    #[serde(default = "agent_id")]
    pub run_as_group: i64,
    /// fsGroup is the group that owns the files of the volume. A session keeps the one it was made with.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[x_kube(validation = Rule::new("self > 0").message("fsGroup must not be 0, agents never run as root: choose another id, for example 10001"))]
    #[serde(default = "agent_id")]
    pub fs_group: i64,
    /// env are variables of the agent's container. Secrets come by reference; the kubelet reads them.
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// envFrom are whole ConfigMaps and Secrets as variables. Those of env and of Mooring win.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub env_from: Vec<EnvFromSource>,
}

impl Default for PodSettings {
    fn default() -> Self {
        Self {
            resources: Resources::default(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            run_as_user: agent_id(),
            run_as_group: agent_id(),
            fs_group: agent_id(),
            env: Vec::new(),
            env_from: Vec::new(),
        }
    }
}

fn node_selector_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": {"type": "string", "maxLength": 63},
    })
}

fn agent_id() -> i64 {
    10001
}

/// What the agent's container asks for and may use at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// requests by resource name, for example cpu, memory, ephemeral-storage. What is missing follows from what the provider's program was seen to take.
    #[schemars(schema_with = "crate::shared::amounts_schema")]
    #[serde(default)]
    pub requests: BTreeMap<String, Quantity>,
    /// limits by resource name. Where memory or ephemeral-storage is missing, Mooring sets one: no pod is without.
    #[schemars(schema_with = "crate::shared::amounts_schema")]
    #[serde(default)]
    pub limits: BTreeMap<String, Quantity>,
}

/// A taint that the pod bears, as in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.key) || self.operator == 'Exists'")
    .message("a toleration without key tolerates every taint and needs operator Exists: set key, or operator: Exists"))]
#[x_kube(validation = Rule::new("!(has(self.value) && self.operator == 'Exists')")
    .message("a toleration with operator Exists compares no value: remove value, or set operator: Equal"))]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// key of the taint. Without one every taint is borne.
    #[schemars(length(min = 1, max = 316))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// operator says how the value is compared.
    #[serde(default)]
    pub operator: TolerationOperator,
    /// value of the taint.
    #[schemars(length(max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// effect of the taint. Without one every effect is borne.
    #[schemars(with = "TolerationEffect")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TolerationEffect>,
    /// tolerationSeconds is how long a taint that drives pods out is borne; without it for ever.
    #[schemars(range(min = 0, max = 604_800))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How a toleration compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationOperator {
    /// Key and value are the same.
    #[default]
    Equal,
    /// The key is there.
    Exists,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationEffect {
    /// Keeps new pods away.
    NoSchedule,
    /// Keeps new pods away where possible.
    PreferNoSchedule,
    /// Drives running pods out.
    NoExecute,
}

impl From<&Toleration> for k8s_openapi::api::core::v1::Toleration {
    fn from(ours: &Toleration) -> Self {
        let operator = match ours.operator {
            TolerationOperator::Equal => "Equal",
            TolerationOperator::Exists => "Exists",
        };
        let effect = ours.effect.map(|effect| match effect {
            TolerationEffect::NoSchedule => "NoSchedule",
            TolerationEffect::PreferNoSchedule => "PreferNoSchedule",
            TolerationEffect::NoExecute => "NoExecute",
        });
        Self {
            key: ours.key.clone(),
            operator: Some(operator.to_owned()),
            value: ours.value.clone(),
            effect: effect.map(str::to_owned),
            toleration_seconds: ours.toleration_seconds,
        }
    }
}
