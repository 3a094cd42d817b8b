//! Reading issues.

use protocol::board::{Issue, IssueKey, IssueQuery, Page, Recipient, is_project_name};
use protocol::{IssueId, limits};

use super::{optional_number, read_row, tags};
use crate::db::{Conn, Query, Sql, query};
use crate::writes::Write;
use crate::{Error, LiveChange, Store, WorkspaceRef, page, text};

/// An issue's columns from its row and its workspace's.
macro_rules! select {
    ("description", $which:literal) => {
        select!("description", "metadata", "issues", $which)
    };
    ("''", $which:literal) => {
        select!("''", "'{}'", "issues", $which)
    };
    ($description:literal, $metadata:literal, $from:literal, $which:literal) => {
        concat!(
            "SELECT issues.id, prefix, issues.number AS number, title, ", $description, " AS description, ",
            $metadata, " AS metadata, labels, status, priority, \
             assignee_kind, assignee_id, author_kind, author_id, author_name, parent, stage, project, comments, revision, \
             created_at, updated_at FROM ", $from, " JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid ",
            $which
        )
    };
}

const BY_KEY: &str = select!(
    "description",
    "WHERE issues.namespace_uid = $1 AND number = $2 AND prefix = $3"
);
const BY_KEY_LOCKED: Sql = Sql {
    sqlite: BY_KEY,
    postgres: select!(
        "description",
        "WHERE issues.namespace_uid = $1 AND number = $2 AND prefix = $3 FOR UPDATE OF issues"
    ),
};
const BY_ID: &str = select!("description", "WHERE issues.id = $1");
const BY_ID_LOCKED: Sql = Sql {
    sqlite: BY_ID,
    postgres: select!("description", "WHERE issues.id = $1 FOR UPDATE OF issues"),
};

const ALL: &str = select!(
    "''",
    "WHERE issues.namespace_uid = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
);
const BY_STATUS: &str = select!(
    "''",
    "WHERE issues.namespace_uid = $1 AND number < $2 AND status = $4 ORDER BY number DESC LIMIT $3"
);
const OF_ASSIGNEE: &str = select!(
    "''",
    "WHERE issues.namespace_uid = $1 AND number < $2 AND assignee_kind = $4 AND assignee_id = $5 \
     ORDER BY number DESC LIMIT $3"
);
const OF_ASSIGNEE_BY_STATUS: &str = select!(
    "''",
    "WHERE issues.namespace_uid = $1 AND number < $2 AND assignee_kind = $4 AND assignee_id = $5 \
     AND status = $6 ORDER BY number DESC LIMIT $3"
);
// Those of a project are few enough to look through for the rest of what is asked.
const OF_PROJECT: &str = select!(
    "''",
    "WHERE issues.namespace_uid = $1 AND number < $2 AND project = $4 AND ($5 = '' OR status = $5) \
     AND ($6 = '' OR (assignee_kind = $6 AND assignee_id = $7)) ORDER BY number DESC LIMIT $3"
);
// Those with a label are looked through for the rest of what is asked.
const LABELLED: &str = select!(
    "''",
    "'{}'",
    "issue_labels JOIN issues ON issues.namespace_uid = issue_labels.namespace_uid \
     AND issues.number = issue_labels.number",
    "WHERE issue_labels.namespace_uid = $1 AND issue_labels.number < $2 AND label = $4 \
     AND ($5 = '' OR status = $5) AND ($6 = '' OR (assignee_kind = $6 AND assignee_id = $7)) \
     AND ($8 = '' OR project = $8) ORDER BY issue_labels.number DESC LIMIT $3"
);

