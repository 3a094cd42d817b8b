//! Making and changing issues.

use jiff::Timestamp;
use protocol::board::{
    InboxKind, Issue, IssueEdit, IssueKey, NewIssue, Recipient, RecipientKind, SavedIssue,
};
use protocol::{IssueId, MemberId, limits};

use super::read::{locked, missing};
use crate::db::query;
use crate::inbox::{self, Notice};
use crate::tasks::new_id;
use crate::wakes::{IssueWrite, after_issue_write};
use crate::writes::Write;
use crate::{Acting, Error, Store, WorkspaceRef, WritePoint, members, text, workspaces};

/// Parts of an issue at most: whoever closes one of them looks at all.
pub const CHILDREN: u32 = 1000;
/// Priorities lie between this and its negative.
const PRIORITY: i32 = 1000;
/// Stages are numbered from 1 up to this.
const STAGES: u32 = 1000;

impl Store {
    /// Makes an issue; an agent that it is assigned to is woken, as the outcomes say.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a text or number that an issue cannot have, and when the parent has as many parts as
    /// it may, [`Error::Missing`] when there is no such parent or assignee, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn create_issue(
        &self,
        by: &Acting,
        new: NewIssue,
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<SavedIssue, Error> {
        let title = text::line("title", &new.title, limits::TITLE_BYTES)?;
        text::body("description", &new.description, limits::DESCRIPTION_BYTES)?;
        check_priority(new.priority)?;
        check_stage(new.stage, new.parent.as_ref())?;
        let id = IssueId(new_id(now)?);
        let mut write = self.write(WritePoint::CreateIssue).await?;
        let key = workspaces::next_key(&mut write, &by.workspace).await?;
        if let Some(parent) = &new.parent {
            make_room(&mut write, &by.workspace, parent).await?;
        }
        let assignee = new.assignee.as_ref();
        check_assignee(&mut write, &by.workspace, assignee, directory).await?;
        let issue = Issue {
            id,
            key,
            title,
            description: new.description,
            status: new.status,
            priority: new.priority,
            assignee: new.assignee,
            creator: by.author.clone(),
            parent: new.parent,
            stage: new.stage,
            comments: 0,
            revision: 1,
            created: now,
            updated: now,
        };
        insert(&mut write, &by.workspace, &issue).await?;
        saved(write, by, None, issue, new.no_start, directory, now).await
    }

    /// Changes an issue. An edit that changes nothing is none: it raises no revision and wakes nobody.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue or assignee, [`Error::Revision`] when the issue is not as it
    /// was read, [`Error::Invalid`] for a text or number that an issue cannot have, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn edit_issue(
        &self,
        by: &Acting,
        key: &IssueKey,
        edit: IssueEdit,
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<SavedIssue, Error> {
        let no_start = edit.no_start;
        let edit = checked(edit)?;
        let mut write = self.write(WritePoint::EditIssue).await?;
        let before = locked(&mut write, &by.workspace, key)
            .await?
            .ok_or_else(|| missing(key))?;
        if edit.revision.is_some_and(|read| read != before.revision) {
            return Err(Error::Revision {
                present: before.revision,
            });
        }
        let after = edited(&before, edit, now);
        if after.revision == before.revision {
            return Ok(SavedIssue {
                issue: before,
                wakes: Vec::new(),
            });
        }
        if after.assignee != before.assignee {
            let assignee = after.assignee.as_ref();
            check_assignee(&mut write, &by.workspace, assignee, directory).await?;
        }
        update(&mut write, &after).await?;
        saved(write, by, Some(&before), after, no_start, directory, now).await
    }
}

/// What follows from a written issue, in its own transaction: who is told, and who is woken.
async fn saved(
    mut write: Write,
    by: &Acting,
    before: Option<&Issue>,
    after: Issue,
    no_start: bool,
    directory: &dyn wake::Directory,
    now: Timestamp,
) -> Result<SavedIssue, Error> {
    if let Some(member) = newly_assigned(before, &after) {
        let notice = Notice {
            member,
            kind: InboxKind::Assignment,
            issue: after.id,
            comment: None,
            author: &by.author,
            now,
        };
        inbox::notify(&mut write, notice).await?;
    }
    let written = IssueWrite {
        by,
        before,
        after: &after,
        no_start,
        directory,
        now,
    };
    let wakes = after_issue_write(&mut write, written).await?;
    write.commit().await?;
    Ok(SavedIssue {
        issue: after,
        wakes,
    })
}

/// The member who has the issue now and did not have it before.
fn newly_assigned(before: Option<&Issue>, after: &Issue) -> Option<MemberId> {
    let had = before.and_then(|before| before.assignee.as_ref());
    let has = after.assignee.as_ref().filter(|has| Some(*has) != had)?;
    match has.kind {
        RecipientKind::Member => has.id.parse().ok(),
        RecipientKind::Agent | RecipientKind::Team => None,
    }
}

/// The edit with its texts as they are kept.
fn checked(mut edit: IssueEdit) -> Result<IssueEdit, Error> {
    if let Some(title) = &mut edit.title {
        *title = text::line("title", title, limits::TITLE_BYTES)?;
    }
    if let Some(description) = &edit.description {
        text::body("description", description, limits::DESCRIPTION_BYTES)?;
    }
    edit.priority.map_or(Ok(()), check_priority)?;
    Ok(edit)
}

