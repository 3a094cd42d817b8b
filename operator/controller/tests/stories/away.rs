//! The cluster, or the store, is away for an hour. What was begun goes on, what was written meanwhile is done, and
//! nothing twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use controller::kube_writes::NoFaults;
use protocol::{TaskId, TaskState};
use serde_json::json;
use store::Fault;

use crate::born::{calm, made, mention, until};
use crate::world::{Operator, World};

/// Steps of an hour.
const STEPS: u64 = 12;
const STEP_SECONDS: u64 = 300;

/// Part of an hour in which something is away.
async fn step(world: &World, operator: &Operator) {
    world.pass_time(operator, STEP_SECONDS);
    operator.until_idle().await;
}

async fn is_over(world: &World, operator: &Operator, task: TaskId) {
    let over = until(operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    });
    tokio::select! {
        row = over => {
            let outcome = row.verdict.map(|verdict| verdict.outcome.class());
            assert_eq!(outcome, Some(None), "it succeeded");
        }
        () = world.let_time_pass(operator) => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_is_away_for_an_hour() {
    let world = World::new();
    let operator = world.start().await;
    let before = mention(&world, &operator).await;
    is_over(&world, &operator, before).await;
    world.api.away(true);
    let mut meanwhile = Vec::new();
    for at in 0..STEPS {
        if at % 4 == 0 {
            meanwhile.push(mention(&world, &operator).await);
        }
        step(&world, &operator).await;
    }
    assert_eq!(made(&world), 1, "nothing could be made meanwhile");
    for task in &meanwhile {
        let row = operator.ctx.store.task(*task).await.unwrap().unwrap();
        assert!(
            matches!(row.state, TaskState::Queued | TaskState::Claimed),
            "{row:?}"
        );
    }
    world.api.away(false);
    for task in &meanwhile {
        is_over(&world, &operator, *task).await;
    }
    assert_eq!(made(&world), 1 + meanwhile.len());
    calm(&operator, "the cluster was away").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_is_away_for_an_hour() {
    let world = World::new();
    let away = Arc::new(AtomicBool::new(false));
    let faults = store::Faults::new({
        let away = Arc::clone(&away);
        move |_| away.load(Ordering::Acquire).then_some(Fault::ErrorBefore)
    });
    let operator = world.start_with(Arc::new(NoFaults), faults).await;
    let before = mention(&world, &operator).await;
    is_over(&world, &operator, before).await;
    away.store(true, Ordering::Release);
    // What people and Git declare meanwhile is in the cluster.
    let mut meanwhile = Vec::new();
    for at in 0..STEPS {
        if at % 4 == 0 {
            let name = format!("task-{at}");
            meanwhile.push(world.task(&name, &name, "succeed", json!({})));
        }
        step(&world, &operator).await;
    }
    for uid in &meanwhile {
        assert!(
            operator.row(uid).await.is_none(),
            "nothing could be entered"
        );
    }
    away.store(false, Ordering::Release);
    for uid in &meanwhile {
        let over = operator.until_row("it is over", uid, |row| row.state == TaskState::Finished);
        tokio::select! {
            row = over => assert_eq!(row.attempt, 1, "once"),
            () = world.let_time_pass(&operator) => {}
        }
    }
    calm(&operator, "the store was away").await;
    operator.stop().await;
}
