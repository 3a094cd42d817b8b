//! The AgentTask of a task that was born in the store.

use crds::{
    AgentRef, AgentTask, AgentTaskSpec, DesiredState, SessionPolicy, Subject, SubjectKind,
    TaskCause, TaskSession, labels,
};
use protocol::TaskState;
use store::TaskRow;

use super::{Kin, meta};

/// How long it stays after its end, in seconds: a week. Nothing is lost with it, the store keeps the history, and
/// a workspace in which people talk would else fill the cluster with objects.
const TTL_SECONDS: i32 = 7 * 24 * 3600;

/// The object. Nobody owns it; the label says which row it is of.
#[must_use]
pub fn task(kin: &Kin, row: &TaskRow, cause: &TaskCause) -> AgentTask {
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
            subject: Subject {
                kind: SubjectKind::Issue,
                name: cause.issue.clone(),
            },
            prompt: None,
            cause: Some(cause.clone()),
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
            desired_state: if row.state == TaskState::Suspended {
                DesiredState::Suspend
            } else {
                DesiredState::Run
            },
        },
        status: None,
    }
}
