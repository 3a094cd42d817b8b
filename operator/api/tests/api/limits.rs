//! Limits on what one task may take up at once. Those of a body are in `errors` and `events`, those of
//! connections in `tls`.

use std::time::{Duration, Instant};

use api::Limits;

use crate::bed::{Bed, DEADLINE, both};

const CONTROL: &str = "/api/v1/runner/control?after=0";

both! {
    async fn requests_of_a_task_are_counted(bed: Bed) {
        let limits = Limits { requests_per_task: 2, control_hold: Duration::from_secs(3600), ..Limits::default() };
        let bed = bed.with_limits(limits);
        let (attempt, other) = (bed.running("hello").await, bed.running("other").await);
        let credential = bed.credential(attempt).await;
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let (bed, credential) = (bed.clone(), credential.clone());
                tokio::spawn(async move { bed.get(CONTROL, &credential).await })
            })
            .collect();
        let refused = refused(&bed, &credential).await;
        insta::assert_json_snapshot!("too_many_requests", refused.json(), {".error.requestId" => "[id]"});
        assert_eq!(refused.refusal(), (429, "tooManyRequests".to_owned()));
        // Neither its agent nor another task is kept waiting by that.
        bed.get("/api/v1/whoami", &bed.token(attempt).await).await.ok();
        bed.get("/api/v1/whoami", &bed.token(other).await).await.ok();
        bed.shutdown.cancel();
        for request in waiting {
            request.await.unwrap().ok();
        }
        bed.get(CONTROL, &credential).await.ok();
    }
}

/// Asks until there is no room: the others may not have arrived yet.
async fn refused(bed: &Bed, credential: &str) -> crate::bed::Answer {
    let deadline = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < deadline, "never refused");
        let body = serde_json::json!({"events": []});
        let answer = bed.post("events", credential, &body).await;
        if answer.status == 429 {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}
