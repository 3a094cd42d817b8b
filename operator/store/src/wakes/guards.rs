//! When a guard stops agents: said once in the thread, and to the person at the top of the chain.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::{InboxKind, Issue};
use protocol::{CommentId, IssueId};
use uuid::Uuid;
use wake::{Decision, Guard, Limits};

use super::facts::Chain;
use crate::db::query;
use crate::inbox::{self, Notice};
use crate::writes::Write;
use crate::{Error, WorkspaceRef, comments, members};

/// A write in which guards may have stopped somebody.
pub(crate) struct Stopped<'a> {
    pub(crate) workspace: &'a WorkspaceRef,
    /// Locked.
    pub(crate) issue: &'a Issue,
    /// The thread to say it in; a new one for none.
    pub(crate) thread: Option<CommentId>,
    pub(crate) chain: &'a Chain,
    pub(crate) decided: &'a [Decision],
    pub(crate) limits: Limits,
    pub(crate) now: Timestamp,
}

/// A person said something: the guards begin anew.
pub(crate) async fn reset(write: &mut Write, issue: IssueId) -> Result<(), Error> {
    query("reset the guards", "DELETE FROM stops WHERE issue = $1")
        .bind(issue)
        .execute(write)
        .await?;
    Ok(())
}

/// Says of each guard that stopped somebody that it did, unless it was said before.
pub(crate) async fn stop(write: &mut Write, stopped: Stopped<'_>) -> Result<(), Error> {
    for decision in stopped.decided {
        let Some(guard) = decision.blocked.and_then(Guard::of) else {
            continue;
        };
        let by = &stopped.chain.author.id;
        let agent = decision.target.agent.as_deref().unwrap_or_default();
        if is_new(write, &stopped, guard, by, agent).await? {
            let text = wake::stopped(guard, stopped.limits, by, agent);
            let said = comments::say(
                write,
                stopped.issue,
                (stopped.thread, None),
                &text,
                stopped.now,
            )
            .await?;
            tell(write, &stopped, said).await?;
        }
    }
    Ok(())
}

/// Whether it is said for the first time since a person said something; of what is counted by the hour, in the
/// last hour.
async fn is_new(
    write: &mut Write,
    stopped: &Stopped<'_>,
    guard: Guard,
    by: &str,
    agent: &str,
) -> Result<bool, Error> {
    const NOTE: &str = "INSERT INTO stops (issue, guard, agents, stopped_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (issue, guard, agents) DO UPDATE SET stopped_at = excluded.stopped_at \
        WHERE stops.stopped_at < $5";
    // What is counted along a chain is said once for all of it, not anew on each issue that it gets at.
    match (guard, stopped.chain.root) {
        (Guard::Depth | Guard::Root, Some(root)) => {
            return is_new_for(write, root, guard, stopped.now).await;
        }
        (Guard::Depth | Guard::Root | Guard::Runs | Guard::Rounds, _) => {}
    }
    let agents = match guard {
        Guard::Rounds if by < agent => format!("{by} {agent}"),
        Guard::Rounds => format!("{agent} {by}"),
        Guard::Depth | Guard::Runs | Guard::Root => String::new(),
    };
    let again = match guard {
        Guard::Runs => stopped.now.checked_sub(1.hour()).unwrap_or(Timestamp::MIN),
        Guard::Depth | Guard::Rounds | Guard::Root => Timestamp::MIN,
    };
    // What is counted by the task is not said anew on each issue that the task gets at.
    let counted_on = match guard {
        Guard::Runs => stopped.chain.own_issue().unwrap_or(stopped.issue.id),
        Guard::Depth | Guard::Rounds | Guard::Root => stopped.issue.id,
    };
    let note = query("note that a guard stopped agents", NOTE)
        .bind(counted_on)
        .bind(guard.as_str())
        .bind(agents);
    let noted = note.bind(stopped.now).bind(again).execute(write).await?;
    Ok(noted == 1)
}

/// Whether it is said for the first time since the person at the top of the chain did something.
async fn is_new_for(
    write: &mut Write,
    root: Uuid,
    guard: Guard,
    now: Timestamp,
) -> Result<bool, Error> {
    const NOTE: &str = "INSERT INTO root_stops (root, guard, stopped_at) VALUES ($1, $2, $3) \
        ON CONFLICT (root, guard) DO NOTHING";
    let note = query("note that a guard stopped a chain", NOTE)
        .bind(root)
        .bind(guard.as_str());
    Ok(note.bind(now).execute(write).await? == 1)
}

async fn tell(write: &mut Write, stopped: &Stopped<'_>, said: CommentId) -> Result<(), Error> {
    let Some(person) = &stopped.chain.originator else {
        return Ok(());
    };
    let Some(member) = members::of_user(&mut *write, stopped.workspace, &person.user).await? else {
        return Ok(());
    };
    let notice = Notice {
        member: member.id,
        kind: InboxKind::Guard,
        issue: stopped.issue.id,
        comment: Some(said),
        author: &stopped.chain.author,
        now: stopped.now,
    };
    inbox::notify(write, notice).await.map(drop).map(drop)
}
