//! Chats: one person writes to one agent, whose runs answer.
//!
//! A message waits until a run takes it in. A chat has at most one task that takes in what is written; when its
//! package is opened, all that waits is its batch, and what comes later is for the next one. What a run had taken in
//! that then failed waits again, so nothing that a person wrote is lost. The last text of a run is the agent's answer.
//!
//! The row of a chat is the lock of everything under it, and is locked before a session.

mod run;
mod send;

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, Chat, ChatEdit, ChatMessage, ChatMessageKind, ChatQuery, Page,
};
use protocol::{ChatId, FailureClass, MemberId, TaskId, limits};
use uuid::Uuid;

pub(crate) use run::{LockedChat, close, ended, lock, opened};
pub(crate) use send::title;

use crate::db::{Conn, Row, Sql, query};
use crate::issues::read_author;
use crate::writes::Write;
use crate::{Error, Store, WorkspaceRef, WritePoint, page, text};

macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT chats.id AS id, agent, member, user_name, title, archived, messages, created_at, last_activity_at, \
             (SELECT count(*) FROM chat_messages WHERE chat = chats.id AND author_kind = 'member' AND task IS NULL) \
             AS waiting FROM chats JOIN members ON members.id = member ",
            $which
        )
    };
}

const MINE: &str = select!("WHERE chats.id = $1 AND chats.namespace_uid = $2 AND member = $3");
const BY_ID: &str = select!("WHERE chats.id = $1");

/// Locks a chat.
const LOCK: Sql = Sql {
    sqlite: "SELECT 1 AS found FROM chats WHERE id = $1",
    postgres: "SELECT 1 AS found FROM chats WHERE id = $1 FOR UPDATE",
};

/// Columns of a message.
macro_rules! select_messages {
    ($which:literal) => {
        concat!(
            "SELECT position, kind, author_kind, author_id, author_name, body, task, failure, created_at \
             FROM chat_messages ",
            $which
        )
    };
}
use select_messages;

impl Store {
    /// A chat of this person. Those of others are not there.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn chat(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        chat: ChatId,
    ) -> Result<Option<Chat>, Error> {
        find(&mut self.reader().await?, workspace, member, chat).await
    }

    /// The chat that a task answers; `None` for other tasks.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn chat_of_task(&self, task: TaskId) -> Result<Option<(MemberId, Chat)>, Error> {
        let mut reader = self.reader().await?;
        let Some(chat) = run::of_task(&mut reader, task).await? else {
            return Ok(None);
        };
        let find = query("read a chat", BY_ID).bind(chat);
        let found = find.optional(&mut reader).await?;
        found
            .map(|row| Ok((MemberId(row.get("member")?), read(&row)?)))
            .transpose()
    }

    /// Chats of a person, the last begun first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn chats(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        asked: &ChatQuery,
    ) -> Result<Page<Chat>, Error> {
        const LIST: &str = select!(
            "WHERE member = $1 AND archived = $2 AND chats.id < $3 AND chats.namespace_uid = $4 \
             ORDER BY chats.id DESC LIMIT $5"
        );
        let limit = page::limit(asked.limit)?;
        let before = page::after(asked.cursor.as_deref())?;
        let list = query("list chats", LIST)
            .bind(member)
            .bind(asked.archived)
            .bind(before.unwrap_or(Uuid::max()))
            .bind(workspace.namespace_uid.as_str())
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let chats = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(chats, limit, |last: &Chat| last.id.to_string()))
    }

    /// Messages of a chat, newest first. Who may see them the caller has found out.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn chat_messages(
        &self,
        chat: ChatId,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<ChatMessage>, Error> {
        const LIST: &str =
            select_messages!("WHERE chat = $1 AND position < $2 ORDER BY position DESC LIMIT $3");
        let limit = page::limit(limit)?;
        let before = page::after::<u32>(cursor)?.map_or(i64::MAX, i64::from);
        let list = query("list messages of a chat", LIST)
            .bind(chat)
            .bind(before)
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let messages = rows.iter().map(read_message).collect::<Result<_, _>>()?;
        Ok(page::page(messages, limit, |last: &ChatMessage| {
            last.position.to_string()
        }))
    }

    /// Changes the title of a chat, puts it away or brings it back. Its task goes on.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is none of theirs, [`Error::Invalid`] for a text that is no title, [`Error::Conflict`]
    /// when they have as many chats as they may, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn edit_chat(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        chat: ChatId,
        edit: &ChatEdit,
    ) -> Result<Chat, Error> {
        const UPDATE: &str = "UPDATE chats SET title = $2, archived = $3 WHERE id = $1";
        let mut write = self.write(WritePoint::EditChat).await?;
        let before = locked(&mut write, workspace, member, chat).await?;
        let title = match &edit.title {
            Some(title) => text::line("title", title, limits::TITLE_BYTES)?,
            None => before.title,
        };
        let archived = edit.archived.unwrap_or(before.archived);
        if before.archived && !archived {
            check_room(&mut write, member).await?;
        }
        let update = query("change a chat", UPDATE)
            .bind(chat)
            .bind(title.as_str());
        update.bind(archived).execute(&mut write).await?;
        let after = find(&mut write, workspace, member, chat).await?;
        write.commit().await?;
        after.ok_or_else(|| missing(chat))
    }
}

