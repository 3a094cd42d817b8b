//! What comes by the clock and from outside.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::NewIssue;

use super::board::Everybody;
use crate::{Acting, Become, Fired, NewDelivery, Nothing, ScheduleRef, Store};

/// Begins times of a schedule as the controller does.
pub(super) async fn live(store: &Store, by: &Acting, now: Timestamp) {
    let on = ScheduleRef {
        uid: "schedule".to_owned(),
        name: "nightly".to_owned(),
        workspace: by.workspace.clone(),
    };
    let by = Acting::mooring(&by.workspace, "schedule", "nightly");
    store
        .heed_schedule(&on, "@hourly Etc/UTC", now)
        .await
        .unwrap();
    let new = NewIssue {
        title: "nightly".to_owned(),
        ..NewIssue::default()
    };
    let (first, second) = (now + 1.hour(), now + 2.hours());
    let fired = store
        .fire_issue(&on, first, (&by, new), &Everybody, now)
        .await;
    let issue = fired.unwrap().unwrap().issue.id;
    store.open_tasks_of_issue(issue).await.unwrap();
    store.fire_task(&on, second, "nightly-x").await.unwrap();
    store.fired_task_made(&on, second).await.unwrap();
    let going = store.schedule(&on.uid).await.unwrap().unwrap().going;
    assert!(matches!(going[0].what, Fired::Issue(..)));
    store.end_firing(&on, first).await.unwrap();
    store
        .forget_schedule(&on.workspace.namespace_uid, &on.name)
        .await
        .unwrap();
    deliveries(store, &by, now).await;
}

/// Takes what a webhook delivers, and makes of it an issue, a comment on it, and nothing.
async fn deliveries(store: &Store, by: &Acting, now: Timestamp) {
    for id in ["one", "two", "two", "three"] {
        let new = NewDelivery {
            workspace: by.workspace.clone(),
            webhook: "alerts".to_owned(),
            delivery: id.to_owned(),
            event: "delivery".to_owned(),
            body: b"{}".to_vec(),
            body_hash: None,
        };
        store.take_delivery(new, now).await.unwrap();
    }
    let waiting = store.waiting_deliveries(9).await.unwrap();
    for delivery in &waiting[..2] {
        let new = NewIssue {
            title: "disk".to_owned(),
            ..NewIssue::default()
        };
        let becomes = Become::Issue {
            new: Box::new(new),
            reference: Some("disk".to_owned()),
            comment: Some("again".to_owned()),
        };
        let done = store
            .deliver(delivery, (by, becomes), &Everybody, now)
            .await;
        done.unwrap();
    }
    store
        .end_delivery(waiting[2].id, Nothing::Failed, "why")
        .await
        .unwrap();
    let uid = &by.workspace.namespace_uid;
    store.last_delivery(uid, "alerts").await.unwrap();
    let listed = store.deliveries(&by.workspace, "alerts", 9, None).await;
    assert_eq!(listed.unwrap().items.len(), 3);
}
