//! Where a prompt comes from that does not stand in the task itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigMapKeyRef;

/// A text that is the prompt of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptSource {
    /// configMapKeyRef is a key of a ConfigMap in the same namespace. It is read once, when the task is taken in; what it holds later is for later tasks.
    pub config_map_key_ref: ConfigMapKeyRef,
}
