//! The network policies, pure. Every field that the apiserver would fill in is set, so that what is read
//! back equals what was written and is not written again.

use std::collections::BTreeMap;

use crds::{AllowedPeer, Egress, Runtime, labels};
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use protocol::InstallationId;

use crate::task::build::owner;

/// Name of the policy that every pod of ours in a namespace is under.
pub const BASE: &str = "mooring-base";

/// Where pods find the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiPeer {
    /// Namespace of the operator.
    pub namespace: String,
    /// Labels of its pods.
    pub labels: BTreeMap<String, String>,
    /// The port on which they listen (not the Service's: policies are looked at after translation).
    pub port: u16,
}

/// No ingress; egress to DNS by port, wherever that is, and to the API.
#[must_use]
pub fn base(installation: InstallationId, namespace: &str, api: &ApiPeer) -> NetworkPolicy {
    let dns = NetworkPolicyEgressRule {
        ports: Some(vec![port("UDP", 53), port("TCP", 53)]),
        to: None,
    };
    let home = BTreeMap::from([(
        "kubernetes.io/metadata.name".to_owned(),
        api.namespace.clone(),
    )]);
    let to_api = NetworkPolicyEgressRule {
        ports: Some(vec![port("TCP", api.port.into())]),
        to: Some(vec![NetworkPolicyPeer {
            namespace_selector: Some(selector(home)),
            pod_selector: Some(selector(api.labels.clone())),
            ip_block: None,
        }]),
    };
    NetworkPolicy {
        metadata: meta(installation, namespace, BASE),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(ours())),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            egress: Some(vec![dns, to_api]),
            ingress: None,
        }),
    }
}

/// What a Runtime's list opens beside that.
#[must_use]
pub fn of_runtime(installation: InstallationId, runtime: &Runtime) -> NetworkPolicy {
    let name = runtime.metadata.name.clone().unwrap_or_default();
    let namespace = runtime.metadata.namespace.clone().unwrap_or_default();
    let egress = match runtime.spec.network.egress {
        Egress::Open => vec![NetworkPolicyEgressRule::default()],
        Egress::Allowlist => runtime.spec.network.allow.iter().map(allow).collect(),
    };
    let mut pods = ours();
    pods.insert(labels::RUNTIME.to_owned(), name.clone());
    let mut meta = meta(installation, &namespace, &runtime_policy(&name));
    meta.owner_references = owner(runtime).map(|owner| vec![owner]);
    NetworkPolicy {
        metadata: meta,
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(pods)),
            policy_types: Some(vec!["Egress".to_owned()]),
            egress: (!egress.is_empty()).then_some(egress),
            ingress: None,
        }),
    }
}

/// Name of a Runtime's policy.
#[must_use]
pub fn runtime_policy(runtime: &str) -> String {
    format!("mooring-runtime-{runtime}")
}

/// True when the cluster holds what is wanted.
#[must_use]
pub fn is_as_wanted(there: &NetworkPolicy, wanted: &NetworkPolicy) -> bool {
    let labelled = wanted.metadata.labels.iter().flatten().all(|(key, value)| {
        there
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(key))
            == Some(value)
    });
    labelled
        && there.metadata.owner_references == wanted.metadata.owner_references
        && there.spec == wanted.spec
}

fn allow(peer: &AllowedPeer) -> NetworkPolicyEgressRule {
    NetworkPolicyEgressRule {
        ports: Some(vec![port("TCP", peer.port)]),
        to: Some(vec![NetworkPolicyPeer {
            ip_block: Some(IPBlock {
                cidr: peer.cidr.clone(),
                except: None,
            }),
            ..NetworkPolicyPeer::default()
        }]),
    }
}

fn ours() -> BTreeMap<String, String> {
    BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
        (labels::COMPONENT.to_owned(), labels::RUNNER.to_owned()),
    ])
}

fn selector(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels),
        match_expressions: None,
    }
}

fn port(protocol: &str, port: i32) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(port)),
        end_port: None,
    }
}

fn meta(installation: InstallationId, namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(BTreeMap::from([
            (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
            (labels::INSTALLATION.to_owned(), installation.to_string()),
        ])),
        ..ObjectMeta::default()
    }
}
