//! `AgentWebhook`: a door through which another system makes issues and comments.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Assignee;

/// A door through which another system makes issues and comments.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentWebhook",
    plural = "agentwebhooks",
    namespaced,
    status = "AgentWebhookStatus",
    shortname = "awh",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentWebhook is a door through which another system makes issues and comments: it signs what it sends to status.path with the key in the Secret of status.secretName.",
    printcolumn(name = "Path", type_ = "string", json_path = ".status.path"),
    printcolumn(name = "Secret", type_ = "string", json_path = ".status.secretName"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Delivered", type_ = "string", json_path = r#".status.conditions[?(@.type=="Delivered")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("AgentWebhook names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name"),
)]
#[x_kube(validation = Rule::new("(has(self.issue) ? 1 : 0) + (has(self.comment) ? 1 : 0) + (has(self.gitHub) ? 1 : 0) == 1")
    .message("a webhook does one thing: give it one of issue, comment and gitHub"))]
#[serde(rename_all = "camelCase")]
pub struct AgentWebhookSpec {
    /// suspend refuses everything that is sent; what was taken before is still dealt with.
    #[serde(default)]
    pub suspend: bool,
    /// keyVersion is the number of the signing key. Another number makes another key, in another Secret.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(default = "key_version")]
    pub key_version: i32,
    /// previousKey says whether the key before this one is still good, for the time in which the sender is told the new one.
    #[serde(default)]
    pub previous_key: PreviousKey,
    /// issue makes an issue of each delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<WebhookIssue>,
    /// comment makes each delivery a comment on an issue that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<WebhookComment>,
    /// gitHub takes what GitHub sends of issues: one that gets the label becomes an issue, and what is said on it then a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_hub: Option<GitHubIssues>,
}

/// Whether the key before the present one is still good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PreviousKey {
    /// It is not.
    #[default]
    Refuse,
    /// It is.
    Accept,
}

/// An issue that a webhook makes of a delivery. In its texts `{/a/b}` stands for what the delivery holds there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookIssue {
    /// title of the issue. {/a/b} in it stands for what the delivery has at that JSON pointer.
    #[schemars(length(min = 1, max = 500))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\p{C}\\s]([^\\p{C}]*[^\\p{C}\\s])?$')")
        .message("title is one line of printable characters and neither begins nor ends with a blank: shorten it to one line"))]
    pub title: String,
    /// description of the issue. {/a/b} in it stands for what the delivery has at that JSON pointer.
    #[schemars(length(max = 8192))]
    #[serde(default)]
    pub description: String,
    /// reference names what the delivery is about, for example {/alert/id}: while an issue for it is open, a further delivery is a comment on that one, with the text of description.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// assignee gets the issue and is woken. Without one the issue waits for somebody who takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Assignee>,
    /// priority of the issue.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(default)]
    pub priority: i32,
}

/// A comment that a webhook makes of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookComment {
    /// issue is where the delivery names the key of the issue, for example {/fields/mooring}. The comment wakes the agent that has it.
    #[schemars(length(min = 1, max = 200))]
    pub issue: String,
    /// body of the comment. {/a/b} in it stands for what the delivery has at that JSON pointer.
    #[schemars(length(min = 1, max = 8192))]
    pub body: String,
}

/// What becomes of issues of GitHub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitHubIssues {
    /// label is the label of GitHub with which an issue is handed over.
    #[schemars(length(min = 1, max = 100))]
    pub label: String,
    /// commentsBy are those whose comments on such an issue are taken over. What others say there wakes nobody here.
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default = "comments_by")]
    pub comments_by: Vec<Association>,
    /// assignee gets the issues and is woken. Without one they wait for somebody who takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Assignee>,
    /// priority of the issues.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(default)]
    pub priority: i32,
}

/// What somebody is to a repository, as GitHub says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Association {
    /// It is theirs.
    Owner,
    /// They belong to the organisation that it is of.
    Member,
    /// They were invited to it.
    Collaborator,
    /// They have contributed to it.
    Contributor,
    /// Anybody at all.
    Anybody,
}

/// What is known about a webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentWebhookStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether deliveries are taken, Delivered what became of the last one.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// path is where deliveries are sent to, below the address of the API.
    #[schemars(length(max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// secretName is the Secret that holds the signing key, as the sender is told it, under the name key.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// Condition types of a webhook beside `Ready`.
pub mod condition {
    /// What became of the last delivery that was dealt with.
    pub const DELIVERED: &str = "Delivered";
}

/// Reasons of a webhook's conditions.
pub mod reason {
    /// Deliveries are taken.
    pub const READY: &str = "Ready";
    /// `suspend` is set.
    pub const SUSPENDED: &str = "Suspended";
    /// Whoever gets its issues does not exist. Create it, or correct the name; deliveries fail until then.
    pub const AGENT_NOT_FOUND: &str = "AgentNotFound";
    /// Nothing was delivered yet.
    pub const NOTHING_YET: &str = "NothingYet";
    /// The last delivery became an issue or a comment, or was none that is taken over.
    pub const TAKEN: &str = "Taken";
    /// The last delivery could not become what it should. The message says why; the sender may send it again.
    pub const FAILED: &str = "Failed";
}

fn key_version() -> i32 {
    1
}

fn comments_by() -> Vec<Association> {
    vec![
        Association::Owner,
        Association::Member,
        Association::Collaborator,
    ]
}
