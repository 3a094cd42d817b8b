//! What a story has: an apiserver, a store, a clock, a node, and an operator that can be killed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use controller::kube_writes::{Fault, FaultPlan, NoFaults};
use controller::network::build::ApiPeer;
use controller::{Context, Install, Key, KubePoint, KubeWrites, ManualClock, Parts, Settings};
use futures::future::BoxFuture;
use protocol::{InstallationId, InstallationKey, TaskId};
use serde_json::{Value, json};
use store::{Store, TaskRow};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::apiserver::ApiServer;
use crate::node::{self, Node, Orders};

/// What is waited for comes long before: the stories share two cores, and each has an operator or two of its own.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) const NAMESPACE: &str = "team";

pub(crate) struct World {
    pub(crate) api: ApiServer,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) key: InstallationKey,
    pub(crate) orders: Orders,
    /// What all workspaces may have together.
    pub(crate) max_pods: Option<u32>,
    installation: InstallationId,
    dir: TempDir,
}

/// A running operator, and the node beside it.
pub(crate) struct Operator {
    pub(crate) ctx: Context,
    api: ApiServer,
    shutdown: CancellationToken,
    run: JoinHandle<()>,
    node: JoinHandle<()>,
    looks: watch::Receiver<u64>,
}

impl World {
    /// A workspace with one Runtime `claude` (two pods) and one Agent `reviewer`, on one node.
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new("2026-11-30T03:00:00Z".parse().unwrap()));
        let api = ApiServer::new(clock.clone());
        api.create(
            "namespaces",
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": NAMESPACE, "labels": {"mooring.dev/workspace": "enabled"}},
            }),
        );
        api.create("nodes", json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}]},
        }));
        api.create("runtimes", json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime", "metadata": {"name": "claude", "namespace": NAMESPACE},
            "spec": {"provider": "claude", "image": "agent:1", "capacity": {"maxPods": 2}},
        }));
        api.create("agents", json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "reviewer", "namespace": NAMESPACE},
            "spec": {"runtimeRefs": [{"name": "claude"}], "instructions": "Review."},
        }));
        Self {
            api,
            clock,
            key: InstallationKey::new([7; 32]),
            orders: Orders::default(),
            max_pods: None,
            installation: InstallationId(uuid::Uuid::from_u128(1)),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) async fn start(&self) -> Operator {
        self.start_with(Arc::new(NoFaults), store::Faults::default())
            .await
    }

    pub(crate) async fn start_with(
        &self,
        faults: Arc<dyn FaultPlan>,
        store_faults: store::Faults,
    ) -> Operator {
        let settings = store::Settings::Sqlite {
            path: self.dir.path().join("store.db"),
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        let store = loop {
            // The last clone of a killed operator's store goes with its last task.
            match Store::open_with(&settings, store_faults.clone()).await {
                Ok(store) => break store,
                Err(error) => assert!(Instant::now() < deadline, "the store stays locked: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let client = self.api.client();
        let ctx = Context::new(Parts {
            store: store.clone(),
            writes: KubeWrites::with_faults(client.clone(), faults),
            client,
            clock: self.clock.clone(),
            key: self.key.clone(),
            settings: Settings {
                installation: self.installation,
                ca_pem: "-----BEGIN CERTIFICATE-----\n".into(),
                install: Install {
                    image: "runner:1".into(),
                    pull_policy: None,
                    api_url: "https://mooring:8443".into(),
                },
                api_peer: ApiPeer {
                    namespace: "mooring".into(),
                    labels: [("app".into(), "mooring".into())].into(),
                    port: 8443,
                },
                max_pods: self.max_pods,
                probe: self.orders.asks(),
            },
        });
        let shutdown = CancellationToken::new();
        let run = tokio::spawn({
            let (ctx, shutdown) = (ctx.clone(), shutdown.clone());
            async move {
                controller::run(ctx, shutdown)
                    .await
                    .expect("it runs until it is stopped")
            }
        });
        let (looks, looked) = watch::channel(0);
        let node = Node {
            looks,
            api: self.api.clone(),
            store,
            key: self.key.clone(),
            clock: self.clock.clone(),
            orders: self.orders.clone(),
        };
        let node = tokio::spawn(node::live(node));
        Operator {
            ctx,
            api: self.api.clone(),
            shutdown,
            run,
            node,
            looks: looked,
        }
    }

    /// Creates an AgentTask; returns its UID.
    pub(crate) fn task(&self, name: &str, subject: &str, prompt: &str, more: Value) -> String {
        let mut spec = json!({
            "agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": subject}, "prompt": prompt,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let made = self.api.create(
            "agenttasks",
            json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
                "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
            }),
        );
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(crate) fn edit_task(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.api.edit("agenttasks", NAMESPACE, name, change);
    }

    pub(crate) fn desire(&self, name: &str, state: &str) {
        self.edit_task(name, |task| task["spec"]["desiredState"] = json!(state));
    }

    /// The condition of this type of a task, as `status reason`.
    pub(crate) fn condition(&self, task: &str, kind: &str) -> String {
        let Some(task) = self.api.get("agenttasks", NAMESPACE, task) else {
            return "gone".into();
        };
        let conditions = task["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == kind);
        let word =
            |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        found.map_or("none".into(), |found| {
            format!("{} {}", word(found, "status"), word(found, "reason"))
        })
    }

    pub(crate) async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so() {
            if Instant::now() > deadline {
                let asked: Vec<String> = self.api.asked().iter().map(ToString::to_string).collect();
                panic!(
                    "never: {what}\n{}\n{:#?}",
                    asked.join("\n"),
                    self.api.list("agenttasks")
                );
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The store's file is deleted under the operator.
    pub(crate) fn lose_store(&self) {
        std::fs::remove_file(self.dir.path().join("store.db")).unwrap();
    }

    /// Time passes, for ever: each step once operator and node have done what they can, else a busy machine would make
    /// limits of time run out.
    pub(crate) async fn let_time_pass(&self, operator: &Operator) {
        loop {
            operator.until_looked().await;
            operator.until_idle().await;
            self.pass_time(operator, 5);
        }
    }

    /// Time passes, and everything is looked at.
    pub(crate) fn pass_time(&self, operator: &Operator, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        operator.ctx.queue.add(Key::Resync);
    }
}

impl Operator {
    /// Stops in order.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.run.await.expect("the run ends");
        self.node.abort();
        let _ = self.node.await;
    }

    /// Ends at once, in the middle of whatever it does.
    pub(crate) async fn kill(self) {
        self.run.abort();
        self.node.abort();
        let _ = self.run.await;
        let _ = self.node.await;
    }

    /// The row of the task with this object UID.
    pub(crate) async fn row(&self, uid: &str) -> Option<TaskRow> {
        let task: TaskId = self.ctx.store.task_by_object(uid).await.ok()??;
        self.ctx.store.task(task).await.ok()?
    }

    pub(crate) async fn until_row(
        &self,
        what: &str,
        uid: &str,
        is_so: impl Fn(&TaskRow) -> bool,
    ) -> TaskRow {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let row = self.row(uid).await;
            if let Some(row) = row.clone().filter(|row| is_so(row)) {
                return row;
            }
            assert!(Instant::now() < deadline, "never: {what}: {row:#?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until the node has looked at all its pods, from the first to the last.
    async fn until_looked(&self) {
        let mut looks = self.looks.clone();
        let whole = *looks.borrow() + 2;
        let looked = looks.wait_for(|looks| *looks >= whole);
        let looked = tokio::time::timeout(DEADLINE, looked).await;
        looked.expect("the node looks").expect("the node lives");
    }

    /// Waits until it knows what the cluster holds, and nothing is to be looked at.
    pub(crate) async fn until_idle(&self) {
        let deadline = Instant::now() + DEADLINE;
        let mut quiet = 0;
        while quiet < 20 {
            // In this order: what it is told asks for looks.
            quiet = if self.api.has_told() && self.ctx.queue.busy() == 0 {
                quiet + 1
            } else {
                0
            };
            assert!(Instant::now() < deadline, "never idle");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Faults in the seam to the cluster: the first time that `point` is written, this happens.
pub(crate) struct KubeFault {
    point: KubePoint,
    fault: Option<Fault>,
    state: Mutex<(bool, Vec<KubePoint>)>,
    crashed: tokio::sync::watch::Sender<bool>,
}

impl KubeFault {
    /// `None` crashes.
    pub(crate) fn once(point: KubePoint, fault: Option<Fault>) -> Arc<Self> {
        let state = Mutex::new((false, Vec::new()));
        Arc::new(Self {
            point,
            fault,
            state,
            crashed: tokio::sync::watch::Sender::new(false),
        })
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.state.lock().unwrap().0
    }

    pub(crate) async fn crashed(&self) {
        let _ = self.crashed.subscribe().wait_for(|crashed| *crashed).await;
    }
}

impl FaultPlan for KubeFault {
    fn before(&self, point: KubePoint) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.state.lock().unwrap().1.push(point);
            if *self.crashed.borrow() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn after(&self, point: KubePoint) -> BoxFuture<'_, Fault> {
        Box::pin(async move {
            let fires = {
                let mut state = self.state.lock().unwrap();
                let fires = point == self.point && !state.0;
                state.0 |= fires;
                fires
            };
            match (fires, self.fault) {
                (false, _) => Fault::None,
                (true, Some(fault)) => fault,
                (true, None) => {
                    self.crashed.send_replace(true);
                    std::future::pending().await
                }
            }
        })
    }
}
