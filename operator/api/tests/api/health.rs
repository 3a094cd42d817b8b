//! What the kubelet and Prometheus ask.

use serde_json::json;

use crate::bed::both;

both! {
    async fn readiness_gives_its_reasons(bed: Bed) {
        assert_eq!(bed.get("/healthz", "").await.text, "ok\n");
        assert_eq!(bed.get("/readyz", "").await.ok(), json!({"ready": true, "reasons": []}));
        bed.readiness.hinder("watches", "not filled yet");
        bed.readiness.hinder("installation", "store and cluster do not belong together");
        let answer = bed.get("/readyz", "").await;
        assert_eq!(answer.status, 503);
        let reasons = ["installation: store and cluster do not belong together", "watches: not filled yet"];
        assert_eq!(answer.json(), json!({"ready": false, "reasons": reasons}));
        bed.readiness.clear("watches");
        bed.readiness.clear("installation");
        bed.get("/readyz", "").await.ok();
        bed.shutdown.cancel();
        assert_eq!(bed.get("/readyz", "").await.json()["reasons"], json!(["operator: is stopping"]));
        assert_eq!(bed.get("/healthz", "").await.status, 200);
    }

    async fn readiness_asks_the_store(bed: Bed) {
        bed.store.close().await;
        let answer = bed.get("/readyz", "").await;
        assert_eq!(answer.status, 503);
        assert!(answer.json()["reasons"][0].as_str().unwrap().starts_with("store: "), "{}", answer.text);
    }

    async fn metrics_count_and_hold_nothing_of_a_caller(bed: Bed) {
        let attempt = bed.running("hello").await;
        bed.enter("waits").await;
        let token = bed.token(attempt).await;
        bed.get(&format!("/api/v1/tasks/{}", attempt.task), &token).await.ok();
        bed.get("/somewhere/else", &token).await;
        let brew = http::Method::from_bytes(b"BREW").unwrap();
        bed.call(brew, "/api/v1/whoami", None, axum::body::Body::empty()).await;
        let answer = bed.get("/metrics", "").await;
        assert_eq!(answer.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        for line in [
            r#"mooring_api_requests_total{method="GET",route="/api/v1/tasks/{id}",status="200"} 1"#,
            r#"mooring_api_requests_total{method="GET",route="none",status="404"} 1"#,
            r#"mooring_api_requests_total{method="other",route="/api/v1/whoami",status="405"} 1"#,
            r#"mooring_api_request_duration_seconds_count{route="/api/v1/runner/open"} 1"#,
            r#"mooring_tasks{state="queued"} 1"#,
            r#"mooring_tasks{state="running"} 1"#,
            "mooring_holders 1",
        ] {
            assert!(answer.text.lines().any(|found| found == line), "{line} is not in:\n{}", answer.text);
        }
        for secret in [&token, &attempt.task.to_string(), "somewhere", "BREW"] {
            assert!(!answer.text.contains(secret), "{secret} is in:\n{}", answer.text);
        }
    }
}
