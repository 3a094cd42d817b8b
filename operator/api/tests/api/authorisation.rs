//! Kinds of credential × routes: the whole table, so that a new route or a new kind is seen in it.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use http::Method;
use protocol::{FailureClass, InstallationKey, Outcome, Salt, Verdict, limits};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::bed::{Bed, NONCE, both};

/// Every route under `/api/v1`, with a body that it takes.
pub(crate) fn routes(own: &str) -> Vec<(Method, String, Value)> {
    let result = json!({
        "outcome": {"outcome": "succeeded"}, "output": "done", "durationMs": 1, "lastSeq": 1,
        "resumed": serde_json::to_value(protocol::Resumed::unknown("first run")).unwrap(),
    });
    let event = json!({"seq": 1, "at": "2027-01-15T08:00:00Z", "type": "text", "content": "x"});
    vec![
        (Method::GET, "/api/v1/whoami".to_owned(), Value::Null),
        (Method::GET, format!("/api/v1/tasks/{own}"), Value::Null),
        (
            Method::POST,
            "/api/v1/runner/open".to_owned(),
            json!({"nonce": NONCE, "wireVersion": 1}),
        ),
        (Method::POST, "/api/v1/runner/started".to_owned(), json!({})),
        (
            Method::POST,
            "/api/v1/runner/events".to_owned(),
            json!({"events": [event]}),
        ),
        (
            Method::POST,
            "/api/v1/runner/texts".to_owned(),
            json!({"seq": 1, "text": "x"}),
        ),
        (
            Method::POST,
            "/api/v1/runner/raw".to_owned(),
            json!({"start": 0, "text": "x"}),
        ),
        (
            Method::POST,
            "/api/v1/runner/steered".to_owned(),
            json!({"remark": uuid::Uuid::nil()}),
        ),
        (
            Method::POST,
            "/api/v1/runner/approvals".to_owned(),
            json!({"callId": "1", "tool": "Bash", "input": {}, "why": "x", "seconds": 60}),
        ),
        (
            Method::POST,
            "/api/v1/runner/approvals/settle".to_owned(),
            json!({"approval": uuid::Uuid::nil(), "how": "expired"}),
        ),
        (
            Method::GET,
            "/api/v1/runner/control?after=0".to_owned(),
            Value::Null,
        ),
        (
            Method::POST,
            "/api/v1/runner/finish".to_owned(),
            json!({"result": result}),
        ),
    ]
}

async fn row(bed: &Bed, own: &str, credential: Option<&str>) -> Vec<String> {
    let mut row = Vec::new();
    for (method, path, body) in routes(own) {
        let body = if body.is_null() {
            Body::empty()
        } else {
            body.to_string().into()
        };
        let answer = bed.call(method, &path, credential, body).await;
        let code = if answer.status.is_success() {
            String::new()
        } else {
            format!(" {}", answer.refusal().1)
        };
        row.push(format!("{}{code}", answer.status.as_u16()));
    }
    row
}

fn verdict(bed: &Bed) -> Verdict {
    Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, "enough"),
        at: bed.now(),
        result: None,
    }
}

