//! Pods that vanish unseen: their node's time counts from the first notice, whoever was away meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use controller::KubePoint;
use controller::kube_writes::NoFaults;
use protocol::{AttemptId, FailureClass, TaskState};
use serde_json::json;
use store::{AttemptRow, Fault, WritePoint};

use crate::world::{DEADLINE, KubeFault, NAMESPACE, Operator, World};

/// The one pod goes, and nobody says that its containers have ended.
fn remove_by_force(world: &World) {
    let pod = world.api.list("pods")[0].clone();
    let name = pod["metadata"]["name"].as_str().unwrap();
    world.api.remove("pods", NAMESPACE, name);
}

pub(crate) async fn first_attempt(operator: &Operator, uid: &str) -> AttemptRow {
    let row = operator.row(uid).await.unwrap();
    let id = AttemptId {
        task: row.id,
        number: 1,
    };
    operator.ctx.store.attempt(id).await.unwrap().unwrap()
}

/// Also where what came of the first notice got lost: it is noticed again.
async fn until_noticed(operator: &Operator, uid: &str) {
    let deadline = Instant::now() + DEADLINE;
    while first_attempt(operator, uid)
        .await
        .pod_absent_since
        .is_none()
    {
        assert!(Instant::now() < deadline, "never noticed");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Time passes while the next turn waits.
async fn wait_in_vain(world: &World, operator: &Operator, next: &str, seconds: u64) {
    world.pass_time(operator, seconds);
    operator.until_idle().await;
    let state = operator.row(next).await.unwrap().state;
    assert_eq!(state, TaskState::Queued);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_start_the_time_of_a_node_anew() {
    let faults = [Fault::CrashAfter, Fault::ErrorAfter, Fault::ErrorBefore];
    for fault in [None].into_iter().chain(faults.map(Some)) {
        let world = World::new();
        let plan = fault.map_or(store::Faults::new(|_| None), |fault| {
            store::Faults::once(WritePoint::PodAbsent, fault)
        });
        let operator = world.start_with(Arc::new(NoFaults), plan.clone()).await;
        let uid = world.task("unseen", "hello", "hang", json!({}));
        operator
            .until_row("it runs", &uid, |row| row.state == TaskState::Running)
            .await;
        operator.until_idle().await;
        let noticed = controller::Clock::now(world.clock.as_ref());
        remove_by_force(&world);
        if fault == Some(Fault::CrashAfter) {
            plan.crashed().await;
        } else {
            operator
                .until_row("a verdict", &uid, |row| row.verdict.is_some())
                .await;
            operator.until_idle().await;
            world
                .until("the absence is noticed", || {
                    plan.passed().contains(&WritePoint::PodAbsent)
                })
                .await;
        }
        operator.kill().await;
        let operator = world.start().await;
        let next = world.task("next", "hello", "succeed", json!({}));
        operator.until_row("entered", &next, |_| true).await;
        until_noticed(&operator, &uid).await;
        // Grace of 15 s and the margin of 60 s, with another restart in the middle.
        wait_in_vain(&world, &operator, &next, 30).await;
        let row = first_attempt(&operator, &uid).await;
        assert_eq!(row.pod_absent_since, Some(noticed), "{fault:?}");
        operator.stop().await;
        let operator = world.start().await;
        wait_in_vain(&world, &operator, &next, 44).await;
        world.pass_time(&operator, 1);
        operator
            .until_row("the next turn", &next, |row| {
                row.state == TaskState::Finished
            })
            .await;
        operator.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_nobody_recorded_is_not_made_again_once_its_agent_ran() {
    let world = World::new();
    let plan = KubeFault::once(KubePoint::CreatePod, None);
    let operator = world
        .start_with(plan.clone(), store::Faults::default())
        .await;
    let uid = world.task("unseen", "hello", "hang", json!({}));
    // The operator is as dead from here on; the pod goes on without it, and then vanishes.
    plan.crashed().await;
    operator
        .until_row("it runs", &uid, |row| row.state == TaskState::Running)
        .await;
    operator.kill().await;
    remove_by_force(&world);
    let operator = world.start().await;
    let row = operator
        .until_row("a verdict", &uid, |row| row.verdict.is_some())
        .await;
    // The time counts from when the same pass noticed.
    operator.until_idle().await;
    let class = row.verdict.and_then(|verdict| verdict.outcome.class());
    assert_eq!(class, Some(FailureClass::PodDeleted));
    assert_eq!(first_attempt(&operator, &uid).await.pod_uid, None);
    // Its containers may still run: nobody saw them end.
    let next = world.task("next", "hello", "succeed", json!({}));
    operator.until_row("entered", &next, |_| true).await;
    wait_in_vain(&world, &operator, &next, 74).await;
    let asked = world.api.asked();
    let made = |asked: &&crate::apiserver::Asked| {
        asked.verb == "create" && asked.resource == "pods" && asked.code < 300
    };
    assert_eq!(asked.iter().filter(made).count(), 1, "one pod per attempt");
    world.pass_time(&operator, 1);
    operator
        .until_row("the next turn", &next, |row| {
            row.state == TaskState::Finished
        })
        .await;
    operator.stop().await;
}
