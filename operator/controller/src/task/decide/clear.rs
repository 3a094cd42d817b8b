//! What an ended attempt leaves, and when it goes.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use store::AttemptRow;

use super::{Fence, Plan, fence, sight, sooner};
use crate::task::failure;
use crate::task::observe::{Seen, is_pod_of};

/// A pod that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDeletion {
    /// Its UID.
    pub uid: String,
    /// How.
    pub how: Deletion,
}

/// How a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Its processes are ended, with the grace that the pod was made with.
    End,
    /// Its processes have ended and only its object goes. A kubelet that tidies up would keep it, and with it its name and
    /// its session, for some seconds more.
    Remove,
}

/// What an ended attempt leaves is cleared away; a pod of ours that no live attempt owns is as well.
pub(super) fn clear_away(seen: &Seen, now: Timestamp, plan: &mut Plan) {
    let ended = |attempt: &&AttemptRow| attempt.ended_at.is_some() && !attempt.secret_gone;
    plan.secrets = seen
        .attempts
        .iter()
        .filter(ended)
        .map(|attempt| attempt.id)
        .collect();
    plan.pod = seen.pod.as_deref().and_then(|pod| deletion(seen, pod));
    let Some(attempt) = seen.ending() else { return };
    if let Some(pod) = seen.pod_of(attempt.id) {
        plan.absent = attempt.pod_absent_since.map(|_| (attempt.id, None));
        if attempt.pod_uid.is_none() {
            // A turn may end before a pass has seen its pod. By its UID it is known that it was seen dead.
            plan.record = Some(sight(attempt, pod));
        }
        // The slow look: a node that fell silent, or a pod that lost the label by which it is watched.
        sooner(
            &mut plan.look_at,
            failure::after(now, Duration::from_secs(30)),
        );
        return;
    }
    match fence(seen, attempt, now) {
        Fence::Dead => plan.release = Some(attempt.id),
        Fence::Closed { until, .. } => {
            if attempt.pod_absent_since.is_none() {
                plan.absent = Some((attempt.id, Some(now)));
            }
            // Nothing tells of a node that goes meanwhile: it no longer has a pod of ours.
            let look = failure::after(now, Duration::from_secs(30));
            sooner(
                &mut plan.look_at,
                until.map_or(look, |until| until.min(look)),
            );
        }
    }
}

/// A pod that no live attempt owns is ended; once it is dead it does not keep the next task of its session waiting.
fn deletion(seen: &Seen, pod: &Pod) -> Option<PodDeletion> {
    if !is_superseded(seen, pod) {
        return None;
    }
    let ending = seen.pod_deletion.is_some() || pod.metadata.deletion_timestamp.is_some();
    let how = match (ending, seen.pod_deletion) {
        (false, _) => Deletion::End,
        (true, Some(Deletion::Remove)) => return None,
        (true, Some(Deletion::End) | None) => {
            (seen.session.waits && failure::is_dead(pod)).then_some(Deletion::Remove)?
        }
    };
    let uid = pod.metadata.uid.clone()?;
    Some(PodDeletion { uid, how })
}

/// True for a pod of this task whose attempt is not the live one.
fn is_superseded(seen: &Seen, pod: &Pod) -> bool {
    let ours = pod.labels().get(crds::labels::TASK_ID) == Some(&seen.row.id.to_string());
    ours && !seen.live().is_some_and(|live| is_pod_of(pod, live.id))
}
