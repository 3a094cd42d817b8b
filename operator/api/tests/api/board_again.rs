//! Tasks that are run again or put aside, and requests that are made again.

use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::bed::{Answer, Bed, NAMESPACE, NAMESPACE_UID, both};
use crate::board::{Voice, claim, enter, items, said, text, working_on};

const MENTION: &str = "[Reviewer](mention://agent/reviewer) please look";

/// A person wakes the agent: the issue's path of comments, and the task.
async fn woken(ada: &Voice) -> (String, String) {
    let path = format!("/issues/{}/comments", ada.issue("x").await);
    let posted = ada.post(&path, &json!({"body": MENTION})).await.ok();
    (path, text(&posted["wakes"][0]["task"]))
}

/// A request with a key.
pub(crate) async fn keyed(bed: &Bed, user: &str, key: &str, path: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/api/v1/workspaces/{NAMESPACE}{path}"))
        .header(
            "authorization",
            format!("Bearer {}", bed.person(user).await),
        )
        .header("idempotency-key", key);
    bed.send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

both! {
    async fn a_task_that_is_over_is_run_again(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (_, task) = woken(&ada).await;
        let path = format!("/tasks/{task}");
        let (status, code, words) = said(&ada.post(&format!("{path}/rerun"), &Value::Null).await);
        assert_eq!((status, code.as_str()), (409, "wrongState"));
        assert!(words.contains("not over"), "{words}");
        ada.post(&format!("{path}/cancel"), &Value::Null).await.ok();
        let retried = ada.post(&format!("{path}/retry"), &json!({})).await;
        assert!(said(&retried).2.contains("cancelled"), "{retried:?}");
        let again = ada.post(&format!("{path}/rerun"), &Value::Null).await.ok();
        assert_eq!((&again["state"], &again["cause"], &again["agent"]), (&json!("queued"), &json!("comment"), &json!("reviewer")));
        assert_ne!(again["id"], task.as_str());
        // A lost answer is no reason for a third run.
        let twice = ada.post(&format!("{path}/rerun"), &Value::Null).await.ok();
        assert_eq!(twice["id"], again["id"]);
        let wrong = ada.post(&format!("{path}/retry"), &json!({"new": true})).await;
        assert_eq!(wrong.refusal(), (400, "invalidRequest".to_owned()));
        // Whose agent is gone is told so.
        let id = text(&again["id"]);
        ada.post(&format!("/tasks/{id}/cancel"), &Value::Null).await.ok();
        bed.cluster.agents.lock().unwrap().clear();
        let refused = ada.post(&format!("/tasks/{id}/rerun"), &Value::Null).await;
        assert!(said(&refused).2.contains("agent reviewer is not there"), "{refused:?}");
    }

    async fn a_task_is_put_aside_and_goes_on(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (path, task) = woken(&ada).await;
        for _ in 0..2 {
            let view = ada.post(&format!("/tasks/{task}/suspend"), &Value::Null).await.ok();
            assert_eq!(view["state"], "suspended");
        }
        let root = text(&items(&ada.get(&path).await.ok())[0]["id"]);
        let reply = json!({"body": MENTION, "parent": root});
        let other = ada.post(&path, &reply).await.ok()["wakes"][0].clone();
        assert_eq!(other["outcome"], "queued");
        assert_ne!(other["task"], task.as_str());
        for _ in 0..2 {
            let view = ada.post(&format!("/tasks/{task}/resume"), &Value::Null).await.ok();
            assert_eq!(view["state"], "queued");
        }
    }

    async fn what_is_declared_in_the_cluster_is_changed_there(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let task = enter(&bed, NAMESPACE, NAMESPACE_UID, "Key", "y").await;
        for (verb, word) in [("suspend", "desiredState: Suspend"), ("resume", "desiredState: Run")] {
            let refused = ada.post(&format!("/tasks/{task}/{verb}"), &Value::Null).await;
            let (status, code, words) = said(&refused);
            assert_eq!((status, code.as_str()), (409, "wrongState"));
            assert!(words.contains(word) && words.contains(&bed.task(task).await.object.name), "{words}");
        }
        ada.post(&format!("/tasks/{task}/cancel"), &Value::Null).await.ok();
        let refused = ada.post(&format!("/tasks/{task}/rerun"), &Value::Null).await;
        assert!(said(&refused).2.contains("create another one"), "{refused:?}");
    }

    async fn what_is_asked_twice_under_one_key_is_made_once(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        Voice::person(&bed, "eve").await;
        let new = json!({"title": "once", "assignee": {"kind": "agent", "id": "reviewer"}});
        let first = keyed(&bed, "ada", "k1", "/issues", &new).await.ok();
        assert_eq!(first["wakes"][0]["outcome"], "queued");
        assert_eq!(keyed(&bed, "ada", "k1", "/issues", &new).await.ok(), first);
        let path = format!("/issues/{}/comments", text(&first["issue"]["key"]));
        let comment = json!({"body": MENTION});
        let said_first = keyed(&bed, "ada", "k2", &path, &comment).await.ok();
        assert_eq!(keyed(&bed, "ada", "k2", &path, &comment).await.ok(), said_first);
        assert_eq!(items(&ada.get(&path).await.ok()).len(), 1);
        // One key for one thing only, whoever else has the same.
        for (path, body) in [("/issues", json!({"title": "another"})), (path.as_str(), comment.clone())] {
            let refused = keyed(&bed, "ada", "k1", path, &body).await;
            let (status, code, words) = said(&refused);
            assert_eq!((status, code.as_str()), (409, "wrongState"));
            assert!(words.contains("Idempotency-Key"), "{words}");
        }
        let other = keyed(&bed, "eve", "k1", "/issues", &new).await.ok();
        assert_ne!(other["issue"]["key"], first["issue"]["key"]);
        // It is known for a day.
        bed.advance(std::time::Duration::from_secs(24 * 3600 + 1));
        let later = keyed(&bed, "ada", "k1", "/issues", &new).await.ok();
        assert_ne!(later["issue"]["key"], first["issue"]["key"]);
    }

    async fn a_key_is_a_short_word(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let new = json!({"title": "x"});
        for wrong in [String::new(), "a b".to_owned(), "x".repeat(129)] {
            let refused = keyed(&bed, "ada", &wrong, "/issues", &new).await;
            assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()), "{wrong}");
        }
        keyed(&bed, "ada", &"x".repeat(128), "/issues", &new).await.ok();
    }

    async fn what_is_asked_for_later_waits_and_says_until_when(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let path = format!("/issues/{}/comments", ada.issue("x").await);
        let later = bed.now() + jiff::SignedDuration::from_hours(2);
        let comment = json!({"body": MENTION, "wakeAt": later});
        let foreseen = ada.post(&format!("{path}/preview"), &comment).await.ok();
        let wakes = ada.post(&path, &comment).await.ok()["wakes"].clone();
        let until = json!(later);
        for wake in [&foreseen["wakes"][0], &wakes[0]] {
            assert_eq!((&wake["outcome"], &wake["until"]), (&json!("deferred"), &until));
        }
        let task = text(&wakes[0]["task"]);
        let run = ada.get(&format!("/tasks/{task}")).await.ok();
        assert_eq!((&run["state"], &run["waitsFor"], &run["deferredUntil"]), (&json!("queued"), &json!("startTime"), &until));
        let summary = text(&ada.get(&format!("/tasks/{task}/explain")).await.ok()["summary"]);
        assert!(summary.contains("deferred until") && summary.contains("moor task cancel"), "{summary}");
        ada.post(&format!("/tasks/{task}/cancel"), &Value::Null).await.ok();
        let again = ada.post(&format!("/tasks/{task}/rerun"), &json!({"wakeAfterSeconds": 7200})).await.ok();
        assert_eq!(again["deferredUntil"], until);
        for (body, word) in [
            (json!({"wakeAt": later, "wakeAfterSeconds": 5}), "leave one of them out"),
            (json!({"wakeAfterSeconds": 31 * 24 * 3600}), "30 days"),
        ] {
            for path in [format!("/tasks/{task}/rerun"), path.clone()] {
                let mut body = body.clone();
                if path.ends_with("comments") {
                    body["body"] = json!(MENTION);
                }
                let (status, _, words) = said(&ada.post(&path, &body).await);
                assert!(status == 400 && words.contains(word), "{path}: {status} {words}");
            }
        }
    }

    async fn who_lets_a_task_go_on_may_wake_its_agent(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let (_, task) = woken(&ada).await;
        eve.post(&format!("/tasks/{task}/suspend"), &Value::Null).await.ok();
        let spec = json!({"runtimeRefs": [{"name": "claude"}], "access": {"owner": "ada"}});
        bed.define_agent(&spec);
        let refused = eve.post(&format!("/tasks/{task}/resume"), &Value::Null).await;
        let (status, code, words) = said(&refused);
        assert_eq!((status, code.as_str()), (409, "wrongState"));
        assert!(words.contains("you may not wake it"), "{words}");
        let view = ada.post(&format!("/tasks/{task}/resume"), &Value::Null).await.ok();
        assert_eq!(view["state"], "queued");
    }

    async fn agents_do_not_say_what_goes_first(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = text(&ada.post("/issues", &json!({"title": "x", "priority": 5})).await.ok()["issue"]["key"]);
        let agent = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        let refused = agent.patch(&format!("/issues/{issue}"), &json!({"priority": 4})).await;
        assert!(said(&refused).2.contains("only people"), "{refused:?}");
        let part = |priority| json!({"title": "a part", "priority": priority});
        let refused = agent.post("/issues", &part(6)).await;
        assert_eq!(refused.refusal(), (403, "forbidden".to_owned()));
        assert!(said(&refused).2.contains("which is 5"), "{refused:?}");
        agent.post("/issues", &part(5)).await.ok();
    }

    async fn a_task_is_explained(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (_, task) = woken(&ada).await;
        let explain = async |task: &str| ada.get(&format!("/tasks/{task}/explain")).await.ok();
        let waits = explain(&task).await;
        assert_eq!((&waits["run"]["state"], waits.get("attempts")), (&json!("queued"), None));
        assert!(text(&waits["summary"]).contains("its turn"), "{waits}");
        ada.post(&format!("/tasks/{task}/suspend"), &Value::Null).await.ok();
        assert!(text(&explain(&task).await["summary"]).contains("moor task resume"));
        ada.post(&format!("/tasks/{task}/resume"), &Value::Null).await.ok();
        let id: protocol::TaskId = task.parse().unwrap();
        let attempt = claim(&bed, NAMESPACE_UID, id).await;
        let failed = protocol::Verdict {
            outcome: protocol::Outcome::failed(protocol::FailureClass::OOMKilled, "3 of 2 GiB"),
            at: bed.now(),
            result: None,
        };
        bed.store.verdict(attempt, failed, bed.now()).await.unwrap();
        bed.store.release(attempt, bed.now()).await.unwrap();
        let over = explain(&task).await;
        let summary = text(&over["summary"]);
        for word in ["OOMKilled", "3 of 2 GiB", "Raise", "moor task retry"] {
            assert!(summary.contains(word), "{summary}");
        }
        assert_eq!((&over["attempts"][0]["number"], &over["attempts"][0]["reason"]), (&json!(1), &json!("failed")));
        let again = ada.post(&format!("/tasks/{task}/retry"), &json!({})).await.ok();
        assert_eq!(explain(&text(&again["id"])).await["againOf"], task.as_str());
        // As the controller writes it, for what was declared in the cluster.
        let declared = bed.enter("x").await;
        let name = bed.task(declared).await.object.name;
        let mut object = bed.cluster.tasks.lock().unwrap()[&name].as_ref().clone();
        let at = "2027-01-15T08:00:00Z";
        object.metadata.uid = bed.task(declared).await.object.uid;
        object.status = Some(serde_json::from_value(json!({
            "waiting": {"limit": "Agent", "message": "6 of 6 run", "since": at},
            "conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": at}],
        })).unwrap());
        bed.cluster.tasks.lock().unwrap().insert(name, std::sync::Arc::new(object));
        let held = explain(&declared.to_string()).await;
        assert!(text(&held["summary"]).contains("waits for the agent: 6 of 6 run"), "{held}");
        assert_eq!((&held["conditions"][0]["kind"], &held["waiting"]["limit"]), (&json!("Accepted"), &json!("agent")));
    }
}
