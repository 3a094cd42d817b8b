//! Projects. Issues name them, so they only go when no issue does ([`Store::delete_project`]).

use jiff::Timestamp;
use protocol::board::{
    NewProject, Page, Project, ProjectEdit, Repository, check_repositories, is_project_name,
};
use protocol::limits;

use crate::db::{Row, Sql, query, to_json};
use crate::issues::read_author;
use crate::writes::Write;
use crate::{Acting, Error, Store, WorkspaceRef, WritePoint, page, text, workspaces};

/// Projects of a workspace at most.
pub const PROJECTS: u32 = 1000;

/// A project's columns.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT name, title, description, repositories, author_kind, author_id, author_name, revision, created_at, \
             updated_at FROM projects ",
            $which
        )
    };
}

const BY_NAME: &str = select!("WHERE namespace_uid = $1 AND name = $2");
pub(crate) const BY_NAME_LOCKED: Sql = Sql {
    sqlite: BY_NAME,
    postgres: select!("WHERE namespace_uid = $1 AND name = $2 FOR UPDATE"),
};

impl Store {
    /// A project of the workspace.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn project(
        &self,
        workspace: &WorkspaceRef,
        name: &str,
    ) -> Result<Option<Project>, Error> {
        let find = query("read a project", BY_NAME)
            .bind(workspace.namespace_uid.as_str())
            .bind(name);
        let found = find.optional(&mut self.reader().await?).await?;
        found.as_ref().map(read).transpose()
    }

    /// Projects of the workspace by name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn projects(
        &self,
        workspace: &WorkspaceRef,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Project>, Error> {
        const LIST: &str = select!("WHERE namespace_uid = $1 AND name > $2 ORDER BY name LIMIT $3");
        let limit = page::limit(limit)?;
        if !cursor.is_none_or(is_project_name) {
            return Err(page::foreign_cursor());
        }
        let list = query("list projects", LIST)
            .bind(workspace.namespace_uid.as_str())
            .bind(cursor.unwrap_or_default())
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let projects = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(projects, limit, |last: &Project| {
            last.name.clone()
        }))
    }

    /// Makes a project.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name, text or repository that a project cannot have, and when the workspace has as
    /// many as it may, [`Error::Conflict`] when there is one of this name, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn create_project(
        &self,
        by: &Acting,
        new: NewProject,
        now: Timestamp,
    ) -> Result<Project, Error> {
        if !is_project_name(&new.name) {
            return Err(Error::Invalid {
                what: "name",
                why: "a project is named by at most 40 lower-case letters, digits and hyphens"
                    .to_owned(),
            });
        }
        let title = text::line("title", &new.title, limits::TITLE_BYTES)?;
        text::body("description", &new.description, limits::DESCRIPTION_BYTES)?;
        repositories_are_sound(&new.repositories)?;
        let project = Project {
            name: new.name,
            title,
            description: new.description,
            repositories: new.repositories,
            creator: by.author.clone(),
            revision: 1,
            created: now,
            updated: now,
        };
        let mut write = self.write(WritePoint::CreateProject).await?;
        workspaces::enter(&mut write, &by.workspace).await?;
        make_room(&mut write, &by.workspace).await?;
        if insert(&mut write, &by.workspace, &project).await? == 0 {
            return Err(Error::Conflict {
                what: format!("there is a project {} already: edit that one", project.name),
            });
        }
        write.commit().await?;
        Ok(project)
    }

    /// Changes a project. An edit that changes nothing raises no revision.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such project, [`Error::Revision`] when it is not as it was read,
    /// [`Error::Invalid`] for a text or repository that a project cannot have, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn edit_project(
        &self,
        workspace: &WorkspaceRef,
        name: &str,
        edit: ProjectEdit,
        now: Timestamp,
    ) -> Result<Project, Error> {
        let edit = checked(edit)?;
        let mut write = self.write(WritePoint::EditProject).await?;
        let find = query("lock a project", BY_NAME_LOCKED)
            .bind(workspace.namespace_uid.as_str())
            .bind(name);
        let found = find.optional(&mut write).await?;
        let before = found.as_ref().map(read).transpose()?;
        let before = before.ok_or_else(|| missing(name))?;
        if edit.revision.is_some_and(|read| read != before.revision) {
            return Err(Error::Revision {
                present: before.revision,
            });
        }
        let after = edited(&before, edit, now);
        if after.revision != before.revision {
            update(&mut write, workspace, &after).await?;
            write.commit().await?;
        }
        Ok(after)
    }

    /// The repositories of an issue's project; none where it has no project.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn repositories_of_issue(
        &self,
        namespace_uid: &str,
        number: u32,
    ) -> Result<Vec<Repository>, Error> {
        const OF_ISSUE: &str = "SELECT repositories FROM issues \
            JOIN projects ON projects.namespace_uid = issues.namespace_uid AND projects.name = issues.project \
            WHERE issues.namespace_uid = $1 AND number = $2";
        let find = query("read the repositories of an issue", OF_ISSUE)
            .bind(namespace_uid)
            .bind(number);
        let found = find.optional(&mut self.reader().await?).await?;
        found.map_or_else(|| Ok(Vec::new()), |row| row.json("repositories"))
    }
}

