//! Deliveries of other systems: taken when they are signed, once, and refused alike for every other reason.

use std::time::Duration;

use axum::body::Body;
use http::{Method, Request};
use protocol::webhook::{
    BODY_BYTES, DELIVERY, GITHUB_DELIVERY, GITHUB_EVENT, GITHUB_SIGNATURE, SIGNATURE, TIMESTAMP,
    github_signature, signature,
};
use secrecy::SecretString;
use serde_json::json;
use tower::ServiceExt as _;

use crate::bed::{Bed, both};

const ALERTS: &str = "/hooks/team-a/alerts";
const GITHUB: &str = "/hooks/team-a/github";

fn define(bed: &Bed) {
    bed.define_webhook("alerts", &json!({"issue": {"title": "{/name}"}}));
    bed.define_webhook("github", &json!({"gitHub": {"label": "mooring"}}));
}

fn key(bed: &Bed, name: &str, version: i32) -> SecretString {
    bed.key.webhook_key("w", name, version)
}

/// Sends with these headers; the status, and the word of an answer or the code of a refusal.
async fn send(bed: &Bed, path: &str, headers: &[(&str, String)], body: &[u8]) -> (u16, String) {
    let mut request = Request::builder().method(Method::POST).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Body::from(body.to_vec())).unwrap();
    let response = bed.router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let word = answer["delivery"]
        .as_str()
        .or(answer["error"]["code"].as_str());
    (status, word.unwrap_or_default().to_owned())
}

fn signed(bed: &Bed, key: &SecretString, id: &str, body: &[u8]) -> Vec<(&'static str, String)> {
    let now = bed.now().as_second();
    vec![
        (DELIVERY, id.to_owned()),
        (TIMESTAMP, now.to_string()),
        (SIGNATURE, signature(key, now, id, body)),
    ]
}

fn by_github(
    key: &SecretString,
    id: &str,
    event: &str,
    body: &[u8],
) -> Vec<(&'static str, String)> {
    vec![
        (GITHUB_DELIVERY, id.to_owned()),
        (GITHUB_EVENT, event.to_owned()),
        (GITHUB_SIGNATURE, github_signature(key, body)),
    ]
}

fn said(status: u16, word: &str) -> (u16, String) {
    (status, word.to_owned())
}

