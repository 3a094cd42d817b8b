//! Writing a comment: stored, decided and queued in one transaction.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, CauseKind, Comment, InboxKind, Issue, IssueKey, NewComment, Posted,
    Preview, WakeOutcome,
};
use protocol::{CommentId, MemberId, TaskId};
use wake::{Directory, Said, Target, Thread, mentions};

use super::read::{find, find_any, led_in, woken_by};
use super::{files, missing};
use crate::db::query;
use crate::inbox::{self, Notice};
use crate::tasks::new_id;
use crate::wakes::{self, Begin, Looks};
use crate::writes::Write;
use crate::{
    Acting, Error, Store, WorkspaceRef, WritePoint, issues, members, requests, subscribers, text,
};

/// What Mooring is called as an author.
const MOORING: &str = "Mooring";
/// Members that one comment tells when it names everybody.
const EVERYBODY: u32 = 1000;
/// Comments that a task may write, deleted ones included: no agent fills the store.
pub const TASK_COMMENTS: u32 = 500;

impl Store {
    /// Writes a comment. Who it wakes is decided and queued in the same transaction, as the outcomes say. A reply
    /// opens its thread again. With [`Store::for_request`] it is written once.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a text that cannot be one, [`Error::Missing`] when there is no such issue or parent,
    /// [`Error::Conflict`] when the agent's task has written as many as it may, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn post_comment(
        &self,
        by: &Acting,
        key: &IssueKey,
        new: NewComment,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Posted, Error> {
        check_body(&new.body)?;
        files::check(&new.attachments)?;
        let fire_at = wakes::fire_at(new.wake_at, now)?;
        let mut write = self.write(WritePoint::PostComment).await?;
        write.queue(&by.workspace, directory).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            return Ok(Posted {
                comment: fresh(&mut write, CommentId(made.id)).await?,
                wakes: made.wakes,
            });
        }
        let issue = issues::locked(&mut write, &by.workspace, key)
            .await?
            .ok_or_else(|| no_issue(key))?;
        check_room(&mut write, by.task).await?;
        let thread = place(&mut write, &issue, new.parent).await?;
        let id = CommentId(new_id(now)?);
        let root = thread.as_ref().map_or(id, |(root, _)| *root);
        let written = Written {
            id,
            root,
            parent: new.parent,
            author: &by.author,
            body: &new.body,
            task: by.task,
            wake_at: fire_at,
            now,
        };
        insert(&mut write, &issue, written).await?;
        files::name(&mut write, &issue, id, &new.attachments).await?;
        if by.author.kind == AuthorKind::Member {
            wakes::reset(&mut write, issue.id).await?;
        }
        let said = (&by.author, new.body.as_str());
        let meant = meant(said, thread.as_ref().map(|it| &it.1), &issue, directory);
        let chain = wakes::chain(&mut write, &by.author, by.person(), by.task).await?;
        let begin = Begin {
            workspace: &by.workspace,
            issue: &issue,
            kind: CauseKind::Comment,
            evidence: chain.evidence(),
            comment: Some(id),
            thread: Some(root),
            targets: &meant,
            suppress: &new.suppress,
            directory,
            limits: self.limits,
            now,
            fire_at,
        };
        let wakes = begin.now(&mut write, &chain).await?;
        tell(&mut write, &by.workspace, &issue, written).await?;
        requests::keep(&mut write, by, id.0, &wakes, now).await?;
        let comment = fresh(&mut write, id).await?;
        write.commit().await?;
        Ok(Posted { comment, wakes })
    }

    /// What [`Store::post_comment`] would answer; nothing is written.
    ///
    /// # Errors
    /// As [`Store::post_comment`].
    pub async fn preview_comment(
        &self,
        by: &Acting,
        key: &IssueKey,
        new: &NewComment,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Preview, Error> {
        check_body(&new.body)?;
        let fire_at = wakes::fire_at(new.wake_at, now)?;
        let issue = self.issue(&by.workspace, key).await?;
        let issue = issue.ok_or_else(|| no_issue(key))?;
        let mut reader = self.reader().await?;
        check_room(&mut reader, by.task).await?;
        let thread = place(&mut reader, &issue, new.parent).await?;
        // A thread that is not there yet is like no other.
        let root = thread
            .as_ref()
            .map_or(CommentId(new_id(now)?), |(root, _)| *root);
        let said = (&by.author, new.body.as_str());
        let meant = meant(said, thread.as_ref().map(|it| &it.1), &issue, directory);
        let chain = wakes::chain(&mut reader, &by.author, by.person(), by.task).await?;
        let begin = Begin {
            workspace: &by.workspace,
            issue: &issue,
            kind: CauseKind::Comment,
            evidence: chain.evidence(),
            comment: None,
            thread: Some(root),
            targets: &meant,
            suppress: &new.suppress,
            directory,
            limits: self.limits,
            now,
            fire_at,
        };
        let wakes: Vec<WakeOutcome> = begin.foreseen(&mut reader, &chain).await?;
        Ok(Preview { wakes })
    }
}

