//! Webhooks: each gets its key, and each delivery becomes once what it is to become, whatever happens on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use controller::kube_writes::NoFaults;
use controller::{Clock as _, KubePoint};
use protocol::board::{
    AuthorKind, Comment, CommentQuery, DeliveryState, Issue, IssueEdit, IssueQuery, IssueStatus,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use store::{NewDelivery, Took, WorkspaceRef, WritePoint};

use crate::born::calm;
use crate::wherever::Story;
use crate::world::{DEADLINE, NAMESPACE, Operator, World};

fn webhook(world: &World, name: &str, spec: Value) {
    world.api.create(
        "agentwebhooks",
        json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentWebhook",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
        }),
    );
}

/// Makes an issue for each alert, and comments on it while it is open.
fn alerts() -> Value {
    json!({"issue": {
        "title": "Alert {/name}", "description": "On {/host}.", "reference": "{/id}", "assignee": {"name": "reviewer"},
    }})
}

fn status(world: &World, name: &str) -> Value {
    let object = world.api.get("agentwebhooks", NAMESPACE, name).unwrap();
    object["status"].clone()
}

/// A condition of a webhook, as `status reason`.
fn condition(world: &World, name: &str, kind: &str) -> String {
    let all = status(world, name)["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = all
        .iter()
        .find(|one| one["type"] == kind)
        .cloned()
        .unwrap_or_default();
    let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("status"), word("reason"))
}

fn workspace(world: &World) -> WorkspaceRef {
    let home = world.api.get("namespaces", "", NAMESPACE).unwrap();
    WorkspaceRef {
        namespace: NAMESPACE.to_owned(),
        namespace_uid: home["metadata"]["uid"].as_str().unwrap().to_owned(),
    }
}

/// What the API does with a delivery whose signature is good.
async fn send(
    world: &World,
    operator: &Operator,
    name: &str,
    id: &str,
    body: &Value,
) -> Result<Took, store::Error> {
    let new = NewDelivery {
        workspace: workspace(world),
        webhook: name.to_owned(),
        delivery: id.to_owned(),
        event: "delivery".to_owned(),
        body: body.to_string().into_bytes(),
        body_hash: None,
    };
    operator
        .ctx
        .store
        .take_delivery(new, world.clock.now())
        .await
}

async fn issues(world: &World, operator: &Operator) -> Vec<Issue> {
    let page = operator
        .ctx
        .store
        .issues(&workspace(world), &IssueQuery::default())
        .await;
    page.unwrap().items
}

async fn comments(world: &World, operator: &Operator, issue: &Issue) -> Vec<Comment> {
    let store = &operator.ctx.store;
    let page = store
        .comments(&workspace(world), &issue.key, &CommentQuery::default())
        .await;
    page.unwrap().items
}