/// Whether the workspace has a project of this name. It stays until the end of the transaction.
pub(crate) async fn exists(
    write: &mut Write,
    workspace: &WorkspaceRef,
    name: &str,
) -> Result<bool, Error> {
    const BY_NAME_HELD: Sql = Sql {
        sqlite: BY_NAME,
        postgres: select!("WHERE namespace_uid = $1 AND name = $2 FOR SHARE"),
    };
    let find = query("hold a project", BY_NAME_HELD)
        .bind(workspace.namespace_uid.as_str())
        .bind(name);
    Ok(find.optional(write).await?.is_some())
}

pub(crate) fn missing(name: &str) -> Error {
    Error::Missing {
        what: format!("project {name:?}"),
    }
}

async fn make_room(write: &mut Write, workspace: &WorkspaceRef) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*) AS projects FROM projects WHERE namespace_uid = $1";
    let count =
        query("count the projects of a workspace", COUNT).bind(workspace.namespace_uid.as_str());
    if count.one(write).await?.u32("projects")? < PROJECTS {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "project",
        why: format!("the workspace has {PROJECTS}, and may not have more"),
    })
}

async fn insert(
    write: &mut Write,
    workspace: &WorkspaceRef,
    project: &Project,
) -> Result<u64, Error> {
    const INSERT: &str = "INSERT INTO projects (namespace_uid, name, title, description, repositories, author_kind, \
        author_id, author_name, revision, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING";
    let insert = query("make a project", INSERT)
        .bind(workspace.namespace_uid.as_str())
        .bind(project.name.as_str())
        .bind(project.title.as_str())
        .bind(project.description.as_str())
        .bind(to_json("repositories", &project.repositories)?)
        .bind(project.creator.kind.as_str())
        .bind(project.creator.id.as_str())
        .bind(project.creator.name.as_str());
    insert
        .bind(project.revision)
        .bind(project.created)
        .bind(project.updated)
        .execute(write)
        .await
}

async fn update(
    write: &mut Write,
    workspace: &WorkspaceRef,
    project: &Project,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE projects SET title = $3, description = $4, repositories = $5, revision = $6, \
        updated_at = $7 WHERE namespace_uid = $1 AND name = $2";
    let update = query("change a project", UPDATE)
        .bind(workspace.namespace_uid.as_str())
        .bind(project.name.as_str())
        .bind(project.title.as_str())
        .bind(project.description.as_str())
        .bind(to_json("repositories", &project.repositories)?)
        .bind(project.revision)
        .bind(project.updated);
    update.execute(write).await?;
    Ok(())
}

fn checked(mut edit: ProjectEdit) -> Result<ProjectEdit, Error> {
    if let Some(title) = &mut edit.title {
        *title = text::line("title", title, limits::TITLE_BYTES)?;
    }
    if let Some(description) = &edit.description {
        text::body("description", description, limits::DESCRIPTION_BYTES)?;
    }
    if let Some(repositories) = &edit.repositories {
        repositories_are_sound(repositories)?;
    }
    Ok(edit)
}

fn repositories_are_sound(all: &[Repository]) -> Result<(), Error> {
    check_repositories(all).map_err(|why| Error::Invalid {
        what: "repositories",
        why,
    })
}

fn edited(before: &Project, edit: ProjectEdit, now: Timestamp) -> Project {
    let mut after = before.clone();
    after.title = edit.title.unwrap_or(after.title);
    after.description = edit.description.unwrap_or(after.description);
    after.repositories = edit.repositories.unwrap_or(after.repositories);
    if after != *before {
        after.revision = after.revision.saturating_add(1);
        after.updated = now;
    }
    after
}

fn read(row: &Row) -> Result<Project, Error> {
    Ok(Project {
        name: row.get("name")?,
        title: row.get("title")?,
        description: row.get("description")?,
        repositories: row.json("repositories")?,
        creator: read_author(row)?,
        revision: row.u32("revision")?,
        created: row.time("created_at")?,
        updated: row.time("updated_at")?,
    })
}
