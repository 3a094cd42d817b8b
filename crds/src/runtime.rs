//! Runtime: how and where a coding agent's CLI runs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LocalRef, McpServer};

mod cli;
mod env;
mod pod;
mod provider;
mod settings;

pub use cli::{CliFinding, CliImage, CliStatus};
pub use env::{ConfigMapKeyRef, EnvFromSource, EnvValueSource, EnvVar, SecretKeyRef};
pub use pod::{PodSettings, Resources, Toleration, TolerationEffect, TolerationOperator};
pub use provider::{Family, Provider};
pub use settings::{AllowedPeer, Capacity, Defaults, Egress, Network, Timeouts, Workdir};

/// How and where a coding agent's CLI runs: image, volume, limits, network.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "Runtime",
    plural = "runtimes",
    namespaced,
    status = "RuntimeStatus",
    shortname = "rt",
    category = "mooring",
    derive = "PartialEq",
    doc = "Runtime says how and where a coding agent's CLI runs: image, volume, limits, network.",
    selectable = ".spec.provider",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.cli.version"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.capacity.maxPods"),
    printcolumn(name = "Egress", type_ = "string", json_path = ".spec.network.egress"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("Runtime names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name"),
)]
#[x_kube(validation = Rule::new("has(self.family) == (self.provider == 'custom')")
    .message("family is of provider custom, and custom needs one: give both, or name the coding agent as the provider"))]
#[x_kube(validation = Rule::new("self.provider != 'custom' || self.command.size() > 0")
    .message("a program that is known by no name has no usual command: say in command how it is started"))]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSpec {
    /// provider is the coding agent whose protocol the runner speaks, or custom for one that is not named here.
    pub provider: Provider,
    /// family is the protocol that a custom program speaks. It is driven by what all of that family have.
    #[schemars(with = "Family")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// image holds the coding agent's CLI. Mooring's own programs come from an init container.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// imagePullPolicy is as in a container. Without one Kubernetes decides by the image's tag.
    #[schemars(with = "ImagePullPolicy")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// imagePullSecrets are Secrets of the namespace with which the kubelet pulls the image.
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub image_pull_secrets: Vec<LocalRef>,
    /// cliImage is a second image that is mounted and not run: the CLI comes from there, and image can be any image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_image: Option<CliImage>,
    /// command starts the CLI inside the image, not the runner. Empty means the provider's usual command.
    #[schemars(length(max = 16), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub command: Vec<String>,
    /// launchPrefix stands between the command and the arguments of the protocol.
    #[schemars(length(max = 16), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub launch_prefix: Vec<String>,
    /// args stand after the arguments of the protocol.
    #[schemars(length(max = 64), inner(length(max = 4096)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub args: Vec<String>,
    /// defaults are for agents and tasks that say nothing of their own.
    #[serde(default)]
    pub defaults: Defaults,
    /// mcpServers are tools that every agent on this Runtime is given. With a list here or in the Agent, even an empty one, an agent has these alone, where the coding agent can be held to that.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<McpServer>>,
    /// pod is what may be set of the pod. Everything else in it is fixed and hardened.
    #[serde(default)]
    pub pod: PodSettings,
    /// network is where the agent may connect to. DNS and Mooring's own API are always open.
    #[serde(default)]
    pub network: Network,
    /// workdir is the volume of each session. A session keeps what it was made with.
    #[serde(default)]
    pub workdir: Workdir,
    /// timeouts bound each part of a task's life.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// capacity bounds how much runs at a time.
    #[serde(default)]
    pub capacity: Capacity,
}

impl RuntimeSpec {
    /// What drives the program, in the word of the package, the store and metrics: the provider, or of one that is known
    /// by no name its family.
    #[must_use]
    pub fn driver(&self) -> &'static str {
        match (self.provider, self.family) {
            (Provider::Custom, Some(family)) => family.driver(),
            (provider, _) => provider.as_str(),
        }
    }
}

impl Runtime {
    /// The version of the program, where it was asked for what the Runtime says now, and can be used.
    #[must_use]
    pub fn cli_version(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        let is_current = status.observed_generation == self.metadata.generation;
        let cli = status.cli.as_ref().filter(|_| is_current)?;
        let version = cli.version.as_deref();
        version.filter(|_| cli.finding == CliFinding::Usable)
    }
}

/// When the kubelet pulls an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    /// Each time.
    Always,
    /// When the node lacks it.
    IfNotPresent,
    /// Not at all.
    Never,
}

impl ImagePullPolicy {
    /// The word of Kubernetes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// What the operator has found out about a Runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether pods can be made.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// cli is what is known of the coding agent's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli: Option<CliStatus>,
}

/// Reasons of a Runtime's `Ready`.
pub mod reason {
    /// Pods can be made; its network policy is in place.
    pub const READY: &str = "Ready";
    /// The runner has no adapter for the provider yet. Choose another provider, or wait for a release.
    pub const PROVIDER_NOT_SUPPORTED: &str = "ProviderNotSupported";
    /// The network policies could not be made, so no pod is. The message holds the apiserver's words.
    pub const NETWORK_POLICY_FAILED: &str = "NetworkPolicyFailed";
    /// The image has no program of the name. The message holds the command that names another, or the line that installs it.
    pub const CLI_MISSING: &str = "CliMissing";
    /// The program cannot be executed: rights, architecture, or something that it needs to start is not in the image.
    pub const CLI_NOT_EXECUTABLE: &str = "CliNotExecutable";
    /// The program is older than what the runner drives. The message holds the line that installs a newer one.
    pub const CLI_TOO_OLD: &str = "CliTooOld";
    /// The program was started to tell its version and failed. The message holds what it said.
    pub const CLI_FAILED: &str = "CliFailed";
    /// The image cannot be pulled. Tasks are begun all the same, since a node may have it.
    pub const IMAGE_PULL_FAILED: &str = "ImagePullFailed";
    /// The pod that was to ask the program for its version did not start. Tasks are begun all the same.
    pub const CLI_NOT_ASKED: &str = "CliNotAsked";
    /// The namespace lacks the label `mooring.dev/workspace: enabled`.
    pub const NOT_A_WORKSPACE: &str = "NotAWorkspace";
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runtime(observed: i64, finding: &str) -> Runtime {
        let cli = json!({
            "probed": "p", "finding": finding, "version": "2.0.18", "probedTime": "2026-11-30T03:00:00Z",
        });
        let object = json!({
            "metadata": {"name": "r", "generation": 2},
            "spec": {"provider": "custom", "family": "Rpc", "image": "i", "command": ["agent"]},
            "status": {"observedGeneration": observed, "cli": cli},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_version_is_known_of_what_was_asked_and_works() {
        assert_eq!(runtime(2, "Usable").cli_version(), Some("2.0.18"));
        assert_eq!(runtime(1, "Usable").cli_version(), None);
        assert_eq!(runtime(2, "NotAsked").cli_version(), None);
    }

    #[test]
    fn what_is_known_by_no_name_is_driven_by_its_family() {
        let mut spec = runtime(2, "Usable").spec;
        assert_eq!(spec.driver(), "custom-rpc");
        spec.family = Some(Family::Acp);
        assert_eq!(spec.driver(), "acp");
        spec.provider = Provider::Claude;
        assert_eq!(spec.driver(), "claude");
    }
}
