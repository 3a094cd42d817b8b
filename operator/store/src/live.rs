//! What those hear who look on: beside the steps of a task also what happens in it, and what is written on issues.

use std::fmt;
use std::str::FromStr;

use protocol::{IssueId, TaskId};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::db::query;
use crate::{Error, Store};

/// Something happened, and it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveChange {
    /// A task stands elsewhere than before.
    Task(TaskId),
    /// A task's timeline has grown.
    Events(TaskId),
    /// An issue, or what hangs on it, was written.
    Issue(IssueId),
    /// Something was missed: look at everything.
    Resync,
}

/// The form in which the database tells it.
impl fmt::Display for LiveChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "t{task}"),
            Self::Events(task) => write!(f, "e{task}"),
            Self::Issue(issue) => write!(f, "i{issue}"),
            Self::Resync => f.write_str("*"),
        }
    }
}

impl FromStr for LiveChange {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, id) = text.split_at_checked(1).ok_or(())?;
        if kind == "*" && id.is_empty() {
            return Ok(Self::Resync);
        }
        let id: Uuid = id.parse().map_err(|_| ())?;
        match kind {
            "t" => Ok(Self::Task(TaskId(id))),
            "e" => Ok(Self::Events(TaskId(id))),
            "i" => Ok(Self::Issue(IssueId(id))),
            _ => Err(()),
        }
    }
}

/// What happens from the moment this was made.
#[derive(Debug)]
pub struct Live {
    from: broadcast::Receiver<LiveChange>,
}

impl Live {
    /// The next one; `None` once the store is closed. May be dropped and called again without loss.
    pub async fn next(&mut self) -> Option<LiveChange> {
        match self.from.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(LiveChange::Resync),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// Where a task or an issue belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// UID of the namespace.
    pub namespace_uid: String,
    /// The issue: itself, or that on which the task was woken.
    pub issue: Option<IssueId>,
}

impl Store {
    /// Looks on from now on.
    #[must_use]
    pub fn live(&self) -> Live {
        Live {
            from: self.inner.changes.subscribe_live(),
        }
    }

    /// Where a task belongs.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn place_of_task(&self, task: TaskId) -> Result<Option<Whereabouts>, Error> {
        const FIND: &str = "SELECT namespace_uid, (SELECT issue FROM wakes WHERE wakes.task = tasks.id) AS issue \
            FROM tasks WHERE id = $1";
        let find = query("find the place of a task", FIND).bind(task);
        let found = find.optional(&mut self.reader().await?).await?;
        let read = |row: crate::db::Row| {
            Ok(Whereabouts {
                namespace_uid: row.get("namespace_uid")?,
                issue: row.get::<Option<Uuid>>("issue")?.map(IssueId),
            })
        };
        found.map(read).transpose()
    }

    /// The workspace of an issue, and the issue as lists show it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn issue_by_id(
        &self,
        issue: IssueId,
    ) -> Result<Option<(String, protocol::board::Issue)>, Error> {
        const FIND: &str = "SELECT namespace_uid FROM issues WHERE id = $1";
        let mut reader = self.reader().await?;
        let find = query("find the place of an issue", FIND).bind(issue);
        let Some(row) = find.optional(&mut reader).await? else {
            return Ok(None);
        };
        let namespace_uid = row.get("namespace_uid")?;
        let found = crate::issues::read_by_id(&mut reader, issue).await?;
        Ok(found.map(|issue| (namespace_uid, issue)))
    }

    /// The position of the last event of a task; 0 when nothing has happened yet.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn last_position(&self, task: TaskId) -> Result<u64, Error> {
        const FIND: &str = "SELECT events FROM tasks WHERE id = $1";
        let find = query("find the last position", FIND).bind(task);
        let found = find.optional(&mut self.reader().await?).await?;
        found.map_or(Ok(0), |row| row.u64("events"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_reads_back() {
        let id = Uuid::from_u128(7);
        for change in [
            LiveChange::Task(TaskId(id)),
            LiveChange::Events(TaskId(id)),
            LiveChange::Issue(IssueId(id)),
            LiveChange::Resync,
        ] {
            assert_eq!(change.to_string().parse(), Ok(change));
        }
        for wrong in ["", "t", "x00000000-0000-0000-0000-000000000007", "ä", "**"] {
            assert_eq!(wrong.parse::<LiveChange>(), Err(()), "{wrong}");
        }
    }
}
