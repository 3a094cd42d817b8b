//! `moor issue`.

mod history;
mod quick;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::board::{
    Issue, IssueEdit, IssueKey, IssueQuery, IssueStatus, NewIssue, Page, Recipient, SavedIssue,
    SearchQuery,
};
use protocol::limits;

use super::{Part, Which, count, member, run, status, usage, wakes};
use crate::failure::Failure;
use crate::output::{Form, Output};
use crate::session::Session;
use crate::who::{Names, recipient};
use crate::{input, mention, text};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists issues, newest first.
    List(List),
    /// Shows an issue with its description.
    Get(Which),
    /// Makes an issue.
    Create(Box<Create>),
    /// Lets an agent make an issue from what you say in a sentence.
    Quick(quick::Quick),
    /// Changes an issue. What is not named stays.
    Edit(Box<Edit>),
    /// Gives an issue to somebody. An agent starts at once.
    Assign(Assign),
    /// Says where an issue stands.
    Status(Status),
    /// Finds words in titles, descriptions and comments, the newest first.
    Search {
        /// Words, all of which must stand there.
        #[arg(required = true, value_name = "WORD")]
        words: Vec<String>,
        #[command(flatten)]
        part: Part,
    },
    /// Lets comments on an issue come into your inbox.
    Subscribe(Which),
    /// Keeps them out of it, until somebody names you there.
    Unsubscribe(Which),
    /// Lists who follows an issue.
    Subscribers {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        part: Part,
    },
    /// Lists the parts of an issue.
    Children {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        part: Part,
    },
    /// Lists the runs of agents on an issue.
    Runs {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        part: Part,
    },
    /// Shows what happened on an issue, the newest first: what was said, and who was woken.
    Timeline {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        part: Part,
    },
    /// Says how many tokens the runs on an issue have used.
    Usage(Which),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only of this status.
    #[arg(long, value_parser = status())]
    status: Option<IssueStatus>,
    /// Only those of this agent, team or member: a name, or `me`.
    #[arg(long, value_name = "WHO")]
    assignee: Option<String>,
    /// Only those of this project.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only those with this label.
    #[arg(long)]
    label: Option<String>,
    /// At most so many, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    limit: Option<u32>,
    /// Where to go on: the hint below the part before says it.
    #[arg(long)]
    cursor: Option<String>,
}

/// `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text
        .split_once('=')
        .ok_or("it is written KEY=VALUE, like build=17")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The text of an issue.
