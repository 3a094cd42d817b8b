//! Writing to an agent: stored, and given to a task, in one transaction.

use jiff::Timestamp;
use protocol::board::{
    Chat, ChatMessage, ChatMessageKind, ChatSent, NewChat, WakeOutcome, WakeVerdict,
};
use protocol::{ChatId, MemberId, SessionPolicy, Subject, TaskId, limits};
use uuid::Uuid;
use wake::{Directory, Target};

use super::{Written, add, check_room, find, locked, missing, read_message, select_messages};
use crate::born::{self, Birth};
use crate::db::query;
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Acting, Error, Store, WritePoint, requests, text, wakes};

/// Where a chat begins.
const FIRST: u32 = 1;
/// Bytes of a title that is taken from the first message.
const TITLE_BYTES: usize = 80;
/// Somebody waits for the answer: ahead of what an issue asks for without a priority of its own.
const PRIORITY: i32 = 100;

impl Store {
    /// Begins a chat with its first message. With [`Store::for_request`] it is begun once.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such agent, [`Error::Invalid`] for a text that cannot be one,
    /// [`Error::Conflict`] when the person has as many chats as they may, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn begin_chat(
        &self,
        by: &Acting,
        member: MemberId,
        new: &NewChat,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<ChatSent, Error> {
        const INSERT: &str = "INSERT INTO chats (id, namespace_uid, agent, member, title, created_at, last_activity_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $6)";
        text::said("message", &new.body)?;
        let title = match &new.title {
            Some(title) => text::line("title", title, limits::TITLE_BYTES)?,
            None => title(&new.body),
        };
        let id = ChatId(new_id(now)?);
        born::check_agent(by, &new.agent, directory)?;
        let mut write = self.write(WritePoint::BeginChat).await?;
        write.queue(&by.workspace, directory).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            return again(write, by, member, ChatId(made.id), (FIRST, made.wakes)).await;
        }
        // Two that are begun at once would not count each other.
        write.serialize(&format!("chats of {member}")).await?;
        check_room(&mut write, member).await?;
        let insert = query("begin a chat", INSERT)
            .bind(id)
            .bind(by.workspace.namespace_uid.as_str())
            .bind(new.agent.as_str())
            .bind(member);
        insert
            .bind(title.as_str())
            .bind(now)
            .execute(&mut write)
            .await?;
        let sent = send(&mut write, by, (id, &new.agent), &new.body, directory, now).await?;
        requests::keep(&mut write, by, id.0, std::slice::from_ref(&sent.1), now).await?;
        answer(write, by, member, id, sent).await
    }

    /// Writes into a chat, with [`Store::for_request`] once. The task that waits takes it in, else one is queued. A
    /// chat that was put away is back.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is no chat of theirs, or its agent is not there any more, [`Error::Invalid`] for a
    /// text that cannot be one, [`Error::Conflict`] when as many messages wait as may, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn send_chat(
        &self,
        by: &Acting,
        member: MemberId,
        chat: ChatId,
        body: &str,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<ChatSent, Error> {
        text::said("message", body)?;
        let mut write = self.write(WritePoint::SendChat).await?;
        write.queue(&by.workspace, directory).await?;
        let before = locked(&mut write, &by.workspace, member, chat).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            let position = place(made.id);
            return again(write, by, member, chat, (position, made.wakes)).await;
        }
        born::check_agent(by, &before.agent, directory)?;
        if before.archived {
            check_room(&mut write, member).await?;
        }
        // What a failed run leaves waits for a message that makes the next one: that one is let in however many wait.
        if before.waiting >= limits::CHAT_WAITING && absorbing(&mut write, chat).await?.is_some() {
            return Err(Error::Conflict {
                what: format!(
                    "{} messages of this chat wait for {} to begin: wait, or see with the task what holds it",
                    before.waiting, before.agent
                ),
            });
        }
        let sent = send(&mut write, by, (chat, &before.agent), body, directory, now).await?;
        let place = Uuid::from_u128(sent.0.position.into());
        requests::keep(&mut write, by, place, std::slice::from_ref(&sent.1), now).await?;
        answer(write, by, member, chat, sent).await
    }
}

