//! Chats, and issues that an agent writes: each is its person's, and its task sees nothing else.

use std::sync::Arc;

use protocol::{AttemptId, TaskId};
use serde_json::{Value, json};

use crate::bed::{Bed, NAMESPACE, NAMESPACE_UID, both};
use crate::board::{Voice, claim, items, said, text, working_on};
use crate::board_again::keyed;
use crate::finish::result;
use crate::woken::open;

/// A task with its object, claimed.
async fn claimed(bed: &Bed, task: TaskId, kind: &str) -> AttemptId {
    let uid = uuid::Uuid::now_v7().to_string();
    let row = bed.task(task).await;
    let session = bed.store.session(row.session).await.unwrap().unwrap();
    let object = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
        "metadata": {"name": row.object.name, "namespace": NAMESPACE, "uid": uid},
        "spec": {
            "agentRef": {"name": "reviewer"}, "subject": {"kind": kind, "name": session.key.subject.name},
            "cause": {"kind": kind},
        },
    });
    let object = Arc::new(serde_json::from_value(object).unwrap());
    bed.cluster
        .tasks
        .lock()
        .unwrap()
        .insert(row.object.name, object);
    bed.store.bind_object(task, &uid).await.unwrap();
    claim(bed, NAMESPACE_UID, task).await
}

async fn finish(bed: &Bed, attempt: AttemptId, output: &str) {
    let credential = bed.credential(attempt).await;
    bed.post("finish", &credential, &result(output)).await.ok();
    bed.release(attempt).await;
}

fn task(told: &Value) -> TaskId {
    text(&told["wake"]["task"]).parse().unwrap()
}

