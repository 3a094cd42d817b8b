//! Skills, as people see them when they look for what agents know.

use serde::{Deserialize, Serialize};

/// A Skill of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillCard {
    /// Its resource name, by which Agents name it.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// What its folder is made of.
    pub files: Vec<SkillSource>,
}

/// A ConfigMap whose keys are files of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillSource {
    /// The ConfigMap.
    pub config_map: String,
    /// Where in the skill they lie; empty for the skill's own folder.
    pub folder: String,
}
