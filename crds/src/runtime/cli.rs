//! The coding agent's program: where it comes from beside the image, and what was found out about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ImagePullPolicy;

/// An image that is mounted into the agent's container, and not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CliImage {
    /// image whose files are mounted read-only at /opt/mooring-cli. Programs in its folder bin are found by their name.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// imagePullPolicy is as in a container. Without one Kubernetes decides by the image's tag.
    #[schemars(with = "ImagePullPolicy")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<ImagePullPolicy>,
}

/// What was found out about the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CliFinding {
    /// It runs, in a version that is driven.
    Usable,
    /// It is not in the image.
    Missing,
    /// It is there and cannot be executed: rights, architecture, or what it needs to start.
    NotExecutable,
    /// It says that it is a version that is not driven.
    TooOld,
    /// It could be started, and failed or did not end.
    Failed,
    /// The image could not be pulled.
    ImagePullFailed,
    /// The pod that was to ask could not be started.
    NotAsked,
}

impl CliFinding {
    /// True when tasks cannot succeed with this program, so that none is begun.
    #[must_use]
    pub fn is_hopeless(self) -> bool {
        match self {
            Self::Missing | Self::NotExecutable | Self::TooOld | Self::Failed => true,
            // A node may have the image all the same.
            Self::Usable | Self::ImagePullFailed | Self::NotAsked => false,
        }
    }
}

/// What a short pod has found out about the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CliStatus {
    /// probed names what was asked: image, command and place. What is known holds for that alone.
    #[schemars(length(max = 64))]
    pub probed: String,
    /// finding is what came of it.
    pub finding: CliFinding,
    /// message says it in words, and what to do.
    #[schemars(length(max = 2048))]
    #[serde(default)]
    pub message: String,
    /// version is the one that the program told.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// models are those that the program says it can be asked for, without a login and without a network. What a provider has beside them is not known here.
    #[schemars(length(max = 64), inner(length(min = 1, max = 96)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// modelsLeftOut is how many more it named than models has.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[serde(default, skip_serializing_if = "is_zero")]
    pub models_left_out: i32,
    /// thinkingLevels are the words with which it can be told how much a model is to think. Not every model knows all of them.
    #[schemars(length(max = 16), inner(length(min = 1, max = 32)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinking_levels: Vec<String>,
    /// imageID is the image that was asked, as the kubelet names it.
    #[schemars(length(max = 1024))]
    #[serde(default, rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// probedTime is when that was.
    pub probed_time: Time,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