impl Store {
    /// An issue of the workspace.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn issue(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
    ) -> Result<Option<Issue>, Error> {
        let find = by_key(query("read an issue", BY_KEY), workspace, key);
        let found = find.optional(&mut self.reader().await?).await?;
        found.as_ref().map(read_row).transpose()
    }

    /// Issues of the workspace, newest first, without their descriptions.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an assignee, label, limit or cursor that is none, [`Error::Corrupt`],
    /// [`Error::Unavailable`].
    pub async fn issues(
        &self,
        workspace: &WorkspaceRef,
        asked: &IssueQuery,
    ) -> Result<Page<Issue>, Error> {
        let limit = page::limit(asked.limit)?;
        let before = page::after::<u32>(asked.cursor.as_deref())?.map_or(i64::MAX, i64::from);
        let assignee = asked.assignee.as_deref().map(assignee).transpose()?;
        let asked_project = asked.project.as_deref().map(project).transpose()?;
        let list = |doing, sql: &'static str| {
            query(doing, sql)
                .bind(workspace.namespace_uid.as_str())
                .bind(before)
                .bind(limit + 1)
        };
        let status = asked.status.map(|status| status.as_str());
        if let Some(label) = &asked.label {
            tags::check_label(label)?;
            let (kind, id) = assignee.map_or(("", String::new()), |of| (of.kind.as_str(), of.id));
            let list = list("list issues with a label", LABELLED)
                .bind(label.as_str())
                .bind(status.unwrap_or_default())
                .bind(kind)
                .bind(id)
                .bind(asked_project.unwrap_or_default());
            return self.issue_page(list, limit).await;
        }
        if let Some(project) = asked_project {
            let (kind, id) = assignee.map_or(("", String::new()), |of| (of.kind.as_str(), of.id));
            let list = list("list issues of a project", OF_PROJECT)
                .bind(project)
                .bind(status.unwrap_or_default())
                .bind(kind)
                .bind(id);
            return self.issue_page(list, limit).await;
        }
        let list = match (assignee, status) {
            (None, None) => list("list issues", ALL),
            (None, Some(status)) => list("list issues by status", BY_STATUS).bind(status),
            (Some(of), None) => list("list issues of an assignee", OF_ASSIGNEE)
                .bind(of.kind.as_str())
                .bind(of.id),
            (Some(of), Some(status)) => list(
                "list issues of an assignee by status",
                OF_ASSIGNEE_BY_STATUS,
            )
            .bind(of.kind.as_str())
            .bind(of.id)
            .bind(status),
        };
        self.issue_page(list, limit).await
    }

    /// The parts of an issue, the first made first, without their descriptions.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a limit or cursor that is none,
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn children(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Issue>, Error> {
        const PARTS: &str = select!(
            "''",
            "WHERE issues.namespace_uid = $1 AND parent = $2 AND number > $3 ORDER BY number LIMIT $4"
        );
        let (limit, after) = (page::limit(limit)?, page::after::<u32>(cursor)?);
        if self.issue(workspace, key).await?.is_none() {
            return Err(missing(key));
        }
        let list = query("list the parts of an issue", PARTS)
            .bind(workspace.namespace_uid.as_str())
            .bind(key.number)
            .bind(after.unwrap_or(0));
        self.issue_page(list.bind(limit + 1), limit).await
    }

    async fn issue_page(&self, list: Query, limit: u32) -> Result<Page<Issue>, Error> {
        let rows = list.all(&mut self.reader().await?).await?;
        let issues = rows.iter().map(read_row).collect::<Result<_, _>>()?;
        Ok(page::page(issues, limit, |last: &Issue| {
            last.key.number.to_string()
        }))
    }
}

/// An issue of the workspace, locked until the write is over.
pub(crate) async fn locked(
    write: &mut Write,
    workspace: &WorkspaceRef,
    key: &IssueKey,
) -> Result<Option<Issue>, Error> {
    let find = by_key(query("lock an issue", BY_KEY_LOCKED), workspace, key);
    let found = find.optional(&mut *write).await?;
    let found = found.as_ref().map(read_row).transpose()?;
    // Who locks it changes it, or what hangs on it.
    if let Some(issue) = &found {
        write.happened(LiveChange::Issue(issue.id));
    }
    Ok(found)
}

/// An issue, locked until the write is over.
pub(crate) async fn locked_by_id(
    write: &mut Write,
    issue: IssueId,
) -> Result<Option<Issue>, Error> {
    let find = query("lock an issue", BY_ID_LOCKED).bind(issue);
    let found = find.optional(&mut *write).await?;
    let found = found.as_ref().map(read_row).transpose()?;
    // Who locks it changes it, or what hangs on it.
    if let Some(issue) = &found {
        write.happened(LiveChange::Issue(issue.id));
    }
    Ok(found)
}

/// An issue.
pub(crate) async fn read_by_id(
    on: impl Into<Conn<'_>>,
    issue: IssueId,
) -> Result<Option<Issue>, Error> {
    let find = query("read an issue", BY_ID).bind(issue);
    find.optional(on).await?.as_ref().map(read_row).transpose()
}

/// How the parts of an issue stand, by stage; those of no stage first. Whoever decides by it holds the lock of
/// the issue: two parts that are done at once would else each see the other one open.
pub(crate) async fn stages(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    parent: &IssueKey,
) -> Result<Vec<wake::Stage>, Error> {
    const STAGES: &str = "SELECT stage, \
        SUM(CASE WHEN status IN ('done', 'cancelled') THEN 0 ELSE 1 END) AS open \
        FROM issues WHERE namespace_uid = $1 AND parent = $2 GROUP BY stage";
    let count = query("count the parts of an issue", STAGES)
        .bind(workspace.namespace_uid.as_str())
        .bind(parent.number);
    let rows = count.all(on).await?;
    let read = |row: &crate::db::Row| {
        Ok(wake::Stage {
            stage: optional_number(row, "stage")?,
            open: row.u32("open")?,
        })
    };
    let mut stages: Vec<wake::Stage> = rows.iter().map(read).collect::<Result<_, Error>>()?;
    // The databases sort the absent stage to different ends.
    stages.sort_unstable_by_key(|stage| stage.stage);
    Ok(stages)
}

pub(crate) fn missing(key: &IssueKey) -> Error {
    Error::Missing {
        what: format!("issue {key}"),
    }
}

fn by_key(query: Query, workspace: &WorkspaceRef, key: &IssueKey) -> Query {
    query
        .bind(workspace.namespace_uid.as_str())
        .bind(key.number)
        .bind(key.prefix.as_str())
}

fn assignee(text: &str) -> Result<Recipient, Error> {
    text::body("assignee", text, limits::BODY_BYTES)?;
    text.parse().map_err(|why: &str| Error::Invalid {
        what: "assignee",
        why: why.to_owned(),
    })
}

fn project(name: &str) -> Result<&str, Error> {
    if is_project_name(name) {
        return Ok(name);
    }
    Err(Error::Invalid {
        what: "project",
        why: "that is no name of one".to_owned(),
    })
}
