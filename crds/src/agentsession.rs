//! AgentSession: one agent's conversation about one subject. Made by the controller.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AccessMode, AgentRef, Subject};

/// One agent's conversation about one subject: the volume, and the provider session on it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentSession",
    plural = "agentsessions",
    namespaced,
    status = "AgentSessionStatus",
    shortname = "as",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentSession is one agent's conversation about one subject: the volume, and the provider session on it. Mooring makes it.",
    selectable = ".spec.agentRef.name",
    selectable = ".spec.subject.name",
    printcolumn(name = "Agent", type_ = "string", json_path = ".spec.agentRef.name"),
    printcolumn(name = "Subject", type_ = "string", json_path = ".spec.subject.name"),
    printcolumn(
        name = "Idle",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Idle")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Idle")].reason"#
    ),
    printcolumn(
        name = "Fencing",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Fencing")].status"#
    ),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.lastNode"),
    printcolumn(name = "Used", type_ = "date", json_path = ".status.lastUsedTime"),
    printcolumn(
        name = "Claim",
        type_ = "string",
        json_path = ".status.claimName",
        priority = 1
    ),
    printcolumn(
        name = "Conversation",
        type_ = "string",
        json_path = ".status.providerSession.id",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("a session keeps its agent, subject, volume and ids for ever: use another subject to get another session"))]
#[serde(rename_all = "camelCase")]
pub struct AgentSessionSpec {
    /// agentRef names the Agent whose conversation it is.
    pub agent_ref: AgentRef,
    /// subject is what the conversation is about.
    pub subject: Subject,
    /// volume is what every claim of the session is made with.
    pub volume: SessionVolume,
    /// ids are those of every process and file of the session.
    pub ids: SessionIds,
}

/// The volume of a session, as the Runtime had it when the session was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionVolume {
    /// size of the volume.
    #[schemars(schema_with = "crate::shared::size_schema")]
    pub size: Quantity,
    /// storageClassName is the class of the volume. Without one the cluster's default class is used.
    #[schemars(length(min = 1, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// accessMode of the volume.
    pub access_mode: AccessMode,
}

/// The ids of a session, as the Runtime had them when the session was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionIds {
    /// runAsUser is the user id of all processes.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub run_as_user: i64,
    /// runAsGroup is the group id of all processes.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub run_as_group: i64,
    /// fsGroup is the group that owns the files of the volume.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub fs_group: i64,
}

/// What is known about a session; written at the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSessionStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known: Ready, Idle and Fencing.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// claimName is the volume claim with the files and the conversation.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_name: Option<String>,
    /// providerSession is the conversation that the next task resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_session: Option<SessionProviderSession>,
    /// lastNode is the node of the last pod.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_node: Option<String>,
    /// lastUsedTime is when the last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_time: Option<Time>,
}

/// A provider's own conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionProviderSession {
    /// provider that made it.
    #[schemars(length(max = 63))]
    pub provider: String,
    /// id that the provider gave it.
    #[schemars(length(max = 512))]
    pub id: String,
}

/// Types of a session's conditions, beside [`crate::READY`].
pub mod condition {
    /// True when no task has the session.
    pub const IDLE: &str = "Idle";
    /// True while a pod that may still run keeps the next task away.
    pub const FENCING: &str = "Fencing";
}

/// Reasons of a session's conditions.
pub mod reason {
    /// Ready: the volume claim exists.
    pub const READY: &str = "Ready";
    /// Ready is False: the claim is gone. The next task gets a new volume and is told.
    pub const CLAIM_LOST: &str = "ClaimLost";
    /// Idle: no task has the session.
    pub const IDLE: &str = "Idle";
    /// Idle is False: the task named in the message has it.
    pub const IN_USE: &str = "InUse";
    /// Fencing is True: the pod is being ended, or its node does not say that it has ended.
    pub const POD_NOT_SEEN_DEAD: &str = "PodNotSeenDead";
    /// Fencing is False: no pod can be using the volume.
    pub const NOT_FENCING: &str = "NotFencing";
}
