//! Short words for the tests of the board: who calls, and what there is.

use axum::body::Body;
use http::Method;
use protocol::{AttemptId, SessionPolicy, Subject, TaskId};
use serde_json::{Value, json};
use store::{Lane, LaneAgent, NewTask, SessionKey, TaskObject};
use uuid::Uuid;

use crate::bed::{Answer, Bed, NAMESPACE, NAMESPACE_UID};

/// Everything that a person can be allowed.
pub(crate) const RIGHTS: [(&str, &str); 42] = [
    ("get", "chats"),
    ("list", "chats"),
    ("create", "chats"),
    ("patch", "chats"),
    ("get", "attachments"),
    ("list", "attachments"),
    ("create", "attachments"),
    ("delete", "attachments"),
    ("get", "projects"),
    ("list", "projects"),
    ("create", "projects"),
    ("patch", "projects"),
    ("delete", "projects"),
    ("get", "issues"),
    ("list", "issues"),
    ("create", "issues"),
    ("patch", "issues"),
    ("list", "comments"),
    ("create", "comments"),
    ("patch", "comments"),
    ("delete", "comments"),
    ("get", "tasks"),
    ("get", "rawlogs"),
    ("list", "tasks"),
    ("create", "tasks"),
    ("patch", "tasks"),
    ("list", "agents"),
    ("list", "agentteams"),
    ("get", "agentteams"),
    ("list", "skills"),
    ("get", "skills"),
    ("list", "agentschedules"),
    ("get", "agentschedules"),
    ("list", "agentwebhooks"),
    ("get", "agentwebhooks"),
    ("list", "runtimes"),
    ("get", "runtimes"),
    ("list", "members"),
    ("list", "inboxes"),
    ("list", "approvals"),
    ("get", "approvals"),
    ("approve", "approvals"),
];

/// One caller.
#[derive(Clone)]
pub(crate) struct Voice {
    bed: Bed,
    credential: Option<String>,
}

impl Voice {
    /// A person who may do everything here.
    pub(crate) async fn person(bed: &Bed, user: &str) -> Self {
        for (verb, resource) in RIGHTS {
            bed.people.allow(user, verb, resource);
        }
        for verb in ["patch", "delete"] {
            bed.people.allow(user, verb, "inboxes");
        }
        Self::holding(bed, Some(bed.person(user).await))
    }

    /// A person who may look at everything and change nothing.
    pub(crate) async fn reader(bed: &Bed, user: &str) -> Self {
        for (verb, resource) in RIGHTS {
            if matches!(verb, "get" | "list") {
                bed.people.allow(user, verb, resource);
            }
        }
        Self::holding(bed, Some(bed.person(user).await))
    }

    /// The agent of an attempt.
    pub(crate) async fn agent(bed: &Bed, attempt: AttemptId) -> Self {
        Self::holding(bed, Some(bed.token(attempt).await))
    }

    pub(crate) fn holding(bed: &Bed, credential: Option<String>) -> Self {
        Self {
            bed: bed.clone(),
            credential,
        }
    }

    /// Calls a route of the workspace.
    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        self.call_in(NAMESPACE, method, path, body).await
    }

    pub(crate) async fn call_in(
        &self,
        workspace: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Answer {
        let path = format!("/api/v1/workspaces/{workspace}{path}");
        self.at(method, &path, body).await
    }

    /// Calls any route.
    pub(crate) async fn at(&self, method: Method, path: &str, body: &Value) -> Answer {
        let body = match body.is_null() {
            true => Body::empty(),
            false => body.to_string().into(),
        };
        let credential = self.credential.as_deref();
        self.bed.call(method, path, credential, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, &Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::PATCH, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, &Value::Null).await
    }

    /// Makes an issue and says its key.
    pub(crate) async fn issue(&self, title: &str) -> String {
        let saved = self.post("/issues", &json!({"title": title})).await.ok();
        text(&saved["issue"]["key"])
    }

    /// Writes a comment and says its id.
    pub(crate) async fn comment(&self, key: &str, body: &str) -> String {
        let path = format!("/issues/{key}/comments");
        let posted = self.post(&path, &json!({"body": body})).await.ok();
        text(&posted["comment"]["id"])
    }

    /// The id that mentions of this person point to.
    pub(crate) async fn member(&self, user: &str) -> String {
        let members = self.get("/members").await.ok();
        let found = items(&members)
            .into_iter()
            .find(|member| member["user"] == user)
            .unwrap();
        text(&found["id"])
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn items(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap().clone()
}

/// Status, code and message of a refusal.
pub(crate) fn said(answer: &Answer) -> (u16, String, String) {
    let (status, code) = answer.refusal();
    (status, code, text(&answer.json()["error"]["message"]))
}

/// A claimed task about an issue, as a task is that was born from it.
pub(crate) async fn working_on(bed: &Bed, key: &str) -> AttemptId {
    let task = enter(bed, NAMESPACE, NAMESPACE_UID, "Issue", key).await;
    claim(bed, NAMESPACE_UID, task).await
}

/// Enters a task.
pub(crate) async fn enter(
    bed: &Bed,
    namespace: &str,
    namespace_uid: &str,
    kind: &str,
    name: &str,
) -> TaskId {
    let uid = Uuid::now_v7().to_string();
    let task = NewTask {
        object: TaskObject {
            namespace: namespace.to_owned(),
            namespace_uid: namespace_uid.to_owned(),
            name: format!("task-{uid}"),
            uid: Some(uid),
            spec_hash: "abc".to_owned(),
        },
        session: SessionKey {
            namespace_uid: namespace_uid.to_owned(),
            agent: "reviewer".to_owned(),
            subject: Subject {
                kind: kind.to_owned(),
                name: name.to_owned(),
            },
        },
        priority: 0,
        policy: SessionPolicy::Resume,
        created_at: bed.now(),
        deadline_seconds: None,
        suspended: false,
        prompt: None,
        fire_at: None,
    };
    bed.store.enter(task).await.unwrap().task
}

/// Claims the task that is next.
pub(crate) async fn claim(bed: &Bed, namespace_uid: &str, task: TaskId) -> AttemptId {
    let lane = Lane {
        namespace_uid: namespace_uid.to_owned(),
        runtime: "claude".to_owned(),
        provider: "claude".to_owned(),
        max_pods: 100,
        agents: vec![LaneAgent {
            name: "reviewer".to_owned(),
            max_concurrent: 100,
        }],
        share: store::Share::default(),
    };
    let claimed = bed.store.claim_next(&lane, &bed.key, bed.now()).await;
    let attempt = claimed.unwrap().unwrap().attempt;
    assert_eq!(attempt.task, task);
    attempt
}
