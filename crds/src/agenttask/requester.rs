//! Who asked for a task.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Who made an AgentTask, as the apiserver knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requester {
    /// user is the name of whoever made the object.
    #[schemars(length(min = 1, max = 256))]
    pub user: String,
    /// groups are theirs at that time.
    #[schemars(length(max = 256), inner(length(min = 1, max = 256)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub groups: Vec<String>,
}
