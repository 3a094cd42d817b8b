//! The ten conditions of a task.

use crds::conditions::{self as merge, Status, Wanted};
use crds::{AgentTaskStatus, task_condition as kind, task_reason as reason};
use jiff::Timestamp;
use protocol::{EndReason, Outcome, TaskState, paths};

use crate::catalog::Standing;
use crate::task::failure::{self, Judgement, Progress};
use crate::task::observe::{References, Seen};

/// All conditions, in the order in which they are written.
pub(super) fn wanted(seen: &Seen, old: &AgentTaskStatus, now: Timestamp) -> Vec<Wanted> {
    vec![
        accepted(seen, old),
        claimed(seen),
        workdir_ready(seen),
        credential_issued(seen),
        pod_ready(seen, now),
        interrupted(seen),
        waiting_for_human(seen),
        reconciling(seen),
        finished(seen),
        succeeded(seen),
    ]
}

/// The conditions of an object that is not run, for this reason.
pub(super) fn not_run(why: &'static str, message: &str) -> Vec<Wanted> {
    let not_yet = |kind| want(kind, Status::False, reason::NOT_YET, "");
    vec![
        want(kind::ACCEPTED, Status::False, why, message),
        not_yet(kind::CLAIMED),
        not_yet(kind::WORKDIR_READY),
        not_yet(kind::CREDENTIAL_ISSUED),
        not_yet(kind::POD_READY),
        want(
            kind::INTERRUPTED,
            Status::False,
            reason::NOT_INTERRUPTED,
            "",
        ),
        want(
            kind::WAITING_FOR_HUMAN,
            Status::False,
            reason::NOTHING_ASKED,
            "",
        ),
        want(kind::RECONCILING, Status::False, why, message),
        not_yet(kind::FINISHED),
        want(kind::SUCCEEDED, Status::Unknown, why, message),
    ]
}

fn accepted(seen: &Seen, old: &AgentTaskStatus) -> Wanted {
    let want = |status, reason, message: &str| want(kind::ACCEPTED, status, reason, message);
    let is_waiting = matches!(seen.row.state, TaskState::Queued | TaskState::Suspended);
    if !is_waiting && seen.row.attempt == 0 {
        // It ended before anything was claimed: what was last said about it stands.
        let last = merge::find(&old.conditions, kind::ACCEPTED);
        let known = [
            reason::AGENT_NOT_FOUND,
            reason::RUNTIME_NOT_FOUND,
            reason::RUNTIME_NOT_READY,
            reason::TOOLS_NOT_ENFORCED,
            reason::NOT_A_WORKSPACE,
        ];
        if let Some((last, why)) =
            last.and_then(|last| Some((last, known.iter().find(|why| **why == last.reason)?)))
        {
            return want(Status::False, why, &last.message);
        }
    }
    if !is_waiting {
        return want(Status::True, reason::ACCEPTED, "");
    }
    if seen.standing == Standing::Foreign {
        let message = "The namespace lacks the label mooring.dev/workspace: enabled; nothing is claimed in it.";
        return want(Status::False, reason::NOT_A_WORKSPACE, message);
    }
    let agent = &seen.row.agent;
    match seen.references {
        References::Found => want(Status::True, reason::ACCEPTED, ""),
        References::NoAgent => {
            let message = format!(
                "Agent {agent} does not exist in this namespace. Create it, or delete the task."
            );
            want(Status::False, reason::AGENT_NOT_FOUND, &message)
        }
        References::AgentUnreadable => {
            let message = format!(
                "Agent {agent} cannot be read by this version of Mooring; its log says why. Correct the Agent."
            );
            want(Status::False, reason::AGENT_NOT_FOUND, &message)
        }
        References::NoRuntime => {
            let message =
                format!("None of the Runtimes of Agent {agent} exists in this namespace.");
            want(Status::False, reason::RUNTIME_NOT_FOUND, &message)
        }
        References::NoneReady => {
            let message = format!(
                "None of the Runtimes of Agent {agent} is ready; their conditions say why."
            );
            want(Status::False, reason::RUNTIME_NOT_READY, &message)
        }
        References::NotEnforced => {
            let message = format!(
                "Agent {agent} says which tools it may use, and the coding agent of none of its ready Runtimes can be held \
                 to that; the Agent's own condition names them."
            );
            want(Status::False, reason::TOOLS_NOT_ENFORCED, &message)
        }
    }
}

fn claimed(seen: &Seen) -> Wanted {
    let want = |status, reason, message: &str| want(kind::CLAIMED, status, reason, message);
    match seen.row.state {
        TaskState::Queued => want(Status::False, reason::QUEUED, ""),
        TaskState::Suspended => want(Status::False, reason::SUSPENDED, ""),
        TaskState::Claimed
        | TaskState::Preparing
        | TaskState::Running
        | TaskState::Finishing
        | TaskState::Finished => match seen.attempt() {
            None => want(
                Status::False,
                reason::NOT_YET,
                "The task ended before it was claimed.",
            ),
            Some(attempt) => {
                let message = format!(
                    "Attempt {} on Runtime {}.",
                    attempt.id.number, attempt.runtime
                );
                want(Status::True, reason::CLAIMED, &message)
            }
        },
    }
}

