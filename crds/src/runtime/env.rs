//! Variables of the agent's container, values or references.

use k8s_openapi::api::core::v1 as core;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LocalRef;

/// A variable of the agent's container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("a variable has either value or valueFrom: remove one, or add one"))]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// name of the variable.
    #[schemars(length(min = 1, max = 128))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z_][A-Za-z0-9_]*$')")
        .message("variable names are letters, digits and underscores and do not begin with a digit: rename the variable"))]
    #[x_kube(validation = Rule::new("!self.startsWith('MOORING_') && !(self in ['HOME', 'USER', 'LOGNAME', 'PWD'])")
        .message("MOORING_*, HOME, USER, LOGNAME and PWD belong to the runner: rename or remove the variable"))]
    pub name: String,
    /// value of the variable, for everyone to read. Secrets belong into valueFrom.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// valueFrom says where the kubelet takes the value from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvValueSource>,
}

/// Where the kubelet takes a value from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.secretKeyRef) != has(self.configMapKeyRef)")
    .message("valueFrom has either secretKeyRef or configMapKeyRef: remove one, or add one"))]
#[serde(rename_all = "camelCase")]
pub struct EnvValueSource {
    /// secretKeyRef is a key of a Secret of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
    /// configMapKeyRef is a key of a ConfigMap of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
}

/// A key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// key in the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// A key of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// key in the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// A whole ConfigMap or Secret as variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.secretRef) != has(self.configMapRef)")
    .message("envFrom has either secretRef or configMapRef in each entry: remove one, or add one"))]
#[serde(rename_all = "camelCase")]
pub struct EnvFromSource {
    /// prefix is put before each key.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// secretRef is a Secret of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalRef>,
    /// configMapRef is a ConfigMap of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalRef>,
}

impl From<&EnvVar> for core::EnvVar {
    fn from(ours: &EnvVar) -> Self {
        let value_from = ours.value_from.as_ref().map(|from| core::EnvVarSource {
            secret_key_ref: from
                .secret_key_ref
                .as_ref()
                .map(|secret| core::SecretKeySelector {
                    name: secret.name.clone(),
                    key: secret.key.clone(),
                    optional: None,
                }),
            config_map_key_ref: from.config_map_key_ref.as_ref().map(|map| {
                core::ConfigMapKeySelector {
                    name: map.name.clone(),
                    key: map.key.clone(),
                    optional: None,
                }
            }),
            ..core::EnvVarSource::default()
        });
        Self {
            name: ours.name.clone(),
            value: ours.value.clone(),
            value_from,
        }
    }
}

impl From<&EnvFromSource> for core::EnvFromSource {
    fn from(ours: &EnvFromSource) -> Self {
        Self {
            prefix: ours.prefix.clone(),
            secret_ref: ours
                .secret_ref
                .as_ref()
                .map(|secret| core::SecretEnvSource {
                    name: secret.name.clone(),
                    optional: None,
                }),
            config_map_ref: ours
                .config_map_ref
                .as_ref()
                .map(|map| core::ConfigMapEnvSource {
                    name: map.name.clone(),
                    optional: None,
                }),
        }
    }
}