#[derive(Debug, Args)]
struct Description {
    /// Markdown; `-` takes it from standard input. An `@name` that means one agent, team or member becomes a mention.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// The same, from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
    /// Leaves every `@name` in the description as it stands.
    #[arg(long)]
    as_is: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// One line.
    #[arg(long, allow_hyphen_values = true)]
    title: String,
    #[command(flatten)]
    description: Description,
    /// Where it starts. In `backlog` nobody is woken.
    #[arg(long, value_parser = status(), default_value = IssueStatus::Todo.as_str())]
    status: IssueStatus,
    /// Higher goes first, -1000 to 1000.
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    priority: i32,
    /// Who is to do it: the name of an agent, team or member, or `me`.
    #[arg(long, value_name = "WHO")]
    assignee: Option<String>,
    /// The issue that it is a part of.
    #[arg(long, value_name = "KEY")]
    parent: Option<IssueKey>,
    /// Which stage of the parent's work it belongs to.
    #[arg(long, requires = "parent")]
    stage: Option<u32>,
    /// The project that it belongs to. A part belongs to that of its whole, unless told otherwise.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// What it is sorted by. May be given several times.
    #[arg(long)]
    label: Vec<String>,
    /// Something that programs keep with it. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,
    /// Wakes nobody.
    #[arg(long)]
    no_start: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    which: Which,
    /// One line.
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    description: Description,
    /// Where it stands.
    #[arg(long, value_parser = status())]
    status: Option<IssueStatus>,
    /// Higher goes first, -1000 to 1000.
    #[arg(long, allow_hyphen_values = true)]
    priority: Option<i32>,
    /// The project that it belongs to.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Takes it out of its project.
    #[arg(long, conflicts_with = "project")]
    no_project: bool,
    /// A label that it gets. May be given several times.
    #[arg(long)]
    label: Vec<String>,
    /// A label that it loses. May be given several times.
    #[arg(long, value_name = "LABEL")]
    unlabel: Vec<String>,
    /// Something that programs keep with it. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,
    /// A key whose value is forgotten. May be given several times.
    #[arg(long, value_name = "KEY")]
    unmeta: Vec<String>,
    /// Only if it is at this revision: then nobody's change is overwritten.
    #[arg(long)]
    revision: Option<u32>,
    /// Wakes nobody.
    #[arg(long)]
    no_start: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Assign {
    #[command(flatten)]
    which: Which,
    /// The name of an agent, team or member, or `me`.
    #[arg(long, value_name = "WHO", required_unless_present = "nobody")]
    to: Option<String>,
    /// Takes it from whoever has it.
    #[arg(long, conflicts_with = "to")]
    nobody: bool,
    /// Wakes nobody.
    #[arg(long)]
    no_start: bool,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct Status {
    /// Key of the issue, like TEAM-12. In a task's pod, without one, the issue of the task.
    key: Option<IssueKey>,
    /// Where it stands.
    #[arg(value_parser = status(), required = true)]
    status: IssueStatus,
    /// Wakes nobody.
    #[arg(long)]
    no_start: bool,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List(list) => list.run(session, out).await,
            Self::Get(which) => {
                let issue = board.issue(&which.key(session).await?).await?;
                let names = names(session, out, issue.assignee.iter()).await?;
                out.show(&issue, show::key, |issue| show::describe(issue, &names))
            }
            Self::Create(create) => create.run(session, out).await,
            Self::Quick(quick) => quick.run(session, out).await,
            Self::Edit(edit) => edit.run(session, out).await,
            Self::Assign(assign) => {
                let to = match &assign.to {
                    Some(word) => Some(recipient(session, word).await?),
                    None => None,
                };
                let edit = IssueEdit {
                    assignee: Some(to),
                    no_start: assign.no_start,
                    ..IssueEdit::default()
                };
                save(session, &assign.which.key(session).await?, &edit, out).await
            }
            Self::Status(status) => {
                let edit = IssueEdit {
                    status: Some(status.status),
                    no_start: status.no_start,
                    ..IssueEdit::default()
                };
                let key = session.issue(status.key.as_ref()).await?;
                save(session, &key, &edit, out).await
            }
            Self::Search { words, part } => {
                let query = SearchQuery {
                    q: words.join(" "),
                    limit: part.limit,
                    cursor: part.cursor.clone(),
                };
                let page = board.search(&query).await?;
                out.list(&page, show::place, show::hits)
            }
            Self::Subscribe(which) => subscribe(session, which, true, out).await,
            Self::Unsubscribe(which) => subscribe(session, which, false, out).await,
            Self::Subscribers { which, part } => {
                let key = which.key(session).await?;
                let page = board.subscribers(&key, &part.query()).await?;
                out.page(&page, |member| member.id.to_string(), member::table)
            }
            Self::Children { which, part } => {
                let key = which.key(session).await?;
                let page = board.children(&key, &part.query()).await?;
                show_page(session, &page, out).await
            }
            Self::Runs { which, part } => {
                let page = board
                    .runs(&which.key(session).await?, &part.query())
                    .await?;
                out.page(&page, |run| run.id.to_string(), run::table)
            }
            Self::Timeline { which, part } => {
                let key = which.key(session).await?;
                let page = board.history(&key, &part.query()).await?;
                out.list(&page, history::id, |entries, _| history::show(entries))
            }
            Self::Usage(which) => {
                let key = which.key(session).await?;
                let report = board.usage_of_issue(&key).await?;
                out.show(&report, |_| key.to_string(), usage::describe)
            }
        }
    }
}

impl List {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let assignee = match &self.assignee {
            Some(word) => Some(recipient(session, word).await?.to_string()),
            None => None,
        };
        let query = IssueQuery {
            status: self.status,
            assignee,
            project: self.project.clone(),
            label: self.label.clone(),
            limit: self.limit,
            cursor: self.cursor.clone(),
        };
        let page = session.board()?.issues(&query).await?;
        show_page(session, &page, out).await
    }
}