/// Adds a message to a chat, which is locked, and says what becomes of it.
async fn send(
    write: &mut Write,
    by: &Acting,
    (chat, agent): (ChatId, &str),
    body: &str,
    directory: &dyn Directory,
    now: Timestamp,
) -> Result<(ChatMessage, WakeOutcome), Error> {
    let birth = Birth {
        workspace: &by.workspace,
        agent,
        subject: Subject {
            kind: Subject::CHAT.to_owned(),
            name: chat.to_string(),
        },
        policy: SessionPolicy::Resume,
        priority: PRIORITY,
        max_queued: directory.max_queued(),
        now,
    };
    // The session too, so that nobody opens the package of the task that takes it in meanwhile.
    let session = birth.session(write).await?;
    let written = Written {
        chat,
        kind: ChatMessageKind::Message,
        author: &by.author,
        body,
        task: None,
        failure: None,
        now,
    };
    let message = add(write, written).await?;
    let verdict = match absorbing(write, chat).await? {
        Some(task) => WakeVerdict::Coalesced { task },
        None => {
            let task = birth.task(write, session).await?;
            enter(write, chat, task).await?;
            WakeVerdict::Queued { task: Some(task) }
        }
    };
    Ok((message, wakes::outcome(&Target::agent(agent), verdict)))
}

/// The task of a chat that takes in what is written.
async fn absorbing(write: &mut Write, chat: ChatId) -> Result<Option<TaskId>, Error> {
    const FIND: &str = "SELECT task FROM chat_tasks WHERE chat = $1 AND absorbing";
    let find = query("find the task of a chat", FIND).bind(chat);
    let found = find.optional(write).await?;
    found.map(|row| row.get("task").map(TaskId)).transpose()
}

async fn enter(write: &mut Write, chat: ChatId, task: TaskId) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO chat_tasks (task, chat) VALUES ($1, $2)";
    let insert = query("give a chat a task", INSERT).bind(task).bind(chat);
    insert.execute(write).await?;
    Ok(())
}

/// The place of a message in its chat, which is kept of a request instead of an id: messages have none.
fn place(made: Uuid) -> u32 {
    u32::try_from(made.as_u128()).unwrap_or_default()
}

/// The answer to a request that was made before.
async fn again(
    mut write: Write,
    by: &Acting,
    member: MemberId,
    chat: ChatId,
    (position, wakes): (u32, Vec<WakeOutcome>),
) -> Result<ChatSent, Error> {
    const FIND: &str = select_messages!("WHERE chat = $1 AND position = $2");
    let find = query("read a message of a chat", FIND)
        .bind(chat)
        .bind(position);
    let found = find.optional(&mut write).await?;
    let message = found.as_ref().map(read_message).transpose()?;
    match (message, wakes.into_iter().next()) {
        (Some(message), Some(wake)) => answer(write, by, member, chat, (message, wake)).await,
        (None, _) | (_, None) => Err(missing(chat)),
    }
}

async fn answer(
    mut write: Write,
    by: &Acting,
    member: MemberId,
    chat: ChatId,
    (message, wake): (ChatMessage, WakeOutcome),
) -> Result<ChatSent, Error> {
    let found: Option<Chat> = find(&mut write, &by.workspace, member, chat).await?;
    let chat = found.ok_or_else(|| missing(chat))?;
    write.commit().await?;
    Ok(ChatSent {
        chat,
        message,
        wake,
    })
}

/// The beginning of a message, on one line.
pub(crate) fn title(body: &str) -> String {
    let line: String = body
        .trim()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .map(|each| if each.is_control() { ' ' } else { each })
        .collect();
    let line = line.trim();
    let short = &line[..line.floor_char_boundary(TITLE_BYTES)];
    if short.len() < line.len() {
        format!("{}…", short.trim_end())
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_beginning_of_the_message() {
        assert_eq!(title("\n  What is\tit?\nAnd more"), "What is it?");
        let long = title(&"ä".repeat(100));
        assert!(long.len() <= TITLE_BYTES + "…".len() && long.ends_with('…'));
        assert!(text::line("title", &long, limits::TITLE_BYTES).is_ok());
    }
}
