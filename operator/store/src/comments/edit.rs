//! Changing comments, and taking back or adding what they caused.

use jiff::Timestamp;
use protocol::CommentId;
use protocol::board::{
    AuthorKind, CauseKind, Comment, CommentEdit, Issue, Posted, WakeOutcome, WakeVerdict,
};
use wake::{Directory, Target};

use super::missing;
use super::post::{check_body, fresh, in_thread, meant, tell_named};
use super::read::{Found, find, find_any};
use crate::db::query;
use crate::wakes::{
    self, Begin, Caused, Chain, Evidence, carry, caused_by, lead, outcome, withdraw,
};
use crate::writes::Write;
use crate::{Acting, Error, Store, WritePoint, issues, steers};

impl Store {
    /// Changes the text of a comment. Who is no longer meant and has not begun is not woken any more; who is meant
    /// now and was not before is. A run that has its package goes on: what it was told stays told, and what it
    /// was offered and has not taken in yet another task does, as it is now.
    ///
    /// # Errors
    /// [`Error::Revision`] when the comment is not as it was read, [`Error::Invalid`] for a text that cannot be one,
    /// [`Error::Missing`] when there is no such comment, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn edit_comment(
        &self,
        by: &Acting,
        id: CommentId,
        edit: CommentEdit,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Posted, Error> {
        const UPDATE: &str =
            "UPDATE comments SET body = $2, revision = revision + 1, edited_at = $3 WHERE id = $1";
        check_body(&edit.body)?;
        let mut write = self.write(WritePoint::EditComment).await?;
        write.queue(&by.workspace, directory).await?;
        let (issue, found) = locked(&mut write, by, id).await?;
        let before = &found.comment;
        if edit.revision.is_some_and(|read| read != before.revision) {
            return Err(Error::Revision {
                present: before.revision,
            });
        }
        if edit.body == before.body {
            return Ok(Posted {
                comment: found.comment,
                wakes: Vec::new(),
            });
        }
        query("change a comment", UPDATE)
            .bind(id)
            .bind(edit.body.as_str())
            .bind(now)
            .execute(&mut write)
            .await?;
        steers::renewed(&mut write, id, now).await?;
        let wakes = renew(&mut write, by, &issue, (&found, &edit.body), directory, now).await?;
        let text = (id, edit.body.as_str());
        tell_named(&mut write, &by.workspace, &issue, text, &before.author, now).await?;
        let comment = fresh(&mut write, id).await?;
        write.commit().await?;
        Ok(Posted { comment, wakes })
    }

    /// Deletes a comment; what it caused is taken back where nobody has begun. Its replies stay.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such comment, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn delete_comment(
        &self,
        by: &Acting,
        id: CommentId,
        now: Timestamp,
    ) -> Result<(), Error> {
        const DELETE: &str =
            "UPDATE comments SET body = '', revision = revision + 1, deleted_at = $2 WHERE id = $1";
        const LESS: &str = "UPDATE comments SET replies = replies - 1 WHERE id = $1";
        let mut write = self.write(WritePoint::DeleteComment).await?;
        let (issue, found) = locked(&mut write, by, id).await?;
        let before = found.comment;
        query("delete a comment", DELETE)
            .bind(id)
            .bind(now)
            .execute(&mut write)
            .await?;
        if before.thread != id {
            query("note a reply less", LESS)
                .bind(before.thread)
                .execute(&mut write)
                .await?;
        }
        issues::count_comments(&mut write, issue.id, -1).await?;
        for caused in caused_by(&mut write, id).await? {
            let why = "the comment that caused it was deleted before the agent had begun";
            withdraw(&mut write, &caused, why, now).await?;
        }
        write.commit().await
    }

    /// Says that a thread needs no more answer, or that it does.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a comment that begins no thread, [`Error::Missing`] when there is none,
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn resolve_comment(
        &self,
        by: &Acting,
        id: CommentId,
        resolved: bool,
    ) -> Result<Comment, Error> {
        const UPDATE: &str =
            "UPDATE comments SET resolved = $2, revision = revision + 1 WHERE id = $1";
        let mut write = self.write(WritePoint::ResolveComment).await?;
        let (_, found) = locked(&mut write, by, id).await?;
        let before = found.comment;
        if before.thread != id {
            return Err(Error::Invalid {
                what: "resolution",
                why: format!(
                    "comment {id} is a reply; resolve the thread by {}, which begins it",
                    before.thread
                ),
            });
        }
        if before.resolved == resolved {
            return Ok(before);
        }
        query("resolve a thread", UPDATE)
            .bind(id)
            .bind(resolved)
            .execute(&mut write)
            .await?;
        let comment = fresh(&mut write, id).await?;
        write.commit().await?;
        Ok(comment)
    }
}

