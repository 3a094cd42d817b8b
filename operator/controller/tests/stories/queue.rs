//! Who waits, for what, and who is never touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use controller::context::LaneKey;
use controller::kube_writes::{Fault, FaultPlan};
use controller::work::Done;
use controller::{KubePoint, ReadOnly};
use futures::future::BoxFuture;
use protocol::TaskState;
use serde_json::json;

use crate::node::Hold;
use crate::world::{NAMESPACE, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_pods_than_the_runtime_allows_and_each_waits_for_it() {
    let world = World::new();
    world.api.edit("agents", NAMESPACE, "reviewer", |agent| {
        agent["spec"]["maxConcurrentTasks"] = json!(50)
    });
    let operator = world.start().await;
    let hung: Vec<_> = (0..2)
        .map(|n| world.task(&format!("hung-{n}"), &format!("h{n}"), "hang", json!({})))
        .collect();
    for uid in &hung {
        operator
            .until_row("hung", uid, |row| row.state == TaskState::Running)
            .await;
    }
    let many: Vec<_> = (0..12)
        .map(|n| world.task(&format!("many-{n}"), &format!("m{n}"), "succeed", json!({})))
        .collect();
    for uid in &many {
        operator.until_row("entered", uid, |_| true).await;
    }
    world.pass_time(&operator, 3);
    let waits = |name: &str| {
        world.api.get("agenttasks", NAMESPACE, name).unwrap()["status"]["waiting"]["limit"]
            == "Runtime"
    };
    world
        .until("each says why", || {
            (0..12).all(|n| waits(&format!("many-{n}")))
        })
        .await;
    world.desire("hung-0", "Cancel");
    world.desire("hung-1", "Cancel");
    let most = AtomicUsize::new(0);
    let done = || {
        most.fetch_max(world.api.list("pods").len(), Ordering::Relaxed);
        (0..12).all(|n| world.condition(&format!("many-{n}"), "Finished") == "True Finished")
    };
    world.until("all are over", done).await;
    assert!((1..=2).contains(&most.load(Ordering::Relaxed)), "{most:?}");
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_runtime_with_room_wins() {
    let world = World::new();
    world.api.create("runtimes", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime", "metadata": {"name": "spare", "namespace": NAMESPACE},
        "spec": {"provider": "claude", "image": "agent:1", "capacity": {"maxPods": 1}},
    }));
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["capacity"]["maxPods"] = json!(1)
    });
    world.api.edit("agents", NAMESPACE, "reviewer", |agent| {
        agent["spec"]["runtimeRefs"] = json!([{"name": "claude"}, {"name": "spare"}]);
    });
    let operator = world.start().await;
    let runtime_of = |name: &'static str| {
        let uid = world.task(name, name, "hang", json!({}));
        let operator = &operator;
        async move {
            let row = operator
                .until_row(name, &uid, |row| row.state == TaskState::Running)
                .await;
            let attempt = protocol::AttemptId {
                task: row.id,
                number: 1,
            };
            operator
                .ctx
                .store
                .attempt(attempt)
                .await
                .unwrap()
                .unwrap()
                .runtime
        }
    };
    assert_eq!(runtime_of("one").await, "claude");
    assert_eq!(runtime_of("two").await, "spare");
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_session_keeps_nobody_from_the_next_runtime() {
    let world = World::new();
    world.api.create("runtimes", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime", "metadata": {"name": "spare", "namespace": NAMESPACE},
        "spec": {"provider": "claude", "image": "agent:1", "capacity": {"maxPods": 1}},
    }));
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["capacity"]["maxPods"] = json!(1)
    });
    world.api.edit("agents", NAMESPACE, "reviewer", |agent| {
        agent["spec"]["maxConcurrentTasks"] = json!(50);
        agent["spec"]["runtimeRefs"] = json!([{"name": "claude"}, {"name": "spare"}]);
    });
    let operator = world.start().await;
    for n in 0..12 {
        let uid = world.task(&format!("busy-{n}"), "busy", "hang", json!({}));
        operator.until_row("entered", &uid, |_| true).await;
    }
    let other = world.task("other", "other", "hang", json!({}));
    operator
        .until_row("it runs beside", &other, |row| {
            row.state == TaskState::Running
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_is_left_alone_while_only_others_wait() {
    let world = World::new();
    let operator = world.start().await;
    let more = json!({"agentRef": {"name": "nobody"}});
    let uid = world.task("lost", "hello", "succeed", more);
    operator.until_row("entered", &uid, |_| true).await;
    let lane = LaneKey {
        namespace: NAMESPACE.into(),
        runtime: "claude".into(),
    };
    let done = controller::claimer::pass(&operator.ctx, &lane).await;
    assert_eq!(done.unwrap(), Done::Settled);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_said_and_waited_for() {
    let world = World::new();
    world.api.delete("agents", NAMESPACE, "reviewer");
    let operator = world.start().await;
    let uid = world.task("early", "hello", "succeed", json!({}));
    operator.until_row("entered", &uid, |_| true).await;
    world.pass_time(&operator, 3);
    world
        .until("it says so", || {
            world.condition("early", "Accepted") == "False AgentNotFound"
        })
        .await;
    world.api.create("agents", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "reviewer", "namespace": NAMESPACE},
        "spec": {"runtimeRefs": [{"name": "claude"}]},
    }));
    operator
        .until_row("it runs then", &uid, |row| row.state == TaskState::Finished)
        .await;
    world
        .until("it says so", || {
            world.condition("early", "Accepted") == "True Accepted"
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_without_the_label_is_never_touched() {
    let world = World::new();
    let unlabel = |namespace: &mut serde_json::Value| namespace["metadata"]["labels"] = json!({});
    world.api.edit("namespaces", "", NAMESPACE, unlabel);
    let operator = world.start().await;
    world.task("strange", "hello", "succeed", json!({}));
    operator.until_idle().await;
    world.pass_time(&operator, 10);
    operator.until_idle().await;
    assert_eq!(world.api.asked(), []);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_loses_its_label_finishes_runs_and_claims_nothing() {
    let world = World::new();
    let operator = world.start().await;
    let runs = world.task("runs", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &runs, |row| row.state == TaskState::Running)
        .await;
    let waits = world.task("waits", "hello", "succeed", json!({}));
    operator.until_row("entered", &waits, |_| true).await;
    world.api.edit("namespaces", "", NAMESPACE, |namespace| {
        namespace["metadata"]["labels"] = json!({})
    });
    operator.until_idle().await;
    assert_eq!(operator.row(&runs).await.unwrap().state, TaskState::Running);
    world.desire("runs", "Cancel");
    operator
        .until_row("it ends", &runs, |row| row.state == TaskState::Finished)
        .await;
    operator.until_idle().await;
    assert_eq!(operator.row(&waits).await.unwrap().state, TaskState::Queued);
    world.api.edit("namespaces", "", NAMESPACE, |namespace| {
        namespace["metadata"]["labels"] = json!({"mooring.dev/workspace": "enabled"});
    });
    operator
        .until_row("it is claimed then", &waits, |row| {
            row.state == TaskState::Finished
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_its_ttl_removed_is_not_run_again_but_a_persons_is() {
    let world = World::new();
    let operator = world.start().await;
    let first = world.task(
        "again",
        "hello",
        "succeed",
        json!({"ttlSecondsAfterFinished": 5}),
    );
    operator
        .until_row("over", &first, |row| row.state == TaskState::Finished)
        .await;
    operator.until_idle().await;
    world.pass_time(&operator, 6);
    world
        .until("its ttl removes it", || {
            world.condition("again", "Finished") == "gone"
        })
        .await;
    operator.until_idle().await;
    world.task(
        "again",
        "hello",
        "succeed",
        json!({"ttlSecondsAfterFinished": 5}),
    );
    world
        .until("it is not run again", || {
            world.condition("again", "Accepted") == "False AlreadyRan"
        })
        .await;
    let kept = world.task("kept", "hello", "succeed", json!({}));
    operator
        .until_row("over", &kept, |row| row.state == TaskState::Finished)
        .await;
    world.api.delete("agenttasks", NAMESPACE, "kept");
    let anew = world.task("kept", "hello", "succeed", json!({}));
    operator
        .until_row("it runs", &anew, |row| row.state == TaskState::Finished)
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_store_the_operator_only_reads() {
    let world = World::new();
    let operator = world.start().await;
    let runs = world.task("runs", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &runs, |row| row.state == TaskState::Running)
        .await;
    operator.until_idle().await;
    world.lose_store();
    world.api.forget_asked();
    world.task("late", "other", "succeed", json!({}));
    world
        .until("it says so", || operator.ctx.read_only.why().is_some())
        .await;
    world.api.delete("agenttasks", NAMESPACE, "runs");
    operator.until_idle().await;
    assert_eq!(world.api.asked(), []);
    assert_eq!(world.api.list("pods").len(), 1);
    operator.stop().await;
}

/// Ends all writing once the Secret is made.
#[derive(Default)]
struct AfterSecret(std::sync::OnceLock<ReadOnly>);

impl FaultPlan for AfterSecret {
    fn before(&self, _: KubePoint) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn after(&self, point: KubePoint) -> BoxFuture<'_, Fault> {
        if let (KubePoint::CreateSecret, Some(read_only)) = (point, self.0.get()) {
            read_only.set("a test");
        }
        Box::pin(std::future::ready(Fault::None))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_has_begun_writes_no_more_once_nothing_may_be_written() {
    let (world, plan) = (World::new(), Arc::new(AfterSecret::default()));
    let operator = world
        .start_with(plan.clone(), store::Faults::default())
        .await;
    plan.0.set(operator.ctx.read_only.clone()).unwrap();
    world.task("begun", "hello", "succeed", json!({}));
    operator.ctx.read_only.wait().await;
    operator.until_idle().await;
    assert_eq!(world.api.list("secrets").len(), 1);
    assert!(
        world.api.list("pods").is_empty(),
        "the next write of that pass"
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_takes_long_to_start_keeps_its_token() {
    let world = World::new();
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["timeouts"] = json!({"scheduleSeconds": 3600});
    });
    world.orders.hold(Hold::Bind);
    let operator = world.start().await;
    let uid = world.task("slow", "hello", "succeed", json!({}));
    operator
        .until_row("claimed", &uid, |row| row.state == TaskState::Claimed)
        .await;
    // Longer than a token lives, in steps as the next looks would make.
    for _ in 0..7 {
        operator.until_idle().await;
        world.pass_time(&operator, 201);
        operator.until_idle().await;
    }
    world.orders.hold(Hold::Nothing);
    operator
        .until_row("it runs", &uid, |row| row.state == TaskState::Finished)
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_whose_pod_cannot_be_made_gives_its_places_back() {
    let world = World::new();
    world.api.refuse("pods", 500, "etcd is away");
    let operator = world.start().await;
    let uid = world.task("stuck", "hello", "succeed", json!({}));
    operator
        .until_row("claimed", &uid, |row| row.state == TaskState::Claimed)
        .await;
    world.pass_time(&operator, 3);
    world
        .until("it says so", || {
            world.condition("stuck", "PodReady") == "False PodStarting"
        })
        .await;
    world.pass_time(&operator, 300);
    let row = operator
        .until_row("over", &uid, |row| row.state == TaskState::Finished)
        .await;
    let class = row.verdict.and_then(|verdict| verdict.outcome.class());
    assert_eq!(class, Some(protocol::FailureClass::ClaimExpired));
    operator.stop().await;
}
