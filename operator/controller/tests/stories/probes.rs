//! The program of a Runtime is asked for its version by a pod of its own, before any task does, and what cannot be run
//! gets no tasks.

use controller::KubePoint;
use protocol::probe::Report;
use serde_json::{Value, json};

use crate::wherever::Story;
use crate::world::{NAMESPACE, Operator, World};

fn declare(world: &World) {
    world.orders.say(&version("2.1.332 (Claude Code)"));
}

fn version(printed: &str) -> Report {
    Report::Ended {
        code: Some(0),
        printed: printed.to_owned(),
        catalog: None,
    }
}

fn cli(world: &World, runtime: &str) -> Value {
    let runtime = world.api.get("runtimes", NAMESPACE, runtime).unwrap();
    runtime["status"]["cli"].clone()
}

/// The reason of a Runtime's `Ready`.
fn reason(world: &World, runtime: &str) -> Value {
    let runtime = world.api.get("runtimes", NAMESPACE, runtime).unwrap();
    let conditions = runtime["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    let ready = conditions.find(|one| one["type"] == "Ready");
    ready.map_or(Value::Null, |ready| ready["reason"].clone())
}

/// Pods that were made to ask and are gone. One that the operator has not heard the end of is deleted twice.
fn asked(world: &World) -> usize {
    let all = world.api.asked().into_iter();
    let deleted = all.filter(|asked| asked.verb == "delete" && asked.code < 300);
    deleted
        .filter(|asked| asked.name.starts_with("mooring-probe-"))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_is_asked_once_wherever_the_operator_dies() {
    let story = Story {
        declare,
        work: async |world: &World, _: &Operator, case: &str| {
            world
                .until(case, || cli(world, "claude")["version"] == "2.1.332")
                .await;
            world
                .until(case, || world.api.list("pods").is_empty())
                .await;
        },
        check: async |world: &World, _: &Operator, case: &str| {
            assert_eq!(reason(world, "claude"), "Ready", "{case}");
        },
    };
    let in_cluster = [
        KubePoint::ProbePolicy,
        KubePoint::CreateProbe,
        KubePoint::DeleteProbe,
    ];
    story.tell(&in_cluster, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_run_gets_no_tasks_until_it_can() {
    let world = World::new();
    world.orders.say(&Report::Missing);
    let operator = world.start().await;
    world
        .until("it is missing", || reason(&world, "claude") == "CliMissing")
        .await;
    let uid = world.task("waits", "waits", "succeed", json!({}));
    operator.until_row("the task waits", &uid, |_| true).await;
    operator.until_idle().await;
    let row = operator.row(&uid).await.unwrap();
    assert_eq!(row.attempt, 0, "it was begun");

    declare(&world);
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["command"] = json!(["/opt/claude"]);
    });
    operator
        .until_row("the task is over", &uid, |row| {
            row.attempt == 1 && row.state.has_verdict()
        })
        .await;
    world
        .until("it is ready", || reason(&world, "claude") == "Ready")
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_runs_the_same_asks_nothing_and_another_image_is_asked_anew() {
    let world = World::new();
    declare(&world);
    let operator = world.start().await;
    let knows = |runtime: &'static str, version: &'static str| {
        let world = &world;
        async move {
            world
                .until(runtime, || cli(world, runtime)["version"] == version)
                .await
        }
    };
    knows("claude", "2.1.332").await;
    world.until("the pod is gone", || asked(&world) == 1).await;
    world.api.create("runtimes", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime", "metadata": {"name": "second", "namespace": NAMESPACE},
        "spec": {"provider": "claude", "image": "agent:1", "capacity": {"maxPods": 9}},
    }));
    knows("second", "2.1.332").await;
    operator.until_idle().await;
    assert_eq!(asked(&world), 1);

    // A task's pod shows that the tag stands for something else by now.
    world.orders.say(&version("2.2.0 (Claude Code)"));
    world.orders.run_image("sha256:other");
    world.clock.advance(std::time::Duration::from_secs(700));
    let uid = world.task("shows", "shows", "succeed", json!({}));
    operator
        .until_row("the task is over", &uid, |row| row.state.has_verdict())
        .await;
    knows("claude", "2.2.0").await;
    operator.stop().await;
}
