//! An agent's program waits, and who is told.

use jiff::{SignedDuration, Timestamp};
use protocol::board::ApprovalState;
use protocol::{ApprovalId, AttemptId, IssueId, MemberId, TaskId, limits};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::find;
use crate::db::{Conn, Sql, query, to_json};
use crate::tasks::{TaskRow, locked, new_id};
use crate::writes::Write;
use crate::{Error, Store, WritePoint};

/// What a person is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Names it within the attempt.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What the tool is to be given.
    pub input: Value,
    /// Why somebody is asked.
    pub why: String,
    /// How long somebody can decide.
    pub seconds: u32,
}

/// A question that waits, or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Names it from now on.
    pub approval: ApprovalId,
    /// Until when somebody can decide.
    pub expires: Timestamp,
}

impl Store {
    /// Asks people. The same call of the same attempt asks once; what was decided on it stands, for what it was asked
    /// about. Who follows the issue of
    /// the task is told, or whose chat it is.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the attempt has ended, asks too much or something else by the same name, [`Error::Missing`], [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn ask(
        &self,
        attempt: AttemptId,
        question: &Question,
        now: Timestamp,
    ) -> Result<Asked, Error> {
        const INSERT: &str = "INSERT INTO approvals (id, namespace_uid, task, attempt, call_id, member, tool, input, why, \
            state, asked_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let mut write = self.write(WritePoint::AskApproval).await?;
        let (task, _) = locked(&mut write, attempt.task).await?;
        if let Some(asked) = before(&mut write, attempt, question).await? {
            return Ok(asked);
        }
        check_room(&mut write, attempt, &task).await?;
        let about = about(&mut write, attempt.task).await?;
        let id = new_id(now)?;
        let wait = SignedDuration::from_secs(question.seconds.into());
        let expires = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        let insert = query("ask for an approval", INSERT)
            .bind(id)
            .bind(task.object.namespace_uid.as_str())
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(question.call_id.as_str())
            .bind(about.private());
        let insert = insert
            .bind(question.tool.as_str())
            .bind(to_json("input", &question.input)?)
            .bind(question.why.as_str())
            .bind(ApprovalState::Pending.as_str())
            .bind(now)
            .bind(expires);
        insert.execute(&mut write).await?;
        let approval = ApprovalId(id);
        tell(&mut write, approval, &task, about, now).await?;
        write.changed(attempt.task);
        write.commit().await?;
        Ok(Asked { approval, expires })
    }
}

/// The same question, asked before.
async fn before(
    write: &mut Write,
    attempt: AttemptId,
    question: &Question,
) -> Result<Option<Asked>, Error> {
    const FIND: &str =
        "SELECT id, tool, input FROM approvals WHERE task = $1 AND attempt = $2 AND call_id = $3";
    let find_call = query("look for a question", FIND)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(question.call_id.as_str());
    let Some(row) = find_call.optional(&mut *write).await? else {
        return Ok(None);
    };
    let (tool, input): (String, String) = (row.get("tool")?, row.get("input")?);
    if tool != question.tool || input != to_json("input", &question.input)? {
        return Err(Error::Conflict {
            what: format!(
                "call {} was asked about already, with another input",
                question.call_id
            ),
        });
    }
    let found = find(write, ApprovalId(row.get("id")?)).await?;
    Ok(found.map(|found| Asked {
        approval: found.id,
        expires: found.expires,
    }))
}

/// An attempt that has ended asks nothing, and one that lives neither too much at a time nor for ever.
async fn check_room(write: &mut Write, attempt: AttemptId, task: &TaskRow) -> Result<(), Error> {
    const PENDING: &str = "SELECT count(*) AS pending FROM (SELECT 1 FROM approvals WHERE task = $1 \
        AND state = 'pending' LIMIT $2) AS counted";
    const ALL: &str = "SELECT count(*) AS pending FROM (SELECT 1 FROM approvals WHERE task = $1 AND attempt = $2 \
        LIMIT $3) AS counted";
    let refuse = |what: String| Err(Error::Conflict { what });
    if task.attempt != attempt.number || !task.state.is_active() {
        return refuse("the attempt has ended".to_owned());
    }
    let pending = query("count open questions", PENDING)
        .bind(attempt.task)
        .bind(limits::APPROVALS_PENDING);
    if pending.one(&mut *write).await?.u32("pending")? >= limits::APPROVALS_PENDING {
        return refuse(format!(
            "{} decisions are waited for already",
            limits::APPROVALS_PENDING
        ));
    }
    let all = query("count questions", ALL)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(limits::APPROVALS_PER_ATTEMPT);
    if all.one(write).await?.u32("pending")? >= limits::APPROVALS_PER_ATTEMPT {
        return refuse(format!(
            "people were asked {} times in this run, which is as often as one may",
            limits::APPROVALS_PER_ATTEMPT
        ));
    }
    Ok(())
}