async fn find(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    member: MemberId,
    chat: ChatId,
) -> Result<Option<Chat>, Error> {
    let find = query("read a chat of a member", MINE)
        .bind(chat)
        .bind(workspace.namespace_uid.as_str())
        .bind(member);
    find.optional(on).await?.as_ref().map(read).transpose()
}

/// A chat of this person, locked until the write is over.
async fn locked(
    write: &mut Write,
    workspace: &WorkspaceRef,
    member: MemberId,
    chat: ChatId,
) -> Result<Chat, Error> {
    let lock = query("lock a chat", LOCK).bind(chat);
    lock.optional(&mut *write).await?;
    let found = find(write, workspace, member, chat).await?;
    found.ok_or_else(|| missing(chat))
}

/// Whether a person may have one chat more that is not put away.
async fn check_room(write: &mut Write, member: MemberId) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*) AS chats FROM (SELECT 1 FROM chats WHERE member = $1 AND archived = $2 LIMIT $3) \
        AS counted";
    let count = query("count chats", COUNT)
        .bind(member)
        .bind(false)
        .bind(limits::CHATS_PER_PERSON);
    if count.one(write).await?.u32("chats")? < limits::CHATS_PER_PERSON {
        return Ok(());
    }
    Err(Error::Conflict {
        what: format!(
            "you have {} chats: put some away, or go on in one of them",
            limits::CHATS_PER_PERSON
        ),
    })
}

fn missing(chat: ChatId) -> Error {
    Error::Missing {
        what: format!("chat {chat}"),
    }
}

fn read(row: &Row) -> Result<Chat, Error> {
    Ok(Chat {
        id: ChatId(row.get("id")?),
        agent: row.get("agent")?,
        member: Author {
            kind: AuthorKind::Member,
            id: row.get::<Uuid>("member")?.to_string(),
            name: row.get("user_name")?,
        },
        title: row.get("title")?,
        archived: row.get("archived")?,
        messages: row.u32("messages")?,
        waiting: row.u32("waiting")?,
        created: row.time("created_at")?,
        last_activity: row.time("last_activity_at")?,
    })
}

fn read_message(row: &Row) -> Result<ChatMessage, Error> {
    let failure: Option<String> = row.get("failure")?;
    let failure = failure.map(|word| {
        FailureClass::parse(&word).ok_or(Error::Corrupt {
            what: "failure",
            found: word,
        })
    });
    Ok(ChatMessage {
        position: row.u32("position")?,
        kind: row.word("kind", ChatMessageKind::parse)?,
        author: read_author(row)?,
        body: row.get("body")?,
        task: row.get::<Option<Uuid>>("task")?.map(TaskId),
        failure: failure.transpose()?,
        created: row.time("created_at")?,
    })
}

/// A message to be stored.
struct Written<'a> {
    chat: ChatId,
    kind: ChatMessageKind,
    author: &'a Author,
    body: &'a str,
    task: Option<TaskId>,
    failure: Option<FailureClass>,
    now: Timestamp,
}

/// Adds a message to a chat, which is locked.
async fn add(write: &mut Write, written: Written<'_>) -> Result<ChatMessage, Error> {
    const NEXT: &str = "UPDATE chats SET messages = messages + 1, last_activity_at = $2, archived = $3 WHERE id = $1 \
        RETURNING messages";
    const INSERT: &str = "INSERT INTO chat_messages (chat, position, kind, author_kind, author_id, author_name, body, task, \
        failure, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let next = query("number a message of a chat", NEXT)
        .bind(written.chat)
        .bind(written.now)
        .bind(false);
    let position = next.one(&mut *write).await?.u32("messages")?;
    let insert = query("write a message of a chat", INSERT)
        .bind(written.chat)
        .bind(position)
        .bind(written.kind.as_str())
        .bind(written.author.kind.as_str())
        .bind(written.author.id.as_str())
        .bind(written.author.name.as_str());
    insert
        .bind(written.body)
        .bind(written.task)
        .bind(written.failure.map(FailureClass::as_str))
        .bind(written.now)
        .execute(write)
        .await?;
    Ok(ChatMessage {
        position,
        kind: written.kind,
        author: written.author.clone(),
        body: written.body.to_owned(),
        task: written.task,
        failure: written.failure,
        created: written.now,
    })
}
