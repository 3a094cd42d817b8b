//! What an agent is told that somebody woke on an issue.

use std::sync::Arc;

use protocol::{AttemptId, TaskId, WIRE_VERSION};
use serde_json::{Value, json};

use crate::bed::{Bed, NAMESPACE, NAMESPACE_UID, NONCE, both};
use crate::board::{Voice, claim, text};

const MENTION: &str = "[Reviewer](mention://agent/reviewer) have a look";

/// What stands in the description.
pub(crate) const DESCRIPTION: &str = "behind the third door";

/// The task that a comment queued.
fn queued(posted: &Value) -> TaskId {
    text(&posted["wakes"][0]["task"]).parse().unwrap()
}

/// The object that the controller makes for such a task, bound to it.
pub(crate) async fn give_object(bed: &Bed, task: TaskId, issue: &str, comment: &Value) {
    let uid = uuid::Uuid::now_v7().to_string();
    let name = bed.task(task).await.object.name;
    let object = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid},
        "spec": {
            "agentRef": {"name": "reviewer"}, "subject": {"kind": "Issue", "name": issue},
            "cause": {"kind": "Comment", "issue": issue, "comment": comment},
        },
    });
    let object = Arc::new(serde_json::from_value(object).unwrap());
    bed.cluster.tasks.lock().unwrap().insert(name, object);
    bed.store.bind_object(task, &uid).await.unwrap();
}

/// A person mentions the agent on an issue; its task is claimed and has its object.
pub(crate) async fn woken(bed: &Bed, ada: &Voice) -> (String, Value, AttemptId) {
    let issue = json!({"title": "The leak", "description": DESCRIPTION});
    let saved = ada.post("/issues", &issue).await.ok();
    let issue = text(&saved["issue"]["key"]);
    let path = format!("/issues/{issue}/comments");
    let posted = ada.post(&path, &json!({"body": MENTION})).await.ok();
    let task = queued(&posted);
    give_object(bed, task, &issue, &posted["comment"]["id"]).await;
    let attempt = claim(bed, NAMESPACE_UID, task).await;
    (issue, posted["comment"].clone(), attempt)
}

pub(crate) async fn open(bed: &Bed, attempt: AttemptId) -> Value {
    let asking = json!({"nonce": NONCE, "wireVersion": WIRE_VERSION});
    let token = bed.token(attempt).await;
    bed.post("open", &token, &asking).await.ok()["package"].clone()
}

both! {
    async fn it_gets_the_comment_and_neither_description_nor_history(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (issue, comment, attempt) = woken(&bed, &ada).await;
        let package = open(&bed, attempt).await;
        let cause = &package["cause"];
        assert_eq!(package["prompt"], "");
        assert_eq!(package["subject"], json!({"kind": "Issue", "name": issue}));
        assert_eq!((&cause["issue"], &cause["title"]), (&json!(issue), &json!("The leak")));
        assert_eq!((&cause["kind"], &cause["originator"]), (&json!("comment"), &json!("ada")));
        assert_eq!(cause["comment"]["body"], MENTION);
        assert_eq!(cause["replyTo"], comment["thread"]);
        assert_eq!((&cause["unchanged"], &cause["lastRun"]), (&json!(false), &Value::Null));
        let whole = package.to_string();
        assert!(!whole.contains("behind the third door"), "{whole}");
        println!("the package of a task that a comment woke: {} bytes", whole.len());
        assert!(whole.len() < 4096, "{} bytes: {whole}", whole.len());

        let agent = Voice::agent(&bed, attempt).await;
        let shown = bed.get(&format!("/api/v1/tasks/{}", attempt.task), &bed.token(attempt).await).await.ok();
        assert_eq!(&shown["cause"], cause);
        let read = agent.get(&format!("/issues/{issue}")).await.ok();
        assert_eq!(read["description"], "behind the third door");
    }

    async fn what_is_said_until_the_package_is_open_is_in_it(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (issue, comment, attempt) = woken(&bed, &ada).await;
        let path = format!("/issues/{issue}/comments");
        let reply = |body: &str| json!({"body": body, "parent": comment["id"]});
        let second = ada.post(&path, &reply("and the roof")).await.ok();
        assert_eq!(second["wakes"][0]["outcome"], "coalesced");
        let package = open(&bed, attempt).await;
        let cause = &package["cause"];
        assert_eq!(cause["comment"]["id"], second["comment"]["id"]);
        assert_eq!(cause["coalesced"][0]["id"], comment["id"]);

        let third = ada.post(&path, &reply("and the cellar")).await.ok();
        assert_eq!(third["wakes"][0]["outcome"], "queued");
        assert_ne!(queued(&third), attempt.task);
        assert_eq!(open(&bed, attempt).await["cause"]["comment"], cause["comment"]);
    }
}
