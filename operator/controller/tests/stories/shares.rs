//! What workspaces share, and what each may have of it.

use std::collections::HashSet;
use std::time::Duration;

use protocol::TaskState;
use serde_json::{Value, json};

use crate::node::Hold;
use crate::world::{NAMESPACE, Operator, World};

const OTHER: &str = "other";

/// Another workspace with the same Runtime and Agent.
fn add_other(world: &World) {
    world.api.create(
        "namespaces",
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": OTHER, "labels": {"mooring.dev/workspace": "enabled"}},
        }),
    );
    for (resource, kind, name) in [
        ("runtimes", "Runtime", "claude"),
        ("agents", "Agent", "reviewer"),
    ] {
        let spec = world.api.get(resource, NAMESPACE, name).unwrap()["spec"].clone();
        world.api.create(resource, json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": OTHER}, "spec": spec,
        }));
    }
}

/// Says what a workspace may have.
pub(crate) fn limit(world: &World, namespace: &str, spec: Value) {
    if world.api.get("agentquotas", namespace, "default").is_some() {
        let change = |quota: &mut Value| quota["spec"] = spec;
        return world.api.edit("agentquotas", namespace, "default", change);
    }
    world.api.create(
        "agentquotas",
        json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentQuota",
            "metadata": {"name": "default", "namespace": namespace}, "spec": spec,
        }),
    );
}

