//! A question finds its end: decided, too late, or not asked any more.

use jiff::Timestamp;
use protocol::board::{Approval, ApprovalState};
use protocol::runner::{CommandKind, Settled};
use protocol::{ApprovalId, AttemptId, MemberId, limits};

use super::{find, missing};
use crate::db::query;
use crate::tasks::locked;
use crate::writes::Write;
use crate::{Acting, Error, Store, WritePoint, attempts, text};

impl Store {
    /// A person decides. The first decision stands: who says the same again is told so, who says something else is
    /// refused. The runner is told in the same transaction.
    ///
    /// # Errors
    /// [`Error::Missing`] when this member sees none such, [`Error::Conflict`] when it is settled or too late,
    /// [`Error::Invalid`] for a reason that is none, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn decide(
        &self,
        by: &Acting,
        member: MemberId,
        approval: ApprovalId,
        (allow, reason): (bool, Option<&str>),
        now: Timestamp,
    ) -> Result<Approval, Error> {
        let seen = self.approval(&by.workspace, member, approval).await?;
        let seen = seen.ok_or_else(|| missing(approval))?;
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        if let Some(reason) = reason {
            text::body("reason", reason, limits::DECISION_BYTES)?;
        }
        let wanted = match allow {
            true => ApprovalState::Approved,
            false => ApprovalState::Denied,
        };
        let mut write = self.write(WritePoint::DecideApproval).await?;
        locked(&mut write, seen.task).await?;
        // Again: it may have changed until the lock was got.
        let found = find(&mut write, approval).await?;
        let found = found.ok_or_else(|| missing(approval))?;
        let user = by.author.name.as_str();
        if found.state == wanted && found.by.as_deref() == Some(user) {
            return Ok(found);
        }
        check_open(&found, now)?;
        let decision = Settlement {
            state: wanted,
            by: Some(user),
            reason,
        };
        settle(&mut write, approval, &decision, now).await?;
        let attempt = AttemptId {
            task: found.task,
            number: found.attempt,
        };
        let command = CommandKind::Decide {
            approval,
            allow,
            by: user.to_owned(),
            reason: reason.map(str::to_owned),
        };
        attempts::tell(&mut write, attempt, command).await?;
        write.changed(found.task);
        let after = find(&mut write, approval).await?;
        write.commit().await?;
        after.ok_or_else(|| missing(approval))
    }

    /// Who asked settles a question that nobody has decided, and is told what stands.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is none of this attempt, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn settle(
        &self,
        attempt: AttemptId,
        approval: ApprovalId,
        how: Settled,
        now: Timestamp,
    ) -> Result<Approval, Error> {
        let mut write = self.write(WritePoint::SettleApproval).await?;
        locked(&mut write, attempt.task).await?;
        let found = find(&mut write, approval).await?;
        let own = |found: &Approval| found.task == attempt.task && found.attempt == attempt.number;
        let found = found.filter(own).ok_or_else(|| missing(approval))?;
        if found.state != ApprovalState::Pending {
            return Ok(found);
        }
        let state = match how {
            Settled::Expired => ApprovalState::Expired,
            Settled::Withdrawn => ApprovalState::Withdrawn,
        };
        let settlement = Settlement {
            state,
            by: None,
            reason: None,
        };
        settle(&mut write, approval, &settlement, now).await?;
        write.changed(attempt.task);
        let after = find(&mut write, approval).await?;
        write.commit().await?;
        after.ok_or_else(|| missing(approval))
    }
}

fn check_open(found: &Approval, now: Timestamp) -> Result<(), Error> {
    let what = match found.state {
        ApprovalState::Pending if now < found.expires => return Ok(()),
        ApprovalState::Pending | ApprovalState::Expired => {
            "nobody decided in time, and the agent was told so".to_owned()
        }
        ApprovalState::Approved | ApprovalState::Denied => format!(
            "it was {} by {} already",
            found.state.as_str(),
            found.by.as_deref().unwrap_or("somebody")
        ),
        ApprovalState::Withdrawn => "the agent does not wait for it any more".to_owned(),
    };
    Err(Error::Conflict { what })
}

/// How it ends.
struct Settlement<'a> {
    state: ApprovalState,
    by: Option<&'a str>,
    reason: Option<&'a str>,
}

async fn settle(
    write: &mut Write,
    approval: ApprovalId,
    how: &Settlement<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    const SETTLE: &str = "UPDATE approvals SET state = $2, settled_at = $3, decided_by = $4, reason = $5 \
        WHERE id = $1 AND state = 'pending'";
    // There is nothing left to do. What nobody decided in time stays, so that somebody hears of it.
    const CLEAR: &str = "UPDATE approval_entries SET archived = TRUE WHERE approval = $1";
    let update = query("settle an approval", SETTLE)
        .bind(approval)
        .bind(how.state.as_str())
        .bind(now);
    let update = update.bind(how.by).bind(how.reason);
    if update.execute(&mut *write).await? != 1 {
        return Err(Error::Conflict {
            what: format!("approval {approval} was settled already"),
        });
    }
    if how.state != ApprovalState::Expired {
        query("clear what told of an approval", CLEAR)
            .bind(approval)
            .execute(write)
            .await?;
    }
    Ok(())
}

/// An attempt ends, and with it what it asked.
pub(crate) async fn close(
    write: &mut Write,
    attempt: AttemptId,
    now: Timestamp,
) -> Result<(), Error> {
    const CLEAR: &str = "UPDATE approval_entries SET archived = TRUE WHERE approval IN \
        (SELECT id FROM approvals WHERE task = $1 AND attempt = $2 AND state = 'pending')";
    const CLOSE: &str = "UPDATE approvals SET state = 'withdrawn', settled_at = $3 \
        WHERE task = $1 AND attempt = $2 AND state = 'pending'";
    let clear = query("clear what told of open questions", CLEAR)
        .bind(attempt.task)
        .bind(attempt.number);
    clear.execute(&mut *write).await?;
    let close = query("withdraw open questions", CLOSE)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(now);
    close.execute(write).await?;
    Ok(())
}