both! {
    async fn a_chat_goes_on_from_message_to_message(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let sent = ada.post("/chats", &json!({"agent": "reviewer", "body": "What is it?\u{1b}[2J"})).await.ok();
        let chat = text(&sent["chat"]["id"]);
        assert_eq!((&sent["wake"]["outcome"], &sent["chat"]["title"]), (&json!("queued"), &json!("What is it?[2J")));
        let messages = format!("/chats/{chat}/messages");
        let second = ada.post(&messages, &json!({"body": "And why?"})).await.ok();
        assert_eq!((&second["wake"]["outcome"], task(&second)), (&json!("coalesced"), task(&sent)));
        let attempt = claimed(&bed, task(&sent), "Chat").await;
        let package = open(&bed, attempt).await;
        assert_eq!((&package["cause"], &package["prompt"]), (&Value::Null, &json!("")));
        assert_eq!(package["subject"], json!({"kind": "Chat", "name": chat}));
        let asked = &package["chat"];
        let bodies: Vec<_> = asked["messages"].as_array().unwrap().iter().map(|each| each["body"].clone()).collect();
        assert_eq!(bodies, ["What is it?[2J", "And why?"]);
        assert_eq!((&asked["member"]["name"], &asked["before"]), (&json!("ada"), &json!(0)));
        finish(&bed, attempt, "A boat.").await;
        let said = items(&ada.get(&messages).await.ok());
        assert_eq!((&said[0]["body"], &said[0]["author"]["kind"], said.len()), (&json!("A boat."), &json!("agent"), 3));
        // The conversation goes on in the same session.
        let third = ada.post(&messages, &json!({"body": "Thanks"})).await.ok();
        let next = claimed(&bed, task(&third), "Chat").await;
        assert_eq!(bed.task(next.task).await.session, bed.task(attempt.task).await.session);
        let package = open(&bed, next).await;
        assert_eq!((&package["chat"]["before"], &package["chat"]["messages"][0]["body"]), (&json!(3), &json!("Thanks")));
        finish(&bed, next, "NO_RESPONSE").await;
        assert_eq!(items(&ada.get(&messages).await.ok())[0]["kind"], "noResponse");
        let run = ada.get(&format!("/tasks/{}", next.task)).await.ok();
        assert_eq!((&run["cause"], &run["subject"]["kind"]), (&json!("chat"), &json!("Chat")));
    }

    async fn how_a_task_of_a_chat_failed_is_told_to_its_person_alone(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let chat = ada.post("/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let quick = ada.post("/quick-issues", &json!({"agent": "reviewer", "text": "y"})).await.ok();
        let tasks = [task(&chat), text(&quick["task"]).parse().unwrap()];
        for task in tasks {
            let failed = protocol::Verdict {
                outcome: protocol::Outcome::failed(protocol::FailureClass::CliCrashed, "it said: secret"),
                at: bed.now(),
                result: None,
            };
            bed.store.end_unclaimed(task, failed, bed.now()).await.unwrap();
            let path = format!("/tasks/{task}");
            assert_eq!(ada.get(&path).await.ok()["message"], "it said: secret");
            let seen = eve.get(&path).await.ok();
            assert_eq!((&seen["failure"], seen.get("message")), (&json!("CliCrashed"), None));
        }
        let listed = eve.get("/tasks").await.ok().to_string();
        assert!(!listed.contains("secret") && listed.contains("CliCrashed"), "{listed}");
        assert_eq!(ada.get("/tasks").await.ok().to_string().matches("it said: secret").count(), 2);
        // Whoever asks for it again is told what to do instead.
        for task in tasks {
            let (status, _, words) = crate::board::said(&ada.post(&format!("/tasks/{task}/retry"), &json!({})).await);
            assert!(status == 409 && words.contains("write into its chat again"), "{words}");
        }
    }

    async fn a_task_of_a_chat_sees_that_chat_and_nothing_else(bed: Bed) {
        // Not even where its agent may see all of the workspace on an issue.
        bed.define_agent(&json!({"runtimeRefs": [{"name": "claude"}], "tokenScope": "Workspace"}));
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let issue = ada.issue("secret").await;
        let of_eve = eve.post("/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let of_eve = text(&of_eve["chat"]["id"]);
        claimed(&bed, task(&eve.post(&format!("/chats/{of_eve}/messages"), &json!({"body": "y"})).await.ok()), "Chat").await;
        let sent = ada.post("/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let chat = text(&sent["chat"]["id"]);
        let attempt = claimed(&bed, task(&sent), "Chat").await;
        open(&bed, attempt).await;
        let agent = Voice::agent(&bed, attempt).await;
        assert_eq!(agent.get(&format!("/chats/{chat}")).await.ok()["id"], json!(chat));
        assert_eq!(items(&agent.get(&format!("/chats/{chat}/messages")).await.ok()).len(), 1);
        for path in [format!("/chats/{of_eve}"), format!("/chats/{of_eve}/messages"), format!("/issues/{issue}"), format!("/issues/{issue}/comments")] {
            assert_eq!(agent.get(&path).await.refusal(), (404, "notFound".to_owned()), "{path}");
        }
        for (path, body) in [
            ("/issues".to_owned(), json!({"title": "x"})),
            (format!("/chats/{chat}/messages"), json!({"body": "x"})),
            ("/chats".to_owned(), json!({"agent": "reviewer", "body": "x"})),
        ] {
            assert_eq!(agent.post(&path, &body).await.refusal(), (403, "forbidden".to_owned()), "{path}");
        }
        assert_eq!(agent.post(&format!("/issues/{issue}/comments"), &json!({"body": "x"})).await.refusal(), (404, "notFound".to_owned()));
        for list in ["/issues", "/search?q=secret", "/chats", "/tasks"] {
            assert_eq!(agent.get(list).await.refusal(), (403, "forbidden".to_owned()), "{list}");
        }
        // Nor do other people see what happens in it.
        for path in [format!("/chats/{chat}"), format!("/chats/{chat}/messages"), format!("/tasks/{}/events", attempt.task)] {
            assert_eq!(eve.get(&path).await.refusal(), (404, "notFound".to_owned()), "{path}");
            ada.get(&path).await.ok();
        }
        // The task of an issue sees no chat.
        let other = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        assert_eq!(other.get(&format!("/chats/{chat}")).await.refusal(), (404, "notFound".to_owned()));
    }

    async fn an_agent_makes_the_issue_that_it_is_asked_for(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        let other = ada.issue("another one").await;
        let asked = ada.post("/quick-issues", &json!({"agent": "reviewer", "text": "The roof is open\u{202e}"})).await.ok();
        let id = text(&asked["task"]);
        let path = format!("/quick-issues/{id}");
        assert_eq!((&asked["text"], &asked["issue"]), (&json!("The roof is open"), &Value::Null));
        assert_eq!(eve.get(&path).await.refusal(), (404, "notFound".to_owned()));
        let attempt = claimed(&bed, id.parse().unwrap(), "QuickIssue").await;
        let package = open(&bed, attempt).await;
        assert_eq!((&package["quickIssue"]["text"], &package["quickIssue"]["author"]["name"]), (&json!("The roof is open"), &json!("ada")));
        assert_eq!(package["session"]["policy"], "Fresh");
        let agent = Voice::agent(&bed, attempt).await;
        let shown = bed.get(&format!("/api/v1/tasks/{id}"), &bed.token(attempt).await).await.ok();
        assert_eq!(shown["prompt"], "The roof is open");
        let part = agent.post("/issues", &json!({"title": "x", "parent": other})).await;
        assert_eq!(part.refusal(), (403, "forbidden".to_owned()));
        assert_eq!(agent.get(&format!("/issues/{other}")).await.refusal(), (404, "notFound".to_owned()));
        let saved = agent.post("/issues", &json!({"title": "Close the roof"})).await.ok();
        let issue = text(&saved["issue"]["key"]);
        assert_eq!(ada.get(&path).await.ok()["issue"], json!(issue));
        // From now on it is its own, with its parts.
        agent.patch(&format!("/issues/{issue}"), &json!({"description": "Before it rains."})).await.ok();
        let (status, code, message) = said(&agent.post("/issues", &json!({"title": "And another"})).await);
        assert_eq!((status, code.as_str()), (409, "wrongState"));
        assert!(message.contains(&issue), "{message}");
        agent.post("/issues", &json!({"title": "A part", "parent": issue})).await.ok();
        finish(&bed, attempt, "done").await;
        let inbox = items(&ada.get("/inbox").await.ok());
        assert_eq!((&inbox[0]["kind"], &inbox[0]["issue"]), (&json!("issueMade"), &json!(issue)));
    }

    async fn a_text_of_which_no_issue_was_made_is_in_the_inbox(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let asked = ada.post("/quick-issues", &json!({"agent": "reviewer", "text": "The roof\nis open"})).await.ok();
        let attempt = claimed(&bed, text(&asked["task"]).parse().unwrap(), "QuickIssue").await;
        open(&bed, attempt).await;
        finish(&bed, attempt, "I did nothing").await;
        let entry = items(&ada.get("/inbox").await.ok())[0].clone();
        assert_eq!((&entry["kind"], &entry["text"], &entry["title"]), (&json!("failure"), &json!("The roof\nis open"), &json!("The roof")));
        assert_eq!((&entry["task"], entry.get("issue")), (&asked["task"], None));
        ada.delete(&format!("/inbox/{}", text(&entry["id"]))).await.ok();
        assert_eq!(items(&ada.get("/inbox").await.ok()), [] as [Value; 0]);
    }

    async fn a_message_is_sent_once_however_often_it_is_sent(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let sent = keyed(&bed, "ada", "one", "/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let again = keyed(&bed, "ada", "one", "/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        assert_eq!((&again["chat"]["id"], &again["message"], &again["wake"]), (&sent["chat"]["id"], &sent["message"], &sent["wake"]));
        let messages = format!("/chats/{}/messages", text(&sent["chat"]["id"]));
        let second = keyed(&bed, "ada", "two", &messages, &json!({"body": "y"})).await.ok();
        let again = keyed(&bed, "ada", "two", &messages, &json!({"body": "y"})).await.ok();
        assert_eq!((&again["message"], &again["chat"]["messages"]), (&second["message"], &json!(2)));
        let (status, code) = keyed(&bed, "ada", "two", &messages, &json!({"body": "z"})).await.refusal();
        assert_eq!((status, code.as_str()), (409, "wrongState"));
        let asked = json!({"agent": "reviewer", "text": "x"});
        let first = keyed(&bed, "ada", "three", "/quick-issues", &asked).await.ok();
        assert_eq!(keyed(&bed, "ada", "three", "/quick-issues", &asked).await.ok(), first);
    }

    async fn what_cannot_be_written_is_refused_with_its_reason(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let sent = ada.post("/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let messages = format!("/chats/{}/messages", text(&sent["chat"]["id"]));
        let chat = format!("/chats/{}", text(&sent["chat"]["id"]));
        for (path, body, wanted) in [
            ("/chats", json!({"agent": "nobody", "body": "x"}), 404),
            ("/chats", json!({"agent": "reviewer", "body": " "}), 400),
            ("/chats", json!({"agent": "reviewer", "body": "x", "title": "a\u{1b}b"}), 400),
            ("/chats", json!({"agent": "reviewer", "body": "x", "member": "y"}), 400),
            (messages.as_str(), json!({"body": ""}), 400),
            (messages.as_str(), json!({"body": "x".repeat(65 * 1024)}), 400),
            (messages.as_str(), json!({"body": "x".repeat(200 * 1024)}), 413),
            ("/chats/x/messages", json!({"body": "x"}), 404),
            ("/quick-issues", json!({"agent": "nobody", "text": "x"}), 404),
            ("/quick-issues", json!({"agent": "reviewer", "text": ""}), 400),
        ] {
            assert_eq!(ada.post(path, &body).await.status.as_u16(), wanted, "{path} {wanted}");
        }
        assert_eq!(ada.patch(&chat, &json!({"title": "a\nb"})).await.status.as_u16(), 400);
        assert_eq!(ada.get("/chats?limit=0").await.status.as_u16(), 400);
        assert_eq!(ada.get(&format!("{messages}?cursor=x")).await.status.as_u16(), 400);
    }
}
