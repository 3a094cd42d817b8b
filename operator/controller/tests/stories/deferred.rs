//! What is not to begin before a moment, and who may not ask an Agent that is not there yet.

use std::time::Duration;

use controller::clock::Clock as _;
use jiff::Timestamp;
use protocol::{FailureClass, TaskState};
use serde_json::{Value, json};
use store::WritePoint;

use crate::wherever::Story;
use crate::world::{NAMESPACE, Operator, World};

/// So many seconds from now.
fn seconds_ahead(world: &World, seconds: u64) -> Value {
    let at = world.clock.now() + Duration::from_secs(seconds);
    json!({"startAfter": format!("{at:.0}")})
}

fn waits_for(world: &World, name: &str) -> Option<String> {
    let task = world.api.get("agenttasks", NAMESPACE, name)?;
    let waiting = &task["status"]["waiting"];
    Some(format!(
        "{}: {}",
        waiting["limit"].as_str()?,
        waiting["message"].as_str()?
    ))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_begins_at_its_time_and_says_so_until_then() {
    let world = World::new();
    let operator = world.start().await;
    let later = world.task("later", "later", "succeed", seconds_ahead(&world, 3600));
    let now = world.task("now", "now", "succeed", json!({}));
    operator
        .until_row("others go on", &now, |row| row.state == TaskState::Finished)
        .await;
    world.pass_time(&operator, 3);
    let says = || {
        waits_for(&world, "later")
            .is_some_and(|says| says.starts_with("StartTime: Deferred until "))
    };
    world.until("it says until when", says).await;
    world.pass_time(&operator, 1800);
    operator.until_idle().await;
    operator.stop().await;
    // Another process knows of it, too.
    let operator = world.start().await;
    operator.until_idle().await;
    let row = operator.row(&later).await.unwrap();
    assert_eq!((row.state, row.attempt), (TaskState::Queued, 0));
    world.pass_time(&operator, 1800);
    operator
        .until_row("it runs", &later, |row| row.state == TaskState::Finished)
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_to_begin_in_months_is_not_taken_in() {
    let world = World::new();
    let operator = world.start().await;
    let ahead = seconds_ahead(&world, 60 * 24 * 3600);
    world.task("far", "far", "succeed", ahead);
    world
        .until("it says so", || {
            world.condition("far", "Accepted") == "False StartTooLate"
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_time_comes_wherever_the_operator_dies() {
    let story = Story {
        declare: |world| {
            world.task("later", "later", "succeed", seconds_ahead(world, 600));
        },
        work: async |world: &World, operator: &Operator, case: &str| {
            let task = world.api.get("agenttasks", NAMESPACE, "later").unwrap();
            let uid = task["metadata"]["uid"].as_str().unwrap().to_owned();
            let begins = task["spec"]["startAfter"].as_str().unwrap();
            let begins: Timestamp = begins.parse().unwrap();
            operator.until_row(case, &uid, |_| true).await;
            // Not when it is told again: what has begun meanwhile would run out of its time.
            if world.clock.now() < begins {
                world.pass_time(operator, 601);
            }
            operator
                .until_row(case, &uid, |row| row.state == TaskState::Finished)
                .await;
        },
        check: async |world: &World, _: &Operator, case: &str| {
            let ended = || world.condition("later", "Succeeded") == "True Succeeded";
            world.until(case, ended).await;
        },
    };
    story.tell(&[], &[WritePoint::Fire]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_agent_that_comes_later_is_not_woken_by_who_may_not() {
    let world = World::new();
    let operator = world.start().await;
    let by = |user: &str| json!({"agentRef": {"name": "late"}, "requestedBy": {"user": user, "groups": []}});
    let eves = world.task("eves", "eves", "succeed", by("eve"));
    let adas = world.task("adas", "adas", "succeed", by("ada"));
    for uid in [&eves, &adas] {
        operator.until_row("it waits", uid, |_| true).await;
    }
    world.api.create(
        "agents",
        json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "late", "namespace": NAMESPACE},
            "spec": {"runtimeRefs": [{"name": "claude"}], "access": {"owner": "ada"}},
        }),
    );
    operator
        .until_row("ada may", &adas, |row| row.state == TaskState::Finished)
        .await;
    let row = operator
        .until_row("eve may not", &eves, |row| row.state == TaskState::Finished)
        .await;
    let class = row.verdict.and_then(|verdict| verdict.outcome.class());
    assert_eq!(class, Some(FailureClass::NotAllowed));
    let started = world
        .api
        .asked()
        .into_iter()
        .filter(|asked| asked.verb == "create" && asked.resource == "pods" && asked.code < 300);
    assert_eq!(started.count(), 1, "of ada's alone");
    operator.stop().await;
}
