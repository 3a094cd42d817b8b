//! Objects for unit tests, as a person would have typed them.

use std::sync::Arc;

use crds::names::session_name;
use crds::{AgentTask, Runtime};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use protocol::{
    AttemptId, InstallationId, Salt, SessionId, SessionPolicy, Subject, TaskId, TaskState,
};
use serde_json::json;
use store::{AttemptRow, Holder, SessionKey, SessionRow, TaskObject, TaskRow};

use crate::catalog::Standing;
use crate::task::failure::NodeHealth;
use crate::task::observe::{Object, References, Seen};

/// A Runtime of this name that asks for nothing special.
pub(crate) fn runtime(name: &str) -> Runtime {
    let object = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime",
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "generation": 1},
        "spec": {"provider": "claude", "image": "agent:1"},
    });
    serde_json::from_value(object).unwrap()
}

/// The installation of every fixture.
pub(crate) fn installation() -> InstallationId {
    "00000000-0000-4000-8000-00000000000f".parse().unwrap()
}

/// An attempt whose pod was recorded and whose agent has begun.
fn attempt(id: AttemptId, session: SessionId, at: Timestamp) -> AttemptRow {
    AttemptRow {
        id,
        session,
        salt: Salt([1; 16]),
        runtime: "claude".to_owned(),
        provider: "claude".to_owned(),
        claimed_at: at,
        opened_at: Some(at),
        started_at: Some(at),
        ended_at: None,
        end_reason: None,
        pod_uid: Some("pod-uid".to_owned()),
        node: Some("node-1".to_owned()),
        pod_absent_since: None,
        claim_uid: Some("claim-uid".to_owned()),
        secret_gone: false,
        last_contact_at: Some(at),
        events: 0,
        event_bytes: 0,
        left_out: 0,
    }
}

/// A task that runs: its first attempt holds the session and has a pod on `node-1`.
pub(crate) fn running() -> Seen {
    let at = Timestamp::from_second(1_000).unwrap();
    let task = TaskId(uuid::Uuid::from_u128(7));
    let session = SessionId(uuid::Uuid::from_u128(8));
    let id = AttemptId { task, number: 1 };
    let object = TaskObject {
        namespace: "team".to_owned(),
        namespace_uid: "namespace-uid".to_owned(),
        name: "hello-1".to_owned(),
        uid: Some("task-uid".to_owned()),
        spec_hash: String::new(),
    };
    let subject = Subject {
        kind: "Key".to_owned(),
        name: "hello".to_owned(),
    };
    Seen {
        row: TaskRow {
            id: task,
            object,
            agent: "reviewer".to_owned(),
            session,
            priority: 0,
            policy: SessionPolicy::Resume,
            state: TaskState::Running,
            attempt: 1,
            created_at: at,
            deadline_at: None,
            suspended_at: None,
            held: false,
            fire_at: None,
            deferred: false,
            verdict: None,
            late_results: Vec::new(),
            resumed: None,
            closed_at: None,
        },
        attempts: vec![attempt(id, session, at)],
        session: SessionRow {
            id: session,
            key: SessionKey {
                namespace_uid: "namespace-uid".to_owned(),
                agent: "reviewer".to_owned(),
                subject,
            },
            namespace: "team".to_owned(),
            holder: Some(Holder {
                attempt: id,
                runtime: "claude".to_owned(),
                since: at,
            }),
            claim_generation: 1,
            claim_uid: Some("claim-uid".to_owned()),
            pointer: None,
            retired: Vec::new(),
            last_node: None,
            last_used_at: None,
            runs: 1,
            waits: false,
        },
        session_name: session_name("reviewer", "Key", "hello", "namespace-uid").unwrap(),
        object: Object::There(Arc::new(task_object())),
        cause: None,
        standing: Standing::Workspace,
        agent: None,
        references: References::Found,
        may_ask: true,
        runtime: Some(Arc::new(runtime("claude"))),
        pod: None,
        pod_deletion: None,
        last_sight: None,
        node: NodeHealth::Ready,
        nodes: Vec::new(),
        session_object: None,
        awaited_tools: Vec::new(),
        waiting: None,
        sealed: None,
    }
}

/// The object of [`running`].
pub(crate) fn task_object() -> AgentTask {
    serde_json::from_value(json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
        "metadata": {"name": "hello-1", "namespace": "team", "uid": "task-uid", "generation": 1},
        "spec": {"agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": "hello"}, "prompt": "p"},
    }))
    .unwrap()
}

/// A node of this name, ready or not since this second, with these taints.
pub(crate) fn node(name: &str, ready: &str, since: i64, taints: &[&str]) -> Node {
    let taints: Vec<_> = taints
        .iter()
        .map(|key| json!({"key": key, "effect": "NoExecute"}))
        .collect();
    let since = Timestamp::from_second(since).unwrap();
    serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": since}]},
    }))
    .unwrap()
}
