//! The pod that asks, pure: the same image, place and command as a task's pod, and nothing that is anybody's.

use std::collections::BTreeMap;

use crds::{Runtime, RuntimeSpec, labels};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::ResourceExt as _;
use protocol::programs::{self, Program};
use protocol::{InstallationId, paths, probe};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::task::build::{Install, cli_mount, cli_volume, hardened, owner};

/// Name of the policy that such pods of a namespace are under.
pub(crate) const POLICY: &str = "mooring-probe";
/// The last backstop, counted by the kubelet.
const DEADLINE_SECONDS: i64 = 300;
/// Bytes of the hash that names what is asked.
const HASH_BYTES: usize = 12;
/// Programs that are started by an interpreter of their own take so much to tell their version.
const MEMORY: &str = "1Gi";

/// Name of the pod of a Runtime.
pub(super) fn name(runtime: &str) -> String {
    format!("mooring-probe-{runtime}")
}

/// Counts what programs are asked, so that after an upgrade they are asked once more for what was not known before.
const QUESTIONS: u8 = 2;

/// Names what is asked: all of a Runtime that the answer depends on.
#[must_use]
pub(crate) fn fingerprint(spec: &RuntimeSpec) -> String {
    let asked = json!([
        spec.provider,
        spec.image,
        spec.image_pull_policy,
        spec.image_pull_secrets,
        spec.cli_image,
        spec.command,
        spec.launch_prefix,
        spec.pod.node_selector,
        spec.pod.tolerations,
        spec.pod.run_as_user,
        spec.pod.run_as_group,
        plain(spec),
        QUESTIONS,
    ]);
    hex::encode(&Sha256::digest(asked.to_string())[..HASH_BYTES])
}

/// The variables of a Runtime that stand in it as they are: a program that is set up by them knows other models. What
/// comes by reference may be a secret, and stays out.
fn plain(spec: &RuntimeSpec) -> BTreeMap<&str, &str> {
    let variables = spec.pod.env.iter();
    variables
        .filter_map(|variable| Some((variable.name.as_str(), variable.value.as_deref()?)))
        .collect()
}

/// Whether another Runtime that runs the same may be told the answer without asking itself.
pub(super) fn is_shareable(spec: &RuntimeSpec) -> bool {
    spec.image_pull_secrets.is_empty()
}

/// The program that a Runtime starts.
pub(super) fn program(spec: &RuntimeSpec) -> Program {
    programs::of(spec.driver())
}

/// What the program is called by this Runtime.
pub(super) fn called(spec: &RuntimeSpec) -> String {
    let own = spec.command.first();
    own.map_or_else(|| program(spec).name.to_owned(), Clone::clone)
}

/// The command that asks for the version and for what can be asked of it, or only looks where nobody knows how.
fn command(spec: &RuntimeSpec) -> Vec<String> {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut command = words(&[paths::RUNNER, "probe"]);
    let unknown = [crds::Provider::Acp, crds::Provider::Custom];
    let is_known = !unknown.contains(&spec.provider);
    if is_known {
        command.extend(words(&["--provider", spec.provider.as_str()]));
    } else {
        command.push("--look-only".to_owned());
    }
    command.push("--".to_owned());
    if spec.command.is_empty() {
        command.push(program(spec).name.to_owned());
    } else {
        command.extend(spec.command.iter().cloned());
    }
    if is_known {
        command.extend(spec.launch_prefix.iter().cloned());
    }
    command
}

