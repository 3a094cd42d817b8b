//! What a person writes to an agent alone, and an issue that is asked for: their tasks get objects of their own
//! kinds, which say nothing of the words.

use protocol::board::{AuthorKind, NewChat, NewQuickIssue, WakeVerdict};
use protocol::{MemberId, TaskId, TaskState};
use serde_json::{Value, json};

use crate::born::{Everyone, calm, made, object, person, until};
use crate::world::{Operator, World};

/// The object of a task that has come to its end.
async fn over(world: &World, operator: &Operator, task: TaskId) -> Value {
    let row = until(operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    let name = row.object.name;
    world
        .until("it says so", || {
            world.condition(&name, "Succeeded") == "True Succeeded"
        })
        .await;
    object(world, &name).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_becomes_an_object_that_keeps_it_to_itself() {
    let world = World::new();
    let operator = world.start().await;
    let by = person(&world, &operator).await;
    let me: MemberId = by.author.id.parse().unwrap();
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    let new = NewChat {
        agent: "reviewer".to_owned(),
        title: None,
        body: "What is it?".to_owned(),
    };
    let sent = store.begin_chat(&by, me, &new, &Everyone, now).await;
    let sent = sent.unwrap();
    let WakeVerdict::Queued { task: Some(task) } = sent.wake.verdict else {
        panic!("{:?}", sent.wake)
    };
    let shown = over(&world, &operator, task).await;
    assert_eq!(
        shown["spec"]["subject"],
        json!({"kind": "Chat", "name": sent.chat.id})
    );
    assert_eq!(shown["spec"]["cause"], json!({"kind": "Chat"}));
    assert_eq!(shown["status"]["cause"], json!({"kind": "Chat"}));
    assert_eq!(shown["status"]["result"], Value::Null);
    assert!(!shown.to_string().contains("What is it?"), "{shown}");
    let messages = store.chat_messages(sent.chat.id, 9, None).await.unwrap();
    let authors: Vec<_> = messages.items.iter().map(|each| each.author.kind).collect();
    assert_eq!(authors, [AuthorKind::Agent, AuthorKind::Member]);
    calm(&operator, "a chat").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentence_becomes_an_object_with_a_new_conversation() {
    let world = World::new();
    let operator = world.start().await;
    let by = person(&world, &operator).await;
    let me: MemberId = by.author.id.parse().unwrap();
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    let new = NewQuickIssue {
        agent: "reviewer".to_owned(),
        text: "The roof is open".to_owned(),
    };
    let asked = store.ask_quick_issue(&by, me, &new, &Everyone, now).await;
    let shown = over(&world, &operator, asked.unwrap().task).await;
    let spec = &shown["spec"];
    assert_eq!(spec["subject"], json!({"kind": "QuickIssue", "name": me}));
    assert_eq!(spec["cause"], json!({"kind": "QuickIssue"}));
    assert_eq!(spec["session"], json!({"policy": "Fresh"}));
    calm(&operator, "an issue").await;
    assert_eq!(made(&world), 1);
    operator.stop().await;
}
