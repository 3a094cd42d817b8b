//! Who is woken, in the transaction that writes what wakes them. [`wake`] decides; here the facts are looked up
//! and what was decided is queued.
//!
//! A slot is (agent, issue, thread). The one task of a slot that nobody has opened yet takes in what comes; after
//! that the next one is queued and waits for the session. So nothing that should wake an agent is without a task,
//! and nothing is in two.

mod again;
mod begin;
mod bind;
mod cause;
mod deferred;
mod ended;
mod facts;
mod guards;
mod queue;
mod row;
mod steer;
mod withdraw;
mod written;

pub use again::Again;
pub(crate) use begin::Begin;
pub(crate) use deferred::{fire_at, until};
pub(crate) use ended::{Locked, Over, ended, lock_issues, opened};
pub(crate) use facts::{Chain, Looks, chain};
pub(crate) use guards::reset;
pub(crate) use row::{Evidence, WakeRow};
pub(crate) use steer::taken_in;
pub(crate) use withdraw::{Caused, carry, caused_by, close, lead, withdraw};
pub(crate) use written::{IssueWrite, after_issue_write};

use protocol::TaskId;
use protocol::board::{RecipientKind, WakeOutcome, WakeVerdict};
use wake::Target;

/// What is told of a wake. Who leads a team is told with what becomes of it, and not with that nothing does.
pub(crate) fn outcome(target: &Target, verdict: WakeVerdict) -> WakeOutcome {
    let is_woken = match verdict {
        WakeVerdict::Queued { .. }
        | WakeVerdict::Coalesced { .. }
        | WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. } => true,
        WakeVerdict::Blocked { .. } => false,
    };
    let leader = match target.recipient.kind {
        RecipientKind::Team => target.agent.clone(),
        RecipientKind::Agent | RecipientKind::Member => None,
    };
    WakeOutcome {
        recipient: target.recipient.clone(),
        executes: leader.filter(|_| is_woken),
        verdict,
    }
}

/// The name of the object that is made for a task: the same as `crds::names::task_name`, which the controller
/// makes it under.
pub(crate) fn object_name(agent: &str, task: TaskId) -> String {
    let id = task.to_string();
    let end = id.rsplit('-').next().unwrap_or(&id);
    format!("{agent}-{end}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_object_is_named_as_the_controller_names_it() {
        let id = Uuid::now_v7();
        let theirs = crds::names::task_name("reviewer", &id.to_string()).unwrap();
        assert_eq!(object_name("reviewer", TaskId(id)), theirs.as_str());
    }
}