fn task(world: &World, namespace: &str, name: &str, agent: &str) -> String {
    let made = world.api.create("agenttasks", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"agentRef": {"name": agent}, "subject": {"kind": "Key", "name": name}, "prompt": "succeed"},
    }));
    made["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Pods made so far, as namespace and name, in the order in which they were.
fn made(world: &World) -> impl Iterator<Item = (String, String)> {
    let asked = world.api.asked().into_iter();
    let made = asked
        .filter(|asked| asked.verb == "create" && asked.resource == "pods" && asked.code < 300);
    made.map(|asked| (asked.namespace, asked.name))
}

/// Names of the pods made so far in a namespace.
fn pods(world: &World, namespace: &str) -> Vec<String> {
    made(world)
        .filter_map(|(of, name)| (of == namespace).then_some(name))
        .collect()
}

/// How many pods the light workspace had when the heavy one got so many, whatever came since.
fn light_before(world: &World, heavy: usize) -> usize {
    let mut seen = 0;
    made(world)
        .take_while(|(namespace, _)| {
            seen += usize::from(namespace == OTHER);
            seen < heavy
        })
        .filter(|(namespace, _)| namespace == NAMESPACE)
        .count()
}

fn waits_for(world: &World, task: &str) -> String {
    let task = world.api.get("agenttasks", NAMESPACE, task).unwrap();
    task["status"]["waiting"]["limit"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn entered(operator: &Operator, uids: &[String]) {
    for uid in uids {
        operator.until_row("it is entered", uid, |_| true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspaces_share_pods_by_weight() {
    let mut world = World::new();
    world.max_pods = Some(2);
    add_other(&world);
    // Nothing is claimed until everything waits.
    limit(
        &world,
        NAMESPACE,
        json!({"weight": 100, "maxConcurrent": 0}),
    );
    limit(&world, OTHER, json!({"weight": 300, "maxConcurrent": 0}));
    for namespace in [NAMESPACE, OTHER] {
        for resource in ["runtimes", "agents"] {
            let name = if resource == "runtimes" {
                "claude"
            } else {
                "reviewer"
            };
            world.api.edit(resource, namespace, name, |object| {
                object["spec"]["capacity"] = json!({"maxPods": 50});
                object["spec"]["maxConcurrentTasks"] = json!(50);
            });
        }
    }
    let operator = world.start().await;
    let mut uids = Vec::new();
    for number in 0..30 {
        uids.push(task(&world, NAMESPACE, &format!("a{number}"), "reviewer"));
    }
    for number in 0..60 {
        uids.push(task(&world, OTHER, &format!("b{number}"), "reviewer"));
    }
    entered(&operator, &uids).await;
    operator.until_idle().await;
    assert_eq!(pods(&world, NAMESPACE).len() + pods(&world, OTHER).len(), 0);

    // Whoever is let in first gets no more than the first pods before the other one is let in too.
    world.orders.hold(Hold::Finish);
    limit(&world, NAMESPACE, json!({"weight": 100}));
    limit(&world, OTHER, json!({"weight": 300}));
    world
        .until("all places are taken", || {
            pods(&world, NAMESPACE).len() + pods(&world, OTHER).len() == 2
        })
        .await;
    operator.until_idle().await;
    world.orders.hold(Hold::Nothing);
    world
        .until("the heavy one has had thirty", || {
            pods(&world, OTHER).len() >= 30
        })
        .await;
    let light = light_before(&world, 30);
    // After the first pods a third as many.
    assert!((8..=13).contains(&light), "{light}");
    for uid in &uids {
        operator
            .until_row("it is over", uid, |row| row.state == TaskState::Finished)
            .await;
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_runtimes_of_a_workspace_take_turns_within_its_quota() {
    let world = World::new();
    world.api.create("runtimes", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime", "metadata": {"name": "spare", "namespace": NAMESPACE},
        "spec": {"provider": "claude", "image": "agent:1", "capacity": {"maxPods": 9}},
    }));
    world.api.create("agents", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "writer", "namespace": NAMESPACE},
        "spec": {"runtimeRefs": [{"name": "spare"}]},
    }));
    limit(&world, NAMESPACE, json!({"maxConcurrent": 1}));
    let operator = world.start().await;
    world.orders.hold(Hold::Finish);
    let (mut uids, mut names) = (Vec::new(), Vec::new());
    for number in 0..4 {
        for agent in ["reviewer", "writer"] {
            let name = format!("{agent}{number}");
            uids.push(task(&world, NAMESPACE, &name, agent));
            names.push(format!("{agent}-{name}"));
            // The first has the only place before another is heard of; all others wait for their turn.
            world
                .until("the first has its pod", || {
                    !pods(&world, NAMESPACE).is_empty()
                })
                .await;
            world.clock.advance(Duration::from_secs(1));
        }
    }
    entered(&operator, &uids).await;
    world.pass_time(&operator, 3);
    world
        .until("it says what it waits for", || {
            waits_for(&world, "writer3") == "QuotaConcurrent"
        })
        .await;
    world
        .until("the quota says what is used", || {
            let quota = world.api.get("agentquotas", NAMESPACE, "default").unwrap();
            quota["status"]["running"] == 1 && quota["status"]["queued"] == 7
        })
        .await;
    world.orders.hold(Hold::Nothing);
    for uid in &uids {
        operator
            .until_row("it is over", uid, |row| row.state == TaskState::Finished)
            .await;
    }
    let made = pods(&world, NAMESPACE);
    assert_eq!(made.len(), names.len());
    for (pod, name) in made.iter().zip(&names) {
        assert!(pod.starts_with(name), "{made:?}");
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_more_than_an_hour_may_hold_waits_for_the_hour() {
    let world = World::new();
    limit(&world, NAMESPACE, json!({"runsPerHour": 1}));
    let operator = world.start().await;
    let first = task(&world, NAMESPACE, "first", "reviewer");
    operator
        .until_row("the first is over", &first, |row| {
            row.state == TaskState::Finished
        })
        .await;
    let second = task(&world, NAMESPACE, "second", "reviewer");
    entered(&operator, std::slice::from_ref(&second)).await;
    operator.until_idle().await;
    world.pass_time(&operator, 3);
    world
        .until("it says what it waits for", || {
            waits_for(&world, "second") == "QuotaRunsPerHour"
        })
        .await;
    assert_eq!(operator.row(&second).await.unwrap().attempt, 0);
    // All but the last moment of the hour.
    world.pass_time(&operator, 3597 - 1);
    operator.until_idle().await;
    assert_eq!(operator.row(&second).await.unwrap().attempt, 0);
    // The clock moves on, and nobody asks for a look: the lane itself has said when it wants one.
    world.clock.advance(Duration::from_secs(1));
    operator
        .until_row("the second is over", &second, |row| {
            row.state == TaskState::Finished
        })
        .await;
    operator.stop().await;
}

/// Two agents that name two full Runtimes the other way round must not make these ask each other for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_runtimes_leave_each_other_alone() {
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
    world.api.create("agents", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "writer", "namespace": NAMESPACE},
        "spec": {"runtimeRefs": [{"name": "spare"}, {"name": "claude"}]},
    }));
    let operator = world.start().await;
    world.orders.hold(Hold::Finish);
    let uids: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .enumerate()
        .map(|(number, name)| task(&world, NAMESPACE, name, ["reviewer", "writer"][number % 2]))
        .collect();
    entered(&operator, &uids).await;
    world
        .until("both are full", || pods(&world, NAMESPACE).len() == 2)
        .await;
    operator.until_idle().await;
    world.orders.hold(Hold::Nothing);
    for uid in &uids {
        operator
            .until_row("it is over", uid, |row| row.state == TaskState::Finished)
            .await;
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_finds_no_room_in_the_queue_is_taken_in_later() {
    let world = World::new();
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["capacity"]["maxPods"] = json!(1);
    });
    limit(&world, NAMESPACE, json!({"maxQueued": 1}));
    let operator = world.start().await;
    world.orders.hold(Hold::Finish);
    let runs = task(&world, NAMESPACE, "runs", "reviewer");
    operator
        .until_row("it runs", &runs, |row| row.state == TaskState::Running)
        .await;
    let waits = task(&world, NAMESPACE, "waits", "reviewer");
    entered(&operator, std::slice::from_ref(&waits)).await;
    let turned_away: Vec<_> = ["one", "two"]
        .map(|name| task(&world, NAMESPACE, name, "reviewer"))
        .into();
    for name in ["one", "two"] {
        world
            .until("it says that there is no room", || {
                world.condition(name, "Accepted") == "False QueueFull"
            })
            .await;
    }
    operator.until_idle().await;
    for uid in &turned_away {
        assert_eq!(operator.row(uid).await, None);
    }
    world.orders.hold(Hold::Nothing);
    for uid in [&runs, &waits].into_iter().chain(&turned_away) {
        operator
            .until_row("it is over", uid, |row| row.state == TaskState::Finished)
            .await;
    }
    operator.stop().await;
}

/// The next task of a session waits for no look of anybody: the release of the one before asks for the claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_task_of_a_session_is_claimed_at_once() {
    let mut took = Vec::new();
    for quota in [None, Some(json!({"maxConcurrent": 1}))] {
        let world = World::new();
        if let Some(spec) = quota {
            limit(&world, NAMESPACE, spec);
        }
        let operator = world.start().await;
        world.orders.hold(Hold::Finish);
        let uids: Vec<_> = (0..12)
            .map(|number| world.task(&format!("t{number}"), "hello", "succeed", json!({})))
            .collect();
        entered(&operator, &uids).await;
        let mut changes = operator.ctx.store.changes();
        world.orders.hold(Hold::Nothing);
        let mut released = None;
        let mut over = HashSet::new();
        while over.len() < uids.len() {
            let next = tokio::time::timeout(Duration::from_secs(60), changes.next()).await;
            let Some(store::Change::Task(task)) = next.expect("a change comes") else {
                panic!("changes were missed");
            };
            let row = operator.ctx.store.task(task).await.unwrap().unwrap();
            if row.state == TaskState::Finished && over.insert(task) {
                released = Some(std::time::Instant::now());
            } else if row.state.is_active()
                && let Some(released) = released.take()
            {
                // It may have got further by now. One that is over already tells nothing.
                took.push(released.elapsed());
            }
        }
        operator.stop().await;
    }
    took.sort_unstable();
    let (median, last) = (took[took.len() / 2], took[took.len() - 1]);
    println!("from release to claim: median {median:?}, slowest {last:?}");
    // Far above what it takes, far below what a look by the clock would.
    assert!(median < Duration::from_millis(500), "{median:?}");
}
