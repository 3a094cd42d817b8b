//! Comments: who writes, where it goes, whom it wakes.

use serde_json::{Value, json};

use crate::bed::{NAMESPACE_UID, both};
use crate::board::{Voice, claim, items, said, text, working_on};

const MENTION: &str = "[Reviewer](mention://agent/reviewer) please look";

/// The task that an answer to a write says is queued.
fn queued(answer: &Value) -> protocol::TaskId {
    let wakes = answer["wakes"].as_array().unwrap();
    assert_eq!(
        (wakes.len(), &wakes[0]["outcome"]),
        (1, &json!("queued")),
        "{answer}"
    );
    wakes[0]["task"].as_str().unwrap().parse().unwrap()
}

both! {
    async fn a_thread_is_written_read_and_settled(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let root = ada.comment(&issue, "Why?").await;
        let path = format!("/issues/{issue}/comments");
        let reply = ada.post(&path, &json!({"body": "Because.", "parent": root})).await.ok();
        assert_eq!(reply["comment"]["thread"], json!(root));
        ada.comment(&issue, "Another thing.").await;
        let roots = ada.get(&format!("{path}?roots=true")).await.ok();
        let shown: Vec<_> = items(&roots).iter().map(|root| (text(&root["body"]), root["replies"].clone())).collect();
        assert_eq!(shown, [("Why?".to_owned(), json!(1)), ("Another thing.".to_owned(), json!(0))]);
        let thread = ada.get(&format!("{path}?thread={root}")).await.ok();
        assert_eq!(items(&thread).len(), 2);
        let settled = ada.post(&format!("/comments/{root}/resolved"), &Value::Null).await.ok();
        assert_eq!(settled["resolved"], true);
        let open = ada.delete(&format!("/comments/{root}/resolved")).await.ok();
        assert_eq!(open["resolved"], false);
    }

    async fn nothing_is_written_that_would_find_no_agent_only_because_none_is_listed_yet(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let agent = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        let path = format!("/issues/{issue}/comments");
        let listing = |now| bed.cluster.is_being_listed.store(now, std::sync::atomic::Ordering::Release);
        listing(true);
        for voice in [&ada, &agent] {
            let refused = voice.post(&path, &json!({"body": MENTION})).await;
            assert_eq!(refused.refusal(), (503, "unavailable".to_owned()));
        }
        listing(false);
        queued(&ada.post(&path, &json!({"body": MENTION})).await.ok());
    }

    async fn only_the_author_changes_a_comment(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let issue = ada.issue("x").await;
        let comment = ada.comment(&issue, "mine").await;
        let path = format!("/comments/{comment}");
        let refused = eve.patch(&path, &json!({"body": "yours"})).await;
        let message = "only its author changes a comment: write another one".to_owned();
        assert_eq!(said(&refused), (403, "forbidden".to_owned(), message));
        let edited = ada.patch(&path, &json!({"body": "still mine", "revision": 1})).await.ok();
        assert_eq!(edited["comment"]["body"], "still mine");
        let refused = ada.patch(&path, &json!({"body": "again", "revision": 1})).await;
        assert_eq!(refused.refusal(), (409, "revision".to_owned()));
        // Who has the right tidies up, whoever wrote it.
        eve.delete(&path).await.ok();
        assert_eq!(ada.patch(&path, &json!({"body": "gone"})).await.refusal(), (404, "notFound".to_owned()));
    }

    async fn an_agent_changes_and_takes_back_its_own_words_only(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let hers = ada.comment(&issue, "hers").await;
        let attempt = working_on(&bed, &issue).await;
        let agent = Voice::agent(&bed, attempt).await;
        let own = agent.comment(&issue, "own").await;
        let read = items(&ada.get(&format!("/issues/{issue}/comments")).await.ok())[1].clone();
        assert_eq!(read["author"], json!({"kind": "agent", "id": "reviewer", "name": "Reviewer"}));
        assert_eq!(read["task"], json!(attempt.task));
        agent.patch(&format!("/comments/{own}"), &json!({"body": "own, better"})).await.ok();
        agent.delete(&format!("/comments/{own}")).await.ok();
        let refused = agent.delete(&format!("/comments/{hers}")).await;
        assert_eq!(refused.refusal(), (403, "forbidden".to_owned()));
    }

    async fn an_agent_cannot_put_its_token_into_a_comment(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let attempt = working_on(&bed, &issue).await;
        let agent = Voice::agent(&bed, attempt).await;
        let (token, credential) = (bed.token(attempt).await, bed.credential(attempt).await);
        let body = format!("a {token} b {} c {credential} d", &token[4..]);
        let id = agent.comment(&issue, &body).await;
        agent.patch(&format!("/comments/{id}"), &json!({"body": format!("{body}.")})).await.ok();
        let all = ada.get(&format!("/issues/{issue}/comments")).await;
        assert!(!all.text.contains(&token[4..]), "{}", all.text);
        assert_eq!(items(&all.ok())[0]["body"], "a [redacted] b [redacted] c [redacted] d.");
        // Nor does a person put theirs there by mistake.
        let token = bed.person("ada").await;
        ada.comment(&issue, &format!("my {token}")).await;
        let all = ada.get(&format!("/issues/{issue}/comments")).await.ok();
        assert_eq!(items(&all)[1]["body"], "my [redacted]");
    }

    async fn a_mention_wakes_an_agent_and_the_preview_says_so_before(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let path = format!("/issues/{issue}/comments");
        let body = json!({"body": MENTION});
        let preview = ada.post(&format!("{path}/preview"), &body).await.ok();
        let recipient = json!({"kind": "agent", "id": "reviewer"});
        assert_eq!(preview, json!({"wakes": [{"recipient": recipient, "outcome": "queued"}]}));
        assert_eq!(items(&ada.get(&path).await.ok()), Vec::<Value>::new());
        let posted = ada.post(&path, &body).await.ok();
        let task = queued(&posted);
        let again = ada.post(&path, &json!({"body": "and this", "parent": posted["comment"]["id"]})).await.ok();
        assert_eq!(again["wakes"], json!([{"recipient": recipient, "outcome": "coalesced", "task": task}]));
        let left_out = json!({"body": MENTION, "suppress": ["reviewer"]});
        let posted = ada.post(&path, &left_out).await.ok();
        assert_eq!(posted["wakes"], json!([{"recipient": recipient, "outcome": "blocked", "reason": "suppressed"}]));
        let nobody = json!({"body": "[x](mention://agent/nobody) hi"});
        let posted = ada.post(&path, &nobody).await.ok();
        assert_eq!(posted["wakes"][0]["reason"], "notAvailable");
    }

    async fn an_answer_goes_into_the_thread_that_asked(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let path = format!("/issues/{issue}/comments");
        let other = ada.comment(&issue, "something else").await;
        let asked = ada.post(&path, &json!({"body": MENTION})).await.ok();
        let thread = text(&asked["comment"]["id"]);
        let attempt = claim(&bed, NAMESPACE_UID, queued(&asked)).await;
        let agent = Voice::agent(&bed, attempt).await;
        let answer = agent.post(&path, &json!({"body": "done"})).await.ok();
        assert_eq!(answer["comment"]["thread"], json!(thread));
        // Also under a reply of that thread.
        let deeper = json!({"body": "more", "parent": answer["comment"]["id"]});
        let deeper = agent.post(&path, &deeper).await.ok();
        assert_eq!(deeper["comment"]["thread"], json!(thread));
        let nothing = uuid::Uuid::now_v7().to_string();
        for parent in [&other, &nothing] {
            for path in [path.clone(), format!("{path}/preview")] {
                let refused = agent.post(&path, &json!({"body": "no", "parent": parent})).await;
                let message = format!(
                    "this run was woken by a comment and answers there: leave `parent` out, or use {thread}"
                );
                assert_eq!(said(&refused), (409, "wrongState".to_owned(), message));
            }
        }
    }

    async fn an_answer_to_what_was_deleted_meanwhile_still_finds_a_place(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let path = format!("/issues/{issue}/comments");
        let asked = ada.post(&path, &json!({"body": MENTION})).await.ok();
        let attempt = claim(&bed, NAMESPACE_UID, queued(&asked)).await;
        let agent = Voice::agent(&bed, attempt).await;
        // It has begun, so it is not stopped.
        bed.store.open_package(attempt, [0; 32], bed.now()).await.unwrap();
        ada.delete(&format!("/comments/{}", text(&asked["comment"]["id"]))).await.ok();
        agent.post(&path, &json!({"body": "done"})).await.ok();
    }

    async fn a_page_of_long_comments_ends_early_and_loses_none(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("x").await;
        let long = "\"".repeat(protocol::limits::COMMENT_BYTES - 3);
        for number in 100..130 {
            ada.comment(&issue, &format!("{number}{long}")).await;
        }
        let (mut seen, mut path) = (Vec::new(), format!("/issues/{issue}/comments?limit=200"));
        loop {
            let answer = ada.get(&path).await;
            assert!(answer.text.len() < protocol::limits::BODY_BYTES, "{}", answer.text.len());
            let page = answer.ok();
            seen.extend(items(&page).iter().map(|comment| text(&comment["body"])[..3].to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/issues/{issue}/comments?limit=200&cursor={next}");
        }
        let wanted: Vec<_> = (100..130).map(|number| number.to_string()).collect();
        assert_eq!(seen, wanted);
    }

    async fn a_parent_of_another_issue_is_none(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (here, there) = (ada.issue("here").await, ada.issue("there").await);
        let parent = ada.comment(&there, "x").await;
        for parent in [parent, uuid::Uuid::now_v7().to_string()] {
            let path = format!("/issues/{here}/comments");
            let refused = ada.post(&path, &json!({"body": "x", "parent": parent})).await;
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()));
        }
    }

    async fn an_inbox_is_read_and_put_away_by_its_owner(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let issue = ada.issue("x").await;
        let member = ada.member("ada").await;
        let comment = eve.comment(&issue, &format!("[ada](mention://member/{member})?")).await;
        let inbox = ada.get("/inbox").await.ok();
        let entry = &items(&inbox)[0];
        assert_eq!((&entry["kind"], &entry["comment"], &entry["read"]), (&json!("mention"), &json!(comment), &json!(false)));
        let path = format!("/inbox/{}", text(&entry["id"]));
        // Not by others, who see what they see of an entry that is none.
        for refused in [eve.post(&format!("{path}/read"), &Value::Null).await, eve.delete(&path).await] {
            assert_eq!(refused.refusal(), (404, "notFound".to_owned()));
        }
        ada.post(&format!("{path}/read"), &Value::Null).await.ok();
        assert_eq!(items(&ada.get("/inbox").await.ok())[0]["read"], true);
        ada.delete(&path).await.ok();
        assert_eq!(items(&ada.get("/inbox").await.ok()), Vec::<Value>::new());
    }
}
