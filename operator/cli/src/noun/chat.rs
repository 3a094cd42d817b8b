//! `moor chat`.

mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::board::{ChatEdit, ChatQuery, NewChat, NewChatMessage};
use protocol::{ChatId, limits};

use super::{Part, count};
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists your chats, the last begun first. Nobody else sees them.
    List(List),
    /// Begins a chat with an agent, and wakes it.
    Start(Start),
    /// Writes into a chat. What you write before the agent has begun is answered together.
    Send {
        /// The id of the chat.
        id: ChatId,
        #[command(flatten)]
        body: Body,
    },
    /// Shows what was said in a chat: the last of it, oldest first.
    Show {
        /// The id of the chat; in a task's pod, without one, the chat of the task.
        id: Option<ChatId>,
        #[command(flatten)]
        part: Part,
    },
    /// Gives a chat another title.
    Rename {
        /// The id of the chat.
        id: ChatId,
        /// One line.
        #[arg(allow_hyphen_values = true)]
        title: String,
    },
    /// Puts a chat away. A message brings it back.
    Archive {
        /// The id of the chat.
        id: ChatId,
        /// Brings it back.
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Those that were put away.
    #[arg(long)]
    archived: bool,
    /// At most so many, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    limit: Option<u32>,
    /// Where to go on: the hint below the part before says it.
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Name of the agent.
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// One line; without it the beginning of the message.
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    body: Body,
}

/// What a message says.
#[derive(Debug, Args)]
pub(crate) struct Body {
    /// The message; `-` takes it from standard input.
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
}

impl Body {
    fn read(&self) -> Result<String, Failure> {
        let (words, file) = (self.body.as_deref(), self.file.as_deref());
        let text = input::text(words, file, limits::COMMENT_BYTES)?;
        Ok(text.unwrap_or_default())
    }
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List(list) => {
                let query = ChatQuery {
                    archived: list.archived,
                    limit: list.limit,
                    cursor: list.cursor.clone(),
                };
                let page = board.chats(&query).await?;
                out.page(&page, |chat| chat.id.to_string(), show::table)
            }
            Self::Start(start) => {
                let new = NewChat {
                    agent: start.agent.clone(),
                    title: start.title.clone(),
                    body: start.body.read()?,
                };
                let sent = board.begin_chat(&new).await?;
                out.show(&sent, |sent| sent.chat.id.to_string(), show::sent)
            }
            Self::Send { id, body } => {
                let new = NewChatMessage { body: body.read()? };
                let sent = board.send_chat(*id, &new).await?;
                out.show(&sent, |sent| sent.chat.id.to_string(), show::sent)
            }
            Self::Show { id, part } => {
                let id = match id {
                    Some(id) => *id,
                    None => session.own_chat().await?,
                };
                let page = board.chat_messages(id, &part.query()).await?;
                out.list(
                    &page,
                    |message| message.position.to_string(),
                    |messages, _| show::messages(messages),
                )
            }
            Self::Rename { id, title } => {
                let edit = ChatEdit {
                    title: Some(title.clone()),
                    archived: None,
                };
                edit_chat(session, *id, &edit, out).await
            }
            Self::Archive { id, undo } => {
                let edit = ChatEdit {
                    title: None,
                    archived: Some(!undo),
                };
                edit_chat(session, *id, &edit, out).await
            }
        }
    }
}

async fn edit_chat(
    session: &Session,
    id: ChatId,
    edit: &ChatEdit,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let chat = session.board()?.edit_chat(id, edit).await?;
    out.show(&chat, |chat| chat.id.to_string(), show::describe)
}
