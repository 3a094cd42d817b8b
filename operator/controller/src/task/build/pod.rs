//! The pod of an attempt: the restricted profile, and nothing of it can be weakened by a Runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{AgentSpec, CliImage, RuntimeSpec, SessionIds, Skill, labels};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use protocol::paths;

use super::resources::resources;
use super::{AttemptNames, Kin, attempt_labels, environment, meta};

/// Room for our programs.
const OPT_SIZE: &str = "128Mi";
/// Room for the token and the CA, and for the settings' home of a program that is held to its tools, in memory. What is used of
/// it counts as the container's.
const RUN_SIZE: &str = "256Mi";
/// Room for `/tmp`, private to the pod and gone with it.
const TMP_SIZE: &str = "1Gi";
/// How long a pod is left on a node that does not answer. Kubernetes' own default is 300 s.
const LOST_NODE_SECONDS: i64 = 30;
/// What the backstop allows beyond the sum of all other limits.
const BACKSTOP_SLACK: i64 = 120;
/// Where the installing image holds the runner.
const INSTALLER: &str = "/mooring-runner";

/// What every pod of an installation has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Image with the runner and `moor`.
    pub image: String,
    /// When the kubelet pulls it; Kubernetes decides where absent.
    pub pull_policy: Option<String>,
    /// Base URL of the API as pods reach it.
    pub api_url: String,
}

/// What a pod is made of.
#[derive(Clone, Debug)]
pub struct PodParts<'a> {
    /// Names of the attempt's other objects.
    pub names: &'a AttemptNames,
    /// Name of the Runtime.
    pub runtime_name: &'a str,
    /// Its spec.
    pub runtime: &'a RuntimeSpec,
    /// The Agent's spec, if it is still there.
    pub agent: Option<&'a AgentSpec>,
    /// The Skills of the agent that exist.
    pub skills: &'a [Arc<Skill>],
    /// Names of the Secrets with which the agent logs in to the repositories of its issue.
    pub git_secrets: &'a BTreeSet<String>,
    /// Ids of the session.
    pub ids: SessionIds,
    /// The `AgentSession`, which owns the pod.
    pub owner: OwnerReference,
    /// Node of the session's last pod: its images and perhaps its volume are there.
    pub last_node: Option<&'a str>,
    /// What all pods have in common.
    pub install: &'a Install,
}

/// The pod. Its name is the session's, so that the apiserver itself refuses a second one.
#[must_use]
pub fn pod(kin: &Kin, parts: &PodParts<'_>) -> core::Pod {
    let mut all = attempt_labels(parts.names.attempt).to_vec();
    all.push((labels::RUNTIME, parts.runtime_name.to_owned()));
    all.push((labels::COMPONENT, labels::RUNNER.to_owned()));
    core::Pod {
        metadata: meta(kin, kin.session.as_str(), &all, Some(parts.owner.clone())),
        spec: Some(spec(parts)),
        status: None,
    }
}

/// The last backstop, counted by the kubelet: the sum of all other limits and some slack.
#[must_use]
pub fn backstop_seconds(timeouts: &crds::Timeouts) -> i64 {
    let sum: i64 = [
        timeouts.schedule_seconds,
        timeouts.image_pull_seconds,
        timeouts.prepare_seconds,
        timeouts.prepare_seconds,
        timeouts.task_seconds,
        timeouts.grace_seconds,
    ]
    .into_iter()
    .map(i64::from)
    .sum();
    sum + BACKSTOP_SLACK
}

fn spec(parts: &PodParts<'_>) -> core::PodSpec {
    let settings = &parts.runtime.pod;
    let pull_secrets = parts.runtime.image_pull_secrets.iter();
    let selector = (!settings.node_selector.is_empty()).then(|| settings.node_selector.clone());
    core::PodSpec {
        init_containers: Some(vec![install(parts)]),
        containers: vec![agent(parts)],
        volumes: Some(volumes(parts)),
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        active_deadline_seconds: Some(backstop_seconds(&parts.runtime.timeouts)),
        termination_grace_period_seconds: Some(parts.runtime.timeouts.grace_seconds.into()),
        image_pull_secrets: Some(
            pull_secrets
                .map(|secret| core::LocalObjectReference {
                    name: secret.name.clone(),
                })
                .collect(),
        ),
        node_selector: selector,
        tolerations: Some(tolerations(settings)),
        affinity: parts.last_node.map(prefer),
        security_context: Some(core::PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(parts.ids.run_as_user),
            run_as_group: Some(parts.ids.run_as_group),
            fs_group: Some(parts.ids.fs_group),
            // Else the kubelet walks through the whole volume at each start.
            fs_group_change_policy: Some("OnRootMismatch".to_owned()),
            seccomp_profile: Some(core::SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..core::PodSecurityContext::default()
        }),
        ..core::PodSpec::default()
    }
}

