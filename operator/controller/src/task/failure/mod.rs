//! From the status of a pod to the reason why its attempt failed.
//!
//! One table, judged by the agent's container and by the one that installs our programs, not by the pod's
//! phase (injected sidecars keep that Running).
//!
//! | what the cluster says | class |
//! | --- | --- |
//! | pod reason `Evicted`, disruption `TerminationByKubelet` | `Evicted` |
//! | disruption `PreemptionByScheduler`, `EvictionByEvictionAPI`, pod reason `Preempting`, `NodeShutdown`, `Terminated` | `Preempted` |
//! | disruption `DeletionByTaintManager`, `DeletionByPodGC`, pod reason `NodeLost`, container reason `ContainerStatusUnknown`, node gone, out of service, or silent together with its runner | `NodeLost` |
//! | kubelet refuses the pod (`OutOfcpu`, `NodeAffinity`, `UnexpectedAdmissionError`, …), or no node within `scheduleSeconds` | `Unschedulable` |
//! | the scheduler's words are about volumes; sandbox not ready within `prepareSeconds` | `VolumeNotReady` |
//! | `InvalidImageName`, `ErrImageNeverPull`, or a pull that the registry refuses, at once; any other pull past `imagePullSeconds` | `ImagePullFailed` |
//! | `CreateContainerConfigError` | `ContainerConfigInvalid` |
//! | `CreateContainerError`, `RunContainerError`, `StartError`, `ContainerCannotRun` | `ContainerStartFailed` |
//! | container reason `OOMKilled`, whatever its exit code (both shapes of cgroups) | `OOMKilled` |
//! | the installing container ended badly | `PrepareFailed` |
//! | pod reason `DeadlineExceeded` (the backstop), running past `taskSeconds` | `TaskTimeout` |
//! | the object is being deleted, and not by us | `PodDeleted` |
//! | the agent's container runs, but did not open its package within `prepareSeconds` | `ClaimExpired` |
//! | it opened it, but did not start within `prepareSeconds` | `PrepareFailed` |
//! | the agent's container ended without a result that is known to be the runner's | `RunnerCrashed` |

mod ended;
mod waiting;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use protocol::{FailureClass, Outcome, limits, paths};

/// How long each part may take; from the Runtime, or the defaults of its type where it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a node is found.
    pub schedule: Duration,
    /// From then until the images are there.
    pub image_pull: Duration,
    /// From the container's start to the package's opening, and from there to the CLI's start.
    pub prepare: Duration,
    /// From the CLI's start to its end.
    pub task: Duration,
    /// From the polite stop to the kill.
    pub grace: Duration,
}

/// The runner watches its own times; the operator comes in this much later, for when it does not.
pub const RUNNER_FIRST: Duration = Duration::from_secs(15);

/// A node that is silent counts as lost when its runner was silent for this long as well.
pub const RUNNER_SILENCE: Duration = Duration::from_secs(45);

/// What is known of the attempt beside its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When the runner opened the package.
    pub opened_at: Option<Timestamp>,
    /// When the CLI started.
    pub started_at: Option<Timestamp>,
    /// When the runner was last heard.
    pub last_contact_at: Option<Timestamp>,
    /// How the pod's node is.
    pub node: NodeHealth,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeHealth {
    /// The pod has none yet.
    None,
    /// It answers.
    Ready,
    /// It does not answer, or says that it is not ready.
    Silent,
    /// It carries the taint that says that it is switched off.
    OutOfService,
    /// There is no such node.
    Gone,
}

/// What a look at a pod says.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It may go on.
    Fine {
        /// When to look again, if nothing changes before.
        look_at: Option<Timestamp>,
        /// What it waits for, as reason and message.
        waits_for: Option<(&'static str, String)>,
    },
    /// The attempt has failed.
    Failed(Outcome),
}

/// Judges the pod of an attempt that has no result yet.
#[must_use]
pub fn judge(pod: &Pod, progress: &Progress, limits: &Limits, now: Timestamp) -> Judgement {
    if let Some(outcome) = ended::ended(pod) {
        return Judgement::Failed(outcome);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Judgement::Failed(ended::deleted(pod));
    }
    if let Some(outcome) = node_lost(progress, pod, now) {
        return Judgement::Failed(outcome);
    }
    waiting::judge(pod, progress, limits, now)
}

