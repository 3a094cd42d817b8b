//! Chats, as people read them.

use protocol::FailureClass;
use protocol::board::{AuthorKind, Chat, ChatMessage, ChatMessageKind, ChatSent, WakeVerdict};

use crate::table::Table;
use crate::text;

/// Columns by which a message is indented below its head.
const INDENT: usize = 4;

/// Chats, a line each.
pub(super) fn table(chats: &[Chat]) -> Table<6> {
    let rows = chats.iter().map(|chat| {
        [
            chat.id.to_string(),
            chat.agent.clone(),
            chat.messages.to_string(),
            chat.waiting.to_string(),
            text::time(chat.last_activity),
            chat.title.clone(),
        ]
    });
    Table::new(
        ["ID", "AGENT", "MESSAGES", "WAITING", "LAST", "TITLE"],
        rows,
    )
}

/// A chat.
pub(super) fn describe(chat: &Chat) -> String {
    let state = if chat.archived { ", put away" } else { "" };
    let line = format!(
        "{} with {}: {}{state}",
        chat.id,
        chat.agent,
        chat.title.trim()
    );
    text::line(&line) + "\n"
}

/// What became of a message.
pub(super) fn sent(sent: &ChatSent) -> String {
    let next = match &sent.wake.verdict {
        WakeVerdict::Queued { task: Some(task) } => {
            format!("{} answers in task {task}", sent.chat.agent)
        }
        WakeVerdict::Coalesced { task } => {
            format!("task {task}, which has not begun yet, answers this too",)
        }
        // A message to an agent does not wait.
        WakeVerdict::Queued { task: None }
        | WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. }
        | WakeVerdict::Blocked { .. } => {
            format!("{} is not woken", sent.chat.agent)
        }
    };
    let id = sent.chat.id;
    text::line(&format!(
        "Chat {id}: {next}. See it with: moor chat show {id}"
    )) + "\n"
}

/// Messages, the newest of which come first, in the order in which they were written.
pub(super) fn messages(newest_first: &[ChatMessage]) -> String {
    newest_first.iter().rev().map(message).collect()
}

fn message(message: &ChatMessage) -> String {
    let who = match message.author.kind {
        AuthorKind::Member | AuthorKind::System => message.author.name.clone(),
        AuthorKind::Agent => format!("{} (agent)", message.author.id),
    };
    let what = match (message.kind, message.failure) {
        (ChatMessageKind::Message, _) if message.author.kind == AuthorKind::Member => {
            match message.task {
                Some(_) => String::new(),
                None => ", waits".to_owned(),
            }
        }
        (ChatMessageKind::Message, _) => String::new(),
        (ChatMessageKind::NoResponse, _) => ", has nothing to say".to_owned(),
        (ChatMessageKind::Failed, Some(FailureClass::Cancelled)) => ", was stopped".to_owned(),
        (ChatMessageKind::Failed, failure) => format!(
            ", has failed{}",
            failure
                .map(|class| format!(" ({})", class.as_str()))
                .unwrap_or_default()
        ),
    };
    let head = format!(
        "{} {} {who}{what}",
        message.position,
        text::time(message.created)
    );
    let body = text::indented(message.body.trim_end(), INDENT);
    format!("{}\n{body}\n", text::line(&head))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::board::{Author, Recipient, RecipientKind, WakeOutcome};
    use protocol::{ChatId, TaskId};
    use uuid::Uuid;

    use super::*;

    fn author(kind: AuthorKind, name: &str) -> Author {
        Author {
            kind,
            id: name.into(),
            name: name.into(),
        }
    }

    fn chat() -> Chat {
        Chat {
            id: ChatId(Uuid::from_u128(1)),
            agent: "reviewer".into(),
            member: author(AuthorKind::Member, "ada"),
            title: "What\u{1b}[1m is it?".into(),
            archived: false,
            messages: 5,
            waiting: 1,
            created: Timestamp::UNIX_EPOCH,
            last_activity: Timestamp::UNIX_EPOCH,
        }
    }

    fn said(position: u32, kind: ChatMessageKind, by: Author, body: &str) -> ChatMessage {
        ChatMessage {
            position,
            kind,
            author: by,
            body: body.into(),
            task: None,
            failure: None,
            created: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_chat_is_read_from_top_to_bottom() {
        let (ada, agent) = (
            author(AuthorKind::Member, "ada"),
            author(AuthorKind::Agent, "reviewer"),
        );
        let mut taken = said(
            1,
            ChatMessageKind::Message,
            ada.clone(),
            "What is it?\n\u{1b}[2J",
        );
        taken.task = Some(TaskId(Uuid::nil()));
        let mut failed = said(4, ChatMessageKind::Failed, agent.clone(), "");
        failed.failure = Some(FailureClass::ProviderAuth);
        let mut stopped = said(5, ChatMessageKind::Failed, agent.clone(), "");
        stopped.failure = Some(FailureClass::Cancelled);
        let newest_first = [
            said(6, ChatMessageKind::Message, ada, "Hello?"),
            stopped,
            failed,
            said(3, ChatMessageKind::NoResponse, agent.clone(), ""),
            said(2, ChatMessageKind::Message, agent, "A boat."),
            taken,
        ];
        insta::assert_snapshot!("messages", messages(&newest_first));
    }

    #[test]
    fn chats_are_shown() {
        let mut away = chat();
        away.archived = true;
        insta::assert_snapshot!("chats", table(&[chat()]).render(120));
        insta::assert_snapshot!("chat", describe(&away));
    }

    #[test]
    fn what_becomes_of_a_message_is_said() {
        let task = TaskId(Uuid::from_u128(7));
        let verdicts = [
            WakeVerdict::Queued { task: Some(task) },
            WakeVerdict::Coalesced { task },
        ];
        let told = verdicts.map(|verdict| {
            let wake = WakeOutcome {
                recipient: Recipient {
                    kind: RecipientKind::Agent,
                    id: "reviewer".into(),
                },
                executes: None,
                verdict,
            };
            let message = said(
                1,
                ChatMessageKind::Message,
                author(AuthorKind::Member, "ada"),
                "x",
            );
            sent(&ChatSent {
                chat: chat(),
                message,
                wake,
            })
        });
        insta::assert_snapshot!("sent", told.concat());
    }
}
