//! Issues, as people and agents read and write them.

use serde_json::{Value, json};

use crate::bed::both;
use crate::board::{Voice, items, said, text, working_on};

both! {
    async fn an_issue_is_made_read_changed_and_listed(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let new = json!({"title": "  Check the build ", "description": "Why is it red?\r\n", "priority": 5});
        let saved = ada.post("/issues", &new).await.ok();
        assert_eq!(saved["wakes"], json!([]));
        let issue = &saved["issue"];
        assert_eq!((&issue["key"], &issue["title"], &issue["status"]), (&json!("TEAMA-1"), &json!("Check the build"), &json!("todo")));
        assert_eq!(issue["creator"], json!({"kind": "member", "id": ada.member("ada").await, "name": "ada"}));
        assert_eq!(issue["description"], "Why is it red?\n");
        let edit = json!({"revision": issue["revision"], "status": "in_progress", "title": "Fix the build"});
        let edited = ada.patch("/issues/TEAMA-1", &edit).await.ok();
        assert_eq!(edited["issue"]["status"], "in_progress");
        // As people type it.
        let read = ada.get("/issues/teama-1").await.ok();
        assert_eq!(read, edited["issue"]);
        ada.issue("another").await;
        let list = ada.get("/issues?status=in_progress").await.ok();
        let titles: Vec<_> = items(&list).iter().map(|issue| text(&issue["title"])).collect();
        assert_eq!(titles, ["Fix the build"]);
        // Lists are light.
        assert_eq!(items(&list)[0]["description"], "");
    }

    async fn who_writes_on_an_old_reading_is_told_the_present_revision(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let saved = ada.post("/issues", &json!({"title": "x"})).await.ok();
        let read = saved["issue"]["revision"].as_u64().unwrap();
        let edit = json!({"revision": read, "title": "y"});
        let now = ada.patch("/issues/TEAMA-1", &edit).await.ok()["issue"]["revision"].as_u64().unwrap();
        assert!(now > read);
        let refused = ada.patch("/issues/TEAMA-1", &edit).await;
        let message = format!(
            "it was changed since you read it: its revision is {now} now; read it again, and write with that one"
        );
        assert_eq!(said(&refused), (409, "revision".to_owned(), message));
        // Who names none writes on whatever stands.
        ada.patch("/issues/TEAMA-1", &json!({"title": "z"})).await.ok();
    }

    async fn an_agent_makes_parts_of_its_own_issue(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (own, foreign) = (ada.issue("own").await, ada.issue("foreign").await);
        let agent = Voice::agent(&bed, working_on(&bed, &own).await).await;
        let part = agent.post("/issues", &json!({"title": "part", "stage": 1})).await.ok();
        let part = &part["issue"];
        assert_eq!((&part["parent"], &part["creator"]["kind"]), (&json!(own), &json!("agent")));
        assert_eq!((&part["creator"]["id"], &part["creator"]["name"]), (&json!("reviewer"), &json!("Reviewer")));
        let part = text(&part["key"]);
        agent.post("/issues", &json!({"title": "part", "parent": own})).await.ok();
        for parent in [foreign.as_str(), "TEAMA-99", &part] {
            let refused = agent.post("/issues", &json!({"title": "x", "parent": parent})).await;
            let message = "a task's token makes parts of its own issue only: leave `parent` out".to_owned();
            assert_eq!(said(&refused), (403, "forbidden".to_owned(), message));
        }
        // It reads and changes the parts, and writes on them.
        agent.get(&format!("/issues/{part}")).await.ok();
        agent.patch(&format!("/issues/{part}"), &json!({"status": "done"})).await.ok();
        agent.comment(&part, "well done").await;
        let list = agent.get(&format!("/issues/{own}/children")).await.ok();
        assert_eq!(items(&list).len(), 2);
        // Not the parts of the parts.
        let deep = ada.post("/issues", &json!({"title": "deep", "parent": part})).await.ok();
        let deep = agent.get(&format!("/issues/{}", text(&deep["issue"]["key"]))).await;
        assert_eq!(deep.refusal(), (404, "notFound".to_owned()));
    }

    async fn an_agent_cannot_keep_its_token_in_an_issue(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let own = ada.issue("own").await;
        let attempt = working_on(&bed, &own).await;
        let agent = Voice::agent(&bed, attempt).await;
        let token = bed.token(attempt).await;
        // By its form, and without its beginning by its value.
        let edit = json!({"title": format!("a {token}"), "description": format!("b {}", &token[4..])});
        let saved = agent.patch(&format!("/issues/{own}"), &edit).await.ok();
        assert_eq!(saved["issue"]["title"], "a [redacted]");
        assert_eq!(saved["issue"]["description"], "b [redacted]");
        let part = json!({"title": token, "description": bed.credential(attempt).await});
        let part = agent.post("/issues", &part).await.ok();
        assert_eq!((&part["issue"]["title"], &part["issue"]["description"]), (&json!("[redacted]"), &json!("[redacted]")));
    }

    async fn pages_follow_each_other(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        for number in 1..=5 {
            ada.issue(&format!("issue {number}")).await;
        }
        let (mut seen, mut path) = (Vec::new(), "/issues?limit=2".to_owned());
        loop {
            let page = ada.get(&path).await.ok();
            assert!(items(&page).len() <= 2);
            seen.extend(items(&page).iter().map(|issue| text(&issue["title"])));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/issues?limit=2&cursor={next}");
        }
        assert_eq!(seen, ["issue 5", "issue 4", "issue 3", "issue 2", "issue 1"]);
    }

    async fn an_assignee_has_to_be_there(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = |kind: &str, id: &str| json!({"title": "x", "assignee": {"kind": kind, "id": id}});
        let refused = ada.post("/issues", &issue("agent", "nobody")).await;
        let (status, code, message) = said(&refused);
        assert_eq!((status, code.as_str()), (404, "notFound"));
        assert!(message.contains("nobody"), "{message}");
        let strange = uuid::Uuid::now_v7().to_string();
        let refused = ada.post("/issues", &issue("member", &strange)).await;
        assert_eq!(refused.refusal(), (404, "notFound".to_owned()));
        let given = ada.post("/issues", &issue("member", &ada.member("ada").await)).await.ok();
        assert_eq!(given["issue"]["assignee"]["kind"], "member");
        let key = text(&given["issue"]["key"]);
        let taken = ada.patch(&format!("/issues/{key}"), &json!({"assignee": null})).await.ok();
        assert_eq!(taken["issue"].get("assignee"), None);
    }

    async fn an_issue_for_an_agent_wakes_it(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let assignee = json!({"kind": "agent", "id": "reviewer"});
        let saved = ada.post("/issues", &json!({"title": "x", "assignee": assignee})).await.ok();
        let wakes = saved["wakes"].as_array().unwrap();
        assert_eq!((wakes.len(), &wakes[0]["recipient"], &wakes[0]["outcome"]), (1, &assignee, &json!("queued")));
        let task = text(&wakes[0]["task"]);
        let runs = ada.get(&format!("/issues/{}/runs", text(&saved["issue"]["key"]))).await.ok();
        let run = &items(&runs)[0];
        assert_eq!((&run["id"], &run["agent"], &run["state"]), (&json!(task), &json!("reviewer"), &json!("queued")));
        assert_eq!(run["cause"], "assignment");
        let quiet = json!({"title": "x", "assignee": assignee, "noStart": true});
        assert_eq!(ada.post("/issues", &quiet).await.ok()["wakes"], json!([]));
        let parked = json!({"title": "x", "assignee": assignee, "status": "backlog"});
        assert_eq!(ada.post("/issues", &parked).await.ok()["wakes"], json!([]));
    }

    async fn agents_and_members_are_listed(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let agents = ada.get("/agents").await.ok();
        let card = json!({"name": "reviewer", "displayName": "Reviewer", "ready": false});
        assert_eq!(agents, json!({"items": [card]}));
        let builder = json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent",
            "metadata": {"name": "builder", "namespace": "team-a", "uid": "b"},
            "spec": {"runtimeRefs": [{"name": "claude"}]},
            "status": {"conditions": [{
                "type": "Ready", "status": "False", "reason": "RuntimeNotReady", "message": "no",
                "lastTransitionTime": "2027-01-15T08:00:00Z",
            }]},
        });
        let builder = std::sync::Arc::new(serde_json::from_value(builder).unwrap());
        bed.cluster.agents.lock().unwrap().insert("builder".to_owned(), builder);
        let first = ada.get("/agents?limit=1").await.ok();
        let second = ada.get("/agents?limit=1&cursor=builder").await.ok();
        let card = json!({"name": "builder", "displayName": "builder", "ready": false, "reason": "RuntimeNotReady"});
        assert_eq!(first, json!({"items": [card], "next": "builder"}));
        assert_eq!((&second["items"][0]["name"], second.get("next")), (&json!("reviewer"), None));
        Voice::person(&bed, "eve").await.get("/issues").await.ok();
        let members = ada.get("/members").await.ok();
        let users: Vec<Value> = items(&members).iter().map(|member| member["user"].clone()).collect();
        assert_eq!(users, ["ada", "eve"]);
    }
}
