//! Who may wake an agent.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Who may wake an agent: its owner, its invokers, and nobody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// owner is the user whose agent it is, as Kubernetes knows the name.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// invokers are those who may wake it beside its owner.
    #[serde(default)]
    pub invokers: Invokers,
}

/// Users, groups, agents and webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invokers {
    /// users are names of users, as Kubernetes knows them. Who is behind a chain of agents counts, not the last of them.
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub users: Vec<String>,
    /// groups are groups of such users, as of their login.
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub groups: Vec<String>,
    /// agents are Agents in the same namespace that may wake it, whoever is behind them.
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 40),
            regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
        )
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub agents: Vec<String>,
    /// webhooks are `AgentWebhook`s in the same namespace whose deliveries may wake it, whoever sent them.
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 40),
            regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
        )
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub webhooks: Vec<String>,
}
