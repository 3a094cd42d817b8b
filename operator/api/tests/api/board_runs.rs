//! Tasks as people see them: listed, read, followed, cancelled.

use protocol::{Event, EventBody, limits};
use serde_json::{Value, json};

use crate::bed::{NAMESPACE_UID, both};
use crate::board::{Voice, claim, enter, items, said, text, working_on};

/// Positions of a page of events.
fn positions(page: &Value) -> Vec<u64> {
    items(page)
        .iter()
        .map(|item| item["position"].as_u64().unwrap())
        .collect()
}

both! {
    async fn a_task_that_waits_and_one_that_runs_are_cancelled(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let running = working_on(&bed, &ada.issue("x").await).await;
        let token = Voice::agent(&bed, running).await;
        let waiting = enter(&bed, "team-a", NAMESPACE_UID, "Key", "y").await;
        for (task, state) in [(running.task, "finishing"), (waiting, "finished")] {
            let path = format!("/tasks/{task}");
            // Twice: a lost answer is no reason to fail.
            for _ in 0..2 {
                let view = ada.post(&format!("{path}/cancel"), &Value::Null).await.ok();
                assert_eq!((&view["state"], &view["succeeded"], &view["failure"]), (&json!(state), &json!(false), &json!("Cancelled")));
            }
            let row = bed.task(task).await;
            let verdict = serde_json::to_value(row.verdict.unwrap()).unwrap();
            assert!(verdict.to_string().contains("cancelled by ada"), "{verdict}");
        }
        // From that moment its agent is nobody.
        assert_eq!(token.get("/agents").await.refusal(), (401, "unauthenticated".to_owned()));
    }

    async fn a_cancelled_task_takes_nothing_in(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let path = format!("/issues/{}/comments", ada.issue("x").await);
        let mention = json!({"body": "[Reviewer](mention://agent/reviewer) please"});
        let root = ada.post(&path, &mention).await.ok();
        let first = root["wakes"][0].clone();
        ada.post(&format!("/tasks/{}/cancel", text(&first["task"])), &Value::Null).await.ok();
        let reply = json!({"body": mention["body"], "parent": root["comment"]["id"]});
        let second = ada.post(&path, &reply).await.ok()["wakes"][0].clone();
        assert_eq!((&first["outcome"], &second["outcome"]), (&json!("queued"), &json!("queued")));
        assert_ne!(first["task"], second["task"]);
    }

    async fn what_is_over_is_not_cancelled(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let result = json!({
            "outcome": {"outcome": "succeeded"}, "output": "done", "durationMs": 1, "lastSeq": 0,
            "resumed": serde_json::to_value(protocol::Resumed::unknown("first run")).unwrap(),
        });
        bed.post("finish", &bed.credential(attempt).await, &json!({"result": result})).await.ok();
        let refused = ada.post(&format!("/tasks/{}/cancel", attempt.task), &Value::Null).await;
        let message = "the task is over, so there is nothing to cancel".to_owned();
        assert_eq!(said(&refused), (409, "wrongState".to_owned(), message));
        let view = ada.get(&format!("/tasks/{}", attempt.task)).await.ok();
        assert_eq!(view["succeeded"], true);
    }

    async fn tasks_of_other_workspaces_are_not_there(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let foreign = enter(&bed, "team-b", "uid-b", "Key", "x").await;
        let own = enter(&bed, "team-a", NAMESPACE_UID, "Key", "x").await;
        let list = ada.get("/tasks").await.ok();
        let ids: Vec<_> = items(&list).iter().map(|run| text(&run["id"])).collect();
        assert_eq!(ids, [own.to_string()]);
        for id in [foreign.to_string(), uuid::Uuid::now_v7().to_string(), "x".to_owned()] {
            for refused in [
                ada.get(&format!("/tasks/{id}")).await,
                ada.get(&format!("/tasks/{id}/events")).await,
                ada.post(&format!("/tasks/{id}/cancel"), &Value::Null).await,
            ] {
                assert_eq!(refused.refusal(), (404, "notFound".to_owned()), "{id}");
            }
        }
        let state = bed.task(foreign).await.state;
        assert_eq!(state, protocol::TaskState::Queued);
    }

    async fn a_timeline_is_followed_by_position(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let path = format!("/tasks/{}/events", attempt.task);
        assert_eq!(ada.get(&path).await.ok(), json!({"items": []}));
        let events: Vec<_> = (1..=40).map(|seq| Event {
            seq,
            at: bed.now(),
            body: EventBody::Text { content: format!("word {seq}") },
        }).collect();
        bed.store.append(attempt, &events, bed.now()).await.unwrap();
        let first = ada.get(&format!("{path}?limit=25")).await.ok();
        assert_eq!(positions(&first), (1..=25).collect::<Vec<_>>());
        assert_eq!(first["items"][0], json!({
            "position": 1, "attempt": 1, "at": bed.now().to_string(), "body": {"type": "text", "content": "word 1"},
        }));
        let rest = ada.get(&format!("{path}?after={}", text(&first["next"]))).await.ok();
        assert_eq!((positions(&rest), rest.get("next")), ((26..=40).collect(), None));
        assert_eq!(ada.get(&format!("{path}?after=40")).await.ok(), json!({"items": []}));
        let past = u64::MAX;
        assert_eq!(ada.get(&format!("{path}?after={past}")).await.ok(), json!({"items": []}));
    }

    async fn a_page_of_long_events_ends_early_and_loses_none(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let long = "x".repeat(limits::EVENT_BYTES - 200);
        for batch in 0..4_u64 {
            let events: Vec<_> = (1..=20).map(|seq| Event {
                seq: batch * 20 + seq,
                at: bed.now(),
                body: EventBody::Text { content: long.clone() },
            }).collect();
            bed.store.append(attempt, &events, bed.now()).await.unwrap();
        }
        let (mut seen, mut after, mut pages) = (Vec::new(), "0".to_owned(), 0);
        loop {
            let path = format!("/tasks/{}/events?limit=200&after={after}", attempt.task);
            let answer = ada.get(&path).await;
            assert!(answer.text.len() < limits::BODY_BYTES, "{}", answer.text.len());
            let page = answer.ok();
            seen.extend(positions(&page));
            pages += 1;
            let Some(next) = page["next"].as_str() else { break };
            after = next.to_owned();
        }
        assert_eq!(seen, (1..=80).collect::<Vec<_>>());
        assert!(pages > 1);
    }

    async fn a_task_that_waits_says_for_what(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let task = bed.enter("x").await;
        let path = format!("/tasks/{task}");
        assert_eq!(ada.get(&path).await.ok().get("waitsFor"), None);
        // As the controller writes it.
        let name = bed.task(task).await.object.name;
        let mut object = bed.cluster.tasks.lock().unwrap()[&name].as_ref().clone();
        let waiting = json!({"limit": "Agent", "message": "6 of 6", "since": "2027-01-15T08:00:00Z"});
        object.status = Some(serde_json::from_value(json!({"waiting": waiting})).unwrap());
        bed.cluster.tasks.lock().unwrap().insert(name, std::sync::Arc::new(object));
        assert_eq!(ada.get(&path).await.ok()["waitsFor"], "agent");
        assert_eq!(items(&ada.get("/tasks").await.ok())[0]["waitsFor"], "agent");
        bed.claim().await;
        assert_eq!(ada.get(&path).await.ok().get("waitsFor"), None);
    }

    async fn an_agent_reads_its_own_task_alone(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let own = working_on(&bed, &issue).await;
        let other = enter(&bed, "team-a", NAMESPACE_UID, "Key", "y").await;
        let other = claim(&bed, NAMESPACE_UID, other).await;
        let agent = Voice::agent(&bed, own).await;
        let view = agent.get(&format!("/tasks/{}", own.task)).await.ok();
        assert_eq!(view["subject"], json!({"kind": "Issue", "name": issue}));
        let refused = agent.get(&format!("/tasks/{}", other.task)).await;
        assert_eq!(refused.refusal(), (404, "notFound".to_owned()));
    }
}
