//! Steps that people, deadlines and deletions ask for: the table of the module above.

use crds::DesiredState;
use jiff::Timestamp;
use protocol::{FailureClass, Outcome, TaskState, Verdict};
use store::AttemptRow;

use super::Step;
use crate::catalog::Standing;
use crate::task::observe::{Object, References, Seen, had_pod};

/// The next such step.
pub(super) fn step(seen: &Seen, now: Timestamp) -> Option<Step> {
    let state = seen.row.state;
    if state.has_verdict() {
        return None;
    }
    if let Some(outcome) = end(seen, now) {
        let verdict = Verdict {
            outcome,
            at: now,
            result: None,
        };
        return Some(match seen.live() {
            Some(attempt) => Step::Decide(attempt.id, verdict),
            None => Step::End(verdict),
        });
    }
    let spec = &seen.object.get()?.spec;
    match (desired(seen, spec.desired_state), state) {
        (
            DesiredState::Suspend,
            TaskState::Queued | TaskState::Claimed | TaskState::Preparing | TaskState::Running,
        ) => {
            return Some(Step::Suspend);
        }
        (DesiredState::Run, TaskState::Suspended) => return Some(Step::Resume),
        (
            DesiredState::Suspend,
            TaskState::Suspended | TaskState::Finishing | TaskState::Finished,
        )
        | (
            DesiredState::Run,
            TaskState::Queued
            | TaskState::Claimed
            | TaskState::Preparing
            | TaskState::Running
            | TaskState::Finishing
            | TaskState::Finished,
        )
        | (DesiredState::Cancel, _) => {}
    }
    (spec.priority != seen.row.priority).then_some(Step::SetPriority(spec.priority))
}

/// What is wanted of the task: by its object, and by people who keep it aside in the store.
fn desired(seen: &Seen, by_object: DesiredState) -> DesiredState {
    match by_object {
        DesiredState::Run if seen.row.held => DesiredState::Suspend,
        wanted @ (DesiredState::Run | DesiredState::Suspend | DesiredState::Cancel) => wanted,
    }
}

/// True once its attempt has a pod: what began in time is not ended by a change of rights.
fn has_begun(seen: &Seen) -> bool {
    let has_pod = |attempt: &AttemptRow| had_pod(attempt) || seen.pod_of(attempt.id).is_some();
    seen.live().is_some_and(has_pod)
}

/// Why the task is to end now.
fn end(seen: &Seen, now: Timestamp) -> Option<Outcome> {
    let state = seen.row.state;
    if seen.standing == Standing::Going {
        return Some(Outcome::failed(
            FailureClass::Cancelled,
            "the namespace is being deleted",
        ));
    }
    let object = match &seen.object {
        Object::There(object) => object,
        Object::Gone => {
            return Some(Outcome::failed(
                FailureClass::Cancelled,
                "the AgentTask was deleted",
            ));
        }
        // What it asks for is known once it is made.
        Object::Unreadable | Object::ToMake | Object::ToBind(_) => return None,
    };
    if object.metadata.deletion_timestamp.is_some() {
        return Some(Outcome::failed(
            FailureClass::Cancelled,
            "the AgentTask is being deleted",
        ));
    }
    if object.spec.desired_state == DesiredState::Cancel {
        return Some(Outcome::failed(
            FailureClass::Cancelled,
            "desiredState is Cancel",
        ));
    }
    // A deadline stands still while its task is suspended, also while it is about to be.
    let suspended = state == TaskState::Suspended
        || desired(seen, object.spec.desired_state) == DesiredState::Suspend;
    if !suspended && seen.row.deadline_at.is_some_and(|deadline| now >= deadline) {
        let seconds = object.spec.deadline_seconds.unwrap_or_default();
        let message = format!("the task was not over {seconds} seconds after its creation");
        return Some(Outcome::failed(FailureClass::DeadlineExceeded, message));
    }
    if !seen.may_ask && !has_begun(seen) {
        let agent = &seen.row.agent;
        let message = format!(
            "Agent {agent} may not be woken by who asked for it: it names who may in spec.access, or the workspace \
             wants a person to ask"
        );
        return Some(Outcome::failed(FailureClass::NotAllowed, message));
    }
    if state.is_active() && seen.references == References::NoAgent {
        let message = format!("Agent {} was deleted while the task ran", seen.row.agent);
        return Some(Outcome::failed(FailureClass::AgentDeleted, message));
    }
    None
}
