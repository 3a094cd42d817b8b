//! When the package of a woken task is opened, and when it is over: who asked for it hears how it ended.

use jiff::Timestamp;
use protocol::board::{Author, AuthorKind, CauseKind, InboxKind, Issue};
use protocol::{CommentId, FailureClass, IssueId, TaskId, Verdict};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use wake::{AgentFacts, Directory, Ended, HandBack, Target};

use super::begin::Begin;
use super::facts::{Chain, chain};
use super::row::{Cause, Evidence, WakeRow};
use super::withdraw::close;
use crate::db::query;
use crate::inbox::{self, Notice};
use crate::tasks::TaskRow;
use crate::writes::Write;
use crate::{Error, WorkspaceRef, comments, issues};

/// Causes of one task that are looked at when it is over; the newest.
const CAUSES: u32 = 50;

/// The issues that the end of a woken task may write to, locked.
pub(crate) struct Locked {
    row: WakeRow,
    issue: Issue,
    /// Those who asked for it, with where they did: the issue that they work on.
    askers: Vec<Asker>,
    /// The people among who caused it.
    people: Vec<Author>,
}

/// An agent that asked for a run.
struct Asker {
    agent: String,
    /// The team that it led when it did.
    team: Option<String>,
    /// Its own issue, where that is another one, and the thread to answer in.
    elsewhere: Option<(Issue, Option<CommentId>)>,
}

/// A task that is over.
#[derive(Clone, Copy)]
pub(crate) struct Over<'a> {
    pub(crate) task: &'a TaskRow,
    pub(crate) verdict: &'a Verdict,
    pub(crate) now: Timestamp,
}

/// The title and description that a run is shown, in 32 bytes.
pub(super) fn shown(issue: &Issue) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(issue.title.as_bytes());
    // No title holds a line's end.
    hash.update(b"\n");
    hash.update(issue.description.as_bytes());
    hash.finalize().to_vec()
}

/// Its package is open: what comes now is for the next task, and what the issue says is what the agent is shown.
/// The session is locked.
pub(crate) async fn opened(write: &mut Write, task: TaskId, now: Timestamp) -> Result<(), Error> {
    const OPEN: &str = "UPDATE wakes SET absorbing = $2, opened_at = COALESCE(opened_at, $3), \
        shown_hash = COALESCE(shown_hash, $4) WHERE task = $1";
    let Some(row) = WakeRow::find(&mut *write, task).await? else {
        return Ok(());
    };
    let issue = issues::read_by_id(&mut *write, row.issue).await?;
    let open = query("close a slot with its package", OPEN)
        .bind(task)
        .bind(false)
        .bind(now);
    open.bind(issue.as_ref().map(shown)).execute(write).await?;
    Ok(())
}

/// Locks what the end of a task writes to, before its session is locked as everywhere; `None` for a task that was
/// not born here.
pub(crate) async fn lock_issues(write: &mut Write, task: TaskId) -> Result<Option<Locked>, Error> {
    let Some(row) = WakeRow::find(&mut *write, task).await? else {
        return Ok(None);
    };
    let gone = || Error::Missing {
        what: format!("issue {}", row.issue),
    };
    let issue = issues::locked_by_id(write, row.issue)
        .await?
        .ok_or_else(gone)?;
    // Again: until the lock was got it may have taken in more.
    let row = WakeRow::find(&mut *write, task).await?.ok_or_else(gone)?;
    let (mut askers, mut people): (Vec<Asker>, Vec<Author>) = (Vec::new(), Vec::new());
    for cause in causes(write, task).await? {
        let known = |asker: &Asker| asker.agent == cause.author.id;
        match (cause.author.kind, cause.evidence) {
            (AuthorKind::Member, _) if !people.contains(&cause.author) => people.push(cause.author),
            (AuthorKind::Agent, Evidence::Delegation) if !askers.iter().any(known) => {
                askers.push(asker(write, &issue, cause).await?);
            }
            (AuthorKind::Member | AuthorKind::Agent | AuthorKind::System, _) => {}
        }
    }
    Ok(Some(Locked {
        row,
        issue,
        askers,
        people,
    }))
}

async fn causes(write: &mut Write, task: TaskId) -> Result<Vec<Cause>, Error> {
    const LIST: &str = "SELECT cause_kind, comment, author_kind, author_id, author_name, author_task, originator, \
        accountable, evidence, depth, woken_at, root, again_of, originator_groups, team FROM wake_causes WHERE task = $1 \
        ORDER BY number DESC LIMIT $2";
    let list = query("list the causes of a task", LIST)
        .bind(task)
        .bind(CAUSES);
    list.all(write).await?.iter().map(Cause::read).collect()
}

async fn asker(write: &mut Write, here: &Issue, cause: Cause) -> Result<Asker, Error> {
    let asked_in = match cause.author_task {
        Some(task) => WakeRow::find(&mut *write, task).await?,
        None => None,
    };
    let team = asked_in.as_ref().and_then(|row| row.cause.team.clone());
    let elsewhere = match asked_in.filter(|row| row.issue != here.id) {
        Some(row) => issues::locked_by_id(write, row.issue)
            .await?
            .map(|issue| (issue, row.reply_to())),
        None => None,
    };
    Ok(Asker {
        agent: cause.author.id,
        team,
        elsewhere,
    })
}