both! {
    async fn a_signed_delivery_is_taken_once(bed: Bed) {
        define(&bed);
        let key = key(&bed, "alerts", 1);
        let headers = signed(&bed, &key, "one", b"{}");
        assert_eq!(send(&bed, ALERTS, &headers, b"{}").await, said(202, "taken"));
        assert_eq!(send(&bed, ALERTS, &headers, b"{}").await, said(202, "known"));
        let waiting = bed.store.waiting_deliveries(9).await.unwrap();
        assert_eq!(waiting.len(), 1);
        assert_eq!((waiting[0].webhook.as_str(), waiting[0].body.as_slice()), ("alerts", &b"{}"[..]));
    }

    async fn github_is_taken_by_its_own_form(bed: Bed) {
        define(&bed);
        let key = key(&bed, "github", 1);
        let body = br#"{"action": "labeled"}"#;
        let headers = by_github(&key, "one", "issues", body);
        assert_eq!(send(&bed, GITHUB, &headers, body).await, said(202, "taken"));
        // Its id is not signed: under another one it still is the same delivery.
        let headers = by_github(&key, "two", "issues", body);
        assert_eq!(send(&bed, GITHUB, &headers, body).await, said(202, "known"));
        let headers = by_github(&key, "three", "push", body);
        assert_eq!(send(&bed, GITHUB, &headers, body).await, said(202, "ignored"));
        assert_eq!(bed.store.waiting_deliveries(9).await.unwrap().len(), 1);
    }

    async fn everything_else_is_refused_alike(bed: Bed) {
        define(&bed);
        let (alerts, github) = (key(&bed, "alerts", 1), key(&bed, "github", 1));
        let good = signed(&bed, &alerts, "one", b"{}");
        let without = |name: &str| good.iter().filter(|(other, _)| *other != name).cloned().collect::<Vec<_>>();
        let twice = || good.iter().cloned().chain([good[2].clone()]).collect::<Vec<_>>();
        let cases = [
            ("another body", ALERTS, good.clone(), &b"{ }"[..]),
            ("another webhook", "/hooks/team-a/others", good.clone(), b"{}"),
            ("another workspace", "/hooks/team-b/alerts", good.clone(), b"{}"),
            ("no signature", ALERTS, without(SIGNATURE), b"{}"),
            ("no id", ALERTS, without(DELIVERY), b"{}"),
            ("no time", ALERTS, without(TIMESTAMP), b"{}"),
            ("two signatures", ALERTS, twice(), b"{}"),
            ("another key", ALERTS, signed(&bed, &github, "one", b"{}"), b"{}"),
            ("the key before", ALERTS, signed(&bed, &key(&bed, "alerts", 0), "one", b"{}"), b"{}"),
            ("another form", ALERTS, by_github(&alerts, "one", "issues", b"{}"), b"{}"),
            ("our form where GitHub's is wanted", GITHUB, signed(&bed, &github, "one", b"{}"), b"{}"),
            ("a blank in the id", ALERTS, signed(&bed, &alerts, "o e", b"{}"), b"{}"),
        ];
        for (case, path, headers, body) in cases {
            assert_eq!(send(&bed, path, &headers, body).await, said(401, "unauthenticated"), "{case}");
        }
        assert_eq!(bed.store.waiting_deliveries(9).await.unwrap(), []);
    }

    async fn what_is_signed_and_cannot_be_taken_is_told_why(bed: Bed) {
        define(&bed);
        let key = key(&bed, "alerts", 1);
        let old = signed(&bed, &key, "one", b"{}");
        bed.advance(Duration::from_secs(301));
        assert_eq!(send(&bed, ALERTS, &old, b"{}").await, said(400, "invalidRequest"));
        let no_json = signed(&bed, &key, "two", b"payload=x");
        assert_eq!(send(&bed, ALERTS, &no_json, b"payload=x").await, said(400, "invalidRequest"));
        let long = vec![b' '; BODY_BYTES + 1];
        let headers = signed(&bed, &key, "three", &long);
        assert_eq!(send(&bed, ALERTS, &headers, &long).await.0, 413);
        bed.define_webhook("alerts", &json!({"issue": {"title": "{/name}"}, "suspend": true}));
        let headers = signed(&bed, &key, "four", b"{}");
        assert_eq!(send(&bed, ALERTS, &headers, b"{}").await.0, 403);
        assert_eq!(bed.store.waiting_deliveries(9).await.unwrap(), []);
    }

    async fn the_key_before_is_good_while_that_is_said(bed: Bed) {
        let spec = |previous: &str| json!({"issue": {"title": "{/name}"}, "keyVersion": 2, "previousKey": previous});
        for (previous, wanted) in [("Accept", 202), ("Refuse", 401)] {
            bed.define_webhook("alerts", &spec(previous));
            for (version, wanted) in [(1, wanted), (2, 202), (3, 401)] {
                let id = format!("{previous}-{version}");
                let headers = signed(&bed, &key(&bed, "alerts", version), &id, b"{}");
                assert_eq!(send(&bed, ALERTS, &headers, b"{}").await.0, wanted, "{id}");
            }
        }
    }

    async fn until_the_cluster_is_listed_it_is_sent_again_later(bed: Bed) {
        define(&bed);
        bed.cluster.is_being_listed.store(true, std::sync::atomic::Ordering::Release);
        let headers = signed(&bed, &key(&bed, "alerts", 1), "one", b"{}");
        assert_eq!(send(&bed, ALERTS, &headers, b"{}").await.0, 503);
    }
}
