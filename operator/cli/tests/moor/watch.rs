//! A task that is followed as it works, over a live connection.

use serde_json::{Value, json};

use crate::bed::{Bed, failure, page};
use crate::people::{TASK, event, log_in, moor, run_view, words};

fn subscribed() -> Value {
    json!({"id": "task", "type": "subscribed"})
}

fn stands(run: Value) -> Value {
    json!({"id": "task", "type": "run", "run": run})
}

fn happened(item: Value) -> Value {
    json!({"id": "task", "type": "event", "item": item})
}

/// From where each connection was asked to go on.
fn asked(bed: &Bed) -> Vec<u64> {
    let asked = bed.asked().into_iter();
    let asked = asked.filter(|asked| asked.line == "GET workspaces/team-a/live");
    let after = asked.map(|asked| {
        let request: Value = serde_json::from_str(&asked.body).unwrap();
        assert_eq!(
            (&request["do"], &request["to"]["task"]),
            (&json!("subscribe"), &json!(TASK))
        );
        request["to"]["after"].as_u64().unwrap()
    });
    after.collect()
}

#[tokio::test]
async fn a_timeline_is_followed_to_its_end() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.tells(&[
        subscribed(),
        happened(words(1)),
        stands(run_view("running")),
        happened(words(2)),
        happened(words(3)),
        stands(run_view("finished")),
    ]);
    let shown = moor(&bed, &["task", "logs", TASK, "--follow"]).await.ok();
    insta::assert_snapshot!(shown);
    assert_eq!(asked(&bed), [0]);
    // Nothing is asked for again and again.
    assert_eq!(bed.lines().len(), 1, "{:?}", bed.lines());
}

#[tokio::test]
async fn what_a_slow_reader_was_not_told_is_read() {
    let bed = Bed::new().await;
    log_in(&bed);
    let events = format!("GET workspaces/team-a/tasks/{TASK}/events");
    bed.tells(&[
        subscribed(),
        happened(words(1)),
        json!({"id": "task", "type": "gap", "after": 1, "until": 4}),
        // Of what was read meanwhile, too.
        happened(words(5)),
        happened(words(6)),
        stands(run_view("finished")),
    ])
    .answer(&events, page(&[words(2), words(3)]))
    .answer(&events, page(&[words(4), words(5)]));
    let ran = moor(&bed, &["task", "logs", TASK, "-f", "--quiet"]).await;
    assert_eq!(ran.ok(), "1\n2\n3\n4\n5\n6\n");
    assert_eq!(
        bed.lines()[1..],
        [
            format!("{events}?after=1&limit=200"),
            format!("{events}?after=3&limit=200")
        ]
    );
}

/// A task that works while one connection stands and then another, and ends in this way.
fn watched(bed: &Bed, succeeded: bool) {
    let mut ended = run_view("finished");
    ended["succeeded"] = json!(succeeded);
    ended["finished"] = json!("2026-01-02T03:05:09Z");
    if !succeeded {
        ended["failure"] = json!("CliCrashed");
    }
    let call =
        json!({"type": "toolUse", "tool": "Bash", "callId": "1", "input": {"command": "ls"}});
    let gave = json!({"type": "toolResult", "callId": "1", "tool": "Bash", "output": "a\nb", "status": "completed"});
    let slow =
        json!({"type": "toolUse", "tool": "Bash", "callId": "2", "input": {"command": "make"}});
    let made = json!({"type": "toolResult", "callId": "2", "output": "made", "status": "failed"});
    bed.tells(&[
        subscribed(),
        stands(run_view("running")),
        happened(event(1, call)),
        happened(event(2, gave)),
        happened(event(3, slow)),
    ])
    .tells(&[
        subscribed(),
        happened(event(4, made)),
        happened(words(5)),
        stands(ended),
    ]);
}

#[tokio::test]
async fn a_task_is_watched_to_its_end_past_an_interruption() {
    let bed = Bed::new().await;
    log_in(&bed);
    watched(&bed, true);
    let ran = moor(&bed, &["task", "watch", TASK]).await;
    assert!(ran.err.contains("trying again"), "{}", ran.err);
    insta::assert_snapshot!(ran.ok());
    assert_eq!(asked(&bed), [0, 3]);
}

#[tokio::test]
async fn the_end_of_who_watches_is_that_of_the_task() {
    let bed = Bed::new().await;
    log_in(&bed);
    watched(&bed, false);
    let ran = moor(&bed, &["task", "watch", TASK]).await;
    assert_eq!(ran.code, 8, "{}{}", ran.out, ran.err);
    let last = ran.out.lines().last().unwrap();
    assert_eq!(
        last,
        "failed: CliCrashed after 1 min 4 s, 2 calls of tools, 1 failed"
    );
    assert!(!ran.err.contains("moor: "), "{}", ran.err);

    let bed = Bed::new().await;
    log_in(&bed);
    watched(&bed, false);
    let ran = moor(&bed, &["task", "watch", TASK, "-o", "json"]).await;
    assert_eq!(ran.code, 8);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6, "{}", ran.out);
    assert_eq!(lines[5]["failure"], "CliCrashed");
}

#[tokio::test]
async fn who_may_not_look_on_any_more_is_told_so() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.tells(&[
        subscribed(),
        happened(words(1)),
        json!({"id": "task", "type": "ended", "code": "forbidden", "message": "you may not get tasks in team-a"}),
    ]);
    let ran = moor(&bed, &["task", "logs", TASK, "-f", "--quiet"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (4, "1\n"));
    assert_eq!(
        ran.err,
        "moor: you may not get tasks in team-a (forbidden)\n"
    );
}

#[tokio::test]
async fn a_server_without_live_connections_is_told_from_a_task_that_is_not_there() {
    let bed = Bed::new().await;
    log_in(&bed);
    let task = format!("GET workspaces/team-a/tasks/{TASK}");
    bed.refuse(&task, 404, failure("notFound", "Nothing."))
        .answer(&task, run_view("running"));
    let ran = moor(&bed, &["task", "watch", TASK]).await;
    assert_eq!(ran.code, 5, "{}", ran.err);
    let ran = moor(&bed, &["task", "watch", TASK]).await;
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("of an earlier release"), "{}", ran.err);
    assert!(ran.err.contains("`moor task logs`"), "{}", ran.err);
}
