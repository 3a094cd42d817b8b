//! The held request.

use std::time::{Duration, Instant};

use protocol::{AttemptId, FailureClass, Outcome, Verdict};
use serde_json::{Value, json};

use crate::bed::{Bed, DEADLINE, both};

const HOUR: Duration = Duration::from_secs(3600);
const CONTROL: &str = "/api/v1/runner/control?after=0";

async fn cancel(bed: &Bed, attempt: AttemptId) {
    let outcome = Outcome::failed(FailureClass::Cancelled, "enough");
    bed.store
        .verdict(
            attempt,
            Verdict {
                outcome,
                at: bed.now(),
                result: None,
            },
            bed.now(),
        )
        .await
        .unwrap();
}

fn held_for(bed: &Bed, hold: Duration) -> Bed {
    bed.with(|parts| parts.limits.control_hold = hold)
}

/// Waits until so many requests are held.
async fn held(bed: &Bed, wanted: &str) {
    let line = format!("mooring_api_held_requests {wanted}\n");
    let deadline = Instant::now() + DEADLINE;
    while !bed.get("/metrics", "").await.text.contains(&line) {
        assert!(Instant::now() < deadline, "never {line}");
        tokio::task::yield_now().await;
    }
}

fn stop(reason: &str) -> Value {
    json!({"commands": [{"number": 1, "command": "stop", "reason": reason}]})
}

both! {
    async fn a_verdict_wakes_it_at_once(bed: Bed) {
        let bed = held_for(&bed, HOUR);
        let (attempt, other) = (bed.running("hello").await, bed.running("other").await);
        let (credential, others) = (bed.credential(attempt).await, bed.credential(other).await);
        let waiting = tokio::spawn({
            let bed = bed.clone();
            async move { bed.get(CONTROL, &credential).await.ok() }
        });
        let asleep = tokio::spawn({
            let bed = bed.clone();
            async move { bed.get(CONTROL, &others).await.ok() }
        });
        held(&bed, "2").await;
        cancel(&bed, attempt).await;
        assert_eq!(waiting.await.unwrap(), stop("cancelled"));
        held(&bed, "1").await;
        assert!(!asleep.is_finished());
        bed.store.suspend(other.task, bed.now()).await.unwrap();
        assert_eq!(asleep.await.unwrap(), stop("suspended"));
        held(&bed, "0").await;
    }

    async fn it_answers_at_once_where_there_is_something(bed: Bed) {
        let bed = held_for(&bed, HOUR);
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        cancel(&bed, attempt).await;
        assert_eq!(bed.get(CONTROL, &credential).await.ok(), stop("cancelled"));
        // Not heard the first time: asked again, told again.
        assert_eq!(bed.get(CONTROL, &credential).await.ok(), stop("cancelled"));
    }

    async fn it_is_empty_after_a_while(bed: Bed) {
        let hold = Duration::from_millis(80);
        let bed = held_for(&bed, hold);
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let begun = Instant::now();
        assert_eq!(bed.get(CONTROL, &credential).await.ok(), json!({"commands": []}));
        assert!(begun.elapsed() >= hold);
        cancel(&bed, attempt).await;
        let after = "/api/v1/runner/control?after=1";
        assert_eq!(bed.get(after, &credential).await.ok(), json!({"commands": []}));
        let after = format!("/api/v1/runner/control?after={}", u64::MAX);
        assert_eq!(bed.get(&after, &credential).await.ok(), json!({"commands": []}));
    }

    async fn it_ends_with_the_server(bed: Bed) {
        let bed = held_for(&bed, HOUR);
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let waiting = tokio::spawn({
            let bed = bed.clone();
            async move { bed.get(CONTROL, &credential).await.ok() }
        });
        held(&bed, "1").await;
        bed.shutdown.cancel();
        assert_eq!(waiting.await.unwrap(), json!({"commands": []}));
    }

    async fn a_sign_of_life_is_written_once_in_a_while(bed: Bed) {
        let bed = held_for(&bed, Duration::ZERO);
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let begun = bed.now();
        bed.advance(Duration::from_secs(1));
        bed.get(CONTROL, &credential).await.ok();
        assert_eq!(bed.attempt(attempt).await.last_contact_at, Some(begun));
        bed.advance(Duration::from_secs(30));
        bed.get(CONTROL, &credential).await.ok();
        assert_eq!(bed.attempt(attempt).await.last_contact_at, Some(bed.now()));
    }
}
