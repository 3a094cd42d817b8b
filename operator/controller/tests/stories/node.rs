//! The node: scheduler, kubelet and runner in one. It remembers nothing: what to do next follows from the
//! pod and from the store, so it survives the operator.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use controller::{Clock as _, ManualClock};
use protocol::probe::Report;
use protocol::{
    AttemptId, Credential, InstallationKey, Outcome, ProviderSession, Resumed, TaskId, TaskResult,
    TaskState, TerminationMessage, Verdict,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use store::Store;
use tokio::sync::watch;

use crate::apiserver::ApiServer;

/// What the node does not do for now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It does everything.
    #[default]
    Nothing,
    /// No runner opens its package.
    Open,
    /// No runner starts its CLI.
    Start,
    /// No runner gives a result.
    Finish,
    /// No pod ends.
    End,
    /// No pod gets a node.
    Bind,
}

/// What nodes are told; a clone is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders(Arc<Mutex<Told>>);

#[derive(Debug)]
struct Told {
    hold: Hold,
    /// What programs say of themselves.
    report: Option<String>,
    /// The image that each tag stands for.
    image: String,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            hold: Hold::Nothing,
            report: None,
            image: "x".to_owned(),
        }
    }
}

impl Orders {
    pub(crate) fn hold(&self, hold: Hold) {
        self.0.lock().unwrap().hold = hold;
    }

    /// Programs of Runtimes say this when they are asked; until then they are not.
    pub(crate) fn say(&self, report: &Report) {
        self.0.lock().unwrap().report = Some(report.to_message());
    }

    /// Whether programs are asked.
    pub(crate) fn asks(&self) -> bool {
        self.0.lock().unwrap().report.is_some()
    }

    /// What is run from now on is this image.
    pub(crate) fn run_image(&self, image: &str) {
        self.0.lock().unwrap().image = image.to_owned();
    }

    fn held(&self, hold: Hold) -> bool {
        self.0.lock().unwrap().hold == hold
    }
}

/// Changes the pod, if it still is the same one.
type Edit<'a> = dyn Fn(&dyn Fn(&mut Value)) + Sync + 'a;

/// Where the node stands.
pub(crate) struct Node {
    pub(crate) api: ApiServer,
    pub(crate) store: Store,
    pub(crate) key: InstallationKey,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) orders: Orders,
    /// How often it has looked at all its pods.
    pub(crate) looks: watch::Sender<u64>,
}

pub(crate) async fn live(node: Node) {
    loop {
        for pod in node.api.list("pods") {
            // What the store refuses now it may take at the next look.
            let _ = look(&node, &pod).await;
        }
        node.looks.send_modify(|looks| *looks += 1);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

async fn look(node: &Node, pod: &Value) -> Option<()> {
    let Node {
        api, clock, orders, ..
    } = node;
    let edit = |change: &dyn Fn(&mut Value)| api.edit_pod(pod, change);
    if pod["spec"]["nodeName"].is_null() {
        if orders.held(Hold::Bind) {
            return None;
        }
        edit(&|pod| pod["spec"]["nodeName"] = json!("node-1"));
        return None;
    }
    let is_over = !pod["status"]["phase"].is_null() && pod["status"]["phase"] != "Running";
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        if orders.held(Hold::End) {
            return None;
        }
        if !is_over {
            edit(&|pod| end(pod, 143, None));
        }
        api.remove_pod(pod);
        return None;
    }
    if pod["status"]["phase"].is_null() {
        let at = serde_json::to_value(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            clock.now(),
        ))
        .unwrap();
        let image = orders.0.lock().unwrap().image.clone();
        edit(&|pod| start(pod, &at, &image));
        return None;
    }
    if is_over {
        return None;
    }
    if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "probe" {
        let report = orders.0.lock().unwrap().report.clone();
        edit(&|pod| answer(pod, report.as_deref()));
        return None;
    }
    run(node, pod, &edit).await
}

