//! Who gets an issue that Mooring makes for a schedule or a webhook.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who gets an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assignee {
    /// kind says what the name names.
    #[serde(default)]
    pub kind: AssigneeKind,
    /// name of the Agent or AgentTeam, in the same namespace.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub name: String,
}

/// What the name of an assignee names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AssigneeKind {
    /// An Agent.
    #[default]
    Agent,
    /// An AgentTeam: its leader is woken.
    Team,
}
