//! `moor project`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::board::{NewProject, Project, ProjectEdit, ProjectEnd, Repository};
use protocol::limits;

use super::Part;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};
use crate::{input, text};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists projects by name.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows a project with its repositories.
    Get {
        /// What issues call it.
        name: String,
    },
    /// Makes a project.
    Create(Create),
    /// Changes a project. What is not named stays.
    Edit(Edit),
    /// Ends a project. Its issues go on without it.
    Delete {
        /// What issues call it.
        name: String,
        /// Takes issues out of it that belong to it; without this it stays as long as there are any.
        #[arg(long)]
        detach: bool,
    },
}

/// The text of a project.
#[derive(Debug, Args)]
struct Description {
    /// Markdown; `-` takes it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// The same, from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What issues call it, for ever: lower-case letters, digits and hyphens.
    name: String,
    /// One line.
    #[arg(long, allow_hyphen_values = true)]
    title: String,
    #[command(flatten)]
    description: Description,
    /// What its issues are about: `NAME=URL`, and behind it `,branch=BRANCH` and `,credentials=SECRET`. May be given
    /// several times.
    #[arg(long, value_name = "REPOSITORY", value_parser = repository)]
    repository: Vec<Repository>,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// What issues call it.
    name: String,
    /// One line.
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    description: Description,
    /// A repository more, or another form of the one of this name: `NAME=URL`, and behind it `,branch=BRANCH` and
    /// `,credentials=SECRET`. May be given several times.
    #[arg(long, value_name = "REPOSITORY", value_parser = repository)]
    repository: Vec<Repository>,
    /// A repository less. May be given several times.
    #[arg(long, value_name = "NAME")]
    remove_repository: Vec<String>,
    /// Only if it is at this revision: then nobody's change is overwritten.
    #[arg(long)]
    revision: Option<u32>,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        let project = match self {
            Self::List { part } => {
                let page = board.projects(&part.query()).await?;
                return out.page(&page, |project| project.name.clone(), table);
            }
            Self::Get { name } => board.project(&checked(name)?).await?,
            Self::Create(create) => {
                let new = NewProject {
                    name: create.name.clone(),
                    title: create.title.clone(),
                    description: create.description.read()?.unwrap_or_default(),
                    repositories: create.repository.clone(),
                };
                board.create_project(&new).await?
            }
            Self::Edit(edit) => edit.run(session).await?,
            Self::Delete { name, detach } => {
                let name = checked(name)?;
                let how = ProjectEnd { detach: *detach };
                board.delete_project(&name, how).await?;
                return out.done(&name, "is deleted");
            }
        };
        out.show(&project, |project| project.name.clone(), describe)
    }
}

impl Description {
    fn read(&self) -> Result<Option<String>, Failure> {
        input::text(
            self.description.as_deref(),
            self.description_file.as_deref(),
            limits::DESCRIPTION_BYTES,
        )
    }
}

impl Edit {
    async fn run(&self, session: &Session) -> Result<Project, Failure> {
        let board = session.board()?;
        let name = checked(&self.name)?;
        let mut edit = ProjectEdit {
            revision: self.revision,
            title: self.title.clone(),
            description: self.description.read()?,
            repositories: None,
        };
        if !self.repository.is_empty() || !self.remove_repository.is_empty() {
            let there = board.project(&name).await?;
            // The list is written as a whole: only on top of the one that was read.
            edit.revision = edit.revision.or(Some(there.revision));
            edit.repositories = Some(self.merged(there.repositories)?);
        }
        if edit.title.is_none() && edit.description.is_none() && edit.repositories.is_none() {
            return Err(Failure::Usage(
                "what is to be changed? `moor project edit --help` lists it".to_owned(),
            ));
        }
        Ok(board.edit_project(&name, &edit).await?)
    }

    fn merged(&self, mut all: Vec<Repository>) -> Result<Vec<Repository>, Failure> {
        for name in &self.remove_repository {
            let before = all.len();
            all.retain(|each| each.name != *name);
            if all.len() == before {
                return Err(Failure::Usage(format!(
                    "the project has no repository {name:?}"
                )));
            }
        }
        for given in &self.repository {
            match all.iter_mut().find(|each| each.name == given.name) {
                Some(there) => *there = given.clone(),
                None => all.push(given.clone()),
            }
        }
        Ok(all)
    }
}