/// The runner's next step.
async fn run(node: &Node, pod: &Value, edit: &Edit<'_>) -> Option<()> {
    let Node {
        api,
        store,
        key,
        clock,
        orders,
        looks: _,
    } = node;
    let task: TaskId = pod["metadata"]["labels"]["mooring.dev/task-id"]
        .as_str()?
        .parse()
        .ok()?;
    let number = pod["metadata"]["labels"]["mooring.dev/attempt"]
        .as_str()?
        .parse()
        .ok()?;
    let attempt = AttemptId { task, number };
    let now = clock.now();
    let row = store.task(task).await.ok()??;
    let namespace = row.object.namespace.as_str();
    if row.attempt != number || !row.state.is_active() {
        return None;
    }
    if row.state == TaskState::Claimed {
        if orders.held(Hold::Open) {
            return None;
        }
        let secret = api.get("secrets", namespace, &format!("task-{task}-a{number}"))?;
        let token = base64::engine::general_purpose::STANDARD
            .decode(secret["data"]["token"].as_str()?)
            .ok()?;
        let token = String::from_utf8(token).ok()?.into();
        let known = store
            .authenticate_token(Credential::token_hash(&token), now)
            .await
            .ok()?;
        known.filter(|known| known.attempt == attempt)?;
        store.open_package(attempt, [9; 32], now).await.ok()?;
        return None;
    }
    if row.state == TaskState::Preparing {
        if orders.held(Hold::Start) {
            return None;
        }
        store.started(attempt, now).await.ok()?;
        return None;
    }
    if orders.held(Hold::Finish) {
        return None;
    }
    let object = api.get("agenttasks", namespace, &row.object.name)?;
    let result = TaskResult {
        outcome: Outcome::Succeeded,
        output: "done".into(),
        duration_ms: 1,
        provider_session: Some(ProviderSession {
            provider: "claude".into(),
            id: format!("conversation-{task}"),
        }),
        retired_sessions: Vec::new(),
        resumed: Resumed::unknown("a story"),
        usage: std::collections::BTreeMap::new(),
        last_seq: 0,
    };
    match object["spec"]["prompt"].as_str().unwrap_or("succeed") {
        "succeed" => {
            let verdict = Verdict {
                outcome: Outcome::Succeeded,
                at: now,
                result: Some(Box::new(result)),
            };
            store.verdict(attempt, verdict, now).await.ok()?;
            if orders.held(Hold::End) {
                return None;
            }
            edit(&|pod| end(pod, 0, None));
        }
        "leave a message" => {
            let salt = store.attempt(attempt).await.ok()??.salt;
            let token = key.task_token(attempt, salt);
            let output = format!("done with {}", token.expose_secret());
            let result = TaskResult { output, ..result };
            let message = TerminationMessage { attempt, result }
                .seal(&key.mac_key(attempt, salt))
                .unwrap();
            edit(&|pod| end(pod, 0, Some(&message)));
        }
        "forge a message" => edit(&|pod| end(pod, 0, Some(r#"{"mac":"AAAA","body":"{}"}"#))),
        "crash" => edit(&|pod| end(pod, 137, None)),
        _ => {}
    }
    None
}

/// The program of a Runtime says what it is.
fn answer(pod: &mut Value, report: Option<&str>) {
    let image = pod["status"]["containerStatuses"][0]["imageID"].clone();
    end(pod, 0, report);
    let status = &mut pod["status"]["containerStatuses"][0];
    status["name"] = json!("probe");
    status["imageID"] = image;
}

fn start(pod: &mut Value, at: &Value, image: &str) {
    pod["status"] = json!({
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}],
        "initContainerStatuses": [container("install", json!({"terminated": {"exitCode": 0, "reason": "Completed"}}))],
        "containerStatuses": [container("agent", json!({"running": {"startedAt": at}}))],
    });
    pod["status"]["containerStatuses"][0]["imageID"] = json!(image);
}

fn end(pod: &mut Value, code: i32, message: Option<&str>) {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let mut state = json!({"exitCode": code, "reason": reason});
    if let Some(message) = message {
        state["message"] = json!(message);
    }
    pod["status"]["phase"] = json!(if code == 0 { "Succeeded" } else { "Failed" });
    pod["status"]["initContainerStatuses"] = json!([container(
        "install",
        json!({"terminated": {"exitCode": 0, "reason": "Completed"}})
    )]);
    pod["status"]["containerStatuses"] = json!([container("agent", json!({"terminated": state}))]);
}

fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "x", "imageID": "x", "ready": false, "restartCount": 0, "state": state})
}
