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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn api() -> ApiPeer {
        ApiPeer {
            namespace: "mooring".to_owned(),
            labels: BTreeMap::from([("app.kubernetes.io/name".to_owned(), "mooring".to_owned())]),
            port: 8443,
        }
    }

    #[test]
    fn the_walls_of_a_namespace_and_of_a_runtime() {
        let mut runtime = fixtures::runtime("claude");
        runtime.spec.network.allow = vec![AllowedPeer {
            cidr: "203.0.113.7/32".to_owned(),
            port: 443,
        }];
        let id = fixtures::installation();
        insta::assert_yaml_snapshot!(
            "policies",
            (base(id, "team", &api()), of_runtime(id, &runtime))
        );
    }

    #[test]
    fn an_open_runtime_opens_everything_and_an_empty_list_nothing() {
        let mut runtime = fixtures::runtime("claude");
        let egress = |runtime: &Runtime| {
            of_runtime(fixtures::installation(), runtime)
                .spec
                .and_then(|spec| spec.egress)
        };
        assert_eq!(egress(&runtime), None);
        runtime.spec.network.egress = Egress::Open;
        assert_eq!(
            egress(&runtime),
            Some(vec![NetworkPolicyEgressRule::default()])
        );
    }

    #[test]
    fn only_what_differs_is_applied() {
        let wanted = base(fixtures::installation(), "team", &api());
        let mut there = wanted.clone();
        there.metadata.resource_version = Some("7".to_owned());
        assert!(is_as_wanted(&there, &wanted));
        there.metadata.labels = None;
        assert!(!is_as_wanted(&there, &wanted));
        let mut widened = wanted.clone();
        widened.spec.as_mut().unwrap().egress = Some(vec![NetworkPolicyEgressRule::default()]);
        assert!(!is_as_wanted(&widened, &wanted));
    }
}
