//! From a write to who is woken by it: decided, said where a guard holds, queued.

use jiff::Timestamp;
use protocol::CommentId;
use protocol::board::{CauseKind, Issue, WakeOutcome, WakeVerdict};
use uuid::Uuid;
use wake::{Decision, Directory, Limits};

use super::facts::{Asked, Chain, Looks, decide};
use super::guards::{Stopped, stop};
use super::outcome;
use super::queue::{Wake, absorbing, wake};
use super::row::{Cause, Evidence};
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Error, WorkspaceRef};

/// A write that means agents.
#[derive(Clone, Copy)]
pub(crate) struct Begin<'a> {
    pub(crate) workspace: &'a WorkspaceRef,
    /// Locked, for a write.
    pub(crate) issue: &'a Issue,
    pub(crate) kind: CauseKind,
    pub(crate) evidence: Evidence,
    /// The comment that means them.
    pub(crate) comment: Option<CommentId>,
    /// The thread that it is in.
    pub(crate) thread: Option<CommentId>,
    /// Who is meant.
    pub(crate) agents: &'a [String],
    /// Whom the author leaves out.
    pub(crate) suppress: &'a [String],
    pub(crate) directory: &'a dyn Directory,
    pub(crate) limits: Limits,
    pub(crate) now: Timestamp,
}

impl<'a> Begin<'a> {
    /// Wakes them, in the open transaction.
    pub(crate) async fn now(
        self,
        write: &mut Write,
        chain: &Chain,
    ) -> Result<Vec<WakeOutcome>, Error> {
        let decided = self.decided(write, chain).await?;
        // Every write takes the sessions of an issue in the same order, so that no two wait for each other.
        let mut order: Vec<_> = decided.iter().collect();
        order.sort_unstable_by(|one, other| one.agent.cmp(&other.agent));
        let cause = self.cause(chain);
        let mut outcomes = Vec::new();
        for Decision { agent, blocked } in order {
            let verdict = match *blocked {
                Some(reason) => WakeVerdict::Blocked { reason },
                None => wake(write, self.slot(agent), &cause).await?,
            };
            outcomes.push(outcome(agent, verdict));
        }
        // Told in the order in which they were meant.
        let place = |told: &WakeOutcome| {
            decided
                .iter()
                .position(|decision| decision.agent == told.recipient.id)
        };
        outcomes.sort_by_key(place);
        Ok(outcomes)
    }

    /// Decides, and says where a guard holds somebody back.
    pub(super) async fn decided(
        &self,
        write: &mut Write,
        chain: &Chain,
    ) -> Result<Vec<Decision>, Error> {
        let decided = decide(write, self.asked(chain)).await?;
        let stopped = Stopped {
            workspace: self.workspace,
            issue: self.issue,
            thread: self.thread,
            chain,
            decided: &decided,
            limits: self.limits,
            now: self.now,
        };
        stop(write, stopped).await?;
        Ok(decided)
    }

    /// What [`Begin::now`] would answer.
    pub(crate) async fn foreseen(
        self,
        on: &mut impl Looks,
        chain: &Chain,
    ) -> Result<Vec<WakeOutcome>, Error> {
        let mut outcomes = Vec::new();
        for Decision { agent, blocked } in decide(on, self.asked(chain)).await? {
            let verdict = match blocked {
                Some(reason) => WakeVerdict::Blocked { reason },
                None => match absorbing(on.conn(), self.slot(&agent)).await? {
                    Some(task) => WakeVerdict::Coalesced { task },
                    None => WakeVerdict::Queued { task: None },
                },
            };
            outcomes.push(outcome(&agent, verdict));
        }
        Ok(outcomes)
    }

    fn asked<'b>(&'b self, chain: &'b Chain) -> Asked<'b> {
        Asked {
            issue: self.issue.id,
            chain,
            evidence: self.evidence,
            agents: self.agents,
            suppress: self.suppress,
            directory: self.directory,
            limits: self.limits,
            now: self.now,
        }
    }

    pub(super) fn slot<'b>(&self, agent: &'b str) -> Wake<'b>
    where
        'a: 'b,
    {
        let thread: Uuid = self.thread.map_or(self.issue.id.0, |thread| thread.0);
        Wake {
            workspace: self.workspace,
            issue: self.issue,
            agent,
            thread,
        }
    }

    pub(super) fn cause(&self, chain: &Chain) -> Cause {
        // What a person does is the top of a chain, by its comment or by an id of its own.
        let own = || self.comment.map(|comment| comment.0).or(new_id(self.now).ok());
        Cause {
            kind: self.kind,
            comment: self.comment,
            author: chain.author.clone(),
            author_task: chain.task,
            originator: chain.originator.clone(),
            accountable: chain.accountable(self.issue),
            evidence: self.evidence,
            depth: chain.depth(self.evidence),
            at: self.now,
            root: chain.root.or_else(own),
            again_of: None,
        }
    }
}