fn agent(parts: &PodParts<'_>) -> core::Container {
    let runtime = parts.runtime;
    core::Container {
        name: paths::AGENT_CONTAINER.to_owned(),
        image: Some(runtime.image.clone()),
        image_pull_policy: runtime
            .image_pull_policy
            .map(|policy| policy.as_str().to_owned()),
        command: Some(vec![paths::RUNNER.to_owned(), "run".to_owned()]),
        env: Some(environment::env(runtime, parts.agent, parts.install)),
        env_from: Some(environment::env_from(runtime, parts.agent)),
        resources: Some(resources(runtime)),
        volume_mounts: Some(mounts(parts)),
        termination_message_path: Some(paths::TERMINATION_LOG.to_owned()),
        // Never the log: it is the agent's to write.
        termination_message_policy: Some("File".to_owned()),
        security_context: Some(hardened()),
        ..core::Container::default()
    }
}

fn mounts(parts: &PodParts<'_>) -> Vec<core::VolumeMount> {
    let mut mounts = vec![
        mount("workspace", paths::WORKSPACE),
        read_only(mount("credential", paths::SECRET)),
        mount("run", paths::RUN),
        read_only(mount("opt", paths::OPT)),
        core::VolumeMount {
            sub_path: Some(paths::PASSWD.to_owned()),
            ..read_only(mount("opt", "/etc/passwd"))
        },
        core::VolumeMount {
            sub_path: Some(paths::PROFILE.to_owned()),
            ..read_only(mount("opt", paths::PROFILE_MOUNT))
        },
        mount("tmp", "/tmp"),
    ];
    let cli = parts.runtime.cli_image.iter();
    mounts.extend(cli.map(|_| cli_mount()));
    let skills =
        skill_files(parts.skills).map(|files| read_only(mount(&files.volume, &files.path)));
    mounts.extend(skills);
    let git = parts.git_secrets.iter();
    mounts
        .extend(git.map(|name| read_only(mount(name, &format!("{}/{name}", paths::GIT_SECRETS)))));
    mounts
}

/// A ConfigMap of a skill, and where it goes.
struct SkillFiles<'a> {
    volume: String,
    path: String,
    config_map: &'a str,
}

fn skill_files(skills: &[Arc<Skill>]) -> impl Iterator<Item = SkillFiles<'_>> {
    let all = skills
        .iter()
        .flat_map(|skill| skill.spec.files.iter().map(move |files| (skill, files)));
    all.enumerate().map(|(number, (skill, files))| SkillFiles {
        volume: format!("skill-{number}"),
        path: format!("{}/{}/@{}", paths::SKILLS, skill.name_any(), files.folder),
        config_map: &files.config_map.name,
    })
}

fn install(parts: &PodParts<'_>) -> core::Container {
    let amounts = |list: &[(&str, &str)]| {
        let amount =
            |(name, amount): &(&str, &str)| ((*name).to_owned(), Quantity((*amount).to_owned()));
        Some(list.iter().map(amount).collect::<BTreeMap<_, _>>())
    };
    let words = [INSTALLER, "install", paths::OPT, "--uid"].map(str::to_owned);
    let mut command = words.to_vec();
    command.extend([
        parts.ids.run_as_user.to_string(),
        "--gid".to_owned(),
        parts.ids.run_as_group.to_string(),
    ]);
    core::Container {
        name: paths::INSTALL_CONTAINER.to_owned(),
        image: Some(parts.install.image.clone()),
        image_pull_policy: parts.install.pull_policy.clone(),
        command: Some(command),
        resources: Some(core::ResourceRequirements {
            requests: amounts(&[("cpu", "10m"), ("memory", "16Mi")]),
            limits: amounts(&[("ephemeral-storage", "256Mi"), ("memory", "128Mi")]),
            claims: None,
        }),
        volume_mounts: Some(vec![mount("opt", paths::OPT)]),
        security_context: Some(hardened()),
        ..core::Container::default()
    }
}

