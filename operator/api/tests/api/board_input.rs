//! What is wrong with a request is said with what to do about it.

use axum::body::Body;
use http::Method;
use protocol::limits;
use serde_json::{Value, json};

use crate::bed::{DEADLINE, both};
use crate::board::{Voice, said, working_on};

const AT: &str = "/api/v1/workspaces/team-a";

both! {
    async fn bad_input_is_refused_with_its_reason(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let credential = bed.person("ada").await;
        let issue = ada.issue("x").await;
        let key = format!("/issues/{issue}");
        let comments = format!("{key}/comments");
        let (get, post, patch) = (Method::GET, Method::POST, Method::PATCH);
        let title = |title: &str| json!({"title": title}).to_string();
        let body = |body: &str| json!({"body": body}).to_string();
        let many: Vec<_> = (0..51).map(|number| format!("a{number}")).collect();
        let cases: Vec<(&str, Method, String, Body)> = vec![
            ("title empty", post.clone(), "/issues".into(), title(" ").into()),
            ("title too long", post.clone(), "/issues".into(), title(&"x".repeat(501)).into()),
            ("title with an escape", post.clone(), "/issues".into(), title("\u{1b}]0;pwned\u{7}").into()),
            ("title missing", post.clone(), "/issues".into(), "{}".into()),
            ("title of another type", post.clone(), "/issues".into(), json!({"title": 1}).to_string().into()),
            ("unknown field", post.clone(), "/issues".into(), json!({"title": "x", "colour": "red"}).to_string().into()),
            ("label of no form", post.clone(), "/issues".into(), json!({"title": "x", "labels": ["Not One"]}).to_string().into()),
            ("labels too many", patch.clone(), key.clone(), json!({"addLabels": (0..=limits::LABELS).map(|each| format!("l{each}")).collect::<Vec<_>>()}).to_string().into()),
            ("label that is a token", patch.clone(), key.clone(), json!({"addLabels": [format!("mrt_{}", "a".repeat(43))]}).to_string().into()),
            ("metadata too long", patch.clone(), key.clone(), json!({"metadata": {"k": "x".repeat(limits::METADATA_BYTES)}}).to_string().into()),
            ("metadata of a key of no form", patch.clone(), key.clone(), json!({"metadata": {"a\u{1b}b": "x"}}).to_string().into()),
            ("metadata of another type", patch.clone(), key.clone(), json!({"metadata": {"k": 1}}).to_string().into()),
            ("label asked for of no form", get.clone(), "/issues?label=Not%20One".into(), Body::empty()),
            ("unknown status", patch.clone(), key.clone(), json!({"status": "closed"}).to_string().into()),
            ("priority", patch.clone(), key.clone(), json!({"priority": 5000}).to_string().into()),
            ("description too long", patch.clone(), key.clone(), json!({"description": "x".repeat(limits::DESCRIPTION_BYTES + 1)}).to_string().into()),
            ("description huge", patch.clone(), key.clone(), json!({"description": "x".repeat(5 << 20)}).to_string().into()),
            ("parent of no form", post.clone(), "/issues".into(), json!({"title": "x", "parent": "nothing"}).to_string().into()),
            ("parent unknown", post.clone(), "/issues".into(), json!({"title": "x", "parent": "TEAMA-999"}).to_string().into()),
            ("comment empty", post.clone(), comments.clone(), body("\n ").into()),
            ("comment too long", post.clone(), comments.clone(), body(&"x".repeat(limits::COMMENT_BYTES + 1)).into()),
            ("comment huge", post.clone(), comments.clone(), body(&"x".repeat(1 << 20)).into()),
            ("comment under nothing", post.clone(), comments.clone(), json!({"body": "x", "parent": "nothing"}).to_string().into()),
            ("too many left out", post.clone(), comments.clone(), json!({"body": "x", "suppress": many}).to_string().into()),
            ("not UTF-8", post.clone(), comments.clone(), b"{\"body\": \"\xff\"}".to_vec().into()),
            ("half a character", post.clone(), comments.clone(), br#"{"body": "\ud800"}"#.to_vec().into()),
            ("not JSON", post.clone(), comments.clone(), "body=x".into()),
            ("nothing at all", post.clone(), comments.clone(), Body::empty()),
            ("limit of nothing", get.clone(), "/issues?limit=0".into(), Body::empty()),
            ("limit too high", get.clone(), "/issues?limit=201".into(), Body::empty()),
            ("limit no number", get.clone(), "/issues?limit=x".into(), Body::empty()),
            ("status unknown", get.clone(), "/issues?status=closed".into(), Body::empty()),
            ("assignee of no form", get.clone(), "/issues?assignee=ada".into(), Body::empty()),
            ("query unknown", get.clone(), "/issues?colour=red".into(), Body::empty()),
            ("search for nothing", get.clone(), "/search".into(), Body::empty()),
            ("search for no word", get.clone(), "/search?q=%22%20*%22".into(), Body::empty()),
            ("search too long", get.clone(), format!("/search?q={}", "x".repeat(limits::SEARCH_BYTES + 1)), Body::empty()),
            ("search for too many words", get.clone(), format!("/search?q={}", (0..=limits::SEARCH_WORDS).map(|each| format!("w{each}+")).collect::<String>()), Body::empty()),
            ("search not UTF-8", get.clone(), "/search?q=%ff".into(), Body::empty()),
            ("cursor of a search", get.clone(), "/search?q=x&cursor=y".into(), Body::empty()),
            ("cursor of subscribers", get.clone(), format!("{key}/subscribers?cursor=x"), Body::empty()),
            ("subscribers of an unknown issue", get.clone(), "/issues/TEAMA-999/subscribers".into(), Body::empty()),
            ("ten thousand mentions", post.clone(), comments.clone(), body(&"[a](mention://agent/a) ".repeat(10_000)).into()),
            ("cursor of issues", get.clone(), "/issues?cursor=x".into(), Body::empty()),
            ("cursor of comments", get.clone(), format!("{comments}?cursor=x"), Body::empty()),
            ("cursor of agents", get.clone(), "/agents?cursor=X%20Y".into(), Body::empty()),
            ("cursor of members", get.clone(), "/members?cursor=x".into(), Body::empty()),
            ("cursor of tasks", get.clone(), "/tasks?cursor=x".into(), Body::empty()),
            ("cursor of an inbox", get.clone(), "/inbox?cursor=x".into(), Body::empty()),
            ("since no time", get.clone(), format!("{comments}?since=yesterday"), Body::empty()),
            ("thread no id", get.clone(), format!("{comments}?thread=x"), Body::empty()),
            ("position no number", get.clone(), format!("/tasks/{}/events?after=-1", uuid::Uuid::nil()), Body::empty()),
            ("issue unknown", get.clone(), "/issues/TEAMA-999".into(), Body::empty()),
            ("comments of an unknown issue", get.clone(), "/issues/TEAMA-999/comments".into(), Body::empty()),
            ("children of an unknown issue", get.clone(), "/issues/TEAMA-999/children".into(), Body::empty()),
            ("runs of an unknown issue", get.clone(), "/issues/TEAMA-999/runs".into(), Body::empty()),
            ("key of another prefix", get.clone(), "/issues/OTHER-1".into(), Body::empty()),
            ("key not UTF-8", get, "/issues/%ff".into(), Body::empty()),
        ];
        let mut table = serde_json::Map::new();
        for (name, method, path, body) in cases {
            let answer = bed.call(method, &format!("{AT}{path}"), Some(&credential), body).await;
            let (status, code, message) = said(&answer);
            table.insert(name.to_owned(), json!(format!("{status} {code}: {message}")));
        }
        insta::assert_json_snapshot!("bad_input_is_refused_with_its_reason", table);
        // And nothing of all this was kept.
        assert_eq!(ada.get(&comments).await.ok(), json!({"items": []}));
    }

    async fn what_went_meanwhile_is_named_or_passed_over(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let comments = format!("/issues/{issue}/comments");
        let gone = ada.comment(&issue, "a slip").await;
        ada.delete(&format!("/comments/{gone}")).await.ok();
        bed.cluster.agents.lock().unwrap().clear();
        let nobody = uuid::Uuid::now_v7();
        let body = format!(
            "[r](mention://agent/reviewer) [t](mention://team/app) [m](mention://member/{nobody}) [i](mention://issue/TEAMA-99)"
        );
        let posted = ada.post(&comments, &json!({"body": body})).await.ok();
        let outcomes: Vec<_> = posted["wakes"].as_array().unwrap().iter().map(|wake| {
            (wake["recipient"]["kind"].clone(), wake["outcome"].clone(), wake["reason"].clone())
        }).collect();
        let blocked = |kind: &str| (json!(kind), json!("blocked"), json!("notAvailable"));
        assert_eq!(outcomes, [blocked("agent"), blocked("team")]);
        for (method, path, body) in [
            (Method::POST, comments.clone(), json!({"body": "x", "parent": gone})),
            (Method::PATCH, format!("/comments/{gone}"), json!({"body": "x"})),
            (Method::DELETE, format!("/comments/{gone}"), Value::Null),
            (Method::PATCH, format!("/issues/{issue}"), json!({"assignee": {"kind": "agent", "id": "reviewer"}})),
            (Method::PATCH, format!("/issues/{issue}"), json!({"assignee": {"kind": "member", "id": nobody}})),
        ] {
            let refused = ada.call(method, &path, &body).await;
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()), "{path} {body}");
        }
    }

    async fn the_longest_texts_are_taken_whatever_they_hold(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        // Twice as long in JSON.
        let description = "\"\n".repeat(limits::DESCRIPTION_BYTES / 2);
        let new = json!({"title": "x".repeat(limits::TITLE_BYTES), "description": description});
        let saved = ada.post("/issues", &new).await.ok();
        assert_eq!(saved["issue"]["description"], json!(description));
        let body = "\\".repeat(limits::COMMENT_BYTES);
        ada.post("/issues/TEAMA-1/comments", &json!({"body": body})).await.ok();
    }

    async fn ten_thousand_mentions_are_one_comment(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let body = "[a](mention://agent/a)".repeat(limits::COMMENT_BYTES / 22);
        let posted = ada.post(&format!("/issues/{issue}/comments"), &json!({"body": body})).await.ok();
        assert_eq!(posted["wakes"].as_array().unwrap().len(), 1);
    }

    async fn text_that_is_made_to_be_slow_is_a_comment_like_others(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let most = limits::COMMENT_BYTES;
        let ticks: String = (1..300).map(|count| format!("{} ", "`".repeat(count))).collect();
        let begun = std::time::Instant::now();
        for part in ["[", "![", "[a](", "<a", "*a ", "**a", "_a__", "> ", "- ", "&", "|-", "[a]: b\n", "\\[", &ticks] {
            let body = part.repeat(most / part.len());
            let posted = ada.post(&format!("/issues/{issue}/comments"), &json!({"body": body})).await.ok();
            assert_eq!(posted["wakes"], json!([]), "{part}");
        }
        assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
    }

    async fn an_agent_takes_no_more_places_than_it_may(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let own = working_on(&bed, &ada.issue("x").await).await;
        let token = bed.token(own).await;
        let none = bed.with(|parts| {
            parts.limits.requests_per_task = 0;
            parts.limits.requests_per_person = 0;
        });
        for caller in [token, bed.person("ada").await] {
            let refused = none.get(&format!("{AT}/agents"), &caller).await;
            assert_eq!(refused.refusal(), (429, "tooManyRequests".to_owned()));
        }
    }

    async fn a_workspace_that_is_none_has_no_routes(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        for workspace in ["team-b", "TEAM", "a%2fb"] {
            let refused = ada.call_in(workspace, Method::GET, "/issues", &Value::Null).await;
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()), "{workspace}");
        }
    }
}
