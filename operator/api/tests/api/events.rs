//! Events of a run, on their way into the timeline.

use protocol::{EventBody, FailureClass, Outcome, Verdict, limits};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::bed::{Bed, both, on_sqlite};

fn text(seq: u64, content: &str) -> Value {
    json!({"seq": seq, "at": "2027-01-15T08:00:00.123456789Z", "type": "text", "content": content})
}

fn texts(seqs: std::ops::RangeInclusive<u64>) -> Value {
    json!({"events": seqs.map(|seq| text(seq, "word")).collect::<Vec<_>>()})
}

async fn stored(bed: &Bed, task: protocol::TaskId) -> Vec<protocol::Event> {
    let entries = bed.store.timeline(task, 0, 1000).await.unwrap();
    entries.into_iter().map(|entry| entry.event).collect()
}

both! {
    async fn events_are_stored_once_and_in_order(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let taken = bed.post("events", &credential, &texts(1..=3)).await.ok();
        assert_eq!(taken, json!({"acknowledged": 3, "leftOut": 0}));
        assert_eq!(bed.post("events", &credential, &texts(2..=5)).await.ok()["acknowledged"], 5);
        let refused = bed.post("events", &credential, &texts(7..=8)).await;
        assert_eq!(refused.refusal(), (409, "eventGap".to_owned()));
        assert!(refused.text.contains("number 6"), "{}", refused.text);
        let stored = stored(&bed, attempt.task).await;
        assert_eq!(stored.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(stored[0].at.to_string(), "2027-01-15T08:00:00.123456Z");
    }

    async fn what_an_ended_attempt_had_seen_is_still_taken_and_nothing_else(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (credential, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        bed.post("events", &credential, &texts(1..=1)).await.ok();
        let verdict = Verdict { outcome: Outcome::failed(FailureClass::NodeLost, "gone"), at: bed.now(), result: None };
        bed.store.verdict(attempt, verdict.clone(), bed.now()).await.unwrap();
        assert_eq!(bed.post("events", &credential, &texts(2..=3)).await.ok()["acknowledged"], 3);
        assert_eq!(bed.post("started", &credential, &json!({})).await.refusal(), (409, "wrongState".to_owned()));
        assert_eq!(bed.get("/api/v1/whoami", &credential).await.status, 403);
        assert_eq!(bed.get("/api/v1/whoami", &token).await.status, 401);
        let open = json!({"nonce": crate::bed::NONCE, "wireVersion": 1});
        assert_eq!(bed.post("open", &token, &open).await.status, 401);
        assert_eq!(bed.post("open", &credential, &open).await.status, 403);
        assert_eq!(bed.task(attempt.task).await.verdict, Some(verdict));
        assert_eq!(stored(&bed, attempt.task).await.len(), 3);
    }

    async fn credentials_are_taken_out_again(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (credential, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        let key = bed.key.mac_key(attempt, bed.attempt(attempt).await.salt).to_wire();
        let key = key.expose_secret();
        let events = json!({"events": [
            text(1, &format!("{token} {credential} {key} {}", &token[4..])),
            {"seq": 2, "at": "2027-01-15T08:00:00Z", "type": "toolUse", "tool": "Bash", "callId": "c",
             "input": {"command": format!("echo {token}"), &token: [token]}},
            {"seq": 3, "at": "2027-01-15T08:00:00Z", "type": "toolResult", "callId": "c", "output": token},
        ]});
        bed.post("events", &credential, &events).await.ok();
        let stored = serde_json::to_string(&stored(&bed, attempt.task).await).unwrap();
        for secret in [token.as_str(), &token[4..], &credential, key] {
            assert!(!stored.contains(secret), "{stored}");
        }
        assert!(stored.contains("echo [redacted]"), "{stored}");
    }

    async fn a_conversation_is_remembered_before_the_turn_ends(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let status = |seq: u64, id: &str| {
            json!({"events": [{"seq": seq, "at": "2027-01-15T08:00:00Z", "type": "status", "status": "running", "sessionId": id}]})
        };
        bed.post("events", &credential, &status(1, "s1")).await.ok();
        // An id that would be an option of the next command line is none.
        bed.post("events", &credential, &status(2, "--help")).await.ok();
        let session = bed.task(attempt.task).await.session;
        let pointer = bed.store.session(session).await.unwrap().unwrap().pointer.unwrap();
        assert_eq!((pointer.session.id.as_str(), pointer.session.provider.as_str()), ("s1", "claude"));
    }

    async fn batches_have_limits(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let most = limits::BATCH_EVENTS as u64;
        let frame = serde_json::to_string(&serde_json::from_value::<protocol::Event>(text(1, "")).unwrap()).unwrap();
        let fits = "x".repeat(limits::EVENT_BYTES - frame.len());
        for (batch, wanted) in [
            (texts(1..=most + 1), (413, "batchTooLarge")),
            (json!({"events": [text(1, &format!("{fits}x"))]}), (413, "eventTooLarge")),
            (json!({"events": [text(1, &"x".repeat(limits::BODY_BYTES))]}), (413, "bodyTooLarge")),
            (json!({"events": []}), (400, "invalidRequest")),
            (json!({"events": [text(0, "x")]}), (400, "invalidRequest")),
            (json!({"events": [text(1, "x"), text(3, "x")]}), (400, "invalidRequest")),
            (json!({"events": [text(2, "x"), text(1, "x")]}), (400, "invalidRequest")),
            (json!({"events": [{"seq": 1, "at": "never", "type": "text", "content": "x"}]}), (400, "invalidRequest")),
            (json!({"events": [{"seq": -1, "at": "2027-01-15T08:00:00Z", "type": "text", "content": "x"}]}), (400, "invalidRequest")),
        ] {
            let (status, code) = bed.post("events", &credential, &batch).await.refusal();
            assert_eq!((status, code.as_str()), wanted);
        }
        assert_eq!(stored(&bed, attempt.task).await, []);
        bed.post("events", &credential, &json!({"events": [text(1, &fits)]})).await.ok();
        bed.post("events", &credential, &texts(2..=most + 1)).await.ok();
    }

    async fn the_output_of_a_tool_is_cut_and_odd_characters_are_kept(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let output = "ä".repeat(limits::TOOL_OUTPUT_BYTES);
        let batch = json!({"events": [
            {"seq": 1, "at": "2027-01-15T08:00:00Z", "type": "toolResult", "callId": "c", "output": output},
            text(2, "\u{0}\u{7f}\u{fffd}😀"),
        ]});
        bed.post("events", &credential, &batch).await.ok();
        let stored = stored(&bed, attempt.task).await;
        let EventBody::ToolResult { output, .. } = &stored[0].body else { panic!("{:?}", stored[0]) };
        assert_eq!(output.len(), limits::TOOL_OUTPUT_BYTES);
        assert_eq!(stored[1].body, EventBody::Text { content: "\u{0}\u{7f}\u{fffd}😀".to_owned() });
    }
}

#[tokio::test]
async fn past_the_budget_the_run_goes_on_and_the_timeline_says_so() {
    on_sqlite(async |bed: Bed| {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let (batch, budget) = (limits::BATCH_EVENTS as u64, limits::ATTEMPT_EVENTS);
        let mut taken = Value::Null;
        for first in (1..=budget + 100).step_by(limits::BATCH_EVENTS) {
            let last = (first + batch - 1).min(budget + 100);
            taken = bed
                .post("events", &credential, &texts(first..=last))
                .await
                .ok();
        }
        assert_eq!(taken, json!({"acknowledged": budget + 100, "leftOut": 100}));
        let last = bed
            .store
            .timeline(attempt.task, budget - 1, 10)
            .await
            .unwrap();
        assert_eq!(last.len(), 2);
        assert!(
            serde_json::to_string(&last[1].event)
                .unwrap()
                .contains("100 events past the budget")
        );
    })
    .await;
}