/// The issue after an edit: of the same revision when nothing is changed by it.
fn edited(before: &Issue, edit: IssueEdit, now: Timestamp) -> Issue {
    let mut after = before.clone();
    after.title = edit.title.unwrap_or(after.title);
    after.description = edit.description.unwrap_or(after.description);
    after.status = edit.status.unwrap_or(after.status);
    after.priority = edit.priority.unwrap_or(after.priority);
    after.assignee = edit.assignee.unwrap_or(after.assignee);
    if after != *before {
        after.revision = after.revision.saturating_add(1);
        after.updated = now;
    }
    after
}

fn check_priority(priority: i32) -> Result<(), Error> {
    if (-PRIORITY..=PRIORITY).contains(&priority) {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "priority",
        why: format!("it is {priority} and lies between -{PRIORITY} and {PRIORITY}"),
    })
}

fn check_stage(stage: Option<u32>, parent: Option<&IssueKey>) -> Result<(), Error> {
    let why = match stage {
        None => return Ok(()),
        Some(_) if parent.is_none() => "only a part of another issue has one".to_owned(),
        Some(stage) if (1..=STAGES).contains(&stage) => return Ok(()),
        Some(stage) => format!("it is {stage} and lies between 1 and {STAGES}"),
    };
    Err(Error::Invalid { what: "stage", why })
}

/// Locks the parent of a new issue, which must have room for one more.
async fn make_room(
    write: &mut Write,
    workspace: &WorkspaceRef,
    parent: &IssueKey,
) -> Result<(), Error> {
    const COUNT: &str =
        "SELECT count(*) AS children FROM issues WHERE namespace_uid = $1 AND parent = $2";
    if locked(write, workspace, parent).await?.is_none() {
        return Err(missing(parent));
    }
    let count = query("count the parts of an issue", COUNT)
        .bind(workspace.namespace_uid.as_str())
        .bind(parent.number);
    if count.one(write).await?.u32("children")? < CHILDREN {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "parent",
        why: format!("{parent} has {CHILDREN} parts, and no issue may have more"),
    })
}

/// Whoever gets an issue must be there: one word for who is not and for who may not be known.
async fn check_assignee(
    write: &mut Write,
    workspace: &WorkspaceRef,
    assignee: Option<&Recipient>,
    directory: &dyn wake::Directory,
) -> Result<(), Error> {
    let Some(assignee) = assignee else {
        return Ok(());
    };
    let known = match assignee.kind {
        RecipientKind::Agent => directory.agent(&assignee.id).is_some(),
        RecipientKind::Team => false,
        RecipientKind::Member => match assignee.id.parse() {
            Ok(member) => members::find(write, workspace, member).await?.is_some(),
            Err(_) => false,
        },
    };
    if known {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!("{assignee} in this workspace"),
    })
}

async fn insert(write: &mut Write, workspace: &WorkspaceRef, issue: &Issue) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO issues (id, namespace_uid, number, title, description, status, priority, \
        assignee_kind, assignee_id, author_kind, author_id, author_name, parent, stage, revision, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    let (kind, assignee) = assignee_words(issue);
    let insert = query("make an issue", INSERT)
        .bind(issue.id)
        .bind(workspace.namespace_uid.as_str())
        .bind(issue.key.number)
        .bind(issue.title.as_str())
        .bind(issue.description.as_str())
        .bind(issue.status.as_str())
        .bind(issue.priority)
        .bind(kind)
        .bind(assignee)
        .bind(issue.creator.kind.as_str())
        .bind(issue.creator.id.as_str())
        .bind(issue.creator.name.as_str());
    insert
        .bind(issue.parent.as_ref().map(|parent| parent.number))
        .bind(issue.stage)
        .bind(issue.revision)
        .bind(issue.created)
        .bind(issue.updated)
        .execute(write)
        .await?;
    Ok(())
}

async fn update(write: &mut Write, issue: &Issue) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE issues SET title = $2, description = $3, status = $4, priority = $5, \
        assignee_kind = $6, assignee_id = $7, revision = $8, updated_at = $9 WHERE id = $1";
    let (kind, assignee) = assignee_words(issue);
    let update = query("change an issue", UPDATE)
        .bind(issue.id)
        .bind(issue.title.as_str())
        .bind(issue.description.as_str())
        .bind(issue.status.as_str())
        .bind(issue.priority)
        .bind(kind)
        .bind(assignee);
    update
        .bind(issue.revision)
        .bind(issue.updated)
        .execute(write)
        .await?;
    Ok(())
}

fn assignee_words(issue: &Issue) -> (Option<&str>, Option<&str>) {
    let assignee = issue.assignee.as_ref();
    (
        assignee.map(|assignee| assignee.kind.as_str()),
        assignee.map(|assignee| assignee.id.as_str()),
    )
}

/// Counts comments that have come or gone. That is no change of the issue itself: who edits it need not have
/// seen them.
pub(crate) async fn count_comments(
    write: &mut Write,
    issue: IssueId,
    by: i32,
) -> Result<(), Error> {
    const COUNT: &str = "UPDATE issues SET comments = comments + $2 WHERE id = $1";
    query("count the comments of an issue", COUNT)
        .bind(issue)
        .bind(by)
        .execute(write)
        .await?;
    Ok(())
}
