//! Attempts that fail, and what the next turn finds.

use protocol::{FailureClass, Outcome, TaskState};
use serde_json::{Value, json};
use store::TaskRow;

use crate::node::Hold;
use crate::world::{NAMESPACE, Operator, World};

/// What happens to the pod of a task that hangs.
type Harm = fn(&World, &Operator);

fn pod(world: &World) -> Value {
    world.api.list("pods")[0].clone()
}

fn pod_name(world: &World) -> String {
    pod(world)["metadata"]["name"].as_str().unwrap().to_owned()
}

fn waiting(world: &World, reason: &str, message: &str) {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    world.api.edit("pods", NAMESPACE, &pod_name(world), |pod| {
        pod["spec"]["nodeName"] = json!("node-1");
        pod["status"] = json!({"phase": "Pending", "containerStatuses": [
            {"name": "agent", "image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": state},
        ]});
    });
}

/// What is done, the class that follows, and how long it may take by the clock.
const HARMS: [(&str, Hold, Harm, FailureClass); 8] = [
    (
        "deleted by hand",
        Hold::Nothing,
        |world, _| world.api.delete("pods", NAMESPACE, &pod_name(world)),
        FailureClass::PodDeleted,
    ),
    (
        "removed by force",
        Hold::Nothing,
        |world, _| world.api.remove("pods", NAMESPACE, &pod_name(world)),
        FailureClass::PodDeleted,
    ),
    (
        "image missing",
        Hold::Bind,
        |world, _| {
            waiting(
                world,
                "ErrImagePull",
                "failed to resolve reference: not found",
            )
        },
        FailureClass::ImagePullFailed,
    ),
    (
        "key missing",
        Hold::Bind,
        |world, _| {
            waiting(
                world,
                "CreateContainerConfigError",
                "couldn't find key k in Secret team/s",
            )
        },
        FailureClass::ContainerConfigInvalid,
    ),
    (
        "unschedulable",
        Hold::Bind,
        |world, operator| world.pass_time(operator, 301),
        FailureClass::Unschedulable,
    ),
    (
        "never opened",
        Hold::Open,
        |world, operator| world.pass_time(operator, 121),
        FailureClass::ClaimExpired,
    ),
    (
        "never started",
        Hold::Start,
        |world, operator| world.pass_time(operator, 136),
        FailureClass::PrepareFailed,
    ),
    (
        "node removed",
        Hold::Nothing,
        |world, _| world.api.remove("nodes", "", "node-1"),
        FailureClass::NodeLost,
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_harm_has_its_class_and_the_session_lives_on() {
    for (what, hold, harm, class) in HARMS {
        let world = World::new();
        world.orders.hold(hold);
        let operator = world.start().await;
        let uid = world.task("harmed", "hello", "hang", json!({}));
        let state = match hold {
            Hold::Nothing | Hold::Finish | Hold::End => TaskState::Running,
            Hold::Start => TaskState::Preparing,
            Hold::Open | Hold::Bind => TaskState::Claimed,
        };
        operator
            .until_row(what, &uid, |row| row.state == state)
            .await;
        world
            .until(what, || !world.api.list("pods").is_empty())
            .await;
        world
            .until(what, || {
                hold == Hold::Bind || pod(&world)["status"]["phase"] == "Running"
            })
            .await;
        operator.until_idle().await;
        harm(&world, &operator);
        let row = operator
            .until_row(what, &uid, |row| row.verdict.is_some())
            .await;
        assert_eq!(
            row.verdict.and_then(|verdict| verdict.outcome.class()),
            Some(class),
            "{what}"
        );
        world
            .until(what, || {
                world.condition("harmed", "Succeeded") == format!("False {class}")
            })
            .await;
        world.orders.hold(Hold::Nothing);
        let next = world.task("next", "hello", "succeed", json!({}));
        tokio::select! {
            _ = operator.until_row(what, &next, |row| row.state == TaskState::Finished) => {}
            () = world.let_time_pass(&operator) => {}
        }
        assert_eq!(
            world.api.list("persistentvolumeclaims").len(),
            1,
            "{what}: the volume stays"
        );
        operator.stop().await;
    }
}

fn class(row: &TaskRow) -> Option<FailureClass> {
    row.verdict
        .as_ref()
        .and_then(|verdict| verdict.outcome.class())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_left_in_the_pod_counts_and_a_forged_one_does_not() {
    let world = World::new();
    let operator = world.start().await;
    let left = world.task("left", "one", "leave a message", json!({}));
    let forged = world.task("forged", "two", "forge a message", json!({}));
    let row = operator
        .until_row("left", &left, |row| row.state == TaskState::Finished)
        .await;
    assert_eq!(
        row.verdict.clone().map(|verdict| verdict.outcome),
        Some(Outcome::Succeeded)
    );
    assert_eq!(
        row.verdict
            .and_then(|verdict| verdict.result)
            .map(|result| result.output),
        Some("done with [redacted]".into())
    );
    let row = operator
        .until_row("forged", &forged, |row| row.state == TaskState::Finished)
        .await;
    assert_eq!(class(&row), Some(FailureClass::RunnerCrashed));
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_volume_makes_a_new_generation() {
    let world = World::new();
    let operator = world.start().await;
    let first = world.task("first", "hello", "succeed", json!({}));
    operator
        .until_row("first", &first, |row| row.state == TaskState::Finished)
        .await;
    let claim = world.api.list("persistentvolumeclaims")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(claim.ends_with("-g1"));
    world
        .api
        .delete("persistentvolumeclaims", NAMESPACE, &claim);
    operator.until_idle().await;
    let second = world.task("second", "hello", "succeed", json!({}));
    operator
        .until_row("second", &second, |row| row.state == TaskState::Finished)
        .await;
    let names: Vec<_> = world
        .api
        .list("persistentvolumeclaims")
        .iter()
        .map(|claim| claim["metadata"]["name"].clone())
        .collect();
    assert_eq!(names, [json!(claim.replace("-g1", "-g2"))]);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_with_the_pods_name_is_waited_for() {
    let world = World::new();
    let operator = world.start().await;
    let first = world.task("first", "hello", "succeed", json!({}));
    operator
        .until_row("first", &first, |row| row.state == TaskState::Finished)
        .await;
    let session = world.api.list("agentsessions")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    world.orders.hold(Hold::Bind);
    let stranger = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": session, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "mooring",
            "mooring.dev/task-id": "01890a5d-ac96-774b-bcce-b302099a8057", "mooring.dev/attempt": "1"}},
        "spec": {"containers": []},
    });
    world.api.create("pods", stranger);
    let second = world.task("second", "hello", "succeed", json!({}));
    let row = operator
        .until_row("claimed", &second, |row| row.state == TaskState::Claimed)
        .await;
    operator.until_idle().await;
    let attempt = protocol::AttemptId {
        task: row.id,
        number: 1,
    };
    assert_eq!(
        operator
            .ctx
            .store
            .attempt(attempt)
            .await
            .unwrap()
            .unwrap()
            .pod_uid,
        None
    );
    world.orders.hold(Hold::Nothing);
    world.api.remove("pods", NAMESPACE, &session);
    operator
        .until_row("second", &second, |row| row.state == TaskState::Finished)
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_pod_is_a_verdict_in_the_apiservers_words() {
    let world = World::new();
    world.api.refuse(
        "pods",
        403,
        r#"pods "x" is forbidden: exceeded quota: small"#,
    );
    let operator = world.start().await;
    let uid = world.task("refused", "hello", "succeed", json!({}));
    let row = operator
        .until_row("refused", &uid, |row| row.state == TaskState::Finished)
        .await;
    assert_eq!(class(&row), Some(FailureClass::QuotaExceeded));
    world
        .until("it says so", || {
            let task = world.api.get("agenttasks", NAMESPACE, "refused").unwrap();
            task["status"]["failure"]["message"]
                .as_str()
                .is_some_and(|message| message.contains("small"))
        })
        .await;
    assert!(world.api.list("secrets").is_empty());
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_went_unseen_is_fenced_until_its_node_had_time() {
    let world = World::new();
    let operator = world.start().await;
    let uid = world.task("unseen", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &uid, |row| row.state == TaskState::Running)
        .await;
    operator.until_idle().await;
    operator.stop().await;
    // By force, while nobody watches: its containers may still run.
    let name = pod_name(&world);
    world.api.remove("pods", NAMESPACE, &name);
    let operator = world.start().await;
    let row = operator
        .until_row("a verdict", &uid, |row| row.verdict.is_some())
        .await;
    assert_eq!(class(&row), Some(FailureClass::PodDeleted));
    // The time counts from when the same pass noticed.
    operator.until_idle().await;
    let next = world.task("next", "hello", "succeed", json!({}));
    operator.until_row("entered", &next, |_| true).await;
    world.pass_time(&operator, 10);
    let fencing = || {
        let session = &world.api.list("agentsessions")[0];
        let conditions = session["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions
            .iter()
            .any(|one| one["type"] == "Fencing" && one["status"] == "True")
    };
    world
        .until("the session says that it is fenced", fencing)
        .await;
    world
        .until("the next one says what it waits for", || {
            world.api.get("agenttasks", NAMESPACE, "next").unwrap()["status"]["waiting"]["limit"]
                == "Session"
        })
        .await;
    assert_eq!(operator.row(&next).await.unwrap().state, TaskState::Queued);
    // Grace of 15 s and the margin of 60 s.
    world.pass_time(&operator, 60);
    operator.until_idle().await;
    assert_eq!(operator.row(&next).await.unwrap().state, TaskState::Queued);
    world.pass_time(&operator, 10);
    operator
        .until_row("the next turn", &next, |row| {
            row.state == TaskState::Finished
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_that_is_refused_keeps_nothing_alive() {
    let world = World::new();
    let operator = world.start().await;
    let uid = world.task("refused", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &uid, |row| row.state == TaskState::Running)
        .await;
    world
        .api
        .refuse("agenttasks/status", 422, "a policy of the cluster");
    world.desire("refused", "Cancel");
    operator
        .until_row("cleared away", &uid, |row| row.state == TaskState::Finished)
        .await;
    assert!(world.api.list("secrets").is_empty());
    assert!(world.api.list("pods").is_empty());
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_cannot_be_read_ends_no_run_until_it_is_deleted() {
    let world = World::new();
    let operator = world.start().await;
    let uid = world.task("goes-on", "hello", "hang", json!({}));
    operator
        .until_row("it runs", &uid, |row| row.state == TaskState::Running)
        .await;
    operator.stop().await;
    // As an older release finds what a newer one let in.
    world.api.edit("agents", NAMESPACE, "reviewer", |agent| {
        agent["spec"]["runtimeRefs"] = json!("of another shape")
    });
    let operator = world.start().await;
    operator.until_idle().await;
    world.pass_time(&operator, 5);
    operator.until_idle().await;
    assert_eq!(operator.row(&uid).await.unwrap().state, TaskState::Running);
    world.api.delete("agents", NAMESPACE, "reviewer");
    let row = operator
        .until_row("a verdict", &uid, |row| row.verdict.is_some())
        .await;
    assert_eq!(class(&row), Some(FailureClass::AgentDeleted));
    operator.stop().await;
}