/// A comment of the workspace, with its issue locked.
async fn locked(write: &mut Write, by: &Acting, id: CommentId) -> Result<(Issue, Found), Error> {
    const IS_OF: &str = "SELECT 1 AS found FROM issues WHERE id = $1 AND namespace_uid = $2";
    let found = find(&mut *write, id).await?.ok_or_else(|| missing(id))?;
    let is_of = query("look for an issue in a workspace", IS_OF)
        .bind(found.issue)
        .bind(by.workspace.namespace_uid.as_str());
    if is_of.optional(&mut *write).await?.is_none() {
        return Err(missing(id));
    }
    let issue = issues::locked_by_id(write, found.issue)
        .await?
        .ok_or_else(|| missing(id))?;
    // Again: it may have been changed or deleted until the lock was got.
    let found = find(&mut *write, id).await?.ok_or_else(|| missing(id))?;
    Ok((issue, found))
}

/// Whom the new text means that the old one did not is woken; the other way round it is taken back.
async fn renew(
    write: &mut Write,
    by: &Acting,
    issue: &Issue,
    (found, body): (&Found, &str),
    directory: &dyn Directory,
    now: Timestamp,
) -> Result<Vec<WakeOutcome>, Error> {
    let before = &found.comment;
    let author = &before.author;
    if author.kind == AuthorKind::System {
        return Ok(Vec::new());
    }
    let answered = match found.parent {
        Some(parent) => find_any(&mut *write, parent).await?,
        None => None,
    };
    let thread = match answered {
        Some(answered) => Some(in_thread(write, answered.comment).await?),
        None => None,
    };
    let thread = thread.as_ref().map(|it| &it.1);
    let meant_before = meant((author, &before.body), thread, issue, directory);
    let mut meant = meant((author, body), thread, issue, directory);
    let mut outcomes = Vec::new();
    // By the right of who is behind the edit: another person may have been behind the comment of an agent.
    let chain = wakes::chain(write, author, by.person(), by.task).await?;
    let begin = Begin {
        workspace: &by.workspace,
        issue,
        kind: CauseKind::Comment,
        evidence: chain.evidence(),
        comment: Some(before.id),
        thread: Some(before.thread),
        targets: &[],
        suppress: &[],
        directory,
        limits: write.limits(),
        now,
        // What was to wait goes on waiting, and so does who is named now.
        fire_at: wake_at(write, before.id).await?.filter(|at| *at > now),
    };
    for caused in caused_by(&mut *write, before.id).await? {
        let is_of = |target: &Target| is_for(&caused, target);
        if let Some(at) = meant.iter().position(is_of) {
            let target = meant.remove(at);
            if caused.absorbing {
                let verdict = judged_again(write, &caused, &target, (&begin, &chain)).await?;
                outcomes.push(outcome(&target, verdict));
            }
        } else if is_of_text(caused.evidence) && meant_before.iter().any(is_of) {
            // Only where the text is why: an issue that was given to somebody else meanwhile takes nothing back.
            let why = "the comment that caused it no longer does, and the agent had not begun";
            withdraw(write, &caused, why, now).await?;
        }
    }
    // Whom it meant already and did not wake was left out by its author, or held back, when it was written.
    meant.retain(|target| !meant_before.iter().any(|before| before.is_same(target)));
    let begin = Begin {
        targets: &meant,
        ..begin
    };
    outcomes.extend(begin.now(write, &chain).await?);
    Ok(outcomes)
}

/// Before when a comment wakes nobody.
async fn wake_at(write: &mut Write, comment: CommentId) -> Result<Option<Timestamp>, Error> {
    const FIND: &str = "SELECT wake_at FROM comments WHERE id = $1";
    let find = query("look when a comment is to wake somebody", FIND).bind(comment);
    find.one(write).await?.time_opt("wake_at")
}

/// What waits because of a comment goes on waiting, by the right of who edits it and on their behalf; where they may
/// not wake the agent it is taken back.
async fn judged_again(
    write: &mut Write,
    caused: &Caused,
    target: &Target,
    (begin, chain): (&Begin<'_>, &Chain),
) -> Result<WakeVerdict, Error> {
    // What comes back to an agent is no question of rights.
    if is_of_text(caused.evidence) {
        if let Some(reason) = begin.refused(&caused.agent, chain) {
            let why = "who edited the comment that caused it may not wake the agent";
            withdraw(write, caused, why, begin.now).await?;
            return Ok(WakeVerdict::Blocked { reason });
        }
        carry(write, caused, &begin.cause(chain)).await?;
    }
    if target.team != caused.team && target.agent.as_ref() == Some(&caused.agent) {
        lead(write, caused, target.team.as_deref()).await?;
    }
    let task = caused.task;
    Ok(match wakes::until(write, task).await? {
        Some(until) => WakeVerdict::Deferred {
            task: Some(task),
            until,
        },
        None => WakeVerdict::Coalesced { task },
    })
}

/// Whether a cause is for whom a text means: the agent, or the team, whoever led that when it was woken.
fn is_for(caused: &Caused, target: &Target) -> bool {
    let of_team = caused.team.is_some() && caused.team == target.team;
    of_team || target.agent.as_ref() == Some(&caused.agent)
}

/// Whether a cause comes from what a comment says: what comes back to an agent does so whatever it says.
fn is_of_text(evidence: Evidence) -> bool {
    match evidence {
        Evidence::Person | Evidence::Delegation => true,
        Evidence::HandBack | Evidence::Children => false,
    }
}