/// A name that can stand in a path.
fn checked(name: &str) -> Result<String, Failure> {
    match protocol::board::is_project_name(name) {
        true => Ok(name.to_owned()),
        false => Err(Failure::Usage(format!(
            "no project is named {name:?}: lower-case letters, digits and hyphens, at most 40"
        ))),
    }
}

/// `NAME=URL[,branch=BRANCH][,credentials=SECRET]`. What is wrong with the parts the API says.
fn repository(text: &str) -> Result<Repository, &'static str> {
    const SHAPE: &str = "a repository is written NAME=URL, NAME=URL,branch=main or NAME=URL,branch=main,credentials=git-x";
    let (name, rest) = text.split_once('=').ok_or(SHAPE)?;
    let mut parts = rest.split(',');
    let mut repository = Repository {
        name: name.to_owned(),
        url: parts.next().unwrap_or_default().to_owned(),
        default_branch: None,
        credentials: None,
    };
    for part in parts {
        let (place, value) = match part.split_once('=').ok_or(SHAPE)? {
            ("branch", value) => (&mut repository.default_branch, value),
            ("credentials", value) => (&mut repository.credentials, value),
            _ => return Err(SHAPE),
        };
        *place = Some(value.to_owned());
    }
    Ok(repository)
}

fn table(projects: &[Project]) -> Table<3> {
    let rows = projects.iter().map(|project| {
        let repositories = project.repositories.iter().map(|each| each.name.as_str());
        [
            project.name.clone(),
            repositories.collect::<Vec<_>>().join(" "),
            project.title.clone(),
        ]
    });
    Table::new(["NAME", "REPOSITORIES", "TITLE"], rows)
}

fn describe(project: &Project) -> String {
    let mut rows = vec![
        ("Project", project.name.clone()),
        ("Title", project.title.clone()),
        ("Creator", super::wakes::author(&project.creator)),
        (
            "Updated",
            format!(
                "{}, revision {}",
                text::time(project.updated),
                project.revision
            ),
        ),
    ];
    for each in &project.repositories {
        let branch = each.default_branch.as_ref();
        let branch = branch.map_or_else(String::new, |branch| format!(", branch {branch}"));
        let secret = each.credentials.as_ref();
        let secret = secret.map_or_else(String::new, |name| format!(", credentials {name}"));
        rows.push((
            "Repository",
            format!("{} {}{branch}{secret}", each.name, each.url),
        ));
    }
    let mut shown = fields(&rows);
    if !project.description.is_empty() {
        shown.push('\n');
        shown.push_str(text::block(&project.description).trim_end());
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::board::{Author, AuthorKind};

    use super::*;

    #[test]
    fn a_repository_is_read_as_it_is_typed() {
        let plain = Repository {
            name: "app".into(),
            url: "https://h/a.git".into(),
            default_branch: None,
            credentials: None,
        };
        assert_eq!(repository("app=https://h/a.git"), Ok(plain.clone()));
        let whole = Repository {
            default_branch: Some("release/1".into()),
            credentials: Some("git-app".into()),
            ..plain
        };
        assert_eq!(
            repository("app=https://h/a.git,credentials=git-app,branch=release/1"),
            Ok(whole)
        );
        for wrong in ["", "app", "app=u,main", "app=u,owner=x"] {
            assert!(repository(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_project_is_shown() {
        let project = Project {
            name: "website".into(),
            title: "The\u{1b}[2J website".into(),
            description: "What people see.\n".into(),
            repositories: vec![
                repository("app=https://h/a.git,branch=main,credentials=git-app").unwrap(),
                repository("docs=ssh://git@h/d.git").unwrap(),
            ],
            creator: Author {
                kind: AuthorKind::Member,
                id: "x".into(),
                name: "ada".into(),
            },
            revision: 3,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("project", describe(&project));
        insta::assert_snapshot!("projects", table(&[project]).render(100));
    }
}
