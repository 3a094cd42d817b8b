//! Issues that an agent writes from what a person said in a sentence.
//!
//! The task makes the issue with its own token, and by that it is linked: never by what its texts say. A task that is
//! over without an issue leaves what it was to be made from in the inbox of the person.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, InboxEntry, InboxKind, Issue, IssueKey, NewQuickIssue, QuickCause,
    QuickIssue,
};
use protocol::{FailureClass, InboxId, IssueId, MemberId, SessionPolicy, Subject, TaskId, limits};
use uuid::Uuid;
use wake::Directory;

use crate::born::{self, Birth};
use crate::chats::title;
use crate::db::{Conn, Row, Sql, query, to_json};
use crate::inbox::{self, Notice};
use crate::tasks::new_id;
use crate::wakes::Over;
use crate::writes::Write;
use crate::{Acting, Error, Store, WorkspaceRef, WritePoint, requests, text};

/// Somebody waits for the issue.
const PRIORITY: i32 = 100;

macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT task, agent, member, user_name, user_groups, text, quick_issues.created_at AS created_at, ended_at, \
             failure, prefix, number, entry, is_read FROM quick_issues JOIN members ON members.id = member \
             JOIN workspaces ON workspaces.namespace_uid = quick_issues.namespace_uid \
             LEFT JOIN issues ON issues.id = issue ",
            $which
        )
    };
}

/// What a task was to write, with who asked.
struct Found {
    quick: QuickIssue,
    member: MemberId,
    user: String,
    groups: Vec<String>,
    entry: Option<(InboxId, bool)>,
}

/// What the end of a task writes to, locked.
pub(crate) struct LockedQuick {
    member: MemberId,
    issue: Option<IssueId>,
}

impl Store {
    /// Asks an agent to write an issue; with [`Store::for_request`] once.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such agent, [`Error::Invalid`] for a text that cannot be one,
    /// [`Error::Conflict`] when as many are being written for the person as may, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn ask_quick_issue(
        &self,
        by: &Acting,
        member: MemberId,
        new: &NewQuickIssue,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<QuickIssue, Error> {
        const INSERT: &str = "INSERT INTO quick_issues (task, namespace_uid, agent, member, user_groups, text, created_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        text::said("text", &new.text)?;
        born::check_agent(by, &new.agent, directory)?;
        let mut write = self.write(WritePoint::AskQuickIssue).await?;
        write.queue(&by.workspace, directory).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            let found = find(&mut write, TaskId(made.id)).await?;
            let gone = || Error::Missing {
                what: format!("task {}", made.id),
            };
            return Ok(found.ok_or_else(gone)?.quick);
        }
        // Two that are asked for at once would not count each other.
        write
            .serialize(&format!("quick issues of {member}"))
            .await?;
        check_room(&mut write, member).await?;
        let birth = Birth {
            workspace: &by.workspace,
            agent: &new.agent,
            subject: Subject {
                kind: Subject::QUICK_ISSUE.to_owned(),
                name: member.to_string(),
            },
            // What was asked for before has nothing to do with it.
            policy: SessionPolicy::Fresh,
            priority: PRIORITY,
            max_queued: directory.max_queued(),
            now,
        };
        let session = birth.session(&mut write).await?;
        let task = birth.task(&mut write, session).await?;
        let insert = query("ask for an issue", INSERT)
            .bind(task)
            .bind(by.workspace.namespace_uid.as_str())
            .bind(new.agent.as_str())
            .bind(member)
            .bind(to_json("groups", &by.groups)?);
        insert
            .bind(new.text.as_str())
            .bind(now)
            .execute(&mut write)
            .await?;
        requests::keep(&mut write, by, task.0, &[], now).await?;
        write.commit().await?;
        Ok(QuickIssue {
            task,
            agent: new.agent.clone(),
            text: new.text.clone(),
            issue: None,
            failure: None,
            created: now,
            ended: None,
        })
    }

    /// What was asked for by this person. What others asked for is not there.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn quick_issue(
        &self,
        member: MemberId,
        task: TaskId,
    ) -> Result<Option<QuickIssue>, Error> {
        let found = find(&mut self.reader().await?, task).await?;
        Ok(found
            .filter(|found| found.member == member)
            .map(|found| found.quick))
    }

    /// What a task is to write, for its package; `None` for a task that is to write none.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn quick_cause(&self, task: TaskId) -> Result<Option<QuickCause>, Error> {
        let found = find(&mut self.reader().await?, task).await?;
        Ok(found.map(|found| QuickCause {
            author: Author {
                kind: AuthorKind::Member,
                id: found.member.to_string(),
                name: found.user,
            },
            text: found.quick.text,
            issue: found.quick.issue,
        }))
    }
}

