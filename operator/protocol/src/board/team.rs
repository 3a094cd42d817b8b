//! Teams, as people and agents see them when they look for whom to ask.

use serde::{Deserialize, Serialize};

/// A team in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamCard {
    /// Its resource name, which mentions point to.
    pub name: String,
    /// What people call it.
    pub display_name: String,
    /// What it is there for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The agent that is woken for it.
    pub leader: String,
    /// True when its leader and all its members exist.
    pub ready: bool,
    /// Why not, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET teams/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamView {
    /// What a list says of it.
    #[serde(flatten)]
    pub card: TeamCard,
    /// Its members, without the leader.
    pub members: Vec<TeamMember>,
    /// How it works together.
    pub instructions: String,
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamMember {
    /// The agent's resource name.
    pub agent: String,
    /// What people call it.
    pub display_name: String,
    /// What it does in the team.
    pub role: String,
    /// What it is good at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What the leader of a team is told of it when it is woken for the team. Only members that exist are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamBriefing {
    /// Its resource name.
    pub name: String,
    /// What people call it.
    pub display_name: String,
    /// How it works together.
    pub instructions: String,
    /// Its members, without the leader.
    pub members: Vec<TeamMember>,
}
