//! A cause, and the row of a task that causes woke.

use jiff::Timestamp;
use protocol::board::{Author, CauseKind};
use protocol::{CommentId, IssueId, TaskId};
use uuid::Uuid;
use wake::Person;

use crate::Error;
use crate::db::{Conn, Query, Row, query, to_json};
use crate::issues::read_author;

/// What makes a cause one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A person wrote it.
    Person,
    /// An agent asks another one for something.
    Delegation,
    /// What an agent asked for comes back to it.
    HandBack,
    /// Parts of the issue are done.
    Children,
}

impl Evidence {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Delegation => "delegation",
            Self::HandBack => "handBack",
            Self::Children => "children",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [
            Self::Person,
            Self::Delegation,
            Self::HandBack,
            Self::Children,
        ]
        .into_iter()
        .find(|evidence| evidence.as_str() == word)
    }
}

/// Why an agent was woken, and who answers for it. Copied when it happens: nothing is looked up along the chain
/// later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) comment: Option<CommentId>,
    /// Who caused it.
    pub(crate) author: Author,
    /// The task in which an agent did.
    pub(crate) author_task: Option<TaskId>,
    /// The user at the top of the chain.
    pub(crate) originator: Option<Person>,
    /// The user who answers for it.
    pub(crate) accountable: Option<String>,
    pub(crate) evidence: Evidence,
    /// Agents in the chain; 0 when a person caused it.
    pub(crate) depth: u32,
    pub(crate) at: Timestamp,
    /// What the person at the top of the chain did.
    pub(crate) root: Option<Uuid>,
    /// The task that is to be done again.
    pub(crate) again_of: Option<TaskId>,
    /// The team that the agent is woken to lead.
    pub(crate) team: Option<String>,
}

impl Cause {
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            kind: row.word("cause_kind", CauseKind::parse)?,
            comment: row.get::<Option<Uuid>>("comment")?.map(CommentId),
            author: read_author(row)?,
            author_task: row.get::<Option<Uuid>>("author_task")?.map(TaskId),
            originator: originator(row)?,
            accountable: row.get("accountable")?,
            evidence: row.word("evidence", Evidence::parse)?,
            depth: row.u32("depth")?,
            at: row.time("woken_at")?,
            root: row.get("root")?,
            again_of: row.get::<Option<Uuid>>("again_of")?.map(TaskId),
            team: row.get("team")?,
        })
    }

    /// Binds the columns of a cause, in the order in which every statement names them.
    pub(super) fn bind(&self, query: Query) -> Result<Query, Error> {
        let originator = self.originator.as_ref();
        let groups = originator.map(|person| to_json("groups", &person.groups));
        Ok(query
            .bind(self.kind.as_str())
            .bind(self.comment)
            .bind(self.author.kind.as_str())
            .bind(self.author.id.as_str())
            .bind(self.author.name.as_str())
            .bind(self.author_task)
            .bind(originator.map(|person| person.user.as_str()))
            .bind(self.accountable.as_deref())
            .bind(self.evidence.as_str())
            .bind(self.depth)
            .bind(self.at)
            .bind(self.root)
            .bind(self.again_of)
            .bind(groups.transpose()?)
            .bind(self.team.as_deref()))
    }
}

/// Rows from before groups were kept have none.
fn originator(row: &Row) -> Result<Option<Person>, Error> {
    let Some(user) = row.get("originator")? else {
        return Ok(None);
    };
    let groups = row.json_opt("originator_groups")?.unwrap_or_default();
    Ok(Some(Person { user, groups }))
}

/// A task that causes woke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WakeRow {
    pub(crate) task: TaskId,
    pub(crate) agent: String,
    pub(crate) issue: IssueId,
    /// The thread that it answers in; the id of the issue for none.
    pub(crate) thread: Uuid,
    pub(crate) absorbing: bool,
    /// The newest of its causes.
    pub(crate) cause: Cause,
    pub(crate) opened_at: Option<Timestamp>,
    pub(crate) shown_hash: Option<Vec<u8>>,
}

impl WakeRow {
    pub(super) fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            task: TaskId(row.get("task")?),
            agent: row.get("agent")?,
            issue: IssueId(row.get("issue")?),
            thread: row.get("thread")?,
            absorbing: row.get("absorbing")?,
            cause: Cause::read(row)?,
            opened_at: row.time_opt("opened_at")?,
            shown_hash: row.get("shown_hash")?,
        })
    }

    /// The comment that begins the thread to answer in.
    pub(crate) fn reply_to(&self) -> Option<CommentId> {
        (self.thread != self.issue.0).then_some(CommentId(self.thread))
    }

    /// Of a task; `None` for one that was not born here.
    pub(crate) async fn find(on: impl Into<Conn<'_>>, task: TaskId) -> Result<Option<Self>, Error> {
        const FIND: &str = "SELECT task, agent, issue, thread, absorbing, cause_kind, comment, author_kind, author_id, \
            author_name, author_task, originator, accountable, evidence, depth, woken_at, root, again_of, originator_groups, team, opened_at, shown_hash \
            FROM wakes WHERE task = $1";
        let find = query("read what woke a task", FIND).bind(task);
        find.optional(on)
            .await?
            .as_ref()
            .map(Self::read)
            .transpose()
    }
}