both! {
    async fn who_may_call_what(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.control_hold = Duration::ZERO);
        let own = bed.running("own").await;
        let other = bed.running("other").await;
        let ended = bed.running("ended").await;
        bed.store.verdict(ended, verdict(&bed), bed.now()).await.unwrap();
        let path = own.task.to_string();
        let foreign = InstallationKey::new([8; 32]).task_token(own, Salt([0; 16])).expose_secret().to_owned();
        let forged = InstallationKey::new([8; 32]).runner_credential(own, Salt([0; 16])).expose_secret().to_owned();
        let unknown = protocol::AttemptId { task: own.task, number: 99 };
        let unknown = bed.key.runner_credential(unknown, Salt([0; 16])).expose_secret().to_owned();
        let kinds = [
            ("none", None),
            ("garbage", Some("x".to_owned())),
            ("a person's bearer", Some("eyJhbGciOiJSUzI1NiJ9.e30.c2ln".to_owned())),
            ("foreign token", Some(foreign)),
            ("forged runner", Some(forged)),
            ("runner of no attempt", Some(unknown)),
            ("ended token", Some(bed.token(ended).await)),
            ("ended runner", Some(bed.credential(ended).await)),
            ("other token", Some(bed.token(other).await)),
            ("own token", Some(bed.token(own).await)),
            // Last, since it finishes the task.
            ("own runner", Some(bed.credential(own).await)),
            ("own token after finish", Some(bed.token(own).await)),
        ];
        let mut table = String::new();
        for (kind, credential) in kinds {
            let row = row(&bed, &path, credential.as_deref()).await;
            for ((method, route, _), said) in routes("{id}").iter().zip(row) {
                writeln!(table, "{kind:24} {method:4} {route:30} {said}").unwrap();
            }
        }
        insta::assert_snapshot!("who_may_call_what", table);
    }

    async fn a_token_lives_as_long_as_its_runner_is_heard(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.control_hold = Duration::ZERO);
        let attempt = bed.running("hello").await;
        let (token, credential) = (bed.token(attempt).await, bed.credential(attempt).await);
        let almost = limits::TOKEN_LIFE - Duration::from_secs(1);
        for _ in 0..3 {
            bed.advance(almost);
            bed.get("/api/v1/runner/control?after=0", &credential).await.ok();
        }
        let who = bed.get("/api/v1/whoami", &token).await.ok();
        let expires: jiff::Timestamp = serde_json::from_value(who["tokenExpires"].clone()).unwrap();
        assert_eq!(expires, bed.now() + limits::TOKEN_LIFE);
        // The agent's own calls do not keep it alive.
        bed.advance(almost);
        bed.get("/api/v1/whoami", &token).await.ok();
        bed.advance(Duration::from_secs(1));
        assert_eq!(bed.get("/api/v1/whoami", &token).await.refusal(), (401, "unauthenticated".to_owned()));
        // The operator was away, the runner was not: it comes back, and its agent's token with it.
        bed.get("/api/v1/runner/control?after=0", &credential).await.ok();
        bed.get("/api/v1/whoami", &token).await.ok();
    }

    async fn a_token_is_dead_in_the_moment_of_the_verdict(bed: Bed) {
        let attempt = bed.running("hello").await;
        let token = bed.token(attempt).await;
        bed.get("/api/v1/whoami", &token).await.ok();
        bed.store.verdict(attempt, verdict(&bed), bed.now()).await.unwrap();
        assert_eq!(bed.get("/api/v1/whoami", &token).await.status, 401);
        // Also while the task is suspended, and for a later attempt of it only the new one is good.
        let attempt = bed.running("other").await;
        let token = bed.token(attempt).await;
        bed.store.suspend(attempt.task, bed.now()).await.unwrap();
        assert_eq!(bed.get("/api/v1/whoami", &token).await.status, 401);
        bed.release(attempt).await;
        bed.store.resume(attempt.task, bed.now()).await.unwrap();
        let second = bed.claim().await;
        assert_eq!(bed.get("/api/v1/whoami", &token).await.status, 401);
        bed.get("/api/v1/whoami", &bed.token(second).await).await.ok();
    }

    async fn an_agent_sees_itself_and_its_own_task(bed: Bed) {
        let attempt = bed.running("hello").await;
        let other = bed.running("other").await;
        let token = bed.token(attempt).await;
        let who = bed.get("/api/v1/whoami", &token).await.ok();
        insta::assert_json_snapshot!("whoami", who, {".task" => "[task]", ".session" => "[session]"});
        let task = bed.get(&format!("/api/v1/tasks/{}", attempt.task), &token).await.ok();
        insta::assert_json_snapshot!("task", task, {".id" => "[task]", ".name" => "[name]"});
        for id in [other.task.to_string(), "x".to_owned(), format!("{}%00", attempt.task)] {
            let refused = bed.get(&format!("/api/v1/tasks/{id}"), &token).await;
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()), "{id}");
        }
        // What people call an agent may be unknown for a moment; who it is never is.
        bed.cluster.agents.lock().unwrap().clear();
        assert_eq!(bed.get("/api/v1/whoami", &token).await.ok()["displayName"], "reviewer");
    }
}