/// The pod.
pub(super) fn pod(installation: InstallationId, runtime: &Runtime, install: &Install) -> core::Pod {
    let spec = &runtime.spec;
    let name = name(&runtime.name_any());
    let labels = BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
        (labels::INSTALLATION.to_owned(), installation.to_string()),
        (labels::COMPONENT.to_owned(), labels::PROBE.to_owned()),
        (labels::RUNTIME.to_owned(), runtime.name_any()),
    ]);
    let pull_secrets = spec.image_pull_secrets.iter();
    core::Pod {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: runtime.namespace(),
            labels: Some(labels),
            annotations: Some([(labels::PROBED.to_owned(), fingerprint(spec))].into()),
            owner_references: owner(runtime).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(core::PodSpec {
            init_containers: Some(vec![installer(install)]),
            containers: vec![asker(spec)],
            volumes: Some(volumes(spec)),
            restart_policy: Some("Never".to_owned()),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            active_deadline_seconds: Some(DEADLINE_SECONDS),
            termination_grace_period_seconds: Some(0),
            image_pull_secrets: Some(
                pull_secrets
                    .map(|secret| core::LocalObjectReference {
                        name: secret.name.clone(),
                    })
                    .collect(),
            ),
            node_selector: (!spec.pod.node_selector.is_empty())
                .then(|| spec.pod.node_selector.clone()),
            tolerations: Some(
                spec.pod
                    .tolerations
                    .iter()
                    .map(core::Toleration::from)
                    .collect(),
            ),
            security_context: Some(core::PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(spec.pod.run_as_user),
                run_as_group: Some(spec.pod.run_as_group),
                seccomp_profile: Some(core::SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    localhost_profile: None,
                }),
                ..core::PodSecurityContext::default()
            }),
            ..core::PodSpec::default()
        }),
        status: None,
    }
}

fn installer(install: &Install) -> core::Container {
    core::Container {
        name: paths::INSTALL_CONTAINER.to_owned(),
        image: Some(install.image.clone()),
        image_pull_policy: install.pull_policy.clone(),
        command: Some(
            ["/mooring-runner", "install", paths::OPT]
                .map(str::to_owned)
                .to_vec(),
        ),
        resources: Some(resources("128Mi", "256Mi")),
        volume_mounts: Some(vec![mount("opt", paths::OPT)]),
        security_context: Some(hardened()),
        ..core::Container::default()
    }
}

fn asker(spec: &RuntimeSpec) -> core::Container {
    let mut mounts = vec![
        core::VolumeMount {
            read_only: Some(true),
            ..mount("opt", paths::OPT)
        },
        mount("tmp", "/tmp"),
    ];
    mounts.extend(spec.cli_image.iter().map(|_| cli_mount()));
    core::Container {
        name: probe::CONTAINER.to_owned(),
        image: Some(spec.image.clone()),
        image_pull_policy: spec
            .image_pull_policy
            .map(|policy| policy.as_str().to_owned()),
        command: Some(command(spec)),
        // No key is needed for what is asked.
        env: Some(
            plain(spec)
                .into_iter()
                .chain([("HOME", "/tmp")])
                .map(|(name, value)| core::EnvVar {
                    name: name.to_owned(),
                    value: Some(value.to_owned()),
                    value_from: None,
                })
                .collect(),
        ),
        resources: Some(resources(MEMORY, "256Mi")),
        volume_mounts: Some(mounts),
        termination_message_path: Some(paths::TERMINATION_LOG.to_owned()),
        termination_message_policy: Some("File".to_owned()),
        security_context: Some(hardened()),
        ..core::Container::default()
    }
}

fn volumes(spec: &RuntimeSpec) -> Vec<core::Volume> {
    let empty = |name: &str, size: &str| core::Volume {
        name: name.to_owned(),
        empty_dir: Some(core::EmptyDirVolumeSource {
            size_limit: Some(Quantity(size.to_owned())),
            ..core::EmptyDirVolumeSource::default()
        }),
        ..core::Volume::default()
    };
    let mut volumes = vec![empty("opt", "128Mi"), empty("tmp", "128Mi")];
    volumes.extend(spec.cli_image.as_ref().map(cli_volume));
    volumes
}

fn resources(memory: &str, disk: &str) -> core::ResourceRequirements {
    let amounts = |list: &[(&str, &str)]| {
        let amount =
            |(name, amount): &(&str, &str)| ((*name).to_owned(), Quantity((*amount).to_owned()));
        Some(list.iter().map(amount).collect::<BTreeMap<_, _>>())
    };
    core::ResourceRequirements {
        requests: amounts(&[("cpu", "10m"), ("memory", "32Mi")]),
        limits: amounts(&[("ephemeral-storage", disk), ("memory", memory)]),
        claims: None,
    }
}

