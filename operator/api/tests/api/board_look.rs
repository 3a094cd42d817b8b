//! What was used, what happened on an issue, and whole texts.

use protocol::limits;
use serde_json::{Value, json};

use crate::bed::both;
use crate::board::{Voice, items, text};

fn result(usage: &Value) -> Value {
    json!({"result": {
        "outcome": {"outcome": "succeeded"}, "output": "done", "durationMs": 1, "lastSeq": 0, "usage": usage,
        "resumed": serde_json::to_value(protocol::Resumed::unknown("first run")).unwrap(),
    }})
}

both! {
    async fn what_a_run_has_used_is_told(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let used = json!({"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4});
        let credential = bed.credential(attempt).await;
        for _ in 0..2 {
            bed.post("finish", &credential, &result(&json!({"big": used}))).await.ok();
        }
        let run = ada.get(&format!("/tasks/{}", attempt.task)).await.ok();
        assert_eq!((&run["tokens"], &run["usage"]), (&json!(19), &json!({"big": used})));
        let list = ada.get("/tasks").await.ok();
        assert_eq!((&list["items"][0]["tokens"], list["items"][0].get("usage")), (&json!(19), None));
        let report = ada.get("/agents/reviewer/usage").await.ok();
        assert_eq!(report, json!({"tasks": 1, "attempts": 1, "models": {"big": used}}));
        let later = ada.get("/agents/reviewer/usage?since=2099-01-01T00:00:00Z").await.ok();
        assert_eq!((&later["tasks"], &later["since"]), (&json!(0), &json!("2099-01-01T00:00:00Z")));
        for (path, wanted) in [
            ("/agents/nobody/usage", (404, "notFound")),
            ("/agents/No%20body/usage", (404, "notFound")),
            ("/agents/reviewer/usage?since=yesterday", (400, "invalidRequest")),
            ("/issues/TEAMA-9/usage", (404, "notFound")),
        ] {
            assert_eq!(ada.get(path).await.refusal(), (wanted.0, wanted.1.to_owned()), "{path}");
        }
    }

    async fn an_issue_has_a_history(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("mine").await;
        let path = format!("/issues/{issue}/timeline");
        assert_eq!(ada.get(&path).await.ok(), json!({"items": []}));
        let mention = json!({"body": "[Reviewer](mention://agent/reviewer) please"});
        let posted = ada.post(&format!("/issues/{issue}/comments"), &mention).await.ok();
        let said = ada.comment(&issue, "never mind").await;
        let page = ada.get(&path).await.ok();
        let mut found: Vec<_> = items(&page).iter().map(|entry| {
            let kind = text(&entry["type"]);
            (kind.clone(), text(&entry[kind.as_str()]["id"]))
        }).collect();
        assert_eq!(found.remove(0), ("comment".to_owned(), said));
        found.sort();
        let wanted = [
            ("comment".to_owned(), text(&posted["comment"]["id"])),
            ("run".to_owned(), text(&posted["wakes"][0]["task"])),
        ];
        assert_eq!(found, wanted);
        let first = ada.get(&format!("{path}?limit=1")).await.ok();
        let rest = ada.get(&format!("{path}?cursor={}", text(&first["next"]))).await.ok();
        assert_eq!((items(&first).len(), items(&rest).len()), (1, 2));
        // Who may read comments need not be one who may see tasks.
        bed.people.allow("bob", "list", "issues");
        bed.people.allow("bob", "list", "comments");
        let bob = Voice::holding(&bed, Some(bed.person("bob").await));
        assert_eq!(bob.get(&path).await.refusal(), (403, "forbidden".to_owned()));
    }

    async fn people_read_what_a_program_wrote_and_no_secret_in_it(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let credential = bed.credential(attempt).await;
        let token = bed.token(attempt).await;
        let path = format!("/tasks/{}/raw", attempt.task);
        assert_eq!(ada.get(&path).await.ok(), json!({"attempt": 1, "parts": []}));
        let text = format!("{{\"key\": \"{token}\"}}\0\nAPI_KEY=abc123def456\n");
        for _ in 0..2 {
            bed.post("raw", &credential, &json!({"start": 0, "text": text})).await.ok();
        }
        let wanted = "{\"key\": \"[redacted]\"}\u{fffd}\nAPI_KEY=[redacted]\n";
        let parts = json!([{"start": 0, "text": wanted}]);
        assert_eq!(ada.get(&path).await.ok(), json!({"attempt": 1, "parts": parts}));
        assert_eq!(ada.get(&format!("{path}?from=1")).await.ok()["parts"], json!([]));
        assert_eq!(ada.get(&format!("{path}?attempt=2")).await.refusal(), (404, "notFound".to_owned()));
        assert_eq!(ada.get(&format!("{path}?attempt=x")).await.refusal().0, 400);
        // It is for people, and not for the agent that made the program write it.
        assert_eq!(Voice::agent(&bed, attempt).await.get(&path).await.refusal().0, 403);
    }

    async fn a_whole_text_is_redacted_and_read_as_it_is(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let attempt = bed.running("x").await;
        let credential = bed.credential(attempt).await;
        let token = bed.token(attempt).await;
        let whole = format!("{}\u{0} {token} <b>ü</b>\n", "line\n".repeat(5000));
        let sent = json!({"seq": 1, "text": whole});
        for _ in 0..2 {
            assert_eq!(bed.post("texts", &credential, &sent).await.ok(), json!({"kept": true}));
        }
        let path = format!("/tasks/{}/events", attempt.task);
        assert_eq!(ada.get(&format!("{path}/1/text")).await.refusal(), (404, "notFound".to_owned()));
        let event = json!({"seq": 1, "at": bed.now().to_string(), "type": "toolResult", "callId": "1", "output": whole});
        bed.post("events", &credential, &json!({"events": [event]})).await.ok();
        let item = ada.get(&path).await.ok()["items"][0].clone();
        assert_eq!(item["body"]["output"].as_str().unwrap().len(), limits::TOOL_OUTPUT_BYTES);
        let answer = ada.get(&format!("{path}/1/text")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(!answer.text.contains(&token) && answer.text.contains("[redacted] <b>ü</b>"), "{}", &answer.text[24_900..]);
        assert!(answer.text.contains('\u{fffd}'));
        assert_eq!(item["fullBytes"], answer.text.len());
        for position in ["2", "0", "x", "-1", "99999999999999999999"] {
            let refused = ada.get(&format!("{path}/{position}/text")).await;
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()), "{position}");
        }
        for seq in [0, limits::ATTEMPT_EVENTS + 1] {
            let refused = bed.post("texts", &credential, &json!({"seq": seq, "text": "x"})).await;
            assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()), "{seq}");
        }
    }
}
