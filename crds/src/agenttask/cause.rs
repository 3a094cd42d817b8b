//! What woke an agent: ids only, the texts are kept by the store.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What woke an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.kind != 'Comment' || has(self.comment)")
    .message("a cause of kind Comment names its comment: such tasks are made by Mooring, write a comment instead"))]
#[x_kube(validation = Rule::new("(self.kind in ['Chat', 'QuickIssue']) != has(self.issue)")
    .message("a cause names its issue, and one of kind Chat or QuickIssue has none: such tasks are made by Mooring, write to the agent instead"))]
pub struct TaskCause {
    /// kind says what happened.
    pub kind: CauseKind,
    /// issue is the key of the issue on which it happened; none for a chat, and for an issue that is yet to be written.
    #[schemars(
        length(min = 3, max = 21),
        regex(pattern = "^[A-Z][A-Z0-9]{0,9}-[1-9][0-9]{0,9}$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// comment is the id of the comment that woke the agent.
    #[schemars(
        length(max = 36),
        regex(pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What kind of thing woke an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum CauseKind {
    /// A comment that names it, answers it, or that it is there for.
    Comment,
    /// An issue was given to it.
    Assignment,
    /// The parts of its issue are done.
    Children,
    /// A person wrote to it in a chat.
    Chat,
    /// A person asked it to write an issue.
    QuickIssue,
}