fn over(world: &World, most: usize) -> bool {
    let tasks = world.api.list("agenttasks");
    tasks.len() == most
        && tasks
            .iter()
            .all(|task| task["status"]["times"]["finished"].is_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_has_a_key_that_people_can_read() {
    let world = World::new();
    webhook(&world, "alerts", alerts());
    let operator = world.start().await;
    world
        .until("it is ready", || {
            condition(&world, "alerts", "Ready") == "True Ready"
        })
        .await;
    assert_eq!(
        condition(&world, "alerts", "Delivered"),
        "Unknown NothingYet"
    );
    let seen = status(&world, "alerts");
    assert_eq!(seen["path"], "/hooks/team/alerts");
    let first = seen["secretName"].as_str().unwrap().to_owned();
    let secret = world.api.get("secrets", NAMESPACE, &first).unwrap();
    let made = world.api.get("agentwebhooks", NAMESPACE, "alerts").unwrap();
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
    let wanted = world.key.webhook_key(&uid, "alerts", 1);
    assert_eq!(secret["stringData"]["key"], wanted.expose_secret());
    assert_eq!(
        secret["metadata"]["ownerReferences"][0]["kind"],
        "AgentWebhook"
    );
    assert!(!seen.to_string().contains(wanted.expose_secret()));
    world.api.edit("agentwebhooks", NAMESPACE, "alerts", |one| {
        one["spec"]["keyVersion"] = json!(2)
    });
    world
        .until("it has another key", || {
            status(&world, "alerts")["secretName"] != first.as_str()
        })
        .await;
    calm(&operator, "keys").await;
    world.api.delete("agentwebhooks", NAMESPACE, "alerts");
    assert!(
        world.api.get("secrets", NAMESPACE, &first).is_none(),
        "its key goes with it"
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_become_an_issue_and_then_comments_on_it() {
    let world = World::new();
    webhook(&world, "alerts", alerts());
    let operator = world.start().await;
    world
        .until("it is ready", || {
            condition(&world, "alerts", "Ready") == "True Ready"
        })
        .await;
    let disk = json!({"name": "disk [x](mention://agent/ghost)", "host": "a", "id": 7});
    assert_eq!(
        send(&world, &operator, "alerts", "one", &disk)
            .await
            .unwrap(),
        Took::New
    );
    world
        .until("its agent has done its work", || over(&world, 1))
        .await;
    assert_eq!(
        send(&world, &operator, "alerts", "one", &disk)
            .await
            .unwrap(),
        Took::Known
    );
    let made = issues(&world, &operator).await;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].title, "Alert disk [x](mention: //agent/ghost)");
    assert_eq!(
        (made[0].creator.kind, made[0].creator.name.as_str()),
        (AuthorKind::System, "webhook alerts")
    );
    world
        .until("it says so", || {
            condition(&world, "alerts", "Delivered") == "True Taken"
        })
        .await;

    // What it tells of goes on: one thread, and its agent hears of it.
    for (number, id) in ["two", "three"].into_iter().enumerate() {
        send(&world, &operator, "alerts", id, &disk).await.unwrap();
        world.until(id, || over(&world, number + 2)).await;
    }
    let said = comments(&world, &operator, &made[0]).await;
    assert_eq!(
        said.iter().map(|one| one.body.as_str()).collect::<Vec<_>>(),
        ["On a.", "On a."]
    );
    assert_eq!(said[1].thread, said[0].id);
    assert_eq!(issues(&world, &operator).await.len(), 1);

    // Once it is closed the same alert is another issue.
    let by = store::Acting {
        workspace: workspace(&world),
        author: made[0].creator.clone(),
        task: None,
        user: None,
        groups: Vec::new(),
    };
    let done = IssueEdit {
        status: Some(IssueStatus::Done),
        ..IssueEdit::default()
    };
    let store = &operator.ctx.store;
    store
        .edit_issue(
            &by,
            &made[0].key,
            done,
            &crate::born::Everyone,
            world.clock.now(),
        )
        .await
        .unwrap();
    send(&world, &operator, "alerts", "four", &disk)
        .await
        .unwrap();
    world.until("another issue", || over(&world, 4)).await;
    assert_eq!(issues(&world, &operator).await.len(), 2);
    calm(&operator, "alerts").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_the_store_never_takes_holds_up_no_other() {
    let world = World::new();
    webhook(&world, "alerts", alerts());
    // The second is that of the other delivery; those from the sixth on are of the first one sent again.
    let count = AtomicUsize::new(0);
    let faults = store::Faults::new(move |point| {
        if point != WritePoint::Deliver {
            return None;
        }
        let number = count.fetch_add(1, Ordering::AcqRel) + 1;
        matches!(number, 1 | 3..=5).then_some(store::Fault::ErrorBefore)
    });
    // Both wait before the first is tried.
    world.api.away(true);
    let operator = world.start_with(Arc::new(NoFaults), faults.clone()).await;
    let alert = |id: u32| json!({"name": "disk", "host": "a", "id": id});
    for (name, id) in [("stuck", 1), ("other", 2)] {
        send(&world, &operator, "alerts", name, &alert(id))
            .await
            .unwrap();
    }
    world.api.away(false);
    world
        .until("the other one is dealt with", || over(&world, 1))
        .await;
    let ended = || {
        let ends = faults.passed();
        ends.contains(&WritePoint::EndDelivery)
    };
    world.until("it is given up", ended).await;
    calm(&operator, "given up").await;
    let store = &operator.ctx.store;
    let all = store
        .deliveries(&workspace(&world), "alerts", 9, None)
        .await;
    let all = all.unwrap().items;
    let stuck = all.iter().find(|one| one.delivery == "stuck").unwrap();
    assert_eq!(stuck.state, DeliveryState::Failed);
    let remark = format!("{stuck:?}");
    assert!(remark.contains("could not be stored"), "{remark}");
    let again = send(&world, &operator, "alerts", "stuck", &alert(1)).await;
    assert_eq!(again.unwrap(), Took::New);
    world.until("it is taken now", || over(&world, 2)).await;
    calm(&operator, "deliveries").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_cannot_be_fails_alone_and_may_be_sent_again() {
    let world = World::new();
    webhook(
        &world,
        "notes",
        json!({"comment": {"issue": "{/key}", "body": "{/text}"}}),
    );
    webhook(&world, "alerts", alerts());
    let operator = world.start().await;
    for name in ["notes", "alerts"] {
        world
            .until("it is ready", || {
                condition(&world, name, "Ready") == "True Ready"
            })
            .await;
    }
    let note = json!({"key": "TEAM-1", "text": "and?"});
    send(&world, &operator, "notes", "early", &note)
        .await
        .unwrap();
    world
        .until("there is no such issue yet", || {
            condition(&world, "notes", "Delivered") == "False Failed"
        })
        .await;
    send(
        &world,
        &operator,
        "alerts",
        "one",
        &json!({"name": "disk", "host": "a", "id": 7}),
    )
    .await
    .unwrap();
    world
        .until("the other one is not in its way", || over(&world, 1))
        .await;
    assert_eq!(
        send(&world, &operator, "notes", "early", &note)
            .await
            .unwrap(),
        Took::New
    );
    world
        .until("it is taken now", || {
            condition(&world, "notes", "Delivered") == "True Taken"
        })
        .await;
    for (id, wrong) in [
        ("a", json!({"key": "nothing", "text": "x"})),
        ("b", json!({"key": "TEAM-1"})),
        ("c", json!([])),
    ] {
        send(&world, &operator, "notes", id, &wrong).await.unwrap();
        world
            .until(id, || {
                let all = status(&world, "notes")["conditions"].to_string();
                all.contains(
                    &format!("{:?}", format!("Delivery {id:?} failed"))
                        .trim_matches('"')
                        .to_owned(),
                )
            })
            .await;
    }
    let made = issues(&world, &operator).await;
    assert_eq!(comments(&world, &operator, &made[0]).await.len(), 1);
    // What came for a webhook that is gone is nobody's.
    world.api.delete("agentwebhooks", NAMESPACE, "notes");
    operator.until_idle().await;
    send(&world, &operator, "notes", "late", &note)
        .await
        .unwrap();
    until_dealt_with(&operator, "gone").await;
    calm(&operator, "gone").await;
    assert_eq!(comments(&world, &operator, &made[0]).await.len(), 1);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_delivery_is_dealt_with_once_wherever_the_operator_dies() {
    let story = Story {
        declare: |world| {
            let mut spec = alerts();
            spec["issue"]["title"] = json!("{/name}");
            webhook(world, "alerts", spec);
        },
        work: deliver,
        check: dealt_with_once,
    };
    let in_cluster = [KubePoint::CreateWebhookSecret, KubePoint::WebhookStatus];
    let in_store = [
        WritePoint::TakeDelivery,
        WritePoint::Deliver,
        WritePoint::EndDelivery,
    ];
    story.tell(&in_cluster, &in_store).await;
}

async fn dealt_with_once(world: &World, operator: &Operator, case: &str) {
    until_dealt_with(operator, case).await;
    assert_eq!(issues(world, operator).await.len(), 1, "{case}");
}

/// What the store refused is tried again after a while, in which the operator is idle.
async fn until_dealt_with(operator: &Operator, case: &str) {
    let deadline = std::time::Instant::now() + DEADLINE;
    loop {
        let waiting = operator.ctx.store.waiting_deliveries(9).await.unwrap();
        if waiting.is_empty() {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{case}: {waiting:?}");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// Two deliveries; a sender without an answer sends again.
async fn deliver(world: &World, operator: &Operator, case: &str) {
    world
        .until(case, || condition(world, "alerts", "Ready") == "True Ready")
        .await;
    let disk = json!({"name": "disk", "host": "a", "id": 7});
    for (id, body) in [("wrong", json!({})), ("one", disk)] {
        while send(world, operator, "alerts", id, &body).await.is_err() {
            tokio::task::yield_now().await;
        }
        let secret = || status(world, "alerts")["secretName"].is_string();
        world.until(case, secret).await;
        world.clock.advance(std::time::Duration::from_secs(1));
    }
    world.until(case, || over(world, 1)).await;
    world
        .until(case, || {
            condition(world, "alerts", "Delivered") == "True Taken"
        })
        .await;
}
