//! Issues: read alone and in lists; made and changed together with whom that wakes, in one transaction.
//!
//! The row is the lock of everything under it. Who needs several takes the part before its whole, and an issue
//! before a session ([`crate::sessions`]).

mod read;
mod tags;
mod write;

use protocol::IssueId;
use protocol::board::{Author, AuthorKind, Issue, IssueKey, IssueStatus, Recipient, RecipientKind};

use crate::Error;
use crate::db::Row;

pub(crate) use read::{locked, locked_by_id, missing, read_by_id, stages};
pub use write::CHILDREN;
pub(crate) use write::{count_comments, make};

/// An issue as its row says it; `description` and `metadata` are empty in lists.
fn read_row(row: &Row) -> Result<Issue, Error> {
    let prefix: String = row.get("prefix")?;
    let parent = optional_number(row, "parent")?;
    Ok(Issue {
        id: IssueId(row.get("id")?),
        key: IssueKey {
            prefix: prefix.clone(),
            number: row.u32("number")?,
        },
        title: row.get("title")?,
        description: row.get("description")?,
        status: row.word("status", IssueStatus::parse)?,
        priority: row.i32("priority")?,
        assignee: read_assignee(row)?,
        creator: read_author(row)?,
        parent: parent.map(|number| IssueKey { prefix, number }),
        stage: optional_number(row, "stage")?,
        project: row.get("project")?,
        labels: row.json("labels")?,
        metadata: row.json("metadata")?,
        comments: row.u32("comments")?,
        revision: row.u32("revision")?,
        created: row.time("created_at")?,
        updated: row.time("updated_at")?,
    })
}

/// Who wrote what a row holds.
pub(crate) fn read_author(row: &Row) -> Result<Author, Error> {
    Ok(Author {
        kind: row.word("author_kind", AuthorKind::parse)?,
        id: row.get("author_id")?,
        name: row.get("author_name")?,
    })
}

fn read_assignee(row: &Row) -> Result<Option<Recipient>, Error> {
    let Some(id) = row.get("assignee_id")? else {
        return Ok(None);
    };
    let kind = row.word("assignee_kind", RecipientKind::parse)?;
    Ok(Some(Recipient { kind, id }))
}

fn optional_number(row: &Row, column: &'static str) -> Result<Option<u32>, Error> {
    let found: Option<i64> = row.get(column)?;
    let wrong = |number: i64| Error::Corrupt {
        what: column,
        found: number.to_string(),
    };
    found
        .map(|number| u32::try_from(number).map_err(|_| wrong(number)))
        .transpose()
}
