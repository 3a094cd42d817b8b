//! Pods that have not ended: what they wait for, and how long they may.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStateWaiting, Pod, PodCondition};
use protocol::{FailureClass, paths};

use super::{Judgement, Limits, Progress, RUNNER_FIRST, after, container, failed, past};

/// Words of a registry after which trying again does not help.
const REFUSED_BY_REGISTRY: &[&str] = &[
    "not found",
    "manifest unknown",
    "pull access denied",
    "unauthorized",
    "authorization failed",
    "insufficient_scope",
    "forbidden",
    "invalid reference format",
];

/// Words of the kubelet that will pass.
const PASSING: &[&str] = &[
    "failed to sync",
    "context deadline exceeded",
    "is reserved for",
    "timed out waiting",
];

/// Judges a pod that lives.
pub(super) fn judge(pod: &Pod, progress: &Progress, limits: &Limits, now: Timestamp) -> Judgement {
    let created = pod
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    let bound = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    if !bound {
        return unscheduled(pod, after(created, limits.schedule), now);
    }
    let scheduled = condition(pod, "PodScheduled")
        .and_then(|condition| condition.last_transition_time.as_ref())
        .map_or(created, |time| time.0);
    for name in [paths::INSTALL_CONTAINER, paths::AGENT_CONTAINER] {
        if let Some(judgement) = container_waits(pod, name, scheduled, limits, now) {
            return judgement;
        }
    }
    match agent_started(pod) {
        Some(started) => at_work(progress, started, limits, now),
        None => not_started(pod, scheduled, limits, now),
    }
}

fn unscheduled(pod: &Pod, until: Timestamp, now: Timestamp) -> Judgement {
    let words = condition(pod, "PodScheduled")
        .filter(|condition| condition.status == "False")
        .and_then(|condition| condition.message.clone());
    let class = if words.as_deref().is_some_and(is_about_volumes) {
        FailureClass::VolumeNotReady
    } else {
        FailureClass::Unschedulable
    };
    if now >= until {
        let words = words.unwrap_or_else(|| "no node was found for the pod in time".into());
        return Judgement::Failed(failed(class, words));
    }
    Judgement::Fine {
        look_at: Some(until),
        waits_for: words.map(|words| (class.as_str(), words)),
    }
}

fn is_about_volumes(words: &str) -> bool {
    let words = words.to_lowercase();
    ["persistentvolumeclaim", "persistent volume", "volume node affinity", "volumebinding", "storage class", "storageclass"]
        .iter()
        .any(|part| words.contains(part))
        // One node that lacks processors beside one that lacks the volume is a matter of processors.
        && !words.contains("insufficient ")
}

/// What a container that cannot start says; `None` when it says nothing out of the ordinary.
fn container_waits(
    pod: &Pod,
    name: &str,
    scheduled: Timestamp,
    limits: &Limits,
    now: Timestamp,
) -> Option<Judgement> {
    let waiting = container(pod, name)?.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref()?;
    let (class, allowed) = match reason {
        "InvalidImageName" | "ErrImageNeverPull" => (FailureClass::ImagePullFailed, None),
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed" => {
            let refused = says(waiting, REFUSED_BY_REGISTRY);
            (
                FailureClass::ImagePullFailed,
                (!refused).then_some(limits.image_pull),
            )
        }
        "CreateContainerConfigError" => (
            FailureClass::ContainerConfigInvalid,
            says(waiting, PASSING).then_some(limits.prepare),
        ),
        "CreateContainerError"
        | "RunContainerError"
        | "StartError"
        | "ContainerCannotRun"
        | "CrashLoopBackOff" => (
            FailureClass::ContainerStartFailed,
            says(waiting, PASSING).then_some(limits.prepare),
        ),
        _ => return None,
    };
    let words = waiting.message.clone().unwrap_or_default();
    let message = format!("container {name}: {reason}: {words}");
    let until = allowed
        .map(|allowed| after(scheduled, allowed))
        .filter(|until| *until > now);
    Some(match until {
        None => Judgement::Failed(failed(class, message)),
        Some(until) => Judgement::Fine {
            look_at: Some(until),
            waits_for: Some((class.as_str(), message)),
        },
    })
}

fn says(waiting: &ContainerStateWaiting, words: &[&str]) -> bool {
    let message = waiting
        .message
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    words.iter().any(|word| message.contains(word))
}

/// Neither failed nor started: volumes and sandbox first, then images.
fn not_started(pod: &Pod, scheduled: Timestamp, limits: &Limits, now: Timestamp) -> Judgement {
    let sandbox_ready =
        condition(pod, "PodReadyToStartContainers").map(|condition| condition.status == "True");
    let (class, allowed, message) = match sandbox_ready {
        Some(false) => (
            FailureClass::VolumeNotReady,
            limits.prepare,
            "the pod's volumes and sandbox were not ready in time",
        ),
        // An old kubelet does not tell: both may be under way.
        None => (
            FailureClass::ImagePullFailed,
            limits.prepare + limits.image_pull,
            "the containers did not start in time",
        ),
        Some(true) => (
            FailureClass::ImagePullFailed,
            limits.image_pull,
            "the images were not there in time",
        ),
    };
    let until = after(scheduled, allowed);
    if now >= until {
        return Judgement::Failed(failed(class, message.into()));
    }
    Judgement::Fine {
        look_at: Some(until),
        waits_for: None,
    }
}

fn at_work(
    progress: &Progress,
    container: Timestamp,
    limits: &Limits,
    now: Timestamp,
) -> Judgement {
    let (since, allowed, class, message) = match (progress.opened_at, progress.started_at) {
        (_, Some(started)) => (
            started,
            limits.task + limits.grace + RUNNER_FIRST,
            FailureClass::TaskTimeout,
            "the agent ran longer than taskSeconds of its Runtime, and its runner did not stop it",
        ),
        (Some(opened), None) => (
            opened,
            limits.prepare + RUNNER_FIRST,
            FailureClass::PrepareFailed,
            "the agent's command was not started within prepareSeconds of its Runtime",
        ),
        (None, None) => (
            container,
            limits.prepare,
            FailureClass::ClaimExpired,
            "the runner did not open its package within prepareSeconds of its Runtime",
        ),
    };
    if past(since, allowed, now) {
        return Judgement::Failed(failed(class, message.into()));
    }
    let look_at = match progress.node {
        super::NodeHealth::Silent => after(now, Duration::from_secs(5)),
        super::NodeHealth::None
        | super::NodeHealth::Ready
        | super::NodeHealth::OutOfService
        | super::NodeHealth::Gone => after(since, allowed),
    };
    Judgement::Fine {
        look_at: Some(look_at),
        waits_for: None,
    }
}

fn agent_started(pod: &Pod) -> Option<Timestamp> {
    let running = container(pod, paths::AGENT_CONTAINER)?
        .state
        .as_ref()?
        .running
        .as_ref()?;
    running.started_at.as_ref().map(|time| time.0)
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status
        .as_ref()?
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == kind)
}
