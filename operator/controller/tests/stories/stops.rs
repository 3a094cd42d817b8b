//! Every way to stop a task, in every state: what becomes of the task, its token, its Secret and its pod.

use futures::StreamExt as _;
use protocol::{AttemptId, Credential, FailureClass, TaskState};
use serde_json::json;
use store::TaskRow;

use crate::node::Hold;
use crate::world::{NAMESPACE, Operator, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Suspend,
    Cancel,
    Deadline,
    DeleteTask,
    DeleteAgent,
    DeleteNamespace,
}

const STOPS: [Stop; 6] = [
    Stop::Suspend,
    Stop::Cancel,
    Stop::Deadline,
    Stop::DeleteTask,
    Stop::DeleteAgent,
    Stop::DeleteNamespace,
];
const STATES: [TaskState; 5] = [
    TaskState::Queued,
    TaskState::Claimed,
    TaskState::Preparing,
    TaskState::Running,
    TaskState::Finishing,
];

/// What the table of `task::decide` says: the state in the end, and the class of the verdict.
fn wanted(state: TaskState, stop: Stop) -> (TaskState, Option<FailureClass>) {
    use TaskState::{Finished, Finishing, Queued, Suspended};
    match (state, stop) {
        (Finishing, _) => (Finished, None),
        (_, Stop::Suspend) => (Suspended, None),
        (_, Stop::Cancel | Stop::DeleteTask | Stop::DeleteNamespace) => {
            (Finished, Some(FailureClass::Cancelled))
        }
        (_, Stop::Deadline) => (Finished, Some(FailureClass::DeadlineExceeded)),
        (Queued, Stop::DeleteAgent) => (Queued, None),
        (_, Stop::DeleteAgent) => (Finished, Some(FailureClass::AgentDeleted)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stop_in_every_state() {
    let cells = STATES
        .iter()
        .flat_map(|state| STOPS.iter().map(move |stop| (*state, *stop)));
    let stories: Vec<_> = cells.map(|(state, stop)| cell(state, stop)).collect();
    futures::stream::iter(stories)
        .buffer_unordered(6)
        .collect::<Vec<()>>()
        .await;
}

async fn cell(state: TaskState, stop: Stop) {
    let cell = format!("{state:?} × {stop:?}");
    let world = World::new();
    let (hold, prompt) = match state {
        TaskState::Claimed => (Hold::Open, "hang"),
        TaskState::Preparing => (Hold::Start, "hang"),
        TaskState::Finishing => (Hold::End, "succeed"),
        TaskState::Queued | TaskState::Running | TaskState::Suspended | TaskState::Finished => {
            (Hold::Nothing, "hang")
        }
    };
    world.orders.hold(hold);
    if state == TaskState::Queued {
        world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
            runtime["spec"]["capacity"]["maxPods"] = json!(0)
        });
    }
    let operator = world.start().await;
    let uid = world.task("it", "hello", prompt, json!({"deadlineSeconds": 60}));
    let before = operator
        .until_row(&cell, &uid, |row| row.state == state)
        .await;
    world
        .until(&cell, || {
            state == TaskState::Queued || !world.api.list("pods").is_empty()
        })
        .await;
    operator.until_idle().await;
    let token = token_hash(&world, &operator, &before).await;

    act(&world, &operator, stop).await;
    if state == TaskState::Finishing {
        operator.until_idle().await;
        world.orders.hold(Hold::Nothing);
    }
    let (last, class) = wanted(state, stop);
    let row = operator
        .until_row(&cell, &uid, |row| row.state == last)
        .await;
    assert_eq!(
        row.verdict.and_then(|verdict| verdict.outcome.class()),
        class,
        "{cell}"
    );
    operator.until_idle().await;
    if let Some(hash) = token {
        let known = operator
            .ctx
            .store
            .authenticate_token(hash, operator.ctx.clock.now())
            .await
            .unwrap();
        assert_eq!(known, None, "{cell}: the token lives");
    }
    world
        .until(&cell, || {
            world.api.list("pods").is_empty() && world.api.list("secrets").is_empty()
        })
        .await;
    said(&world, &operator, stop, state).await;
    assert_eq!(operator.ctx.store.violations().await.unwrap(), [], "{cell}");
    operator.stop().await;
}

async fn act(world: &World, operator: &Operator, stop: Stop) {
    match stop {
        Stop::Suspend => world.desire("it", "Suspend"),
        Stop::Cancel => world.desire("it", "Cancel"),
        Stop::Deadline => world.pass_time(operator, 61),
        Stop::DeleteTask => world.api.delete("agenttasks", NAMESPACE, "it"),
        Stop::DeleteAgent => world.api.delete("agents", NAMESPACE, "reviewer"),
        Stop::DeleteNamespace => {
            world.api.edit("namespaces", "", NAMESPACE, |namespace| {
                namespace["metadata"]["deletionTimestamp"] = json!("2026-11-30T03:00:00Z");
            });
            // The namespace controller comes after the watch of namespaces has told.
            operator.until_idle().await;
            world.api.remove("namespaces", "", NAMESPACE);
        }
    }
}

/// What the object says in the end.
async fn said(world: &World, operator: &Operator, stop: Stop, state: TaskState) {
    let cell = format!("{state:?} × {stop:?}");
    let is = |kind: &'static str, wanted: &'static str| {
        let (world, cell) = (world, cell.clone());
        async move {
            world
                .until(&format!("{cell}: {kind} {wanted}"), || {
                    world.condition("it", kind) == wanted
                })
                .await
        }
    };
    match (stop, state) {
        (Stop::DeleteTask | Stop::DeleteNamespace, _) => {
            assert_eq!(world.condition("it", "Finished"), "gone", "{cell}")
        }
        (_, TaskState::Finishing) => is("Succeeded", "True Succeeded").await,
        (Stop::Suspend, _) => {
            is("Succeeded", "Unknown Suspended").await;
            // It goes on where it can, with another attempt.
            let attempt = operator.row(&uid(world)).await.unwrap().attempt;
            world.orders.hold(Hold::Nothing);
            world.desire("it", "Run");
            if state != TaskState::Queued {
                let row = operator
                    .until_row(&cell, &uid(world), |row| row.state == TaskState::Running)
                    .await;
                assert_eq!(row.attempt, attempt + 1, "{cell}");
                is("Interrupted", "True AttemptEnded").await;
            }
        }
        (Stop::Cancel, _) => is("Succeeded", "False Cancelled").await,
        (Stop::Deadline, _) => is("Succeeded", "False DeadlineExceeded").await,
        (Stop::DeleteAgent, TaskState::Queued) => {
            world.pass_time(operator, 3);
            is("Accepted", "False AgentNotFound").await;
        }
        (Stop::DeleteAgent, _) => is("Succeeded", "False AgentDeleted").await,
    }
}

fn uid(world: &World) -> String {
    world.api.get("agenttasks", NAMESPACE, "it").unwrap()["metadata"]["uid"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn token_hash(world: &World, operator: &Operator, row: &TaskRow) -> Option<[u8; 32]> {
    let attempt = AttemptId {
        task: row.id,
        number: row.attempt,
    };
    let salt = operator.ctx.store.attempt(attempt).await.unwrap()?.salt;
    Some(Credential::token_hash(&world.key.task_token(attempt, salt)))
}
