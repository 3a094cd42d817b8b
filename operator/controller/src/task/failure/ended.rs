//! Pods that have ended, or are being ended, otherwise than by us.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use protocol::{FailureClass, Outcome, paths};

use super::{container, failed};

const INSTALL: &str = paths::INSTALL_CONTAINER;
const AGENT: &str = paths::AGENT_CONTAINER;

/// Why the pod ended, if it has.
pub(super) fn ended(pod: &Pod) -> Option<Outcome> {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let is_over = matches!(phase, Some("Succeeded" | "Failed"));
    let agent = terminated(pod, AGENT);
    let install = terminated(pod, INSTALL).filter(|end| end.exit_code != 0);
    if !is_over && agent.is_none() && install.is_none() {
        return None;
    }
    if let Some(outcome) = disrupted(pod) {
        return Some(outcome);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Some(deleted(pod));
    }
    if let Some(end) = install {
        return Some(install_failed(end));
    }
    if let Some(end) = agent {
        return Some(agent_ended(end));
    }
    Some(rejected(pod))
}

/// Why the pod's object is being deleted.
pub(super) fn deleted(pod: &Pod) -> Outcome {
    disrupted(pod).unwrap_or_else(|| {
        failed(
            FailureClass::PodDeleted,
            "the pod was deleted while the task ran".into(),
        )
    })
}

/// The class of a disruption that the cluster itself names.
pub(super) fn disrupted(pod: &Pod) -> Option<Outcome> {
    let status = pod.status.as_ref()?;
    let condition = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "DisruptionTarget" && condition.status == "True");
    let by_condition = condition.and_then(|condition| {
        let class = match condition.reason.as_deref()? {
            "PreemptionByScheduler" | "EvictionByEvictionAPI" => FailureClass::Preempted,
            "TerminationByKubelet" => FailureClass::Evicted,
            "DeletionByTaintManager" | "DeletionByPodGC" => FailureClass::NodeLost,
            _ => return None,
        };
        Some((class, condition.message.clone()))
    });
    let by_reason = || {
        let class = match status.reason.as_deref()? {
            "Evicted" => FailureClass::Evicted,
            "Preempting" | "NodeShutdown" | "Terminated" | "Shutdown" => FailureClass::Preempted,
            "NodeLost" => FailureClass::NodeLost,
            "DeadlineExceeded" => FailureClass::TaskTimeout,
            _ => return None,
        };
        Some((class, status.message.clone()))
    };
    // The pod's own reason is the more exact one: a kubelet sets both when it evicts.
    let (class, message) = by_reason().or(by_condition)?;
    Some(failed(
        class,
        message.unwrap_or_else(|| class.explanation().trim().to_owned()),
    ))
}

/// True when the control plane, not the kubelet, wrote the pod's end.
pub(super) fn was_ended_without_kubelet(pod: &Pod) -> bool {
    let Some(status) = &pod.status else {
        return false;
    };
    let by_gc = status.conditions.iter().flatten().any(|condition| {
        condition.type_ == "DisruptionTarget"
            && condition.status == "True"
            && condition.reason.as_deref() == Some("DeletionByPodGC")
    });
    let still_running = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses)
        .flatten()
        .any(|status| {
            status
                .state
                .as_ref()
                .is_some_and(|state| state.running.is_some())
        });
    by_gc || still_running || status.reason.as_deref() == Some("NodeLost")
}

fn terminated<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStateTerminated> {
    container(pod, name)?.state.as_ref()?.terminated.as_ref()
}

fn install_failed(end: &ContainerStateTerminated) -> Outcome {
    match end.reason.as_deref() {
        Some("OOMKilled") => with_exit(
            FailureClass::OOMKilled,
            end,
            "the container that installs Mooring's programs ran out of memory",
        ),
        Some("StartError" | "ContainerCannotRun") => with_exit(
            FailureClass::ContainerStartFailed,
            end,
            "the container that installs Mooring's programs could not be started",
        ),
        Some("ContainerStatusUnknown") => with_exit(
            FailureClass::NodeLost,
            end,
            "the node lost track of the container",
        ),
        Some(_) | None => with_exit(
            FailureClass::PrepareFailed,
            end,
            "the container that installs Mooring's programs failed",
        ),
    }
}

fn agent_ended(end: &ContainerStateTerminated) -> Outcome {
    match end.reason.as_deref() {
        Some("OOMKilled") => with_exit(
            FailureClass::OOMKilled,
            end,
            "the container used more memory than its limit",
        ),
        Some("StartError" | "ContainerCannotRun") => with_exit(
            FailureClass::ContainerStartFailed,
            end,
            "the container could not be started",
        ),
        Some("ContainerStatusUnknown") => with_exit(
            FailureClass::NodeLost,
            end,
            "the node lost track of the container",
        ),
        Some(_) | None => with_exit(
            FailureClass::RunnerCrashed,
            end,
            "the runner ended without a result",
        ),
    }
}

/// A kubelet refuses a pod that the scheduler gave it before any container exists.
fn rejected(pod: &Pod) -> Outcome {
    let status = pod.status.as_ref();
    let reason = status.and_then(|status| status.reason.as_deref());
    let message = status
        .and_then(|status| status.message.clone())
        .unwrap_or_default();
    match reason {
        Some(reason) if reason.starts_with("OutOf") || is_refusal(reason) => failed(
            FailureClass::Unschedulable,
            format!("the node refused the pod ({reason}): {message}"),
        ),
        Some(reason) => failed(
            FailureClass::Unknown,
            format!("the pod ended ({reason}): {message}"),
        ),
        None => failed(
            FailureClass::RunnerCrashed,
            "the pod ended and says nothing about its containers".into(),
        ),
    }
}

fn is_refusal(reason: &str) -> bool {
    matches!(
        reason,
        "NodeAffinity"
            | "UnexpectedAdmissionError"
            | "TopologyAffinityError"
            | "PodOSNotSupported"
            | "InvalidNodeInfo"
            | "UnexpectedPredicateFailureType"
            | "AppArmor"
            | "TaintToleration"
    )
}

fn with_exit(class: FailureClass, end: &ContainerStateTerminated, what: &str) -> Outcome {
    // Above 128 a shell's convention: killed by the signal with this number.
    let signal = end.signal.or_else(|| {
        (129..=192)
            .contains(&end.exit_code)
            .then(|| end.exit_code - 128)
    });
    // Else the message is what a process in the pod wrote: an agent's word, not the cluster's.
    let is_clusters = class == FailureClass::ContainerStartFailed;
    let told = end
        .message
        .as_deref()
        .filter(|_| is_clusters)
        .map(|words| format!(": {words}"));
    let code = end.exit_code;
    let outcome = failed(
        class,
        format!("{what} (exit code {code}){}", told.unwrap_or_default()),
    );
    match outcome {
        Outcome::Failed { class, message, .. } => Outcome::Failed {
            class,
            message,
            exit_code: Some(code),
            signal,
        },
        Outcome::Succeeded => Outcome::Succeeded,
    }
}