/// Who asked for the issue that a task is to write: for whom the task acts.
pub(crate) async fn asked_by(
    on: impl Into<Conn<'_>>,
    task: TaskId,
) -> Result<Option<(String, Vec<String>)>, Error> {
    let found = find(on, task).await?;
    Ok(found.map(|found| (found.user, found.groups)))
}

async fn find(on: impl Into<Conn<'_>>, task: TaskId) -> Result<Option<Found>, Error> {
    const FIND: &str = select!("WHERE task = $1");
    let find = query("read what an issue is to be written from", FIND).bind(task);
    find.optional(on).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Found, Error> {
    let number: Option<i64> = row.get("number")?;
    let issue = match number {
        Some(_) => Some(IssueKey {
            prefix: row.get("prefix")?,
            number: row.u32("number")?,
        }),
        None => None,
    };
    let failure: Option<String> = row.get("failure")?;
    let failure = failure.map(|word| {
        FailureClass::parse(&word).ok_or(Error::Corrupt {
            what: "failure",
            found: word,
        })
    });
    let entry: Option<Uuid> = row.get("entry")?;
    let is_read: bool = row.get("is_read")?;
    Ok(Found {
        quick: QuickIssue {
            task: TaskId(row.get("task")?),
            agent: row.get("agent")?,
            text: row.get("text")?,
            issue,
            failure: failure.transpose()?,
            created: row.time("created_at")?,
            ended: row.time_opt("ended_at")?,
        },
        member: MemberId(row.get("member")?),
        user: row.get("user_name")?,
        groups: row.json("user_groups")?,
        entry: entry.map(|entry| (InboxId(entry), is_read)),
    })
}

async fn check_room(write: &mut Write, member: MemberId) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*) AS asked FROM (SELECT 1 FROM quick_issues WHERE member = $1 \
        AND ended_at IS NULL LIMIT $2) AS counted";
    let count = query("count issues that are being written", COUNT)
        .bind(member)
        .bind(limits::QUICK_ISSUES_PER_PERSON);
    if count.one(write).await?.u32("asked")? < limits::QUICK_ISSUES_PER_PERSON {
        return Ok(());
    }
    Err(Error::Conflict {
        what: format!(
            "{} issues are being written for you already: wait for one of them, or write it yourself",
            limits::QUICK_ISSUES_PER_PERSON
        ),
    })
}

/// The first issue that such a task makes is the one that it was asked for; further ones are parts of that.
pub(crate) async fn link(
    write: &mut Write,
    task: Option<TaskId>,
    issue: &Issue,
) -> Result<(), Error> {
    const LINK: &str =
        "UPDATE quick_issues SET issue = $2 WHERE task = $1 AND issue IS NULL AND ended_at IS NULL";
    let Some(task) = task.filter(|_| issue.parent.is_none()) else {
        return Ok(());
    };
    let link = query("link an issue to its task", LINK)
        .bind(task)
        .bind(issue.id);
    if link.execute(&mut *write).await? == 1 {
        return Ok(());
    }
    match find(write, task).await?.and_then(|found| found.quick.issue) {
        Some(made) => Err(Error::Conflict {
            what: format!(
                "this task has made {made}, and was asked for one issue: change that one, or make a part of it"
            ),
        }),
        None => Ok(()),
    }
}

