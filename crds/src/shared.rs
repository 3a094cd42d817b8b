//! Types that several kinds use.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A reference to an Agent in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentRef {
    /// name of the Agent.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub name: String,
}

/// A reference to a Runtime in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeRef {
    /// name of the Runtime.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub name: String,
}

/// A reference to a Secret or a ConfigMap in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What a conversation is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// kind says what the name names: Key is a free word of your own, Issue the key of an issue, Chat and QuickIssue are what Mooring makes for people who write to an agent.
    pub kind: SubjectKind,
    /// name of the subject. Tasks of one agent with the same subject share a volume and a conversation.
    #[schemars(length(min = 1, max = 128))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\p{C}\\s]([^\\p{C}]*[^\\p{C}\\s])?$')")
        .message("subject names are 1 to 128 printable characters and neither begin nor end with a blank: choose another name"))]
    pub name: String,
}

/// What a subject's name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SubjectKind {
    /// A free word.
    Key,
    /// An issue. Its tasks are made by Mooring.
    Issue,
    /// A chat of a person with the agent. Its tasks are made by Mooring.
    Chat,
    /// The issues that the agent writes for a person. Its tasks are made by Mooring.
    QuickIssue,
}

impl SubjectKind {
    /// The word kept in the store and in names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "Key",
            Self::Issue => "Issue",
            Self::Chat => "Chat",
            Self::QuickIssue => "QuickIssue",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Key, Self::Issue, Self::Chat, Self::QuickIssue]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// How a session's volume may be mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AccessMode {
    /// By one pod at a time. The cluster itself then keeps a second pod away.
    #[default]
    ReadWriteOncePod,
    /// By pods of one node, for storage that does not know the better mode.
    ReadWriteOnce,
}

impl AccessMode {
    /// The word of Kubernetes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadWriteOncePod => "ReadWriteOncePod",
            Self::ReadWriteOnce => "ReadWriteOnce",
        }
    }
}

/// The size of a volume: as Kubernetes' own quantities, but never zero.
pub(crate) fn size_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "pattern": r"^[1-9][0-9]*(\.[0-9]{1,3})?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
        "maxLength": 32,
    })
}

/// Amounts by resource name, as in a container of Kubernetes.
pub(crate) fn amounts_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "pattern": r"^[0-9]+(\.[0-9]{1,3})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
            "maxLength": 32,
        },
    })
}

/// A quantity from its text.
pub(crate) fn quantity(text: &str) -> Quantity {
    Quantity(text.to_owned())
}
