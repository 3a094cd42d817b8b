//! Making and changing issues.

use std::collections::BTreeMap;

use jiff::Timestamp;
use protocol::board::{
    InboxKind, Issue, IssueEdit, IssueKey, NewIssue, Recipient, RecipientKind, SavedIssue,
};
use protocol::{IssueId, MemberId, limits};

use super::read::{locked, missing, read_by_id};
use super::tags;
use crate::db::{query, to_json};
use crate::inbox::{self, Notice};
use crate::tasks::new_id;
use crate::wakes::{self, IssueWrite, after_issue_write};
use crate::writes::Write;
use crate::{
    Acting, Error, LiveChange, Store, WorkspaceRef, WritePoint, members, projects, quick, requests,
    subscribers, text, workspaces,
};

/// Parts of an issue at most: whoever closes one of them looks at all.
pub const CHILDREN: u32 = 1000;
/// Priorities lie between this and its negative.
const PRIORITY: i32 = 1000;
/// Stages are numbered from 1 up to this.
const STAGES: u32 = 1000;

impl Store {
    /// Makes an issue; an agent that it is assigned to is woken, as the outcomes say. With [`Store::for_request`], once.
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
        let mut write = self.write(WritePoint::CreateIssue).await?;
        write.queue(&by.workspace, directory).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            let issue = read_by_id(&mut write, IssueId(made.id)).await?;
            return Ok(SavedIssue {
                issue: issue.ok_or_else(|| Error::Missing {
                    what: "issue that this request has made".to_owned(),
                })?,
                wakes: made.wakes,
            });
        }
        let saved = make(&mut write, by, new, directory, now).await?;
        requests::keep(&mut write, by, saved.issue.id.0, &saved.wakes, now).await?;
        write.commit().await?;
        Ok(saved)
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
        write.queue(&by.workspace, directory).await?;
        let before = locked(&mut write, &by.workspace, key)
            .await?
            .ok_or_else(|| missing(key))?;
        if edit.revision.is_some_and(|read| read != before.revision) {
            return Err(Error::Revision {
                present: before.revision,
            });
        }
        let after = edited(&before, edit, now)?;
        if after.revision == before.revision {
            return Ok(SavedIssue {
                issue: before,
                wakes: Vec::new(),
            });
        }
        if after.assignee != before.assignee {
            let assignee = after.assignee.as_ref();
            check_assignee(&mut write, by, assignee, directory).await?;
        }
        if after.project != before.project {
            check_project(&mut write, &by.workspace, after.project.as_deref()).await?;
        }
        update(&mut write, &after).await?;
        if after.labels != before.labels {
            tags::index(&mut write, &by.workspace, &after).await?;
        }
        let done = saved(
            &mut write,
            by,
            Some(&before),
            after,
            no_start,
            directory,
            now,
        )
        .await?;
        write.commit().await?;
        Ok(done)
    }
}

/// Makes an issue within a write that has begun.
pub(crate) async fn make(
    write: &mut Write,
    by: &Acting,
    new: NewIssue,
    directory: &dyn wake::Directory,
    now: Timestamp,
) -> Result<SavedIssue, Error> {
    let title = text::line("title", &new.title, limits::TITLE_BYTES)?;
    text::body("description", &new.description, limits::DESCRIPTION_BYTES)?;
    check_priority(new.priority)?;
    check_stage(new.stage, new.parent.as_ref())?;
    let labels = tags::relabelled(Vec::new(), &new.labels, &[])?;
    let metadata = new
        .metadata
        .into_iter()
        .map(|(key, value)| (key, Some(value)));
    let metadata = tags::annotated(BTreeMap::new(), metadata.collect())?;
    let id = IssueId(new_id(now)?);
    let key = workspaces::next_key(write, &by.workspace).await?;
    let mut project = new.project;
    if let Some(parent) = &new.parent {
        let whole = make_room(write, &by.workspace, parent).await?;
        project = project.or(whole.project);
    }
    check_project(write, &by.workspace, project.as_deref()).await?;
    let assignee = new.assignee.as_ref();
    check_assignee(write, by, assignee, directory).await?;
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
        project,
        labels,
        metadata,
        comments: 0,
        revision: 1,
        created: now,
        updated: now,
    };
    insert(write, &by.workspace, &issue).await?;
    quick::link(write, by.task, &issue).await?;
    if !issue.labels.is_empty() {
        tags::index(write, &by.workspace, &issue).await?;
    }
    saved(write, by, None, issue, new.no_start, directory, now).await
}

