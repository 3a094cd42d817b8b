//! A run of a chat: what it takes in when its package is opened, and what it leaves when it is over.

use protocol::board::{Author, AuthorKind, ChatCause, ChatMessage, ChatMessageKind, NO_RESPONSE};
use protocol::{ChatId, FailureClass, TaskId, Verdict, bound, limits};

use super::{BY_ID, LOCK, Written, add, read, read_message, select_messages};
use crate::db::{Conn, query};
use crate::wakes::Over;
use crate::writes::Write;
use crate::{Error, Store};

/// The chat that the end of a task writes to, locked.
pub(crate) struct LockedChat(ChatId);

impl Store {
    /// What a task is to answer, for its package once that is open; `None` for a task of no chat.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn chat_cause(&self, task: TaskId) -> Result<Option<ChatCause>, Error> {
        const TAKEN: &str = select_messages!(
            "WHERE task = $1 AND author_kind = 'member' ORDER BY position DESC LIMIT $2"
        );
        let mut reader = self.reader().await?;
        let Some(chat) = of_task(&mut reader, task).await? else {
            return Ok(None);
        };
        let chat = read(
            &query("read a chat", BY_ID)
                .bind(chat)
                .one(&mut reader)
                .await?,
        )?;
        let most = u32::try_from(limits::CHAT_BATCH + 1).unwrap_or(u32::MAX);
        let taken = query("list what a run of a chat took in", TAKEN)
            .bind(task)
            .bind(most);
        let rows = taken.all(&mut reader).await?;
        let messages: Result<Vec<ChatMessage>, Error> = rows.iter().map(read_message).collect();
        let mut messages = messages?;
        let mut cut = messages.len() > limits::CHAT_BATCH;
        messages.truncate(limits::CHAT_BATCH);
        messages.reverse();
        for message in &mut messages {
            cut |= message.body.len() > limits::CAUSE_COMMENT_BYTES;
            bound::cut(&mut message.body, limits::CAUSE_COMMENT_BYTES);
        }
        let first = messages
            .first()
            .map_or(chat.messages + 1, |first| first.position);
        Ok(Some(ChatCause {
            chat: chat.id,
            title: chat.title,
            member: chat.member,
            messages,
            cut,
            before: first.saturating_sub(1),
        }))
    }
}

/// The chat of a task.
pub(super) async fn of_task(
    on: impl Into<Conn<'_>>,
    task: TaskId,
) -> Result<Option<ChatId>, Error> {
    const FIND: &str = "SELECT chat FROM chat_tasks WHERE task = $1";
    let find = query("find the chat of a task", FIND).bind(task);
    let found = find.optional(on).await?;
    found.map(|row| row.get("chat").map(ChatId)).transpose()
}

/// Its package is open: all that waits is its batch, and what comes now is for the next task. The session is locked.
pub(crate) async fn opened(write: &mut Write, task: TaskId) -> Result<(), Error> {
    // A later attempt is given what the first one was, and no more.
    const TAKE: &str = "UPDATE chat_messages SET task = $1 WHERE chat = (SELECT chat FROM chat_tasks WHERE task = $1) \
        AND author_kind = 'member' AND task IS NULL AND NOT EXISTS (SELECT 1 FROM chat_messages AS taken \
        WHERE taken.task = $1 AND taken.author_kind = 'member')";
    if of_task(&mut *write, task).await?.is_none() {
        return Ok(());
    }
    close(write, task).await?;
    query("take in what waits in a chat", TAKE)
        .bind(task)
        .execute(write)
        .await?;
    Ok(())
}

/// Lets a task take in nothing more: what is written from now on makes another one.
pub(crate) async fn close(write: &mut Write, task: TaskId) -> Result<(), Error> {
    const CLOSE: &str = "UPDATE chat_tasks SET absorbing = $2 WHERE task = $1 AND absorbing";
    let close = query("close the slot of a chat", CLOSE)
        .bind(task)
        .bind(false);
    close.execute(write).await?;
    Ok(())
}

/// Locks the chat that the end of a task writes to, before its session is locked as everywhere.
pub(crate) async fn lock(write: &mut Write, task: TaskId) -> Result<Option<LockedChat>, Error> {
    let Some(chat) = of_task(&mut *write, task).await? else {
        return Ok(None);
    };
    query("lock a chat", LOCK)
        .bind(chat)
        .optional(write)
        .await?;
    Ok(Some(LockedChat(chat)))
}

/// The task is over: what it said is the agent's answer. What a failed one had taken in waits again.
pub(crate) async fn ended(
    write: &mut Write,
    chat: Option<LockedChat>,
    over: &Over<'_>,
) -> Result<(), Error> {
    const WAIT_AGAIN: &str =
        "UPDATE chat_messages SET task = NULL WHERE task = $1 AND author_kind = 'member'";
    let Some(LockedChat(chat)) = chat else {
        return Ok(());
    };
    let task = over.task.id;
    close(write, task).await?;
    let failure = over.verdict.outcome.class();
    match failure {
        // Who stops a run that has begun does not want to ask the same again.
        None | Some(FailureClass::Cancelled) => {}
        Some(_) => {
            let again = query("let what a failed run took in wait again", WAIT_AGAIN).bind(task);
            again.execute(&mut *write).await?;
        }
    }
    let (kind, body) = match failure {
        None => said(over.verdict),
        Some(_) => (ChatMessageKind::Failed, String::new()),
    };
    let author = Author {
        kind: AuthorKind::Agent,
        id: over.task.agent.clone(),
        name: over.task.agent.clone(),
    };
    let written = Written {
        chat,
        kind,
        author: &author,
        body: &body,
        task: Some(task),
        failure,
        now: over.now,
    };
    add(write, written).await?;
    Ok(())
}

/// What a run that succeeded has said.
fn said(verdict: &Verdict) -> (ChatMessageKind, String) {
    let output = verdict.result.as_ref().map(|result| result.output.trim());
    match output {
        None | Some("" | NO_RESPONSE) => (ChatMessageKind::NoResponse, String::new()),
        // A task whose answer the database refuses would never be over.
        Some(text) => (ChatMessageKind::Message, text.replace('\0', "\u{fffd}")),
    }
}
