//! Opening the package.

use std::time::Duration;

use http::StatusCode;
use protocol::{EndReason, FailureClass, Outcome, TaskState, Verdict, WIRE_VERSION};
use serde_json::{Value, json};

use crate::bed::{NAMESPACE, NAMESPACE_UID, NONCE, both};

const OTHER_NONCE: &str = "0202020202020202020202020202020202020202020202020202020202020202";

fn asking(nonce: &str) -> Value {
    json!({"nonce": nonce, "wireVersion": WIRE_VERSION})
}

both! {
    async fn the_first_run_gets_its_package(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let answer = bed.post("open", &bed.token(attempt).await, &asking(NONCE)).await;
        assert_eq!(answer.headers["cache-control"], "no-store");
        let answer = answer.ok();
        assert_eq!(answer["credential"], bed.credential(attempt).await);
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Preparing);
        insta::assert_json_snapshot!("first_package", answer, {
            ".credential" => "[credential]",
            ".macKey" => "[key]",
            ".package.attempt.task" => "[task]",
            ".package.name" => "[name]",
        });
    }

    async fn a_prompt_from_elsewhere_is_the_one_that_was_kept(bed: Bed) {
        let uid = uuid::Uuid::now_v7().to_string();
        bed.define_task("night", &uid);
        let mut object = bed.cluster.tasks.lock().unwrap()["night"].as_ref().clone();
        object.spec.prompt = None;
        object.spec.prompt_from = serde_json::from_value(json!({"configMapKeyRef": {"name": "prompts", "key": "night"}})).unwrap();
        bed.cluster.tasks.lock().unwrap().insert("night".to_owned(), std::sync::Arc::new(object));
        let (namespace, namespace_uid) = (NAMESPACE.to_owned(), NAMESPACE_UID.to_owned());
        let subject = protocol::Subject { kind: "Key".to_owned(), name: "night".to_owned() };
        bed.store.enter(store::NewTask {
            session: store::SessionKey { namespace_uid: namespace_uid.clone(), agent: "reviewer".to_owned(), subject },
            object: store::TaskObject { namespace, namespace_uid, name: "night".to_owned(), uid: Some(uid), spec_hash: "abc".to_owned() },
            priority: 0,
            policy: protocol::SessionPolicy::Resume,
            created_at: bed.now(),
            deadline_seconds: None,
            suspended: false,
            prompt: Some("Go.".to_owned()),
            fire_at: None,
        }).await.unwrap();
        let attempt = bed.claim().await;
        let token = bed.token(attempt).await;
        let answer = bed.post("open", &token, &asking(NONCE)).await.ok();
        assert_eq!(answer["package"]["prompt"], "Go.");
        let seen = bed.get(&format!("/api/v1/tasks/{}", attempt.task), &token).await.ok();
        assert_eq!(seen["prompt"], "Go.");
    }

    async fn the_same_nonce_gets_the_same_answer_and_no_other_one_any(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await;
        let first = bed.post("open", &token, &asking(NONCE)).await.ok();
        assert_eq!(bed.post("open", &token, &asking(NONCE)).await.ok(), first);
        let refused = bed.post("open", &token, &asking(OTHER_NONCE)).await;
        assert_eq!(refused.refusal(), (409, "alreadyOpen".to_owned()));
        assert!(!refused.text.contains("Do it."), "{}", refused.text);
        bed.post("started", &bed.credential(attempt).await, &json!({})).await.ok();
        let refused = bed.post("open", &token, &asking(OTHER_NONCE)).await;
        assert_eq!(refused.refusal(), (409, "alreadyOpen".to_owned()));
        assert_eq!(bed.post("open", &token, &asking(NONCE)).await.ok(), first);
    }

    async fn versions_are_agreed_on(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await;
        let refused = bed.post("open", &token, &json!({"nonce": NONCE, "wireVersion": 0})).await;
        assert_eq!(refused.refusal(), (426, "wireVersion".to_owned()));
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Claimed);
        let newer = bed.post("open", &token, &json!({"nonce": NONCE, "wireVersion": 99})).await.ok();
        assert_eq!(newer["wireVersion"], WIRE_VERSION);
    }

    async fn an_agent_cannot_fill_the_memory_by_opening(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await;
        let mut body = asking(NONCE);
        body["more"] = "x".repeat(4096).into();
        let refused = bed.post("open", &token, &body).await;
        assert_eq!(refused.refusal(), (413, "bodyTooLarge".to_owned()));
        assert!(refused.text.contains("4096 bytes"), "{}", refused.text);
    }

    async fn a_nonce_is_32_bytes_in_hex(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await;
        for nonce in ["", "01", &NONCE[2..], &format!("{NONCE}01"), &NONCE.replace('1', "g")] {
            let refused = bed.post("open", &token, &asking(nonce)).await;
            assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()), "{nonce}");
        }
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Claimed);
    }

    async fn without_its_definitions_nothing_is_opened_yet(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await;
        let name = bed.task(attempt.task).await.object.name;
        let agent = bed.cluster.agents.lock().unwrap().clone();
        let runtime = bed.cluster.runtimes.lock().unwrap().clone();
        let task = bed.cluster.tasks.lock().unwrap().clone();
        let takes: [fn(&crate::bed::Bed, &str); 4] = [
            |bed, _| bed.cluster.agents.lock().unwrap().clear(),
            |bed, _| bed.cluster.runtimes.lock().unwrap().clear(),
            |bed, _| bed.cluster.tasks.lock().unwrap().clear(),
            // Another object under the same name is another task.
            |bed, name| bed.define_task(name, "another-uid"),
        ];
        for take in takes {
            take(&bed, &name);
            let refused = bed.post("open", &token, &asking(NONCE)).await;
            assert_eq!(refused.refusal(), (503, "unavailable".to_owned()));
            assert_eq!(bed.task(attempt.task).await.state, TaskState::Claimed);
            *bed.cluster.agents.lock().unwrap() = agent.clone();
            *bed.cluster.runtimes.lock().unwrap() = runtime.clone();
            *bed.cluster.tasks.lock().unwrap() = task.clone();
        }
        bed.post("open", &token, &asking(NONCE)).await.ok();
    }

    async fn the_next_run_resumes_what_the_last_one_left(bed: Bed) {
        let first = bed.running("hello").await;
        let credential = bed.credential(first).await;
        let events = json!({"events": [
            {"seq": 1, "at": "2027-01-15T08:00:00Z", "type": "status", "status": "running", "sessionId": "s1"},
        ]});
        bed.post("events", &credential, &events).await.ok();
        // The pod dies without a word: what the event told is enough.
        let lost = Verdict { outcome: Outcome::failed(FailureClass::NodeLost, "gone"), at: bed.now(), result: None };
        bed.store.verdict(first, lost, bed.now()).await.unwrap();
        bed.release(first).await;
        let second = bed.claimed("hello").await;
        let session = bed.store.session(bed.task(second.task).await.session).await.unwrap().unwrap();
        bed.store.record_claim(session.id, session.claim_generation, "claim-1").await.unwrap();
        let package = bed.post("open", &bed.token(second).await, &asking(NONCE)).await.ok();
        insta::assert_json_snapshot!("second_session", package["package"]["session"]);
        assert_eq!(package["package"]["interrupted"], false);
    }

    async fn a_resumed_task_says_that_it_was_interrupted(bed: Bed) {
        let first = bed.running("hello").await;
        assert!(bed.store.suspend(first.task, bed.now()).await.unwrap());
        let refused = bed.post("open", &bed.token(first).await, &asking(NONCE)).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        bed.release(first).await;
        bed.advance(Duration::from_secs(60));
        assert!(bed.store.resume(first.task, bed.now()).await.unwrap());
        let second = bed.claim().await;
        assert_eq!((second.task, second.number), (first.task, 2));
        let package = bed.post("open", &bed.token(second).await, &asking(NONCE)).await.ok();
        assert_eq!(package["package"]["interrupted"], true);
        assert_eq!(bed.attempt(first).await.end_reason, Some(EndReason::Suspended));
    }
}
