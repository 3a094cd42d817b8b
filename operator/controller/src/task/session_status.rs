//! The status of an `AgentSession`: written once after a turn, and before only when a turn or its end lasts.

use std::time::Duration;

use crds::conditions::{self as merge, Status, Wanted};
use crds::names::claim_name;
use crds::{
    AgentSessionStatus, READY, SessionProviderSession, session_condition as kind,
    session_reason as reason,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::decide::{Fence, fence};
use super::failure::after;
use super::observe::Seen;
use crate::patch;

/// What lasts no longer than this is not worth a write.
const WORTH_A_WRITE: Duration = Duration::from_secs(2);

/// From the end of a pod's last process to the end of its object, as a kubelet usually does it.
const POD_REMOVAL: Duration = Duration::from_secs(10);

/// When the session's status is worth a look by this task's pass, if ever. With `released` as it is after
/// the release that the same pass will do.
#[must_use]
pub fn due(seen: &Seen, released: bool) -> Option<Timestamp> {
    let holder = seen.session.holder.as_ref().filter(|_| !released);
    let Some(holder) = holder else {
        return (seen.session.runs > 0 && is_last_user(seen)).then_some(seen.row.created_at);
    };
    if holder.attempt.task != seen.row.id {
        // Another task's turn is told by that task's passes.
        return None;
    }
    if seen.live().is_some() {
        return Some(after(holder.since, WORTH_A_WRITE));
    }
    let ended = seen.ending()?.ended_at?;
    // Clearing away is worth a word when it takes longer than that of a pod that ends as it should.
    let usual = if seen.pod.is_some() {
        seen.grace() + POD_REMOVAL
    } else {
        WORTH_A_WRITE
    };
    Some(after(ended, usual))
}

/// The status to be written, if it differs and is due.
#[must_use]
pub fn wanted(seen: &Seen, released: bool, now: Timestamp) -> Option<AgentSessionStatus> {
    let object = seen.session_object.as_ref()?;
    if due(seen, released).is_none_or(|due| now < due) {
        return None;
    }
    let old = object.status.clone().unwrap_or_default();
    let new = status(seen, released, object.metadata.generation, &old, now);
    if seen.live().is_some() && patch::same_conditions(&old.conditions, &new.conditions) {
        // Where the pod runs is told at the end of the turn.
        return None;
    }
    patch::status_patch(&old, &new).map(|_| new)
}

/// Of the tasks of an idle session the one that used it last tells of it: the others know less.
fn is_last_user(seen: &Seen) -> bool {
    let ended = seen.attempt().and_then(|attempt| attempt.ended_at);
    ended.is_some() && ended == seen.session.last_used_at
}

fn status(
    seen: &Seen,
    released: bool,
    generation: Option<i64>,
    old: &AgentSessionStatus,
    now: Timestamp,
) -> AgentSessionStatus {
    let session = &seen.session;
    let claim = (session.claim_generation > 0)
        .then(|| claim_name(&seen.session_name, session.claim_generation));
    AgentSessionStatus {
        observed_generation: generation,
        conditions: merge::merge(
            &old.conditions,
            conditions(seen, released, now),
            generation,
            now,
        ),
        claim_name: claim.map(String::from),
        provider_session: session
            .pointer
            .as_ref()
            .map(|pointer| SessionProviderSession {
                provider: pointer.session.provider.clone(),
                id: pointer.session.id.clone(),
            }),
        last_node: session.last_node.clone(),
        last_used_time: session.last_used_at.map(Time),
    }
}

fn conditions(seen: &Seen, released: bool, now: Timestamp) -> Vec<Wanted> {
    let want = |kind, status, reason, message: String| Wanted {
        kind,
        status,
        reason,
        message,
    };
    let ready = if seen.session.claim_uid.is_some() {
        want(READY, Status::True, reason::READY, String::new())
    } else {
        let message =
            "The volume claim is gone; the next task gets a new volume and is told.".to_owned();
        want(READY, Status::False, reason::CLAIM_LOST, message)
    };
    let holder = seen.session.holder.as_ref().filter(|_| !released);
    let idle = match holder {
        None => want(kind::IDLE, Status::True, reason::IDLE, String::new()),
        Some(holder) => {
            let message = format!(
                "AgentTask {} ({}) has the session.",
                seen.row.object.name, holder.attempt.task
            );
            want(kind::IDLE, Status::False, reason::IN_USE, message)
        }
    };
    let fencing = match seen.ending().filter(|_| !released) {
        None => want(
            kind::FENCING,
            Status::False,
            reason::NOT_FENCING,
            String::new(),
        ),
        Some(attempt) => {
            let why = match seen.pod_of(attempt.id) {
                Some(_) => "the pod is being ended".to_owned(),
                None => match fence(seen, attempt, now) {
                    Fence::Closed { why, .. } => why,
                    Fence::Dead => "the pod is being cleared away".to_owned(),
                },
            };
            want(kind::FENCING, Status::True, reason::POD_NOT_SEEN_DEAD, why)
        }
    };
    vec![ready, idle, fencing]
}
