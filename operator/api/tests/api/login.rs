//! Logins: a `LoginRequest` and its nonce become a token, once and soon.

use std::net::IpAddr;
use std::time::Duration;

use api::{PendingLogin, Person};
use axum::body::Body;
use http::{Method, Request};
use protocol::limits;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::bed::{Answer, Bed, both, on_sqlite};
use crate::people::OPERATORS;
use crate::tls::Server;

const LOGIN: &str = "/api/v1/login";
const NONCE: [u8; 32] = [7; 32];

fn request(bed: &Bed, name: &str) {
    bed.people.request(PendingLogin {
        uid: format!("uid-of-{name}"),
        name: name.to_owned(),
        person: Person {
            user: "ada".to_owned(),
            groups: vec!["dev".to_owned(), "system:authenticated".to_owned()],
        },
        nonce_hash: Sha256::digest(NONCE).into(),
        created: bed.now(),
    });
}

async fn exchange(bed: &Bed, body: &Value) -> Answer {
    bed.call(Method::POST, LOGIN, None, body.to_string().into())
        .await
}

fn body(name: &str) -> Value {
    json!({"namespace": OPERATORS, "name": name, "nonce": hex::encode(NONCE)})
}

both! {
    async fn a_nonce_becomes_a_token_of_whoever_made_the_request(bed: Bed) {
        request(&bed, "login-1");
        let answer = exchange(&bed, &body("login-1")).await.ok();
        assert_eq!((&answer["user"], &answer["record"]["label"]), (&json!("ada"), &json!("login")));
        let token = answer["token"].as_str().unwrap();
        assert!(token.starts_with("mrp_") && token.starts_with(answer["record"]["prefix"].as_str().unwrap()));
        let who = bed.get("/api/v1/whoami", token).await.ok();
        let expires = (bed.now() + limits::LOGIN_LIFE).to_string();
        assert_eq!(
            who,
            json!({"user": "ada", "groups": ["dev", "system:authenticated"], "tokenExpires": expires})
        );
        assert_eq!(bed.people.asked(), ["login", "remove"]);
        bed.advance(limits::LOGIN_LIFE);
        assert_eq!(bed.get("/api/v1/whoami", token).await.refusal(), (401, "unauthenticated".to_owned()));
    }

    async fn a_request_is_good_for_one_token(bed: Bed) {
        request(&bed, "login-1");
        exchange(&bed, &body("login-1")).await.ok();
        assert_eq!(exchange(&bed, &body("login-1")).await.status, 401);
        // The operator died before it could remove the object, or the cluster was away.
        request(&bed, "login-1");
        let again = exchange(&bed, &body("login-1")).await;
        assert_eq!(again.refusal(), (401, "unauthenticated".to_owned()));
    }

    async fn two_at_once_are_given_one_token(bed: Bed) {
        request(&bed, "login-1");
        let body = body("login-1");
        let answers = tokio::join!(exchange(&bed, &body), exchange(&bed, &body));
        let mut codes = [answers.0.status.as_u16(), answers.1.status.as_u16()];
        codes.sort_unstable();
        assert_eq!(codes, [200, 401]);
    }

    async fn every_refusal_says_the_same(bed: Bed) {
        request(&bed, "login-1");
        let other = |key: &str, value: &str| {
            let mut body = body("login-1");
            body[key] = value.into();
            body
        };
        let mut said = Vec::new();
        for body in [
            other("name", "login-2"),
            other("namespace", "team-a"),
            other("nonce", &"08".repeat(32)),
            other("name", "../secrets/mooring-installation"),
            other("name", ""),
            other("namespace", "mooring-system/../kube-system"),
        ] {
            let answer = exchange(&bed, &body).await;
            assert_eq!(answer.refusal(), (401, "unauthenticated".to_owned()), "{body}");
            said.push(answer.json()["error"]["message"].clone());
        }
        bed.advance(Duration::from_secs(301));
        let answer = exchange(&bed, &body("login-1")).await;
        assert_eq!(answer.refusal(), (401, "unauthenticated".to_owned()), "too old");
        said.push(answer.json()["error"]["message"].clone());
        said.dedup();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(!bed.people.asked().contains(&"remove"));
    }

    async fn what_is_no_login_is_refused_before_anybody_is_asked(bed: Bed) {
        for nonce in ["", "07", &"07".repeat(33), &"zz".repeat(32), &"ü".repeat(32)] {
            let mut body = body("login-1");
            body["nonce"] = (*nonce).into();
            assert_eq!(exchange(&bed, &body).await.refusal(), (400, "invalidRequest".to_owned()), "{nonce}");
        }
        let long = json!({"namespace": "a", "name": "b", "nonce": "0".repeat(4096)});
        assert_eq!(exchange(&bed, &long).await.refusal(), (413, "bodyTooLarge".to_owned()));
        assert_eq!(bed.people.asked(), [""; 0]);
    }

    async fn where_the_policy_does_not_stand_nobody_logs_in(bed: Bed) {
        request(&bed, "login-1");
        bed.people.close(Some("nobody can log in: the policy is not there"));
        let answer = exchange(&bed, &body("login-1")).await;
        assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
        assert_eq!(answer.json()["error"]["message"], "nobody can log in: the policy is not there");
        bed.people.close(None);
        exchange(&bed, &body("login-1")).await.ok();
    }

    async fn a_cluster_that_is_away_is_waited_for_by_the_caller(bed: Bed) {
        request(&bed, "login-1");
        bed.people.away(true);
        assert_eq!(exchange(&bed, &body("login-1")).await.refusal(), (503, "unavailable".to_owned()));
        bed.people.away(false);
        exchange(&bed, &body("login-1")).await.ok();
    }

    async fn nobody_is_given_a_token_by_an_operator_that_only_reads(bed: Bed) {
        request(&bed, "login-1");
        let token = bed.person("ada").await;
        let bed = bed.with(|parts| parts.mode = api::Mode::ReadOnly);
        for answer in [exchange(&bed, &body("login-1")).await, bed.get("/api/v1/whoami", &token).await] {
            assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
        }
        assert_eq!(bed.people.asked(), [""; 0]);
    }
}