/// What follows from a written issue, in its own transaction: who is told, and who is woken.
async fn saved(
    write: &mut Write,
    by: &Acting,
    before: Option<&Issue>,
    after: Issue,
    no_start: bool,
    directory: &dyn wake::Directory,
    now: Timestamp,
) -> Result<SavedIssue, Error> {
    if let (None, Some(member)) = (before, members::who(&by.author)) {
        subscribers::follow(write, after.id, member).await?;
    }
    if let Some(member) = newly_assigned(before, &after) {
        subscribers::follow(write, after.id, member).await?;
        let notice = Notice {
            member,
            kind: InboxKind::Assignment,
            issue: after.id,
            comment: None,
            author: &by.author,
            now,
        };
        inbox::notify(write, notice).await?;
    }
    let written = IssueWrite {
        by,
        before,
        after: &after,
        no_start,
        directory,
        now,
    };
    let wakes = after_issue_write(write, written).await?;
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
fn edited(before: &Issue, edit: IssueEdit, now: Timestamp) -> Result<Issue, Error> {
    let mut after = before.clone();
    after.title = edit.title.unwrap_or(after.title);
    after.description = edit.description.unwrap_or(after.description);
    after.status = edit.status.unwrap_or(after.status);
    after.priority = edit.priority.unwrap_or(after.priority);
    after.assignee = edit.assignee.unwrap_or(after.assignee);
    after.project = edit.project.unwrap_or(after.project);
    after.labels = tags::relabelled(after.labels, &edit.add_labels, &edit.remove_labels)?;
    after.metadata = tags::annotated(after.metadata, edit.metadata)?;
    if after != *before {
        after.revision = after.revision.saturating_add(1);
        after.updated = now;
    }
    Ok(after)
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

/// A project that an issue belongs to must be there; it does not go as long as one does.
async fn check_project(
    write: &mut Write,
    workspace: &WorkspaceRef,
    project: Option<&str>,
) -> Result<(), Error> {
    match project {
        Some(name) if !projects::exists(write, workspace, name).await? => {
            Err(projects::missing(name))
        }
        Some(_) | None => Ok(()),
    }
}

/// Locks the parent of a new issue, which must have room for one more.
async fn make_room(
    write: &mut Write,
    workspace: &WorkspaceRef,
    parent: &IssueKey,
) -> Result<Issue, Error> {
    const COUNT: &str =
        "SELECT count(*) AS children FROM issues WHERE namespace_uid = $1 AND parent = $2";
    let whole = locked(write, workspace, parent).await?;
    let whole = whole.ok_or_else(|| missing(parent))?;
    let count = query("count the parts of an issue", COUNT)
        .bind(workspace.namespace_uid.as_str())
        .bind(parent.number);
    if count.one(write).await?.u32("children")? < CHILDREN {
        return Ok(whole);
    }
    Err(Error::Invalid {
        what: "parent",
        why: format!("{parent} has {CHILDREN} parts, and no issue may have more"),
    })
}

/// Whoever gets an issue must be there, and an agent or the leader of a team let itself be woken by who gives it: one
/// word for who is not, for who may not be woken and for who may not be known.
async fn check_assignee(
    write: &mut Write,
    by: &Acting,
    assignee: Option<&Recipient>,
    directory: &dyn wake::Directory,
) -> Result<(), Error> {
    let Some(assignee) = assignee else {
        return Ok(());
    };
    let known = match assignee.kind {
        RecipientKind::Agent | RecipientKind::Team => {
            let chain = wakes::chain(write, &by.author, by.person(), by.task).await?;
            let principal = chain.principal();
            let targets = wake::targets([assignee], directory);
            let agents = targets.iter().filter_map(|target| target.agent.as_deref());
            agents
                .map(|agent| directory.agent(agent))
                .any(|agent| wake::may_wake(agent.as_ref(), &principal))
        }
        RecipientKind::Member => match assignee.id.parse() {
            Ok(member) => members::find(write, &by.workspace, member).await?.is_some(),
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
        assignee_kind, assignee_id, author_kind, author_id, author_name, parent, stage, project, revision, created_at, \
        updated_at, labels, metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
        $18, $19, $20)";
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
        .bind(issue.project.as_deref())
        .bind(issue.revision)
        .bind(issue.created)
        .bind(issue.updated)
        .bind(to_json("labels", &issue.labels)?)
        .bind(to_json("metadata", &issue.metadata)?)
        .execute(&mut *write)
        .await?;
    write.happened(LiveChange::Issue(issue.id));
    Ok(())
}

async fn update(write: &mut Write, issue: &Issue) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE issues SET title = $2, description = $3, status = $4, priority = $5, \
        assignee_kind = $6, assignee_id = $7, project = $8, revision = $9, updated_at = $10, \
        labels = $11, metadata = $12 WHERE id = $1";
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
        .bind(issue.project.as_deref())
        .bind(issue.revision)
        .bind(issue.updated)
        .bind(to_json("labels", &issue.labels)?)
        .bind(to_json("metadata", &issue.metadata)?)
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