/// What every container of ours runs with.
pub(crate) fn hardened() -> core::SecurityContext {
    core::SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(core::Capabilities {
            add: None,
            drop: Some(vec!["ALL".to_owned()]),
        }),
        read_only_root_filesystem: Some(true),
        run_as_non_root: Some(true),
        ..core::SecurityContext::default()
    }
}

fn volumes(parts: &PodParts<'_>) -> Vec<core::Volume> {
    let names = parts.names;
    let empty = |name: &str, medium: Option<&str>, size: &str| core::Volume {
        name: name.to_owned(),
        empty_dir: Some(core::EmptyDirVolumeSource {
            medium: medium.map(str::to_owned),
            size_limit: Some(Quantity(size.to_owned())),
            ..core::EmptyDirVolumeSource::default()
        }),
        ..core::Volume::default()
    };
    let mut volumes = vec![
        core::Volume {
            name: "workspace".to_owned(),
            persistent_volume_claim: Some(core::PersistentVolumeClaimVolumeSource {
                claim_name: names.claim.to_string(),
                read_only: None,
            }),
            ..core::Volume::default()
        },
        core::Volume {
            name: "credential".to_owned(),
            secret: Some(core::SecretVolumeSource {
                secret_name: Some(names.secret.to_string()),
                default_mode: Some(0o440),
                // A pod without its credential must not start.
                optional: Some(false),
                ..core::SecretVolumeSource::default()
            }),
            ..core::Volume::default()
        },
        empty("run", Some("Memory"), RUN_SIZE),
        empty("opt", None, OPT_SIZE),
        empty("tmp", None, TMP_SIZE),
    ];
    volumes.extend(parts.runtime.cli_image.as_ref().map(cli_volume));
    let skills = skill_files(parts.skills).map(|files| core::Volume {
        name: files.volume,
        config_map: Some(core::ConfigMapVolumeSource {
            name: files.config_map.to_owned(),
            // The kubelet would wait for ever for one that is not there; the runner says so at once.
            optional: Some(true),
            ..core::ConfigMapVolumeSource::default()
        }),
        ..core::Volume::default()
    });
    volumes.extend(skills);
    volumes.extend(parts.git_secrets.iter().map(|name| git_secret(name)));
    volumes
}

/// The image with the agent's program, as a volume.
pub(crate) fn cli_volume(cli: &CliImage) -> core::Volume {
    core::Volume {
        name: "cli".to_owned(),
        image: Some(core::ImageVolumeSource {
            reference: Some(cli.image.clone()),
            pull_policy: cli
                .image_pull_policy
                .map(|policy| policy.as_str().to_owned()),
        }),
        ..core::Volume::default()
    }
}

/// Where that volume is mounted.
pub(crate) fn cli_mount() -> core::VolumeMount {
    read_only(mount("cli", paths::CLI))
}

/// A Secret of a repository, in a volume of its name: such names begin in a way that none of our volumes' does.
fn git_secret(name: &str) -> core::Volume {
    core::Volume {
        name: name.to_owned(),
        secret: Some(core::SecretVolumeSource {
            secret_name: Some(name.to_owned()),
            default_mode: Some(0o440),
            // What a repository lacks must not keep the agent from its issue; the checkout says it.
            optional: Some(true),
            ..core::SecretVolumeSource::default()
        }),
        ..core::Volume::default()
    }
}

fn tolerations(settings: &crds::PodSettings) -> Vec<core::Toleration> {
    let lost = [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    .map(|key| core::Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(LOST_NODE_SECONDS),
        value: None,
    });
    settings
        .tolerations
        .iter()
        .map(core::Toleration::from)
        .chain(lost)
        .collect()
}

fn prefer(node: &str) -> core::Affinity {
    let term = core::NodeSelectorTerm {
        match_fields: Some(vec![core::NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![node.to_owned()]),
        }]),
        match_expressions: None,
    };
    core::Affinity {
        node_affinity: Some(core::NodeAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                core::PreferredSchedulingTerm {
                    preference: term,
                    weight: 100,
                },
            ]),
            required_during_scheduling_ignored_during_execution: None,
        }),
        ..core::Affinity::default()
    }
}

fn mount(name: &str, path: &str) -> core::VolumeMount {
    core::VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..core::VolumeMount::default()
    }
}

fn read_only(mount: core::VolumeMount) -> core::VolumeMount {
    core::VolumeMount {
        read_only: Some(true),
        ..mount
    }
}
