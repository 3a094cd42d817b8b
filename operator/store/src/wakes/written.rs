//! What follows from a written issue: whom it was given to, and whether its parent hears of it.

use jiff::Timestamp;
use protocol::IssueId;
use protocol::board::{CauseKind, Issue, RecipientKind, WakeOutcome};
use wake::Target;

use super::begin::Begin;
use super::facts::{Chain, chain};
use super::row::Evidence;
use super::withdraw::{caused_by_assignment, withdraw};
use crate::db::{Row, query};
use crate::writes::Write;
use crate::{Acting, Error, comments, issues};

/// A write of an issue, as it stands in the open transaction. `before` is absent for a new one.
pub(crate) struct IssueWrite<'a> {
    pub(crate) by: &'a Acting,
    pub(crate) before: Option<&'a Issue>,
    /// Locked.
    pub(crate) after: &'a Issue,
    pub(crate) no_start: bool,
    pub(crate) directory: &'a dyn wake::Directory,
    pub(crate) now: Timestamp,
}

/// Wakes who is to begin with the issue, and who hears that a part of another one is done.
pub(crate) async fn after_issue_write(
    write: &mut Write,
    on: IssueWrite<'_>,
) -> Result<Vec<WakeOutcome>, Error> {
    let by = on.by;
    let chain = chain(write, &by.author, by.person(), by.task).await?;
    take_back(write, &on).await?;
    let mut outcomes = assigned(write, &on, &chain).await?;
    outcomes.extend(child_closed(write, &on, &chain).await?);
    Ok(outcomes)
}

/// Who had the issue and has not begun with it need not begin any more.
async fn take_back(write: &mut Write, on: &IssueWrite<'_>) -> Result<(), Error> {
    let had = on.before.and_then(|before| before.assignee.as_ref());
    let Some(had) = had.filter(|had| Some(*had) != on.after.assignee.as_ref()) else {
        return Ok(());
    };
    if had.kind == RecipientKind::Member {
        return Ok(());
    }
    for caused in caused_by_assignment(&mut *write, on.after.id, had).await? {
        let why = "the issue was given to somebody else before the agent had begun";
        withdraw(write, &caused, why, on.now).await?;
    }
    Ok(())
}

async fn assigned(
    write: &mut Write,
    on: &IssueWrite<'_>,
    chain: &Chain,
) -> Result<Vec<WakeOutcome>, Error> {
    let before = on.before.map(|before| wake::Before {
        status: before.status,
        assignee: before.assignee.as_ref(),
    });
    let to = wake::assignment(before, on.after.status, on.after.assignee.as_ref());
    let Some(to) = to.filter(|_| !on.no_start) else {
        return Ok(Vec::new());
    };
    let begin = Begin {
        workspace: &on.by.workspace,
        issue: on.after,
        kind: CauseKind::Assignment,
        evidence: chain.evidence(),
        comment: None,
        thread: None,
        targets: &wake::targets([to], on.directory),
        suppress: &[],
        directory: on.directory,
        limits: write.limits(),
        now: on.now,
        fire_at: None,
    };
    begin.now(write, chain).await
}

/// When the last child of a stage is closed, the parent says so, and who has it is woken; where nobody has it, the
/// agent that worked on it last.
async fn child_closed(
    write: &mut Write,
    on: &IssueWrite<'_>,
    chain: &Chain,
) -> Result<Vec<WakeOutcome>, Error> {
    let was_open = on.before.is_some_and(|before| !before.status.is_closed());
    let Some(key) = on.after.parent.as_ref() else {
        return Ok(Vec::new());
    };
    if !was_open || !on.after.status.is_closed() {
        return Ok(Vec::new());
    }
    // Locked before its stages are counted: two children that close at once would each see the other one open.
    let Some(parent) = issues::locked(write, &on.by.workspace, key).await? else {
        return Ok(Vec::new());
    };
    if !wake::hears_of_children(parent.status, parent.assignee.as_ref()) {
        return Ok(Vec::new());
    }
    let stages = issues::stages(&mut *write, &on.by.workspace, key).await?;
    let Some(closed) = wake::closed_stage(&stages, on.after.stage) else {
        return Ok(Vec::new());
    };
    // An agent can close and open a part without end.
    if !comments::has_room(write, on.by.task).await? {
        return Ok(Vec::new());
    }
    let text = wake::children_done(closed, &on.after.key.to_string());
    let said = comments::say(write, &parent, (None, on.by.task), &text, on.now).await?;
    let targets = match &parent.assignee {
        Some(assignee) => wake::targets([assignee], on.directory),
        None => last_at_work(write, parent.id).await?.into_iter().collect(),
    };
    if on.no_start {
        return Ok(Vec::new());
    }
    let asked = |target: &Target| {
        target
            .agent
            .as_deref()
            .is_some_and(|agent| chain.was_asked_by(agent))
    };
    let begin = Begin {
        workspace: &on.by.workspace,
        issue: &parent,
        kind: CauseKind::Children,
        evidence: if targets.iter().any(asked) {
            Evidence::HandBack
        } else {
            Evidence::Children
        },
        comment: Some(said),
        thread: Some(said),
        targets: &targets,
        suppress: &[],
        directory: on.directory,
        limits: write.limits(),
        now: on.now,
        fire_at: None,
    };
    begin.now(write, chain).await
}

/// The agent that opened a task on the issue last; where it led a team then, it goes on leading it.
async fn last_at_work(write: &mut Write, issue: IssueId) -> Result<Option<Target>, Error> {
    const LAST: &str = "SELECT agent, team FROM wakes WHERE issue = $1 AND opened_at IS NOT NULL \
        ORDER BY task DESC LIMIT 1";
    let find = query("find who worked on an issue last", LAST).bind(issue);
    let found = find.optional(write).await?;
    let target = |row: Row| {
        let (agent, team): (String, Option<String>) = (row.get("agent")?, row.get("team")?);
        Ok(Target::leading(&agent, team.as_deref()))
    };
    found.map(target).transpose()
}
