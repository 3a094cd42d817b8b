//! Labels, metadata, who follows an issue, and what is found: over the wire, and only what one may see.

use http::Method;
use serde_json::{Value, json};

use crate::bed::both;
use crate::board::{RIGHTS, Voice, items, text, working_on};

fn issues(found: &Value) -> Vec<String> {
    let place = |hit: &Value| text(&hit["issue"]);
    items(found).iter().map(place).collect()
}

both! {
    async fn an_agent_finds_what_lies_in_its_scope(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let own = ada.issue("the needle").await;
        let part = json!({"title": "a part with a needle", "parent": own});
        let part = text(&ada.post("/issues", &part).await.ok()["issue"]["key"]);
        let hidden = ada.issue("another needle").await;
        ada.comment(&hidden, "a needle that is none of its business").await;
        let agent = Voice::agent(&bed, working_on(&bed, &own).await).await;
        assert_eq!(issues(&agent.get("/search?q=needle").await.ok()), [&*part, &own]);
        let all = ada.get("/search?q=needle").await.ok();
        assert_eq!(issues(&all), [&*hidden, &hidden, &part, &own]);
        assert_eq!(items(&all)[0]["snippet"], "a needle that is none of its business");
        assert_eq!(items(&all)[3].get("comment"), None);
        let page = ada.get("/search?q=needle&limit=3").await.ok();
        let rest = ada.get(&format!("/search?q=needle&cursor={}", text(&page["next"]))).await.ok();
        assert_eq!((issues(&page).len(), issues(&rest)), (3, vec![own]));
    }

    async fn who_may_not_read_comments_or_issues_does_not_find_them(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        ada.issue("needle").await;
        for (user, lacking) in [("bob", "comments"), ("cyd", "issues")] {
            for (verb, resource) in RIGHTS {
                if (verb, resource) != ("list", lacking) {
                    bed.people.allow(user, verb, resource);
                }
            }
            let caller = Voice::holding(&bed, Some(bed.person(user).await));
            let refused = caller.get("/search?q=needle").await.refusal();
            // Who may not list a thing is not told that there is one.
            assert!(matches!(refused.0, 403 | 404), "{user}: {refused:?}");
        }
    }

    async fn labels_and_metadata_are_changed_part_by_part(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let token = format!("mrt_{}", "a".repeat(43));
        let new = json!({"title": "x", "labels": ["bug"], "metadata": {"build": "17", "log": format!("used {token}\u{1b}[31m")}});
        let made = ada.post("/issues", &new).await.ok();
        let key = text(&made["issue"]["key"]);
        assert_eq!(made["issue"]["labels"], json!(["bug"]));
        assert_eq!(made["issue"]["metadata"], json!({"build": "17", "log": "used [redacted][31m"}));
        let edit = json!({"addLabels": ["ui"], "removeLabels": ["bug"], "metadata": {"log": null, "host": "a"}});
        let after = ada.patch(&format!("/issues/{key}"), &edit).await.ok();
        assert_eq!(after["issue"]["labels"], json!(["ui"]));
        assert_eq!(after["issue"]["metadata"], json!({"build": "17", "host": "a"}));
        let listed = ada.get("/issues?label=ui").await.ok();
        assert_eq!(items(&listed)[0]["labels"], json!(["ui"]));
        assert_eq!(ada.get("/issues?label=bug").await.ok(), json!({"items": []}));
    }

    async fn one_follows_an_issue_and_leaves_it_alone(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let bob = Voice::person(&bed, "bob").await;
        let key = ada.issue("of interest").await;
        let subscription = format!("/issues/{key}/subscription");
        assert_eq!(bob.post(&subscription, &Value::Null).await.ok(), json!({"subscribed": true}));
        let comment = ada.comment(&key, "news").await;
        let told = items(&bob.get("/inbox").await.ok());
        assert_eq!((told.len(), &told[0]["kind"], &told[0]["comment"]), (1, &json!("reply"), &json!(comment)));
        let listed = ada.get(&format!("/issues/{key}/subscribers")).await.ok();
        assert_eq!(items(&listed).len(), 2);
        assert_eq!(bob.delete(&subscription).await.ok(), json!({"subscribed": false}));
        ada.comment(&key, "more news").await;
        assert_eq!(items(&bob.get("/inbox").await.ok()).len(), 1);
        for method in [Method::POST, Method::DELETE] {
            let absent = bob.call(method, "/issues/TEAMA-99/subscription", &Value::Null).await;
            assert_eq!(absent.refusal(), (404, "notFound".to_owned()));
        }
    }
}