fn mount(name: &str, path: &str) -> core::VolumeMount {
    core::VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..core::VolumeMount::default()
    }
}

/// Nothing in and nothing out.
#[must_use]
pub(crate) fn policy(installation: InstallationId, namespace: &str) -> NetworkPolicy {
    let labels = |more: &[(&str, &str)]| {
        let ours = [(labels::MANAGED_BY, labels::MANAGER)];
        let all = ours.iter().chain(more);
        all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(POLICY.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels(&[(labels::INSTALLATION, &installation.to_string())])),
            ..ObjectMeta::default()
        },
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(labels(&[(labels::COMPONENT, labels::PROBE)])),
                match_expressions: None,
            }),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            egress: None,
            ingress: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn install() -> Install {
        Install {
            image: "runner:1".to_owned(),
            pull_policy: Some("IfNotPresent".to_owned()),
            api_url: "https://mooring:8443".to_owned(),
        }
    }

    #[test]
    fn the_pod_is_bare() {
        let mut runtime = fixtures::runtime("claude");
        let pod = pod(fixtures::installation(), &runtime, &install());
        insta::assert_yaml_snapshot!("probe", pod);
        runtime.spec.cli_image = Some(crds::CliImage {
            image: "cli:1".to_owned(),
            image_pull_policy: Some(crds::ImagePullPolicy::Never),
        });
        runtime.spec.command = vec!["/opt/agent".to_owned(), "serve".to_owned()];
        let spec = super::pod(fixtures::installation(), &runtime, &install())
            .spec
            .unwrap();
        let command = spec.containers[0].command.as_ref().unwrap().join(" ");
        assert_eq!(
            command,
            "/opt/mooring/bin/mooring-runner probe --provider claude -- /opt/agent serve"
        );
        // Nobody knows what its options are.
        runtime.spec.provider = crds::Provider::Custom;
        runtime.spec.family = Some(crds::Family::AppServer);
        assert_eq!(
            super::command(&runtime.spec).join(" "),
            "/opt/mooring/bin/mooring-runner probe --look-only -- /opt/agent serve"
        );
        let volume = spec.volumes.unwrap().pop().unwrap();
        assert_eq!(volume.image.unwrap().reference.as_deref(), Some("cli:1"));
    }

    #[test]
    fn what_the_answer_depends_on_is_asked_anew_and_nothing_else() {
        let runtime = fixtures::runtime("claude");
        let before = fingerprint(&runtime.spec);
        let after = |change: fn(&mut RuntimeSpec)| {
            let mut spec = runtime.spec.clone();
            change(&mut spec);
            fingerprint(&spec) != before
        };
        assert!(after(|spec| spec.image = "agent:2".to_owned()));
        assert!(after(|spec| spec.command = vec!["x".to_owned()]));
        assert!(after(|spec| spec.provider = crds::Provider::Codex));
        assert!(!after(|spec| spec.capacity.max_pods = 3));
        assert!(!after(|spec| spec.args = vec!["x".to_owned()]));
        let with = |variable: serde_json::Value| {
            let mut spec = runtime.spec.clone();
            spec.pod.env = vec![serde_json::from_value(variable).unwrap()];
            let pod = asker(&spec);
            (fingerprint(&spec) != before, pod.env.unwrap().len())
        };
        assert_eq!(with(json!({"name": "MODELS", "value": "x"})), (true, 2));
        let secret = json!({"secretKeyRef": {"name": "s", "key": "k"}});
        assert_eq!(
            with(json!({"name": "KEY", "valueFrom": secret})),
            (false, 1)
        );
    }

    #[test]
    fn such_pods_have_no_network() {
        let policy = policy(fixtures::installation(), "team");
        insta::assert_yaml_snapshot!("policy", policy);
    }
}
