//! Skill: know-how that agents load when they need it, from ConfigMaps.
//!
//! The kubelet mounts the ConfigMaps into the pod, so their contents pass neither the operator nor the API, and
//! are as fresh as the pod.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LocalRef;

/// Know-how that agents load when they need it: a folder with a `SKILL.md` and what belongs to it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "Skill",
    plural = "skills",
    namespaced,
    shortname = "sk",
    category = "mooring",
    derive = "PartialEq",
    doc = "Skill is know-how that agents load when they need it: a folder with a SKILL.md and what belongs to it, from ConfigMaps.",
    printcolumn(name = "Description", type_ = "string", json_path = ".spec.description"),
    printcolumn(name = "Files", type_ = "string", json_path = ".spec.files[*].configMap.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("Skill names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name"),
)]
#[serde(rename_all = "camelCase")]
pub struct SkillSpec {
    /// description says to people what the skill is good for. What the agent reads stands in SKILL.md.
    #[schemars(length(min = 1, max = 1024))]
    pub description: String,
    /// files are the ConfigMaps that make up the skill's folder. One of those without a folder has the key SKILL.md.
    #[schemars(length(min = 1, max = 4))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["folder".into()]))]
    #[x_kube(validation = Rule::new("self.exists(each, each.folder == '')")
        .message("no ConfigMap is for the skill's own folder, where SKILL.md is: leave out folder in one of files"))]
    pub files: Vec<SkillFiles>,
}

/// A ConfigMap whose keys are files of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFiles {
    /// configMap holds the files: each key is a file's name.
    pub config_map: LocalRef,
    /// folder is where in the skill they lie, for example scripts. Without one they lie in the skill's own folder.
    #[schemars(length(max = 63), regex(pattern = "^([a-z0-9][a-z0-9_-]*)?$"))]
    #[serde(default)]
    pub folder: String,
}