/// Locks what the end of a task writes to, before its session is locked as everywhere.
pub(crate) async fn lock(write: &mut Write, task: TaskId) -> Result<Option<LockedQuick>, Error> {
    const FIND: Sql = Sql {
        sqlite: "SELECT member, issue FROM quick_issues WHERE task = $1",
        postgres: "SELECT member, issue FROM quick_issues WHERE task = $1 FOR UPDATE",
    };
    let found = query("lock what an issue is written from", FIND).bind(task);
    let found = found.optional(write).await?;
    found
        .map(|row| {
            Ok(LockedQuick {
                member: MemberId(row.get("member")?),
                issue: row.get::<Option<Uuid>>("issue")?.map(IssueId),
            })
        })
        .transpose()
}

/// The task is over: the person hears that the issue is there, else gets the text back.
pub(crate) async fn ended(
    write: &mut Write,
    quick: Option<LockedQuick>,
    over: &Over<'_>,
) -> Result<(), Error> {
    const END: &str =
        "UPDATE quick_issues SET ended_at = $2, failure = $3, entry = $4 WHERE task = $1";
    let Some(quick) = quick else {
        return Ok(());
    };
    let failure = over.verdict.outcome.class();
    let entry = match quick.issue {
        Some(_) => None,
        None => Some(new_id(over.now)?),
    };
    let end = query("note that the task of an issue is over", END)
        .bind(over.task.id)
        .bind(over.now)
        .bind(failure.map(FailureClass::as_str))
        .bind(entry);
    end.execute(&mut *write).await?;
    if let Some(issue) = quick.issue {
        let author = agent(&over.task.agent);
        let notice = Notice {
            member: quick.member,
            kind: InboxKind::IssueMade,
            issue,
            comment: None,
            author: &author,
            now: over.now,
        };
        inbox::notify(write, notice).await?;
    }
    Ok(())
}

fn agent(name: &str) -> Author {
    Author {
        kind: AuthorKind::Agent,
        id: name.to_owned(),
        name: name.to_owned(),
    }
}

/// Entries of an inbox for issues that were not made, newest first.
pub(crate) async fn entries(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    member: MemberId,
    (limit, before): (u32, Uuid),
) -> Result<Vec<InboxEntry>, Error> {
    const LIST: &str = select!(
        "WHERE member = $1 AND entry IS NOT NULL AND NOT archived AND entry < $2 \
         AND quick_issues.namespace_uid = $3 ORDER BY entry DESC LIMIT $4"
    );
    let list = query("list issues that were not made", LIST)
        .bind(member)
        .bind(before)
        .bind(workspace.namespace_uid.as_str())
        .bind(limit);
    let rows = list.all(on).await?;
    let found: Result<Vec<Found>, Error> = rows.iter().map(read).collect();
    Ok(found?.into_iter().filter_map(as_entry).collect())
}

fn as_entry(found: Found) -> Option<InboxEntry> {
    let (id, read) = found.entry?;
    Some(InboxEntry {
        id,
        kind: InboxKind::Failure,
        issue: None,
        title: title(&found.quick.text),
        comment: None,
        approval: None,
        author: agent(&found.quick.agent),
        read,
        created: found.quick.ended?,
        task: Some(found.quick.task),
        text: Some(found.quick.text),
    })
}

/// Marks such an entry as read, or puts it away; says whether it is one of theirs.
pub(crate) async fn settle(
    write: &mut Write,
    member: MemberId,
    entry: InboxId,
    archive: bool,
) -> Result<bool, Error> {
    const READ: &str =
        "UPDATE quick_issues SET is_read = TRUE WHERE entry = $1 AND member = $2 AND NOT archived";
    const ARCHIVE: &str =
        "UPDATE quick_issues SET archived = TRUE WHERE entry = $1 AND member = $2";
    let update = query(
        "change an entry for an issue that was not made",
        if archive { ARCHIVE } else { READ },
    );
    Ok(update.bind(entry).bind(member).execute(write).await? == 1)
}
