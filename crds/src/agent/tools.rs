//! Which tools an agent may use.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool's name, and what it is used for in brackets.
const PATTERN: &str = r"^[-A-Za-z0-9_.:/*]+(\(.*[^ ].*\))?$";

/// Which tools an agent may use, and for which a person is asked.
///
/// A pattern is the name of a tool with `*` for any
/// characters, or such a name and what the tool is used for: `Bash(git push:*)`, `Edit(docs/*)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("self.allow.size() + self.deny.size() + self.requireApproval.size() > 0")
    .message("tools says nothing: name tools in allow, deny or requireApproval, or leave it out"))]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    /// allow is what the agent may use without asking. With an empty list that is everything which is not denied.
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 256),
            regex(pattern = PATTERN)
        )
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub allow: Vec<String>,
    /// deny is what the agent may not use, whatever else is said.
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 256),
            regex(pattern = PATTERN)
        )
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub deny: Vec<String>,
    /// requireApproval is for what a person is asked each time, with `moor approval list` and `approve`.
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 256),
            regex(pattern = PATTERN)
        )
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default)]
    pub require_approval: Vec<String>,
    /// approvalTimeoutSeconds is how long a person is waited for. The pod stays meanwhile, and the Runtime's taskSeconds go on.
    #[schemars(range(min = 10, max = 86_400))]
    #[serde(default = "approval_timeout_seconds")]
    pub approval_timeout_seconds: i32,
    /// onTimeout is what happens when nobody has decided by then.
    #[serde(default)]
    pub on_timeout: OnTimeout,
}

/// What happens when nobody has decided in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnTimeout {
    /// The agent is told that it may not.
    #[default]
    Deny,
    /// The agent goes on as if it had been approved.
    Allow,
}

fn approval_timeout_seconds() -> i32 {
    3600
}