pub(crate) fn check_body(body: &str) -> Result<(), Error> {
    text::said("comment", body)
}

/// Whether an agent's task may write one more.
async fn check_room(on: &mut impl Looks, task: Option<TaskId>) -> Result<(), Error> {
    if has_room(on, task).await? {
        return Ok(());
    }
    Err(Error::Conflict {
        what: format!("this task has written {TASK_COMMENTS} comments, as many as a task may"),
    })
}

/// Whether an agent's task has written, or made Mooring write, less than it may. People always have.
pub(crate) async fn has_room(on: &mut impl Looks, task: Option<TaskId>) -> Result<bool, Error> {
    const COUNT: &str = "SELECT count(*) AS written FROM comments WHERE task = $1";
    let Some(task) = task else {
        return Ok(true);
    };
    let count = query("count the comments of a task", COUNT).bind(task);
    Ok(count.one(on.conn()).await?.u32("written")? < TASK_COMMENTS)
}

fn no_issue(key: &IssueKey) -> Error {
    Error::Missing {
        what: format!("issue {key}"),
    }
}

/// Whom a comment on this issue means, and who works for them.
pub(super) fn meant(
    (author, text): (&Author, &str),
    thread: Option<&Thread>,
    issue: &Issue,
    directory: &dyn Directory,
) -> Vec<Target> {
    let said = Said {
        author,
        text,
        thread,
        assignee: issue.assignee.as_ref(),
    };
    wake::meant(&said, directory)
}

/// The thread of the comment that is answered, and what is known of it.
pub(super) async fn place(
    on: &mut impl Looks,
    issue: &Issue,
    parent: Option<CommentId>,
) -> Result<Option<(CommentId, Thread)>, Error> {
    let Some(parent) = parent else {
        return Ok(None);
    };
    let found = find(on.conn(), parent).await?;
    let found = found
        .filter(|found| found.issue == issue.id)
        .ok_or_else(|| missing(parent))?;
    Ok(Some(in_thread(on, found.comment).await?))
}

/// What is known of the thread of a comment that is answered.
pub(super) async fn in_thread(
    on: &mut impl Looks,
    answered: Comment,
) -> Result<(CommentId, Thread), Error> {
    let root = match answered.thread == answered.id {
        true => answered.clone(),
        // Also one that was deleted has its author.
        false => find_any(on.conn(), answered.thread)
            .await?
            .map(|found| found.comment)
            .ok_or_else(|| missing(answered.thread))?,
    };
    let spoke = match answered.author.kind {
        AuthorKind::Agent | AuthorKind::Member => answered.task,
        AuthorKind::System => root.task,
    };
    let thread = Thread {
        parent: answered.author,
        leads: match spoke {
            Some(task) => led_in(on.conn(), task).await?,
            None => None,
        },
        root: root.author,
        root_text: root.body,
        root_woke: woken_by(on.conn(), root.id).await?,
    };
    Ok((root.id, thread))
}

/// A comment to be stored.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) id: CommentId,
    /// Itself, where it begins a thread.
    pub(super) root: CommentId,
    pub(super) parent: Option<CommentId>,
    pub(super) author: &'a Author,
    pub(super) body: &'a str,
    pub(super) task: Option<TaskId>,
    /// Before when it wakes nobody.
    pub(super) wake_at: Option<Timestamp>,
    pub(super) now: Timestamp,
}

