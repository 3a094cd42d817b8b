//! What the platform's people define, as others look at it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use protocol::board::NewIssue;
use serde_json::{Value, json};
use store::{Acting, Become, NewDelivery, Nothing};

use crate::bed::{Bed, NAMESPACE, NAMESPACE_UID, both};
use crate::board::{Voice, items};

/// Nobody is woken.
struct Nobody;

impl wake::Directory for Nobody {
    fn agent(&self, _name: &str) -> Option<wake::AgentFacts> {
        None
    }

    fn team(&self, _name: &str) -> Option<wake::TeamFacts> {
        None
    }
}

fn workspace() -> store::WorkspaceRef {
    store::WorkspaceRef {
        namespace: NAMESPACE.to_owned(),
        namespace_uid: NAMESPACE_UID.to_owned(),
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    })
}

/// Changes an object as its controller would.
pub(crate) fn change<K: Clone>(
    all: &Mutex<BTreeMap<String, Arc<K>>>,
    name: &str,
    change: impl FnOnce(&mut K),
) {
    let mut all = all.lock().unwrap();
    change(Arc::make_mut(all.get_mut(name).unwrap()));
}

/// Four deliveries: one that became an issue, one that is none, one that failed, one that waits.
async fn deliver(bed: &Bed) {
    let (store, now) = (&bed.store, bed.now());
    for id in ["one", "two", "three\u{1b}", "four"] {
        let new = NewDelivery {
            workspace: workspace(),
            webhook: "alerts".to_owned(),
            delivery: id.to_owned(),
            event: "alert".to_owned(),
            body: b"{}".to_vec(),
            body_hash: None,
        };
        store.take_delivery(new, now).await.unwrap();
    }
    let waiting = store.waiting_deliveries(9).await.unwrap();
    let by = Acting::mooring(&workspace(), "webhook", "alerts");
    let new = NewIssue {
        title: "disk".to_owned(),
        ..NewIssue::default()
    };
    let becomes = Become::Issue {
        new: Box::new(new),
        reference: None,
        comment: None,
    };
    let done = store.deliver(&waiting[0], (&by, becomes), &Nobody, now);
    done.await.unwrap();
    for (delivery, how, why) in [
        (&waiting[1], Nothing::Ignored, "no issue stands for it"),
        (&waiting[2], Nothing::Failed, "there is no agent \"coder\""),
    ] {
        store.end_delivery(delivery.id, how, why).await.unwrap();
    }
}

