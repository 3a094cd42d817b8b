//! From a write to who is woken by it: decided, said where a guard holds, queued.

use jiff::Timestamp;
use protocol::CommentId;
use protocol::board::{BlockedReason, CauseKind, Issue, WakeOutcome, WakeVerdict};
use uuid::Uuid;
use wake::{Decision, Directory, Limits, Target};

use super::deferred;
use super::facts::{Asked, Chain, Looks, decide};
use super::guards::{Stopped, stop};
use super::outcome;
use super::queue::{Wake, absorbing, wake};
use super::row::{Cause, Evidence};
use super::steer::Steering;
use crate::shares;
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Error, WorkspaceRef};

/// A write that means agents or teams.
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
    pub(crate) targets: &'a [Target],
    /// Whom the author leaves out.
    pub(crate) suppress: &'a [String],
    pub(crate) directory: &'a dyn Directory,
    pub(crate) limits: Limits,
    pub(crate) now: Timestamp,
    /// Not before this moment, which is yet to come.
    pub(crate) fire_at: Option<Timestamp>,
}

impl<'a> Begin<'a> {
    /// Wakes them, in the open transaction.
    pub(crate) async fn now(
        self,
        write: &mut Write,
        chain: &Chain,
    ) -> Result<Vec<WakeOutcome>, Error> {
        self.woken(write, chain, Steering::AsAgentsSay).await
    }

    /// The same, and whoever works already is told at once.
    pub(crate) async fn steering(
        self,
        write: &mut Write,
        chain: &Chain,
    ) -> Result<Vec<WakeOutcome>, Error> {
        self.woken(write, chain, Steering::Always).await
    }

    async fn woken(
        self,
        write: &mut Write,
        chain: &Chain,
        steering: Steering,
    ) -> Result<Vec<WakeOutcome>, Error> {
        let decided = self.decided(write, chain).await?;
        // Every write takes the sessions of an issue in the same order, so that no two wait for each other.
        let mut order: Vec<_> = decided.iter().collect();
        order.sort_unstable_by(|one, other| one.target.agent.cmp(&other.target.agent));
        let mut cause = self.cause(chain);
        let mut outcomes = Vec::new();
        for decision in order {
            let target = &decision.target;
            let verdict = match to_wake(decision) {
                Err(reason) => WakeVerdict::Blocked { reason },
                Ok(agent) => {
                    cause.team.clone_from(&target.team);
                    let verdict = wake(write, self.slot(agent), &cause).await?;
                    self.offered(write, (agent, chain, steering), verdict)
                        .await?
                }
            };
            outcomes.push(outcome(target, verdict));
        }
        // Told in the order in which they were meant.
        let place = |told: &WakeOutcome| {
            decided
                .iter()
                .position(|decision| decision.target.recipient == told.recipient)
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
        let mut queued = 0;
        for decision in decide(on, self.asked(chain)).await? {
            let verdict = match to_wake(&decision) {
                Err(reason) => WakeVerdict::Blocked { reason },
                Ok(agent) => {
                    let verdict = self.would_wake(on, agent, queued).await?;
                    let verdict = self.would_be_offered(on, (agent, chain), verdict).await?;
                    queued += u32::from(matches!(
                        verdict,
                        WakeVerdict::Queued { .. }
                            | WakeVerdict::Deferred { task: None, .. }
                            | WakeVerdict::Steered {
                                follow_up: None,
                                ..
                            }
                    ));
                    verdict
                }
            };
            outcomes.push(outcome(&decision.target, verdict));
        }
        Ok(outcomes)
    }

    /// What would become of one that is woken, when the same write has queued so many before it.
    async fn would_wake(
        &self,
        on: &mut impl Looks,
        agent: &str,
        queued: u32,
    ) -> Result<WakeVerdict, Error> {
        if let Some(task) = absorbing(on.conn(), self.slot(agent)).await? {
            let waits_until = deferred::until(on.conn(), task).await?;
            return Ok(match (waits_until, self.fire_at) {
                (Some(one), Some(other)) => WakeVerdict::Deferred {
                    task: Some(task),
                    until: one.min(other),
                },
                (Some(_), None) | (None, _) => WakeVerdict::Coalesced { task },
            });
        }
        // With those before it, as many fewer may wait already.
        let max = self.max_queued().map(|max| max.saturating_sub(queued));
        let has_room = shares::has_room(on.conn(), &self.workspace.namespace_uid, max).await?;
        Ok(match (has_room, self.fire_at) {
            (true, None) => WakeVerdict::Queued { task: None },
            (true, Some(until)) => WakeVerdict::Deferred { task: None, until },
            (false, _) => WakeVerdict::Blocked {
                reason: BlockedReason::QueueFull,
            },
        })
    }

    fn asked<'b>(&'b self, chain: &'b Chain) -> Asked<'b> {
        Asked {
            issue: self.issue,
            chain,
            evidence: self.evidence,
            targets: self.targets,
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
            max_queued: self.max_queued(),
            fire_at: self.fire_at,
        }
    }

    /// Tasks that may wait in the workspace. What comes back to somebody who waits for it is never refused: nobody
    /// would hear of that.
    fn max_queued(&self) -> Option<u32> {
        match self.evidence {
            Evidence::Person | Evidence::Delegation => self.directory.max_queued(),
            Evidence::HandBack | Evidence::Children => None,
        }
    }

    /// Why an agent that is there would not be woken by this right; the guards are not asked.
    pub(crate) fn refused(&self, agent: &str, chain: &Chain) -> Option<BlockedReason> {
        let by = chain.principal();
        if self.directory.requires_originator() && !by.has_originator() {
            return Some(BlockedReason::NoOriginator);
        }
        let facts = self.directory.agent(agent)?;
        (!wake::may_wake(Some(&facts), &by)).then_some(BlockedReason::NotAvailable)
    }

    pub(crate) fn cause(&self, chain: &Chain) -> Cause {
        // What a person does is the top of a chain, by its comment or by an id of its own.
        let own = || {
            self.comment
                .map(|comment| comment.0)
                .or(new_id(self.now).ok())
        };
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
            team: None,
        }
    }
}

/// The agent that a decision wakes, or why it wakes nobody.
fn to_wake(decision: &Decision) -> Result<&str, BlockedReason> {
    match (decision.blocked, &decision.target.agent) {
        (Some(reason), _) => Err(reason),
        (None, Some(agent)) => Ok(agent),
        (None, None) => Err(BlockedReason::NotAvailable),
    }
}
