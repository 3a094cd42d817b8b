//! `moor comment`.

pub(super) mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use protocol::board::{
    Comment, CommentEdit, CommentQuery, IssueKey, NewComment, Posted, Preview, Recipient,
    WakeOutcome,
};
use protocol::{AttachmentId, CommentId, limits};

use super::when::When;
use super::{Which, attachment, count, wakes};
use crate::failure::Failure;
use crate::output::{Form, Output};
use crate::session::Session;
use crate::who::Names;
use crate::{input, mention};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the comments of an issue, oldest first.
    List(List),
    /// Writes a comment, and says who is woken by it.
    Add(Add),
    /// Changes your comment, and says who is woken now.
    Edit {
        /// Its id.
        id: CommentId,
        #[command(flatten)]
        body: Body,
        /// Only if it is at this revision.
        #[arg(long)]
        revision: Option<u32>,
    },
    /// Removes a comment. What it woke and has not begun yet is withdrawn.
    Delete {
        /// Its id.
        id: CommentId,
    },
    /// Says that a thread needs no more answer.
    Resolve {
        /// The comment that begins it.
        id: CommentId,
        /// Says that it does.
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    which: Which,
    /// Only what was written after this moment, like 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only the thread of this comment.
    #[arg(long, value_name = "ID")]
    thread: Option<CommentId>,
    /// Only what begins a thread.
    #[arg(long, conflicts_with = "thread")]
    roots: bool,
    /// One line each: how many replies, the last activity, how it begins.
    #[arg(long)]
    summary: bool,
    /// Only how each text begins; --thread shows all of one.
    #[arg(long, conflicts_with = "summary")]
    compact: bool,
    /// At most so many, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    limit: Option<u32>,
    /// Where to go on: the hint below the part before says it.
    #[arg(long)]
    cursor: Option<String>,
}

/// What a comment says.
#[derive(Debug, Args)]
pub(crate) struct Body {
    /// Markdown; `-` takes it from standard input. An `@name` that means one agent, team or member becomes a mention.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "file"
    )]
    body: Option<String>,
    /// The same, from a file.
    #[arg(long, conflicts_with = "body")]
    file: Option<PathBuf>,
    /// Leaves every `@name` as it stands.
    #[arg(long)]
    as_is: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    body: Body,
    /// The comment to answer to. An agent that was woken by a comment answers there without it.
    #[arg(long, value_name = "ID")]
    parent: Option<CommentId>,
    /// An agent that is not to be woken. May be given several times.
    #[arg(long, value_name = "AGENT")]
    suppress: Vec<String>,
    #[command(flatten)]
    when: When,
    /// A file that comes with it, on the issue. May be given several times.
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Says who would be woken, and writes nothing.
    #[arg(long)]
    preview: bool,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List(list) => list.run(session, out).await,
            Self::Add(add) => add.run(session, out).await,
            Self::Edit { id, body, revision } => {
                let edit = CommentEdit {
                    revision: *revision,
                    body: body.read(session).await?,
                };
                let posted = board.edit_comment(*id, &edit).await?;
                show_posted(session, &posted, out).await
            }
            Self::Delete { id } => {
                board.delete_comment(*id).await?;
                out.done(&id.to_string(), "is removed")
            }
            Self::Resolve { id, undo } => {
                let comment = board.resolve_comment(*id, !undo).await?;
                out.show(
                    &comment,
                    |comment| comment.id.to_string(),
                    |comment| {
                        let how = if comment.resolved { "resolved" } else { "open" };
                        format!("{} is {how}\n", comment.id)
                    },
                )
            }
        }
    }
}

impl Body {
    pub(crate) async fn read(&self, session: &Session) -> Result<String, Failure> {
        let (words, file) = (self.body.as_deref(), self.file.as_deref());
        let text = input::text(words, file, limits::COMMENT_BYTES)?.unwrap_or_default();
        if text.trim().is_empty() {
            return Err(Failure::Usage("the comment is empty".to_owned()));
        }
        if self.as_is {
            Ok(text)
        } else {
            mention::link(text, &session.board()?).await
        }
    }
}

impl List {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let query = CommentQuery {
            since: self.since,
            thread: self.thread,
            roots: self.roots,
            limit: self.limit,
            cursor: self.cursor.clone(),
        };
        let key = self.which.key(session).await?;
        let page = session.board()?.comments(&key, &query).await?;
        let id = |comment: &Comment| comment.id.to_string();
        if self.summary {
            out.page(&page, id, show::summary)
        } else {
            out.list(&page, id, |comments, _| {
                let describe = if self.compact {
                    show::compact
                } else {
                    show::describe
                };
                comments.iter().map(describe).collect()
            })
        }
    }
}

impl Add {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let mut new = NewComment {
            body: self.body.read(session).await?,
            parent: self.parent,
            suppress: self.suppress.clone(),
            wake_at: self.when.at,
            wake_after_seconds: self.when.after,
            attachments: Vec::new(),
        };
        let key = self.which.key(session).await?;
        let board = session.board()?;
        if self.preview {
            let preview = board.preview_comment(&key, &new).await?;
            return show_preview(session, &preview, out).await;
        }
        new.attachments = self.attach(session, &key).await?;
        let posted = board.post_comment(&key, &new).await?;
        show_posted(session, &posted, out).await
    }

    /// Puts the files on the issue. All are looked at before the first one goes.
    async fn attach(
        &self,
        session: &Session,
        key: &IssueKey,
    ) -> Result<Vec<AttachmentId>, Failure> {
        if self.attach.len() > limits::COMMENT_FILES {
            return Err(Failure::Usage(format!(
                "a comment comes with at most {} files",
                limits::COMMENT_FILES
            )));
        }
        for file in &self.attach {
            attachment::check(file)?;
        }
        let mut ids = Vec::new();
        for file in &self.attach {
            ids.push(attachment::add(session, key, file).await?.id);
        }
        Ok(ids)
    }
}

pub(crate) async fn show_posted(
    session: &Session,
    posted: &Posted,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let names = names(session, &posted.wakes, out).await?;
    out.show(
        posted,
        |posted| posted.comment.id.to_string(),
        |posted| {
            let Comment { id, thread, .. } = posted.comment;
            let place = if id == thread {
                String::new()
            } else {
                format!(" in thread {thread}")
            };
            format!(
                "Comment {id}{place}\n{}",
                wakes::lines(&posted.wakes, &names)
            )
        },
    )
}

async fn show_preview(
    session: &Session,
    preview: &Preview,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let names = names(session, &preview.wakes, out).await?;
    let ids = |preview: &Preview| {
        let ids = preview.wakes.iter().map(|wake| wake.recipient.id.as_str());
        ids.collect::<Vec<_>>().join(" ")
    };
    out.show(preview, ids, |preview| {
        format!("Not written.\n{}", wakes::lines(&preview.wakes, &names))
    })
}

async fn names(
    session: &Session,
    wakes: &[WakeOutcome],
    out: &Output<'_>,
) -> Result<Names, Failure> {
    if out.quiet || out.form != Form::Human {
        return Ok(Names::default());
    }
    let recipients = wakes
        .iter()
        .map(|wake: &WakeOutcome| -> &Recipient { &wake.recipient });
    Ok(Names::of(&session.board()?, recipients).await)
}