/// The failure when a pod's object vanished while its attempt had no result; `last` is what was last seen.
#[must_use]
pub fn vanished(last: Option<&Pod>, node: NodeHealth) -> Outcome {
    if let Some(outcome) = last.and_then(ended::disrupted) {
        return outcome;
    }
    match node {
        NodeHealth::Gone | NodeHealth::OutOfService | NodeHealth::Silent => failed(
            FailureClass::NodeLost,
            "the node is gone, and the pod with it".into(),
        ),
        NodeHealth::None | NodeHealth::Ready => failed(
            FailureClass::PodDeleted,
            "the pod was deleted while the task ran".into(),
        ),
    }
}

/// True when no process of this pod can run any more, as its own status shows: every container has
/// terminated.
#[must_use]
pub fn is_dead(pod: &Pod) -> bool {
    let Some(status) = &pod.status else {
        return false;
    };
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        // A pod that the control plane ended without its kubelet proves nothing about processes.
        return !ended::was_ended_without_kubelet(pod);
    }
    let all: Vec<&ContainerStatus> = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses)
        .flatten()
        .collect();
    let terminated = |status: &&ContainerStatus| {
        status.state.as_ref().is_some_and(|state| {
            state
                .terminated
                .as_ref()
                .is_some_and(|end| end.reason.as_deref() != Some("ContainerStatusUnknown"))
        })
    };
    let agent_ended = container(pod, paths::AGENT_CONTAINER)
        .as_ref()
        .is_some_and(terminated);
    agent_ended && all.iter().all(terminated)
}

/// True when the pod had no node when it was last seen. Of a pod whose object is gone this means that no
/// process of it ever ran: only a pod that exists can get a node.
#[must_use]
pub fn was_never_bound(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_none_or(|spec| spec.node_name.is_none())
}

/// True while a container runs.
#[must_use]
pub fn is_running(pod: &Pod, name: &str) -> bool {
    let state = container(pod, name).and_then(|status| status.state.as_ref());
    state.is_some_and(|state| state.running.is_some())
}

/// True when the kubelet says that a process of the agent's container was killed for its memory.
#[must_use]
pub fn was_out_of_memory(pod: &Pod) -> bool {
    let state = container(pod, paths::AGENT_CONTAINER).and_then(|status| status.state.as_ref());
    let end = state.and_then(|state| state.terminated.as_ref());
    end.is_some_and(|end| end.reason.as_deref() == Some("OOMKilled"))
}

/// The agent's termination message, once its container has ended.
#[must_use]
pub fn termination_message(pod: &Pod) -> Option<&str> {
    let state = container(pod, paths::AGENT_CONTAINER)?.state.as_ref()?;
    state.terminated.as_ref()?.message.as_deref()
}

fn node_lost(progress: &Progress, pod: &Pod, now: Timestamp) -> Option<Outcome> {
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or("?");
    match progress.node {
        NodeHealth::None | NodeHealth::Ready => None,
        NodeHealth::Gone => Some(failed(
            FailureClass::NodeLost,
            format!("node {node} no longer exists"),
        )),
        NodeHealth::OutOfService => Some(failed(
            FailureClass::NodeLost,
            format!("node {node} is marked out of service"),
        )),
        NodeHealth::Silent => {
            // Before the package is open nobody was heard: what is noted then is the operator's own.
            let heard = progress
                .opened_at
                .and(progress.last_contact_at)
                .or(progress.opened_at);
            let created = || pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            let heard = heard.or_else(created);
            let silent = heard.is_none_or(|at| past(at, RUNNER_SILENCE, now));
            silent.then(|| {
                failed(
                    FailureClass::NodeLost,
                    format!("node {node} does not answer, and neither does the runner on it"),
                )
            })
        }
    }
}

fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let all = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    all.flatten().find(|status| status.name == name)
}

fn failed(class: FailureClass, mut message: String) -> Outcome {
    message.truncate(message.floor_char_boundary(limits::MESSAGE_BYTES));
    Outcome::failed(class, message)
}

/// `start` plus `duration`.
#[must_use]
pub fn after(start: Timestamp, duration: Duration) -> Timestamp {
    start.checked_add(duration).unwrap_or(Timestamp::MAX)
}

fn past(start: Timestamp, duration: Duration, now: Timestamp) -> bool {
    now >= after(start, duration)
}

#[cfg(test)]
mod tests;