both! {
    async fn a_schedule_is_shown_with_how_it_stands(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        bed.define_schedule("nightly", &json!({
            "schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "startingDeadlineSeconds": 600,
            "createIssue": {"title": "Tests", "description": "All of them.", "assignee": {"kind": "Team", "name": "core"}},
        }));
        bed.define_schedule("weekly", &json!({
            "schedule": "@weekly", "suspend": true, "run": {"agentRef": {"name": "gardener"}, "prompt": "Weed."},
        }));
        let status = json!({
            "conditions": [condition("Ready", "True", "EarlierGoesOn", "One waits.")],
            "lastScheduleTime": "2027-01-15T02:00:00Z", "nextScheduleTime": "2027-01-16T02:00:00Z",
            "active": [{"scheduleTime": "2027-01-15T02:00:00Z", "issue": "TEAMA-1"}],
        });
        change(&bed.cluster.schedules, "nightly", |nightly| {
            nightly.status = serde_json::from_value(status).unwrap();
        });
        let listed = ada.get("/schedules").await.ok();
        let all = items(&listed);
        let [nightly, weekly] = &all[..] else {
            panic!("two of them: {listed}");
        };
        let wanted: Value = json!({
            "name": "nightly", "schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "suspended": false,
            "makes": {"kind": "issue", "title": "Tests", "assignee": "team:core"},
            "standing": {"ready": true, "reason": "EarlierGoesOn", "message": "One waits."},
            "last": "2027-01-15T02:00:00Z", "next": "2027-01-16T02:00:00Z",
        });
        assert_eq!(*nightly, wanted);
        assert_eq!(weekly["makes"], json!({"kind": "task", "agent": "gardener", "subject": "weekly"}));
        assert_eq!((&weekly["suspended"], &weekly["standing"]), (&json!(true), &json!({"ready": false})));
        let shown = ada.get("/schedules/nightly").await.ok();
        assert_eq!((&shown["name"], &shown["text"]), (&json!("nightly"), &json!("All of them.")));
        assert_eq!(shown["goingOn"], json!([{"at": "2027-01-15T02:00:00Z", "issue": "TEAMA-1"}]));
        assert_eq!((&shown["concurrencyPolicy"], &shown["startingDeadlineSeconds"]), (&json!("Forbid"), &json!(600)));
        // In parts, by name.
        let first = ada.get("/schedules?limit=1").await.ok();
        assert_eq!((items(&first).len(), &first["next"]), (1, &json!("nightly")));
        let rest = ada.get("/schedules?cursor=nightly").await.ok();
        assert_eq!((&items(&rest)[0]["name"], &rest["next"]), (&json!("weekly"), &Value::Null));
        assert_eq!(ada.get("/schedules/monthly").await.refusal(), (404, "notFound".to_owned()));
    }

    async fn a_webhook_is_shown_with_what_it_delivered(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        bed.define_webhook("alerts", &json!({"issue": {"title": "{/name}", "assignee": {"name": "coder"}}}));
        bed.define_webhook("other", &json!({"gitHub": {"label": "mooring"}}));
        let status = json!({
            "conditions": [condition("Ready", "True", "Ready", ""), condition("Delivered", "False", "Failed", "No agent.")],
            "path": "/hooks/team-a/alerts", "secretName": "s",
        });
        change(&bed.cluster.webhooks, "alerts", |alerts| {
            alerts.status = serde_json::from_value(status).unwrap();
        });
        deliver(&bed).await;
        let shown = ada.get("/webhooks/alerts").await.ok();
        let wanted: Value = json!({
            "name": "alerts", "suspended": false, "path": "/hooks/team-a/alerts", "secret": "s",
            "makes": {"kind": "issue", "title": "{/name}", "assignee": "agent:coder"},
            "standing": {"ready": true, "reason": "Ready"},
            "delivered": {"ready": false, "reason": "Failed", "message": "No agent."},
        });
        assert_eq!(shown, wanted);
        assert_eq!(items(&ada.get("/webhooks").await.ok()).len(), 2);
        let listed = ada.get("/webhooks/alerts/deliveries").await.ok();
        let told: Vec<_> = items(&listed).iter().map(|each| {
            let word = |name: &str| each[name].as_str().unwrap_or_default().to_owned();
            [word("delivery"), word("state"), word("issue"), word("remark")]
        }).collect();
        let wanted = [
            ["four", "waiting", "", ""],
            ["three", "failed", "", "there is no agent \"coder\""],
            ["two", "ignored", "", "no issue stands for it"],
            ["one", "done", "TEAMA-1", ""],
        ];
        assert_eq!(told, wanted);
        let first = ada.get("/webhooks/alerts/deliveries?limit=3").await.ok();
        let rest = ada.get(&format!("/webhooks/alerts/deliveries?cursor={}", first["next"].as_str().unwrap())).await.ok();
        assert_eq!((items(&first).len(), &items(&rest)[0]["delivery"]), (3, &json!("one")));
        // Each has its own; those of what is not there any more are told to nobody.
        assert!(items(&ada.get("/webhooks/other/deliveries").await.ok()).is_empty());
        bed.cluster.webhooks.lock().unwrap().remove("alerts");
        assert_eq!(ada.get("/webhooks/alerts/deliveries").await.refusal(), (404, "notFound".to_owned()));
    }

    async fn a_runtime_is_shown_with_why_it_is_not_ready(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        bed.define_runtime(&json!({
            "provider": "claude", "image": "agent:1", "defaults": {"model": "opus"}, "capacity": {"maxPods": 3},
        }));
        let ready = condition("Ready", "False", "NetworkPolicyFailed", "The apiserver says no.");
        change(&bed.cluster.runtimes, "claude", |runtime| {
            let cli = json!({
                "probed": "x", "finding": "Usable", "version": "2.1.332", "probedTime": "2027-01-15T02:00:00Z",
                "models": ["opus", "haiku"], "modelsLeftOut": 3, "thinkingLevels": ["low", "max"],
            });
            let status = json!({"conditions": [ready], "cli": cli});
            runtime.status = serde_json::from_value(status).unwrap();
        });
        let wanted: Value = json!({
            "name": "claude", "provider": "claude", "image": "agent:1", "model": "opus", "maxPods": 3,
            "version": "2.1.332", "models": ["opus", "haiku"], "modelsLeftOut": 3, "thinkingLevels": ["low", "max"],
            "standing": {"ready": false, "reason": "NetworkPolicyFailed", "message": "The apiserver says no."},
        });
        assert_eq!(ada.get("/runtimes/claude").await.ok(), wanted);
        assert_eq!(items(&ada.get("/runtimes").await.ok()), [wanted]);
    }
}
