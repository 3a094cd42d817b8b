//! What a person and an agent write to each other alone, and issues made from a sentence.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, ChatEdit, ChatQuery, NewChat, NewIssue, NewQuickIssue, WakeVerdict,
};
use protocol::{AttemptId, FailureClass, InstallationKey, MemberId, Outcome, TaskId, Verdict};

use super::board::Everybody;
use super::lane;
use crate::{Acting, Request, Store};

/// Speaks as a person and an agent do.
pub(super) async fn live(store: &Store, by: &Acting, now: Timestamp) {
    let me: MemberId = by.author.id.parse().unwrap();
    let new = NewChat {
        agent: "reviewer".to_owned(),
        title: None,
        body: "What is it?".to_owned(),
    };
    let once = store.for_request(Some(Request {
        key: "chat".to_owned(),
        digest: [0; 32],
    }));
    once.begin_chat(by, me, &new, &Everybody, now)
        .await
        .unwrap();
    let sent = once.begin_chat(by, me, &new, &Everybody, now);
    let sent = sent.await.unwrap();
    let (workspace, chat) = (&by.workspace, sent.chat.id);
    store
        .send_chat(by, me, chat, "And why?", &Everybody, now)
        .await
        .unwrap();
    for archived in [true, false] {
        let edit = ChatEdit {
            title: None,
            archived: Some(archived),
        };
        store.edit_chat(workspace, me, chat, &edit).await.unwrap();
    }
    store.chat(workspace, me, chat).await.unwrap().unwrap();
    store
        .chats(workspace, me, &ChatQuery::default())
        .await
        .unwrap();
    store.chat_messages(chat, 9, None).await.unwrap();
    let WakeVerdict::Queued { task: Some(task) } = sent.wake.verdict else {
        panic!("{:?}", sent.wake);
    };
    let attempt = open(store, task, now).await;
    store.chat_cause(task).await.unwrap().unwrap();
    store.chat_of_task(task).await.unwrap().unwrap();
    super::approvals::live(store, by, attempt, now).await;
    end(store, attempt, now).await;
    quick(store, by, me, now).await;
}

async fn quick(store: &Store, by: &Acting, me: MemberId, now: Timestamp) {
    let new = NewQuickIssue {
        agent: "reviewer".to_owned(),
        text: "The roof is open".to_owned(),
    };
    for makes in [true, false] {
        let asked = store.ask_quick_issue(by, me, &new, &Everybody, now).await;
        let task = asked.unwrap().task;
        let attempt = open(store, task, now).await;
        store.quick_cause(task).await.unwrap().unwrap();
        store.quick_issue(me, task).await.unwrap().unwrap();
        if makes {
            let agent = Acting {
                author: Author {
                    kind: AuthorKind::Agent,
                    id: "reviewer".to_owned(),
                    name: "reviewer".to_owned(),
                },
                task: Some(task),
                user: None,
                ..by.clone()
            };
            let new = NewIssue {
                title: "Close the roof".to_owned(),
                ..NewIssue::default()
            };
            let made = store.create_issue(&agent, new.clone(), &Everybody, now);
            made.await.unwrap();
            let second = store.create_issue(&agent, new, &Everybody, now);
            second.await.unwrap_err();
        }
        end(store, attempt, now).await;
    }
    let inbox = store.inbox(&by.workspace, me, 9, None, true).await.unwrap();
    let entry = inbox.items.iter().find(|entry| entry.text.is_some());
    let entry = entry.unwrap().id;
    store.read_inbox(me, entry).await.unwrap();
    store.archive_inbox(me, entry).await.unwrap();
}

/// Claims until the task is got, and opens it.
async fn open(store: &Store, task: TaskId, now: Timestamp) -> AttemptId {
    let key = InstallationKey::new([1; 32]);
    loop {
        let claimed = store.claim_next(&lane(), &key, now).await.unwrap();
        let attempt = claimed.unwrap().attempt;
        if attempt.task == task {
            store.open_package(attempt, [1; 32], now).await.unwrap();
            return attempt;
        }
    }
}

async fn end(store: &Store, attempt: AttemptId, now: Timestamp) {
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::OOMKilled, ""),
        at: now,
        result: None,
    };
    store.verdict(attempt, verdict, now).await.unwrap();
    store.release(attempt, now).await.unwrap();
}