fn workdir_ready(seen: &Seen) -> Wanted {
    let started = seen
        .attempt()
        .is_some_and(|attempt| attempt.started_at.is_some());
    if started {
        want(kind::WORKDIR_READY, Status::True, reason::PREPARED, "")
    } else {
        want(kind::WORKDIR_READY, Status::False, reason::NOT_YET, "")
    }
}

fn credential_issued(seen: &Seen) -> Wanted {
    let want = |status, reason| want(kind::CREDENTIAL_ISSUED, status, reason, "");
    match (seen.live(), seen.attempt()) {
        (Some(_), _) => want(Status::True, reason::ISSUED),
        (None, Some(_)) => want(Status::False, reason::REVOKED),
        (None, None) => want(Status::False, reason::NOT_YET),
    }
}

fn pod_ready(seen: &Seen, now: Timestamp) -> Wanted {
    let want = |status, reason, message: &str| want(kind::POD_READY, status, reason, message);
    let Some(attempt) = seen.live() else {
        let reason = if seen.row.attempt > 0 {
            reason::POD_ENDED
        } else {
            reason::NOT_YET
        };
        return want(Status::False, reason, "");
    };
    let Some(pod) = seen.pod_of(attempt.id) else {
        if seen.pod.is_some() {
            return want(
                Status::False,
                reason::POD_STARTING,
                "Another pod of this name has to go first.",
            );
        }
        return want(
            Status::False,
            reason::POD_STARTING,
            "The pod is being made.",
        );
    };
    if attempt.started_at.is_some() || failure::is_running(pod, paths::AGENT_CONTAINER) {
        return want(Status::True, reason::CONTAINER_RUNNING, "");
    }
    let progress = Progress {
        opened_at: attempt.opened_at,
        started_at: attempt.started_at,
        last_contact_at: attempt.last_contact_at,
        node: seen.node,
    };
    match failure::judge(pod, &progress, &seen.limits(), now) {
        Judgement::Fine {
            waits_for: Some((class, words)),
            ..
        } => want(
            Status::False,
            reason::POD_STARTING,
            &format!("{class}: {words}"),
        ),
        Judgement::Fine {
            waits_for: None, ..
        }
        | Judgement::Failed(_) => want(Status::False, reason::POD_STARTING, ""),
    }
}

fn interrupted(seen: &Seen) -> Wanted {
    let suspended = seen
        .attempts
        .iter()
        .rfind(|attempt| attempt.end_reason == Some(EndReason::Suspended));
    match suspended {
        Some(attempt) => {
            let message = format!(
                "Attempt {} was ended by desiredState: Suspend.",
                attempt.id.number
            );
            want(
                kind::INTERRUPTED,
                Status::True,
                reason::ATTEMPT_ENDED,
                &message,
            )
        }
        None => want(
            kind::INTERRUPTED,
            Status::False,
            reason::NOT_INTERRUPTED,
            "",
        ),
    }
}

fn waiting_for_human(seen: &Seen) -> Wanted {
    let kind = kind::WAITING_FOR_HUMAN;
    if seen.awaited_tools.is_empty() {
        return want(kind, Status::False, reason::NOTHING_ASKED, "");
    }
    let message = format!(
        "It waits for a decision on {}: moor approval list -n {}",
        seen.awaited_tools.join(", "),
        seen.row.object.namespace
    );
    want(kind, Status::True, reason::APPROVAL_PENDING, &message)
}

fn reconciling(seen: &Seen) -> Wanted {
    let (status, reason) = match seen.row.state {
        TaskState::Queued => (Status::True, reason::QUEUED),
        TaskState::Claimed => (Status::True, reason::CLAIMED),
        TaskState::Preparing => (Status::True, reason::PREPARING),
        TaskState::Running => (Status::True, reason::RUNNING),
        TaskState::Suspended => (Status::False, reason::SUSPENDED),
        // Said together with the verdict: what is left is clearing away, which is not the task's.
        TaskState::Finishing | TaskState::Finished => (Status::False, reason::FINISHED),
    };
    want(kind::RECONCILING, status, reason, "")
}

fn finished(seen: &Seen) -> Wanted {
    let status = Status::from(seen.row.state.has_verdict());
    want(kind::FINISHED, status, phase(seen.row.state), "")
}

fn succeeded(seen: &Seen) -> Wanted {
    match seen.row.verdict.as_ref().map(|verdict| &verdict.outcome) {
        None => want(kind::SUCCEEDED, Status::Unknown, phase(seen.row.state), ""),
        Some(Outcome::Succeeded) => want(kind::SUCCEEDED, Status::True, reason::SUCCEEDED, ""),
        Some(Outcome::Failed { class, message, .. }) => {
            let told = seen.told(*class, message);
            want(kind::SUCCEEDED, Status::False, class.as_str(), told)
        }
    }
}

fn phase(state: TaskState) -> &'static str {
    match state {
        TaskState::Queued => reason::QUEUED,
        TaskState::Claimed => reason::CLAIMED,
        TaskState::Preparing => reason::PREPARING,
        TaskState::Running => reason::RUNNING,
        TaskState::Suspended => reason::SUSPENDED,
        TaskState::Finishing | TaskState::Finished => reason::FINISHED,
    }
}

fn want(kind: &'static str, status: Status, reason: &'static str, message: &str) -> Wanted {
    Wanted {
        kind,
        status,
        reason,
        message: message.to_owned(),
    }
}