impl Description {
    async fn read(&self, session: &Session) -> Result<Option<String>, Failure> {
        let (words, file) = (
            self.description.as_deref(),
            self.description_file.as_deref(),
        );
        match input::text(words, file, limits::DESCRIPTION_BYTES)? {
            Some(text) if !self.as_is => Ok(Some(mention::link(text, &session.board()?).await?)),
            text => Ok(text),
        }
    }
}

impl Create {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let assignee = match &self.assignee {
            Some(word) => Some(recipient(session, word).await?),
            None => None,
        };
        let new = NewIssue {
            title: self.title.clone(),
            description: self.description.read(session).await?.unwrap_or_default(),
            status: self.status,
            priority: self.priority,
            assignee,
            parent: self.parent.clone(),
            stage: self.stage,
            project: self.project.clone(),
            labels: self.label.clone(),
            metadata: self.meta.iter().cloned().collect(),
            no_start: self.no_start,
        };
        let saved = session.board()?.create_issue(&new).await?;
        show_saved(session, &saved, out).await
    }
}

impl Edit {
    fn metadata(&self) -> BTreeMap<String, Option<String>> {
        let unset = self.unmeta.iter().map(|key| (key.clone(), None));
        let set = self.meta.iter().cloned();
        unset
            .chain(set.map(|(key, value)| (key, Some(value))))
            .collect()
    }

    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let edit = IssueEdit {
            revision: self.revision,
            title: self.title.clone(),
            description: self.description.read(session).await?,
            status: self.status,
            priority: self.priority,
            assignee: None,
            project: if self.no_project {
                Some(None)
            } else {
                self.project.clone().map(Some)
            },
            add_labels: self.label.clone(),
            remove_labels: self.unlabel.clone(),
            metadata: self.metadata(),
            no_start: self.no_start,
        };
        if edit.title.is_none()
            && edit.description.is_none()
            && edit.status.is_none()
            && edit.priority.is_none()
            && edit.project.is_none()
            && edit.add_labels.is_empty()
            && edit.remove_labels.is_empty()
            && edit.metadata.is_empty()
        {
            return Err(Failure::Usage(
                "what is to be changed? `moor issue edit --help` lists it".to_owned(),
            ));
        }
        save(session, &self.which.key(session).await?, &edit, out).await
    }
}

async fn subscribe(
    session: &Session,
    which: &Which,
    subscribed: bool,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let key = which.key(session).await?;
    let answer = session.board()?.subscribe(&key, subscribed).await?;
    out.show(
        &answer,
        |_| key.to_string(),
        |answer| match answer.subscribed {
            true => format!("You are told of comments on {key}.\n"),
            false => format!("You are told of comments on {key} when somebody names you.\n"),
        },
    )
}

async fn save(
    session: &Session,
    key: &IssueKey,
    edit: &IssueEdit,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let saved = session.board()?.edit_issue(key, edit).await?;
    show_saved(session, &saved, out).await
}

async fn show_saved(
    session: &Session,
    saved: &SavedIssue,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let recipients = saved.wakes.iter().map(|wake| &wake.recipient);
    let names = names(session, out, recipients.chain(&saved.issue.assignee)).await?;
    out.show(
        saved,
        |saved| show::key(&saved.issue),
        |saved| {
            let issue = &saved.issue;
            let who = issue.assignee.as_ref();
            let who = who.map_or_else(
                || "nobody's".to_owned(),
                |who| format!("with {}", names.call(who)),
            );
            let line = format!(
                "{} {}: {}, {who}, revision {}",
                issue.key,
                issue.title,
                issue.status.as_str(),
                issue.revision
            );
            format!(
                "{}\n{}",
                text::line(&line),
                wakes::lines(&saved.wakes, &names)
            )
        },
    )
}

/// Names are only asked for where a person reads them.
async fn names(
    session: &Session,
    out: &Output<'_>,
    recipients: impl Iterator<Item = &Recipient>,
) -> Result<Names, Failure> {
    if out.quiet || out.form != Form::Human {
        return Ok(Names::default());
    }
    Ok(Names::of(&session.board()?, recipients).await)
}

async fn show_page(
    session: &Session,
    page: &Page<Issue>,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let assignees = page
        .items
        .iter()
        .filter_map(|issue| issue.assignee.as_ref());
    let names = names(session, out, assignees).await?;
    out.page(page, show::key, |issues| show::table(issues, &names))
}