/// The task is over: it takes in nothing more, and who caused it hears of what they must know.
pub(crate) async fn ended(
    write: &mut Write,
    locked: Option<Locked>,
    over: Over<'_>,
) -> Result<(), Error> {
    let Some(locked) = locked else {
        return Ok(());
    };
    close(write, over.task.id).await?;
    let workspace = WorkspaceRef {
        namespace: over.task.object.namespace.clone(),
        namespace_uid: over.task.object.namespace_uid.clone(),
    };
    let me = Author {
        kind: AuthorKind::Agent,
        id: over.task.agent.clone(),
        name: over.task.agent.clone(),
    };
    let how = how(over.verdict);
    if how == Ended::Failed || is_lost(&locked.row, how) {
        tell_people(write, &locked, &workspace, &me, &over).await?;
    }
    let chain = chain(write, &me, None, Some(over.task.id)).await?;
    for asker in &locked.askers {
        if asker.agent != me.id {
            give_back(write, &locked, asker, (&workspace, &chain), &over).await?;
        }
    }
    Ok(())
}

fn how(verdict: &Verdict) -> Ended {
    match verdict.outcome.class() {
        None => Ended::Succeeded,
        Some(FailureClass::Cancelled) => Ended::Cancelled,
        Some(_) => Ended::Failed,
    }
}

/// True for what was stopped before anybody had read it. Whoever deletes an AgentTask need not know whose words go
/// with it; who stops a run has seen what it did.
fn is_lost(row: &WakeRow, how: Ended) -> bool {
    how == Ended::Cancelled && row.opened_at.is_none()
}

/// A failure is for the people who caused the run; where only agents did that asked for nothing, for the one at
/// the top of the chain. So is what was lost, and of that agents hear nothing.
async fn tell_people(
    write: &mut Write,
    locked: &Locked,
    workspace: &WorkspaceRef,
    me: &Author,
    over: &Over<'_>,
) -> Result<(), Error> {
    let hears_agent = !locked.askers.is_empty() && !is_lost(&locked.row, how(over.verdict));
    let mut members: Vec<_> = locked
        .people
        .iter()
        .filter_map(|person| person.id.parse().ok())
        .collect();
    if members.is_empty()
        && !hears_agent
        && let Some(person) = &locked.row.cause.originator
    {
        let member = crate::members::of_user(&mut *write, workspace, &person.user).await?;
        members.extend(member.map(|member| member.id));
    }
    for member in members {
        let notice = Notice {
            member,
            kind: InboxKind::Failure,
            issue: locked.row.issue,
            comment: locked.row.cause.comment,
            author: me,
            now: over.now,
        };
        inbox::notify(write, notice).await?;
    }
    Ok(())
}

/// Whoever has asked was there, and a task of an agent that is gone meanwhile waits as any other.
struct Asking;

impl Directory for Asking {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        Some(AgentFacts {
            display_name: name.to_owned(),
            access: None,
        })
    }
}

/// Gives back what one agent asked of another.
async fn give_back(
    write: &mut Write,
    locked: &Locked,
    asker: &Asker,
    (workspace, chain): (&WorkspaceRef, &Chain),
    over: &Over<'_>,
) -> Result<(), Error> {
    let answer = last_answer(write, over.task.id, locked.row.issue).await?;
    let told = has_woken(write, over.task.id, &asker.agent).await?;
    let back = wake::hand_back(true, how(over.verdict), answer.is_some(), told);
    let (issue, thread) = match &asker.elsewhere {
        Some((issue, thread)) => (issue, *thread),
        None => (&locked.issue, locked.row.reply_to()),
    };
    let targets = [Target::leading(&asker.agent, asker.team.as_deref())];
    let begin = Begin {
        workspace,
        issue,
        kind: CauseKind::Comment,
        evidence: Evidence::HandBack,
        comment: None,
        thread,
        targets: &targets,
        suppress: &[],
        directory: &Asking,
        limits: write.limits(),
        now: over.now,
        fire_at: None,
    };
    let (comment, thread) = match (back, answer) {
        (HandBack::Nothing, _) => return Ok(()),
        (HandBack::Answer, Some(answer)) if asker.elsewhere.is_none() => answer,
        (HandBack::Answer | HandBack::Word, _) => {
            // Where a guard holds it back, what the guard says is enough.
            let decided = begin.decided(write, chain).await?;
            if decided.iter().any(|decision| decision.blocked.is_some()) {
                return Ok(());
            }
            let failure = over.verdict.outcome.class().map(FailureClass::as_str);
            let key = locked.issue.key.to_string();
            let answered = back == HandBack::Answer;
            let text = wake::delegate_ended(&over.task.agent, &key, failure, answered);
            let said = comments::say(write, issue, (thread, None), &text, over.now).await?;
            (said, thread.unwrap_or(said))
        }
    };
    let begin = Begin {
        comment: Some(comment),
        thread: Some(thread),
        ..begin
    };
    begin.now(write, chain).await?;
    Ok(())
}

/// The last comment that a task wrote on its issue, and its thread.
async fn last_answer(
    write: &mut Write,
    task: TaskId,
    issue: IssueId,
) -> Result<Option<(CommentId, CommentId)>, Error> {
    const LAST: &str = "SELECT id, thread FROM comments WHERE task = $1 AND issue = $2 AND deleted_at IS NULL \
        AND author_kind = 'agent' ORDER BY created_at DESC, id DESC LIMIT 1";
    let find = query("find the answer of a task", LAST)
        .bind(task)
        .bind(issue);
    let found = find.optional(write).await?;
    let id = |row: &crate::db::Row, column| row.get::<Uuid>(column).map(CommentId);
    found
        .map(|row| Ok((id(&row, "id")?, id(&row, "thread")?)))
        .transpose()
}

/// Whether something that a task wrote has woken this agent.
async fn has_woken(write: &mut Write, task: TaskId, agent: &str) -> Result<bool, Error> {
    const FIND: &str =
        "SELECT 1 AS found FROM wake_causes WHERE author_task = $1 AND agent = $2 LIMIT 1";
    let find = query("look whether a task has woken an agent", FIND)
        .bind(task)
        .bind(agent);
    Ok(find.optional(write).await?.is_some())
}
