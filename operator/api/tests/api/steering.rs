//! What people say to a task that works.

use serde_json::{Value, json};

use crate::bed::{Bed, both};
use crate::board::{Voice, said};
use crate::defined::change;
use crate::woken::{open, woken};

/// The commands for a runner after this number.
async fn commands(bed: &Bed, credential: &str) -> Vec<Value> {
    let answer = bed
        .get("/api/v1/runner/control?after=0", credential)
        .await
        .ok();
    answer["commands"].as_array().unwrap().clone()
}

both! {
    async fn a_task_is_told_what_a_person_adds(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (issue, comment, attempt) = woken(&bed, &ada).await;
        let path = format!("/tasks/{}/steer", attempt.task);
        let early = ada.post(&path, &json!({"body": "now"})).await;
        assert_eq!(early.refusal(), (409, "wrongState".to_owned()));
        assert!(said(&early).2.contains("comment"), "{early:?}");
        open(&bed, attempt).await;
        let posted = ada.post(&path, &json!({"body": "only Safari"})).await.ok();
        assert_eq!(posted["comment"]["thread"], comment["thread"]);
        let wake = &posted["wakes"][0];
        assert_eq!((&wake["outcome"], &wake["task"]), (&json!("steered"), &json!(attempt.task)));
        let credential = bed.credential(attempt).await;
        let told = commands(&bed, &credential).await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(
            (&told[0]["command"], &told[0]["text"], &told[0]["author"]["name"]),
            (&json!("steer"), &json!("only Safari"), &json!("ada"))
        );
        let remark = &told[0]["remark"];
        for _ in 0..2 {
            bed.post("steered", &credential, &json!({"remark": remark})).await.ok();
        }
        let next = wake["followUp"].as_str().unwrap();
        let next = ada.get(&format!("/tasks/{next}")).await.ok();
        assert_eq!((&next["state"], &next["failure"]), (&json!("finished"), &json!("Cancelled")));
        // In an agent's own thread it hears by itself where its definition says so.
        let path = format!("/issues/{issue}/comments");
        let reply = json!({"body": "and the roof", "parent": comment["id"]});
        let queued = ada.post(&path, &reply).await.ok();
        assert_eq!(queued["wakes"][0]["outcome"], "queued");
        bed.define_agent(&json!({"displayName": "Reviewer", "runtimeRefs": [{"name": "claude"}], "whileRunning": "Steer"}));
        let offered = ada.post(&path, &reply).await.ok();
        assert_eq!(offered["wakes"][0]["outcome"], "steered");
        assert_eq!(offered["wakes"][0]["followUp"], queued["wakes"][0]["task"]);
        assert_eq!(commands(&bed, &credential).await.len(), 2);
    }
    async fn a_program_from_before_remarks_is_offered_none(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (_, _, attempt) = woken(&bed, &ada).await;
        open(&bed, attempt).await;
        let path = format!("/tasks/{}/steer", attempt.task);
        let outcome = async |version: &str| {
            change(&bed.cluster.runtimes, "claude", |runtime| {
                let cli = json!({
                    "probed": "x", "finding": "Usable", "version": version, "probedTime": "2027-01-15T02:00:00Z",
                });
                runtime.status = serde_json::from_value(json!({"cli": cli})).unwrap();
            });
            let posted = ada.post(&path, &json!({"body": "only Safari"})).await.ok();
            posted["wakes"][0]["outcome"].clone()
        };
        assert_ne!(outcome("2.1.109").await, "steered");
        assert_eq!(outcome("2.1.110").await, "steered");
    }
    async fn a_refusal_may_hold_whatever_a_program_says(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (_, _, attempt) = woken(&bed, &ada).await;
        open(&bed, attempt).await;
        let path = format!("/tasks/{}/steer", attempt.task);
        let posted = ada.post(&path, &json!({"body": "only Safari"})).await.ok();
        let credential = bed.credential(attempt).await;
        let told = commands(&bed, &credential).await;
        let why = format!("no\0 {credential}");
        let refused = json!({"remark": told[0]["remark"], "why": why});
        bed.post("steered", &credential, &refused).await.ok();
        let next = posted["wakes"][0]["followUp"].as_str().unwrap();
        let next = ada.get(&format!("/tasks/{next}")).await.ok();
        assert_eq!(next["state"], "queued");
    }
}