/// What a task is about, as far as that says who is told.
#[derive(Clone, Copy)]
enum About {
    Issue(IssueId),
    /// A chat of this person, or an issue that is made for them.
    Person(MemberId),
    Neither,
}

impl About {
    /// Who alone sees it.
    fn private(self) -> Option<MemberId> {
        match self {
            Self::Person(member) => Some(member),
            Self::Issue(_) | Self::Neither => None,
        }
    }
}

async fn about(on: impl Into<Conn<'_>>, task: TaskId) -> Result<About, Error> {
    const FIND: &str = "SELECT (SELECT issue FROM wakes WHERE wakes.task = $1) AS issue, \
        (SELECT member FROM quick_issues WHERE quick_issues.task = $1) AS asker, \
        (SELECT member FROM chat_tasks JOIN chats ON chats.id = chat_tasks.chat WHERE chat_tasks.task = $1) AS member";
    let row = query("look what a task is about", FIND)
        .bind(task)
        .one(on)
        .await?;
    let issue: Option<Uuid> = row.get("issue")?;
    let person = row.get::<Option<Uuid>>("member")?;
    let person = person.or(row.get::<Option<Uuid>>("asker")?);
    Ok(match (issue, person) {
        (Some(issue), _) => About::Issue(IssueId(issue)),
        (None, Some(member)) => About::Person(MemberId(member)),
        (None, None) => About::Neither,
    })
}

/// Puts it into inboxes, one statement for all. Whether they may decide is asked when they look. What told of earlier
/// questions of the task that are settled makes room: there are never more entries than questions that wait, and
/// nobody reads of the same task again and again.
async fn tell(
    write: &mut Write,
    approval: ApprovalId,
    task: &TaskRow,
    about: About,
    now: Timestamp,
) -> Result<(), Error> {
    const ROOM: &str = "DELETE FROM approval_entries WHERE approval IN \
        (SELECT id FROM approvals WHERE task = $1 AND state <> 'pending')";
    const LIST: &str =
        "SELECT member FROM subscriptions WHERE issue = $1 AND NOT muted ORDER BY member LIMIT $2";
    // The last condition tells SQLite where the list ends and what to do on a conflict begins.
    const TELL: Sql = Sql {
        sqlite: "INSERT INTO approval_entries (id, member, approval, namespace_uid, created_at) \
            SELECT unhex(value ->> 'id'), unhex(value ->> 'member'), $2, $3, $4 FROM json_each($1) \
            WHERE TRUE ON CONFLICT DO NOTHING",
        postgres: "INSERT INTO approval_entries (id, member, approval, namespace_uid, created_at) \
            SELECT id, member, $2, $3, $4 FROM json_to_recordset($1::json) AS entry (id uuid, member uuid) \
            WHERE TRUE ON CONFLICT DO NOTHING",
    };
    let room = query("clear what told of earlier questions", ROOM).bind(task.id);
    room.execute(&mut *write).await?;
    let mut entries = Vec::new();
    match about {
        About::Neither => {}
        About::Person(member) => entries.push(Entry::new(member, now)?),
        About::Issue(issue) => {
            let list = query("list whom a question tells", LIST)
                .bind(issue)
                .bind(limits::SUBSCRIBERS);
            for row in list.all(&mut *write).await? {
                entries.push(Entry::new(MemberId(row.get("member")?), now)?);
            }
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let tell = query("tell of a question", TELL)
        .bind(to_json("entries of inboxes", &entries)?)
        .bind(approval)
        .bind(task.object.namespace_uid.as_str())
        .bind(now);
    tell.execute(write).await?;
    Ok(())
}

/// An entry for a member, in a form that both databases read.
#[derive(Serialize)]
struct Entry {
    id: String,
    member: String,
}

impl Entry {
    fn new(member: MemberId, now: Timestamp) -> Result<Self, Error> {
        Ok(Self {
            id: new_id(now)?.simple().to_string(),
            member: member.0.simple().to_string(),
        })
    }
}
