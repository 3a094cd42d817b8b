//! The AgentTask of a task that was born in the store.

use crds::{
    AgentRef, AgentTask, AgentTaskSpec, DesiredState, SessionPolicy, Subject, TaskCause,
    TaskSession, labels,
};
use store::TaskRow;

use super::{Kin, meta};

/// How long one that Mooring makes stays after its end, in seconds: a week. Nothing is lost with it, the store keeps the history, and
/// a workspace in which people talk would else fill the cluster with objects.
pub(crate) const TTL_SECONDS: i32 = 7 * 24 * 3600;

/// The object. Nobody owns it; the label says which row it is of.
#[must_use]
pub fn task(kin: &Kin, row: &TaskRow, subject: Subject, cause: &TaskCause) -> AgentTask {
    AgentTask {
        metadata: meta(
            kin,
            &row.object.name,
            &[(labels::TASK_ID, row.id.to_string())],
            None,
        ),
        spec: AgentTaskSpec {
            agent_ref: AgentRef {
                name: row.agent.clone(),
            },
            subject,
            prompt: None,
            cause: Some(cause.clone()),
            prompt_from: None,
            requested_by: None,
            model: None,
            max_turns: None,
            start_after: None,
            session: TaskSession {
                policy: match row.policy {
                    protocol::SessionPolicy::Resume => SessionPolicy::Resume,
                    protocol::SessionPolicy::Require => SessionPolicy::Require,
                    protocol::SessionPolicy::Fresh => SessionPolicy::Fresh,
                },
            },
            priority: row.priority,
            deadline_seconds: None,
            ttl_seconds_after_finished: Some(TTL_SECONDS),
            // Whether people keep it aside is said by the row, and changes there.
            desired_state: DesiredState::Run,
        },
        status: None,
    }
}
