//! Chats, and an issue from a sentence.

use serde_json::{Value, json};

use crate::bed::{Bed, page};

const TASK: &str = "00000000-0000-0000-0000-000000000007";
const CHAT: &str = "00000000-0000-0000-0000-0000000000cc";

fn message(body: &str) -> Value {
    json!({
        "position": 1, "kind": "message", "author": {"kind": "member", "id": TASK, "name": "ada"}, "body": body,
        "created": "2026-01-02T03:04:05Z",
    })
}

/// A pod whose task is about this.
async fn bed(kind: &str, name: &str) -> Bed {
    let bed = Bed::new().await;
    bed.answer(
        "GET whoami",
        json!({
            "agent": "coder", "displayName": "Coder", "namespace": "team-a", "task": TASK, "attempt": 1,
            "subject": {"kind": kind, "name": name}, "session": TASK, "scope": "Issue", "verbs": ["get chats"],
            "tokenExpires": "2026-01-02T03:04:05Z",
        }),
    );
    bed
}

#[tokio::test]
async fn the_chat_of_the_task_needs_no_id() {
    let bed = bed("Chat", CHAT).await;
    let messages = page(&[message("What is it?")]);
    bed.answer(&format!("GET workspaces/-/chats/{CHAT}/messages"), messages);
    let shown = bed.pod(&["chat", "show"]).await.ok();
    assert_eq!(
        shown,
        "1 2026-01-02T03:04:05Z ada, waits\n    What is it?\n\n"
    );
    let asked = [
        "GET whoami".to_owned(),
        format!("GET workspaces/-/chats/{CHAT}/messages"),
    ];
    assert_eq!(bed.lines(), asked);
}

#[tokio::test]
async fn a_task_of_an_issue_has_no_chat() {
    let bed = bed("Issue", "TEAM-12").await;
    let ran = bed.pod(&["chat", "show"]).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("answers no chat"), "{}", ran.err);
    for verb in [
        &["chat", "send", CHAT, "--body", "x"][..],
        &["chat", "list"],
    ] {
        let ran = bed.pod(verb).await;
        assert_eq!(ran.code, 4, "{}", ran.err);
    }
}
