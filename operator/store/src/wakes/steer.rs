//! What a person says while the agent works on the same thread is offered to that run. The task that waits with it is
//! there all the same: so nothing is lost, whatever becomes of the offer.

use jiff::Timestamp;
use protocol::board::{AuthorKind, CauseKind, WakeVerdict};
use protocol::{AttemptId, CommentId, Subject, TaskId};

use wake::Directory;

use super::begin::Begin;
use super::facts::{Chain, Looks};
use super::queue::Wake;
use super::row::{Evidence, WakeRow};
use super::withdraw::{caused_by, hand_over};
use crate::Error;
use crate::db::{Conn, query};
use crate::steers;
use crate::writes::Write;

/// Whether a run that goes on is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steering {
    /// Where the agent's definition wants it.
    AsAgentsSay,
    /// Because a person wants it.
    Always,
}

impl Begin<'_> {
    /// Offers what was said to the run of the agent that goes on, if there is one.
    pub(super) async fn offered(
        &self,
        write: &mut Write,
        (agent, chain, steering): (&str, &Chain, Steering),
        verdict: WakeVerdict,
    ) -> Result<WakeVerdict, Error> {
        let (Some(comment), Some(follow_up)) = (self.comment, waits(&verdict)) else {
            return Ok(verdict);
        };
        if !self.may_steer(agent, chain, steering) {
            return Ok(verdict);
        }
        let Some(running) = running(&mut *write, self.slot(agent), self.directory).await? else {
            return Ok(verdict);
        };
        if !steers::offer(write, running, (comment, &self.issue.key), self.now).await? {
            return Ok(verdict);
        }
        Ok(WakeVerdict::Steered {
            task: running.task,
            follow_up: Some(follow_up),
        })
    }

    /// What [`Begin::offered`] would answer.
    pub(super) async fn would_be_offered(
        &self,
        on: &mut impl Looks,
        (agent, chain): (&str, &Chain),
        verdict: WakeVerdict,
    ) -> Result<WakeVerdict, Error> {
        let follow_up = match verdict {
            WakeVerdict::Queued { task } => task,
            WakeVerdict::Coalesced { task } => Some(task),
            WakeVerdict::Deferred { .. }
            | WakeVerdict::Steered { .. }
            | WakeVerdict::Blocked { .. } => return Ok(verdict),
        };
        if !self.may_steer(agent, chain, Steering::AsAgentsSay) {
            return Ok(verdict);
        }
        let Some(running) = running(on.conn(), self.slot(agent), self.directory).await? else {
            return Ok(verdict);
        };
        if !steers::has_room(on.conn(), running).await? {
            return Ok(verdict);
        }
        Ok(WakeVerdict::Steered {
            task: running.task,
            follow_up,
        })
    }

    /// Only a person's own words, said now, in a comment.
    fn may_steer(&self, agent: &str, chain: &Chain, steering: Steering) -> bool {
        let by_person = self.evidence == Evidence::Person
            && chain.author.kind == AuthorKind::Member
            && chain.task.is_none();
        let wanted = steering == Steering::Always || self.directory.steers(agent);
        wanted && by_person && self.kind == CauseKind::Comment && self.fire_at.is_none()
    }
}

/// The run of this row has taken a comment in: who waited with it for the same agent does not do it again. The issue is
/// locked.
pub(crate) async fn taken_in(
    write: &mut Write,
    row: &WakeRow,
    comment: CommentId,
    why: (&str, Timestamp),
) -> Result<(), Error> {
    for caused in caused_by(&mut *write, comment).await? {
        if caused.agent == row.agent && caused.task != row.task && caused.absorbing {
            hand_over(write, &caused, row, why).await?;
        }
    }
    Ok(())
}

/// The task that waits with what was said.
fn waits(verdict: &WakeVerdict) -> Option<TaskId> {
    match verdict {
        WakeVerdict::Queued { task } => *task,
        WakeVerdict::Coalesced { task } => Some(*task),
        WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. }
        | WakeVerdict::Blocked { .. } => None,
    }
}

/// The attempt that works on the same thread, or on the issue as a whole, and whose agent can be told something.
async fn running(
    on: impl Into<Conn<'_>>,
    wake: Wake<'_>,
    directory: &dyn Directory,
) -> Result<Option<AttemptId>, Error> {
    const FIND: &str = "SELECT attempts.task AS task, attempts.number AS number, attempts.provider AS provider, \
        attempts.runtime AS runtime FROM sessions \
        JOIN attempts ON attempts.task = sessions.holder_task AND attempts.number = sessions.holder_attempt \
        JOIN tasks ON tasks.id = attempts.task AND tasks.attempt = attempts.number \
        JOIN wakes ON wakes.task = attempts.task \
        WHERE sessions.namespace_uid = $1 AND sessions.agent = $2 AND subject_kind = $3 AND subject_name = $4 \
        AND wakes.issue = $5 AND wakes.thread IN ($6, $5) AND tasks.state IN ('preparing', 'running')";
    let find = query("find the run that goes on", FIND)
        .bind(wake.workspace.namespace_uid.as_str())
        .bind(wake.agent)
        .bind(Subject::ISSUE)
        .bind(wake.issue.key.to_string())
        .bind(wake.issue.id)
        .bind(wake.thread);
    let Some(row) = find.optional(on).await? else {
        return Ok(None);
    };
    let (provider, runtime): (String, String) = (row.get("provider")?, row.get("runtime")?);
    let version = directory.version(&runtime);
    let facts = protocol::providers::facts(&provider);
    let steers = facts.is_some_and(|facts| facts.takes_remarks(version));
    let attempt = AttemptId {
        task: TaskId(row.get("task")?),
        number: row.u32("number")?,
    };
    Ok(steers.then_some(attempt))
}
