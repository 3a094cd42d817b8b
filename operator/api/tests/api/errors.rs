//! Failures, each in the one shape.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::{Method, Request};
use protocol::limits;
use serde_json::{Value, json};

use crate::bed::{Answer, Bed, both, on_sqlite};

const EVENTS: &str = "/api/v1/runner/events";

/// The body of a failure, without its request id, which the header repeats.
fn shape(answer: &Answer) -> Value {
    let mut body = answer.json();
    let id = body["error"]["requestId"].take();
    assert_eq!(answer.headers["x-request-id"], id.as_str().unwrap());
    assert_eq!(answer.headers["content-type"], "application/json");
    body["status"] = answer.status.as_u16().into();
    body["error"]["requestId"] = "[id]".into();
    body
}

both! {
    async fn every_failure_has_one_shape(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.control_hold = Duration::ZERO);
        let attempt = bed.running("hello").await;
        let ended = bed.running("ended").await;
        let (runner, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        let gone = bed.credential(ended).await;
        bed.store.suspend(ended.task, bed.now()).await.unwrap();
        let event = |seq: u64| json!({"seq": seq, "at": "2027-01-15T08:00:00Z", "type": "text", "content": "x"});
        let gap = json!({"events": [event(9)]}).to_string();
        let open = |version: u32| json!({"nonce": "02".repeat(32), "wireVersion": version}).to_string();
        let post = Method::POST;
        let get = Method::GET;
        let cases: Vec<(&str, Method, &str, Option<&str>, Body)> = vec![
            ("unknown route", get.clone(), "/api/v1/nothing", None, Body::empty()),
            ("unknown root", get.clone(), "/", None, Body::empty()),
            ("wrong method", get.clone(), EVENTS, None, Body::empty()),
            ("strange method", Method::from_bytes(b"BREW").unwrap(), "/api/v1/whoami", None, Body::empty()),
            ("no credential", get.clone(), "/api/v1/whoami", None, Body::empty()),
            ("wrong kind", get.clone(), "/api/v1/whoami", Some(&runner), Body::empty()),
            ("agent at runner route", post.clone(), EVENTS, Some(&token), gap.clone().into()),
            ("not found", get.clone(), "/api/v1/tasks/1", Some(&token), Body::empty()),
            ("not JSON", post.clone(), EVENTS, Some(&runner), "{".into()),
            ("empty", post.clone(), EVENTS, Some(&runner), Body::empty()),
            ("not UTF-8", post.clone(), EVENTS, Some(&runner), vec![b'"', 0xff, b'"'].into()),
            ("wrong type", post.clone(), EVENTS, Some(&runner), json!({"events": token}).to_string().into()),
            ("too deep", post.clone(), EVENTS, Some(&runner), "[".repeat(100_000).into()),
            ("wrong query", get.clone(), "/api/v1/runner/control?after=x", Some(&runner), Body::empty()),
            ("no query", get, "/api/v1/runner/control", Some(&runner), Body::empty()),
            ("event gap", post.clone(), EVENTS, Some(&runner), gap.into()),
            ("already open", post.clone(), "/api/v1/runner/open", Some(&token), open(1).into()),
            ("wire version", post.clone(), "/api/v1/runner/open", Some(&token), open(0).into()),
            ("ended", post, "/api/v1/runner/started", Some(&gone), "{}".into()),
        ];
        let mut table = serde_json::Map::new();
        for (name, method, path, credential, body) in cases {
            let answer = bed.call(method, path, credential, body).await;
            assert!(!answer.text.contains(&token), "{name}: {}", answer.text);
            table.insert(name.to_owned(), shape(&answer));
        }
        insta::assert_json_snapshot!("every_failure_has_one_shape", table);
    }

    async fn headers_say_what_a_caller_may_do(bed: Bed) {
        let refused = bed.call(Method::GET, EVENTS, None, Body::empty()).await;
        assert_eq!(refused.headers["allow"], "POST");
        let refused = bed.call(Method::GET, "/api/v1/whoami", None, Body::empty()).await;
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        // An id of the caller's does not get into our log.
        let request = Request::get("/healthz").header("x-request-id", "mine").body(Body::empty()).unwrap();
        assert_ne!(bed.send(request).await.headers["x-request-id"], "mine");
    }

    async fn a_body_is_read_up_to_its_limit_whatever_it_says(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = format!("Bearer {}", bed.credential(attempt).await);
        let request = || Request::post(EVENTS).header("authorization", &credential);
        let announced = request().header("content-length", limits::BODY_BYTES + 1).body(Body::empty()).unwrap();
        assert_eq!(bed.send(announced).await.refusal(), (413, "bodyTooLarge".to_owned()));
        let chunk = || Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]);
        let endless = Body::from_stream(futures::stream::repeat_with(chunk));
        assert_eq!(bed.send(request().body(endless).unwrap()).await.refusal(), (413, "bodyTooLarge".to_owned()));
        let broken = futures::stream::once(async { Err::<Vec<u8>, _>(std::io::Error::other("gone")) }).boxed();
        let broken = request().body(Body::from_stream(broken)).unwrap();
        assert_eq!(bed.send(broken).await.refusal(), (400, "invalidRequest".to_owned()));
    }

    async fn a_body_has_its_time(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.body = Duration::from_millis(50));
        let attempt = bed.running("hello").await;
        let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let credential = format!("Bearer {}", bed.credential(attempt).await);
        let request = Request::post(EVENTS).header("authorization", credential).body(body).unwrap();
        assert_eq!(bed.send(request).await.refusal(), (400, "invalidRequest".to_owned()));
    }

    async fn who_is_unknown_is_not_read(bed: Bed) {
        let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let request = Request::post(EVENTS).header("authorization", "Bearer mrt_x").body(body).unwrap();
        assert_eq!(bed.send(request).await.status, 401);
    }

    async fn where_no_task_is_served_runners_are_told_to_come_back(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (runner, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        let bed = bed.with(|parts| parts.mode = api::Mode::ReadOnly);
        for credential in [&runner, &token, "x"] {
            let answer = bed.get("/api/v1/whoami", credential).await;
            assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
        }
        let answer = bed.post("events", &runner, &json!({"events": []})).await;
        insta::assert_json_snapshot!("read_only", shape(&answer));
    }
}

#[tokio::test]
async fn a_store_that_was_taken_away_is_no_end_of_a_task() {
    on_sqlite(async |bed: Bed| {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let store::Settings::Sqlite { path } = &bed.settings else {
            panic!("not SQLite")
        };
        std::fs::remove_file(path).unwrap();
        let event = json!({"seq": 1, "at": "2027-01-15T08:00:00Z", "type": "text", "content": "x"});
        let answer = bed
            .post("events", &credential, &json!({"events": [event]}))
            .await;
        insta::assert_json_snapshot!("store_lost", shape(&answer));
        let ready = bed.get("/readyz", "").await;
        assert_eq!(ready.status, 503);
        assert!(
            ready.text.contains("no longer the file that was opened"),
            "{}",
            ready.text
        );
        assert_eq!(bed.get("/healthz", "").await.status, 200);
    })
    .await;
}