#[tokio::test]
async fn many_strangers_do_not_ask_the_cluster_all_at_once() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with(|parts| parts.limits.strangers = 1);
        request(&bed, "login-1");
        // Whoever sends a body slowly takes nobody's place.
        let slow = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let slow = Request::post(LOGIN).body(slow).unwrap();
        let waiting = tokio::spawn({
            let bed = bed.clone();
            async move { bed.send(slow).await }
        });
        tokio::task::yield_now().await;
        exchange(&bed, &body("login-1")).await.ok();
        waiting.abort();
        bed.people.hang();
        let first = body("login-1");
        let first = exchange(&bed, &first);
        let second = async {
            tokio::task::yield_now().await;
            exchange(&bed, &body("login-1")).await
        };
        tokio::select! {
            biased;
            answer = first => panic!("answered by a cluster that hangs: {}", answer.text),
            answer = second => {
                assert_eq!(answer.refusal(), (429, "tooManyRequests".to_owned()));
            }
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_keeps_those_elsewhere_from_logging_in() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with(|parts| {
            parts.limits.strangers_per_address = 1;
            parts.limits.cluster_answer = Duration::from_secs(6);
        });
        bed.people.hang();
        let server = Server::start(&bed).await;
        let from = |last: u8| {
            server.client(|builder| builder.local_address(IpAddr::from([127, 0, 0, last])))
        };
        let ask = async |client: reqwest::Client| {
            let asked = client.post(server.url(LOGIN)).json(&body("login-1"));
            asked.send().await.unwrap().status().as_u16()
        };
        let (greedy, other) = (from(1), from(2));
        // One of them is waiting for the cluster while the other is refused.
        let (one, two) = tokio::join!(ask(greedy.clone()), ask(greedy));
        assert_eq!([one.min(two), one.max(two)], [429, 503]);
        let (one, two) = tokio::join!(ask(from(1)), ask(other));
        assert_eq!([one, two], [503, 503]);
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn a_cluster_that_hangs_is_not_waited_for_long() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with(|parts| parts.limits.cluster_answer = Duration::from_millis(20));
        bed.people.hang();
        let answer = exchange(&bed, &body("login-1")).await;
        assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
    })
    .await;
}
