//! From an object to a verdict, and to the next turn on the same volume.

use std::time::{Duration, Instant};

use protocol::TaskState;
use serde_json::json;

use crate::fence::first_attempt;
use crate::node::Hold;
use crate::world::{DEADLINE, NAMESPACE, Operator, World};

/// Where the pod of its first attempt runs is known.
async fn until_bound(operator: &Operator, uid: &str) {
    let deadline = Instant::now() + DEADLINE;
    while first_attempt(operator, uid).await.node.is_none() {
        assert!(Instant::now() < deadline, "never bound");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_turn_writes_this_and_no_more() {
    let world = World::new();
    let operator = world.start().await;
    world.until("the Agent is ready", || {
        world.api.get("agents", NAMESPACE, "reviewer").unwrap()["status"]["conditions"][0]["status"] == "True"
    }).await;
    operator.until_idle().await;
    world.api.forget_asked();

    // One step after another: where its pod runs is known before it is worth a write that it runs.
    world.orders.hold(Hold::Open);
    let uid = world.task("one", "hello", "succeed", json!({}));
    operator
        .until_row("it is claimed", &uid, |row| row.state == TaskState::Claimed)
        .await;
    until_bound(&operator, &uid).await;
    operator.until_idle().await;
    world.orders.hold(Hold::Finish);
    world
        .until("it says that it runs", || {
            world.condition("one", "Succeeded") == "Unknown Running"
        })
        .await;
    world.orders.hold(Hold::Nothing);
    let row = operator
        .until_row("it is over", &uid, |row| row.state == TaskState::Finished)
        .await;
    operator.until_idle().await;
    let session = world.api.list("agentsessions")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked: Vec<String> = world.api.asked().iter().map(ToString::to_string).collect();
    let asked = asked
        .join("\n")
        .replace(&row.id.to_string(), "ID")
        .replace(&session, "SESSION");
    insta::assert_snapshot!(asked);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_turn_has_another_pod_and_the_same_volume() {
    let world = World::new();
    let operator = world.start().await;
    let first = world.task("one", "hello", "succeed", json!({}));
    operator
        .until_row("the first turn is over", &first, |row| {
            row.state == TaskState::Finished
        })
        .await;
    let claim = world.api.list("persistentvolumeclaims")[0].clone();
    let second = world.task("two", "hello", "succeed", json!({}));
    let row = operator
        .until_row("the second turn is over", &second, |row| {
            row.state == TaskState::Finished
        })
        .await;
    world
        .until("both say so", || {
            ["one", "two"]
                .iter()
                .all(|name| world.condition(name, "Succeeded") == "True Succeeded")
        })
        .await;
    assert_eq!(world.api.list("persistentvolumeclaims").len(), 1);
    let attempt = operator
        .ctx
        .store
        .attempt(protocol::AttemptId {
            task: row.id,
            number: 1,
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        attempt.claim_uid.as_deref(),
        claim["metadata"]["uid"].as_str()
    );
    assert!(world.api.list("pods").is_empty() && world.api.list("secrets").is_empty());
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_with_nothing_to_do_writes_nothing() {
    let world = World::new();
    let operator = world.start().await;
    let done = world.task("done", "hello", "succeed", json!({}));
    let hung = world.task("hung", "other", "hang", json!({}));
    operator
        .until_row("one is over", &done, |row| row.state == TaskState::Finished)
        .await;
    operator
        .until_row("one runs", &hung, |row| row.state == TaskState::Running)
        .await;
    world
        .until("both say so", || {
            world.condition("done", "Finished") == "True Finished"
                && world.condition("hung", "Succeeded") == "Unknown Running"
        })
        .await;
    operator.until_idle().await;
    operator.stop().await;
    world.api.forget_asked();
    let operator = world.start().await;
    operator.until_idle().await;
    assert_eq!(world.api.asked(), []);
    operator.stop().await;
}

/// The status of a task, with what differs from run to run taken out.
fn status(world: &World, name: &str) -> serde_json::Value {
    let task = world.api.get("agenttasks", NAMESPACE, name).unwrap();
    let mut status = task["status"].clone();
    for key in ["taskId", "podName", "sessionName"] {
        if status[key].is_string() {
            status[key] = json!(format!("[{key}]"));
        }
    }
    for attempt in status["attempts"].as_array_mut().into_iter().flatten() {
        attempt["podUid"] = json!("[podUid]");
    }
    status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_task_says_of_itself() {
    let world = World::new();
    let operator = world.start().await;
    let hung = world.task("hung", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &hung, |row| row.state == TaskState::Running)
        .await;
    world
        .until("it says so", || {
            let task = world.api.get("agenttasks", NAMESPACE, "hung").unwrap();
            world.condition("hung", "Succeeded") == "Unknown Running"
                && world.condition("hung", "PodReady") == "True ContainerRunning"
                && task["status"]["attempts"][0]["nodeName"].is_string()
        })
        .await;
    insta::assert_yaml_snapshot!("status_running", status(&world, "hung"));

    world.task("waits", "other", "hang", json!({"desiredState": "Suspend"}));
    world
        .until("it says so", || {
            world.condition("waits", "Succeeded") == "Unknown Suspended"
        })
        .await;
    insta::assert_yaml_snapshot!("status_suspended", status(&world, "waits"));

    world.desire("hung", "Cancel");
    operator
        .until_row("it is over", &hung, |row| row.state == TaskState::Finished)
        .await;
    operator.until_idle().await;
    insta::assert_yaml_snapshot!("status_cancelled", status(&world, "hung"));

    world.orders.hold(Hold::Open);
    let done = world.task("done", "hello", "succeed", json!({}));
    operator
        .until_row("it is claimed", &done, |row| {
            row.state == TaskState::Claimed
        })
        .await;
    until_bound(&operator, &done).await;
    world.orders.hold(Hold::Nothing);
    operator
        .until_row("it is over", &done, |row| row.state == TaskState::Finished)
        .await;
    operator.until_idle().await;
    insta::assert_yaml_snapshot!("status_succeeded", status(&world, "done"));
    operator.stop().await;
}
