//! Tokens of people, and that of a ServiceAccount: who they are, how they come and go, what they never can.

use std::time::Duration;

use api::Person;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use protocol::limits;
use serde_json::{Value, json};

use crate::bed::{Answer, Bed, both, on_sqlite};

const TOKENS: &str = "/api/v1/tokens";
const WHOAMI: &str = "/api/v1/whoami";

async fn mint(bed: &Bed, with: &str, body: &Value) -> Answer {
    bed.call(Method::POST, TOKENS, Some(with), body.to_string().into())
        .await
}

async fn revoke(bed: &Bed, with: &str, id: &str) -> Answer {
    let path = format!("{TOKENS}/{id}");
    bed.call(Method::DELETE, &path, Some(with), Body::empty())
        .await
}

async fn list(bed: &Bed, with: &str) -> Vec<Value> {
    let page = bed.get(TOKENS, with).await.ok();
    page["items"].as_array().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A token as a ServiceAccount has it, that ends in so many seconds.
fn jwt(bed: &Bed, seconds: i64) -> String {
    let claims = json!({"exp": bed.now().as_second() + seconds, "aud": ["mooring"]});
    format!(
        "eyJhbGciOiJub25lIn0.{}.c2ln",
        URL_SAFE_NO_PAD.encode(claims.to_string())
    )
}

fn account() -> Person {
    Person {
        user: "system:serviceaccount:team-a:ci".to_owned(),
        groups: vec!["system:serviceaccounts".to_owned()],
    }
}

both! {
    async fn a_person_makes_uses_and_revokes_a_token(bed: Bed) {
        let login = bed.person("ada").await;
        let made = mint(&bed, &login, &json!({"label": "backup", "days": 30})).await.ok();
        let (token, id) = (text(&made["token"]), text(&made["record"]["id"]));
        assert_eq!((&made["user"], &made["record"]["label"]), (&json!("ada"), &json!("backup")));
        let who = bed.get(WHOAMI, &token).await.ok();
        // The groups of the login, and not one more.
        let of_login = bed.get(WHOAMI, &login).await.ok();
        assert_eq!((&who["user"], &who["groups"]), (&of_login["user"], &of_login["groups"]));
        let labels: Vec<_> = list(&bed, &token).await.iter().map(|token| text(&token["label"])).collect();
        assert_eq!(labels, ["backup", "login"]);
        let shown = bed.get(TOKENS, &login).await.text;
        assert!(!shown.contains(&token) && shown.contains(&token[..8]), "{shown}");
        assert_eq!(revoke(&bed, &login, &id).await.status, 204);
        assert_eq!(bed.get(WHOAMI, &token).await.refusal(), (401, "unauthenticated".to_owned()));
        assert_eq!(revoke(&bed, &login, &id).await.status, 404);
        bed.get(WHOAMI, &login).await.ok();
    }

    async fn a_token_ends_when_it_says(bed: Bed) {
        let login = bed.person("ada").await;
        let made = mint(&bed, &login, &json!({"label": "x", "days": 1})).await.ok();
        let token = text(&made["token"]);
        bed.advance(Duration::from_secs(24 * 3600 - 1));
        bed.get(WHOAMI, &token).await.ok();
        bed.advance(Duration::from_secs(1));
        assert_eq!(bed.get(WHOAMI, &token).await.status, 401);
    }

    async fn only_a_login_makes_tokens(bed: Bed) {
        let login = bed.person("ada").await;
        let body = json!({"label": "x", "days": 1});
        let made = text(&mint(&bed, &login, &body).await.ok()["token"]);
        let of_account = jwt(&bed, 3600);
        bed.people.account(&of_account, account());
        let attempt = bed.running("hello").await;
        for (with, code) in [
            (made, "forbidden"),
            (of_account, "forbidden"),
            (bed.token(attempt).await, "forbidden"),
            (bed.credential(attempt).await, "forbidden"),
            ("mrp_x".to_owned(), "unauthenticated"),
        ] {
            assert_eq!(mint(&bed, &with, &body).await.refusal().1, code, "{with}");
        }
        assert_eq!(list(&bed, &login).await.len(), 2);
    }

    async fn a_persons_tokens_are_nobody_elses(bed: Bed) {
        let (ada, bob) = (bed.person("ada").await, bed.person("bob").await);
        let made = mint(&bed, &ada, &json!({"label": "x", "days": 1})).await.ok();
        let id = text(&made["record"]["id"]);
        assert_eq!(revoke(&bed, &bob, &id).await.refusal(), (404, "notFound".to_owned()));
        assert_eq!(list(&bed, &bob).await.len(), 1);
        for id in ["x", "..", &uuid::Uuid::nil().to_string()] {
            assert_eq!(revoke(&bed, &ada, id).await.status, 404, "{id}");
        }
        bed.get(WHOAMI, &text(&made["token"])).await.ok();
    }

    async fn wrong_tokens_are_refused_with_a_reason(bed: Bed) {
        let login = bed.person("ada").await;
        for (body, word) in [
            (json!({"label": "", "days": 1}), "label"),
            (json!({"label": " ", "days": 1}), "label"),
            (json!({"label": "a\nb", "days": 1}), "label"),
            (json!({"label": "x".repeat(101), "days": 1}), "label"),
            (json!({"label": "x", "days": 0}), "days"),
            (json!({"label": "x", "days": limits::TOKEN_DAYS + 1}), "days"),
            (json!({"label": "x"}), "days"),
            (json!({"label": "x", "days": -1}), "body"),
        ] {
            let answer = mint(&bed, &login, &body).await;
            assert_eq!(answer.refusal(), (400, "invalidRequest".to_owned()), "{body}");
            assert!(answer.text.contains(word), "{body}: {}", answer.text);
        }
        for _ in 0..limits::TOKENS_PER_PERSON {
            mint(&bed, &login, &json!({"label": "x", "days": 1})).await.ok();
        }
        let answer = mint(&bed, &login, &json!({"label": "x", "days": 1})).await;
        assert_eq!(answer.refusal(), (400, "invalidRequest".to_owned()));
        assert!(answer.text.contains("revoke one"), "{}", answer.text);
    }

    async fn tokens_come_in_pages(bed: Bed) {
        let login = bed.person("ada").await;
        for number in 0..4 {
            mint(&bed, &login, &json!({"label": format!("n{number}"), "days": 1})).await.ok();
            bed.advance(Duration::from_secs(1));
        }
        let mut labels = Vec::new();
        let mut path = format!("{TOKENS}?limit=2");
        loop {
            let page = bed.get(&path, &login).await.ok();
            labels.extend(page["items"].as_array().unwrap().iter().map(|token| text(&token["label"])));
            match page["next"].as_str() {
                Some(next) => path = format!("{TOKENS}?limit=2&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(labels, ["n3", "n2", "n1", "n0", "login"]);
        for query in ["limit=0", "limit=201", "limit=x", "cursor=x", "other=1"] {
            let answer = bed.get(&format!("{TOKENS}?{query}"), &login).await;
            assert_eq!(answer.refusal(), (400, "invalidRequest".to_owned()), "{query}");
        }
    }

    async fn a_service_account_calls_with_its_own_token(bed: Bed) {
        let token = jwt(&bed, 3600);
        bed.people.account(&token, account());
        let who = bed.get(WHOAMI, &token).await.ok();
        let expires = jiff::Timestamp::from_second(bed.now().as_second() + 3600).unwrap();
        assert_eq!(
            who,
            json!({"user": account().user, "groups": account().groups, "tokenExpires": expires.to_string()})
        );
        // It has none of ours to show.
        assert_eq!(list(&bed, &token).await, [Value::Null; 0]);
        // The cluster is asked again after ten seconds, and not before.
        bed.advance(Duration::from_secs(9));
        bed.get(WHOAMI, &token).await.ok();
        assert_eq!(bed.people.asked(), ["review"]);
        bed.advance(Duration::from_secs(1));
        bed.get(WHOAMI, &token).await.ok();
        assert_eq!(bed.people.asked(), ["review", "review"]);
    }

    async fn a_foreign_token_is_good_only_as_the_cluster_says(bed: Bed) {
        let unknown = jwt(&bed, 3600);
        assert_eq!(bed.get(WHOAMI, &unknown).await.refusal(), (401, "unauthenticated".to_owned()));
        let short = jwt(&bed, 5);
        bed.people.account(&short, account());
        bed.get(WHOAMI, &short).await.ok();
        // What was believed a moment ago has an end of its own.
        bed.advance(Duration::from_secs(5));
        assert_eq!(bed.get(WHOAMI, &short).await.status, 401);
        let asked = bed.people.asked().len();
        let endless = "eyJhbGciOiJub25lIn0.e30.c2ln";
        bed.people.account(endless, account());
        assert_eq!(bed.get(WHOAMI, endless).await.status, 401);
        assert_eq!(bed.people.asked().len(), asked, "the cluster was asked in vain");
        bed.people.away(true);
        assert_eq!(bed.get(WHOAMI, &unknown).await.refusal(), (503, "unavailable".to_owned()));
    }

    async fn runners_and_agents_are_no_people(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (token, credential) = (bed.token(attempt).await, bed.credential(attempt).await);
        for with in [&token, &credential] {
            assert_eq!(bed.get(TOKENS, with).await.refusal(), (403, "forbidden".to_owned()));
            assert_eq!(revoke(&bed, with, "x").await.refusal(), (403, "forbidden".to_owned()));
        }
        let ada = bed.person("ada").await;
        for (method, path) in [
            (Method::POST, "/api/v1/runner/open"),
            (Method::POST, "/api/v1/runner/finish"),
            (Method::GET, "/api/v1/runner/control?after=0"),
            (Method::GET, &format!("/api/v1/tasks/{}", attempt.task)),
        ] {
            let answer = bed.call(method, path, Some(&ada), "{}".into()).await;
            assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn one_person_takes_nobody_elses_place() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with(|parts| parts.limits.requests_per_person = 1);
        let (ada, bob) = (bed.person("ada").await, bed.person("bob").await);
        // Its first byte is read when the request has its place, and never comes.
        let (read, is_read) = tokio::sync::oneshot::channel();
        let endless = futures::stream::once(async move {
            read.send(()).unwrap();
            std::future::pending::<Result<Vec<u8>, std::io::Error>>().await
        });
        let endless = Body::from_stream(endless);
        let first = bed.call(Method::POST, TOKENS, Some(&ada), endless);
        let others = async {
            is_read.await.unwrap();
            let refused = bed.get(WHOAMI, &ada).await;
            (refused, bed.get(WHOAMI, &bob).await)
        };
        tokio::select! {
            biased;
            answer = first => panic!("answered without a body: {}", answer.text),
            (refused, other) = others => {
                assert_eq!(refused.refusal(), (429, "tooManyRequests".to_owned()));
                other.ok();
            }
        }
    })
    .await;
}
