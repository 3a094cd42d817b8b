//! AgentTeam: agents that are addressed together, and the one of them that leads.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Agents that are addressed together: who leads, who does what, and how they work.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentTeam",
    plural = "agentteams",
    namespaced,
    status = "AgentTeamStatus",
    shortname = "ateam",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentTeam is a number of agents that are addressed together: whoever mentions it wakes its leader, who is told of the others.",
    printcolumn(name = "Called", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Leader", type_ = "string", json_path = ".spec.leader"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("AgentTeam names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name, displayName is free"),
)]
#[x_kube(validation = Rule::new("!self.members.exists(member, member.agent == self.leader)")
    .message("the leader is listed among the members: remove it there, it is of the team by leading it"))]
#[serde(rename_all = "camelCase")]
pub struct AgentTeamSpec {
    /// displayName is what people call the team. Without one it is called by its name.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// description says what the team is there for, for those who look for whom to ask.
    #[schemars(length(min = 1, max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// leader is the Agent in the same namespace that is woken when somebody asks the team.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub leader: String,
    /// members are the Agents that the leader gives work to.
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["agent".into()]))]
    pub members: Vec<TeamMember>,
    /// instructions are told to the leader when it is woken for the team, at most 16384 bytes of UTF-8.
    #[schemars(length(max = 16384))]
    #[x_kube(validation = Rule::new("bytes(self).size() <= 16384")
        .message("instructions are longer than 16384 bytes of UTF-8: shorten them, or give the members instructions of their own"))]
    #[serde(default)]
    pub instructions: String,
}

/// An agent of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamMember {
    /// agent is the Agent in the same namespace.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub agent: String,
    /// role says in a few words what it does in the team.
    #[schemars(length(min = 1, max = 200))]
    pub role: String,
}

/// What the operator has found out about an AgentTeam.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTeamStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether the team can be asked.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// Reasons of an AgentTeam's `Ready`.
pub mod reason {
    /// Its leader and all its members exist.
    pub const READY: &str = "Ready";
    /// There is no Agent of the leader's name, so nobody is woken. Create it, or correct `leader`.
    pub const LEADER_NOT_FOUND: &str = "LeaderNotFound";
    /// Some of its members do not exist; the leader is not told of these. Create them, or correct `members`.
    pub const MEMBER_NOT_FOUND: &str = "MemberNotFound";
    /// An Agent is named twice. Remove one of the two.
    pub const DUPLICATE_MEMBER: &str = "DuplicateMember";
}