pub(super) async fn insert(
    write: &mut Write,
    issue: &Issue,
    written: Written<'_>,
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO comments (id, issue, thread, author_kind, author_id, author_name, body, task, \
        last_activity_at, parent, wake_at, revision, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $9)";
    const ANSWERED: &str = "UPDATE comments SET replies = replies + 1, last_activity_at = $2, resolved = $3 WHERE id = $1";
    let insert = query("write a comment", INSERT)
        .bind(written.id)
        .bind(issue.id)
        .bind(written.root)
        .bind(written.author.kind.as_str())
        .bind(written.author.id.as_str())
        .bind(written.author.name.as_str());
    insert
        .bind(written.body)
        .bind(written.task)
        .bind(written.now)
        .bind(written.parent)
        .bind(written.wake_at)
        .execute(&mut *write)
        .await?;
    if written.root != written.id {
        let answered = query("note a reply", ANSWERED).bind(written.root);
        answered
            .bind(written.now)
            .bind(false)
            .execute(&mut *write)
            .await?;
    }
    issues::count_comments(write, issue.id, 1).await
}

/// Mooring itself says something on an issue, which is locked; in this thread, or in a new one. What an agent can
/// make it say again and again is counted as its task's.
pub(crate) async fn say(
    write: &mut Write,
    issue: &Issue,
    (thread, task): (Option<CommentId>, Option<TaskId>),
    body: &str,
    now: Timestamp,
) -> Result<CommentId, Error> {
    let id = CommentId(new_id(now)?);
    let author = Author {
        kind: AuthorKind::System,
        id: String::new(),
        name: MOORING.to_owned(),
    };
    let written = Written {
        id,
        root: thread.unwrap_or(id),
        parent: thread,
        author: &author,
        body,
        task,
        wake_at: None,
        now,
    };
    insert(write, issue, written).await?;
    Ok(id)
}

/// The comment as it stands in the open transaction.
pub(crate) async fn fresh(write: &mut Write, id: CommentId) -> Result<Comment, Error> {
    let found = find(&mut *write, id).await?.ok_or_else(|| missing(id))?;
    let mut comment = found.comment;
    if found.files > 0 {
        comment.attachments = files::of(&mut *write, id).await?;
    }
    Ok(comment)
}

/// Tells the people whom a new comment names, and who follows the issue, as its author does from now on.
pub(super) async fn tell(
    write: &mut Write,
    workspace: &WorkspaceRef,
    issue: &Issue,
    written: Written<'_>,
) -> Result<(), Error> {
    let (id, author, now) = (written.id, written.author, written.now);
    let text = (id, written.body);
    let named = tell_named(write, workspace, issue, text, author, now).await?;
    if let Some(member) = members::who(author) {
        subscribers::follow(write, issue.id, member).await?;
    }
    subscribers::tell(write, issue.id, (id, author), &named, now).await
}

/// Tells the people whom a text names, and says who they are; whom it names themselves follows the issue from now on.
/// Whoever is no member of the workspace is passed over; of everybody, the first [`EVERYBODY`] are told, if it is a
/// person who calls them.
pub(super) async fn tell_named(
    write: &mut Write,
    workspace: &WorkspaceRef,
    issue: &Issue,
    (comment, body): (CommentId, &str),
    author: &Author,
    now: Timestamp,
) -> Result<Vec<MemberId>, Error> {
    let meant = mentions(body);
    let mut named = match meant.all && author.kind == AuthorKind::Member {
        true => everybody(write, workspace).await?,
        false => Vec::new(),
    };
    let mut own = Vec::new();
    for member in meant.members {
        let known = members::find(&mut *write, workspace, member).await?;
        if known.is_none() {
            continue;
        }
        subscribers::follow(write, issue.id, member).await?;
        own.push(member);
        if !named.contains(&member) {
            named.push(member);
        }
    }
    for member in &named {
        let notice = Notice {
            member: *member,
            kind: InboxKind::Mention,
            issue: issue.id,
            comment: Some(comment),
            author,
            now,
        };
        // An edit that leaves the name where it was is no reason.
        if inbox::notify(write, notice).await? && own.contains(member) {
            subscribers::hear_again(write, issue.id, *member).await?;
        }
    }
    Ok(named)
}

async fn everybody(write: &mut Write, workspace: &WorkspaceRef) -> Result<Vec<MemberId>, Error> {
    const LIST: &str = "SELECT id FROM members WHERE namespace_uid = $1 ORDER BY id LIMIT $2";
    let list = query("list everybody", LIST)
        .bind(workspace.namespace_uid.as_str())
        .bind(EVERYBODY);
    let rows = list.all(write).await?;
    rows.iter().map(|row| row.get("id").map(MemberId)).collect()
}
