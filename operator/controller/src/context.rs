//! What every pass is given.

use std::sync::Arc;

use kube::Client;
use protocol::{InstallationId, InstallationKey, TaskId};

use crate::claimer;
use crate::clock::Clock;
use crate::events::Recorder;
use crate::kube_writes::KubeWrites;
use crate::memory::Memory;
use crate::network::build::ApiPeer;
use crate::read_only::ReadOnly;
use crate::task::build::Install;
use crate::turns::{self, Turns};
use crate::watch::Caches;
use crate::work::Queue;

/// What has a pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An AgentTask that is to be entered, or that is gone.
    Object {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// A task of the store.
    Task(TaskId),
    /// The queue of a Runtime.
    Lane(LaneKey),
    /// A Runtime.
    Runtime {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An Agent.
    Agent {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An AgentTeam.
    Team {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Whose turn it is where workspaces share something.
    Turns,
    /// The `AgentQuota` of a namespace.
    Quota(String),
    /// An `AgentSchedule`.
    Schedule {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An `AgentWebhook`.
    Webhook {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// What webhooks have delivered.
    Deliveries,
    /// A namespace that became a workspace, or ceased to be one.
    Namespace(String),
    /// Everything that is open in the store.
    Resync,
}

/// A Runtime of a namespace, as a place where tasks wait to be claimed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaneKey {
    /// The namespace's name.
    pub namespace: String,
    /// The Runtime's name.
    pub runtime: String,
}

/// What does not change while the operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The installation that store and cluster have in common.
    pub installation: InstallationId,
    /// Certificate of the CA that signed the API's certificate, PEM.
    pub ca_pem: String,
    /// What all pods have in common.
    pub install: Install,
    /// Where pods find the API.
    pub api_peer: ApiPeer,
    /// Pods that all workspaces may have together; none for as many as their own limits allow.
    pub max_pods: Option<u32>,
    /// Whether the programs of Runtimes are asked for their versions, each by a pod of its own.
    pub probe: bool,
}

/// What every pass is given. A clone is the same.
#[derive(Clone)]
pub struct Context {
    /// The truth about tasks.
    pub store: store::Store,
    /// For the few reads that the watch caches cannot answer.
    pub client: Client,
    /// The only way to write to the cluster.
    pub writes: KubeWrites,
    /// What the cluster holds.
    pub caches: Caches,
    /// What has to be looked at.
    pub queue: Arc<Queue<Key>>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Kubernetes Events.
    pub events: Recorder,
    /// From which credentials are derived.
    pub key: InstallationKey,
    /// What does not change.
    pub settings: Arc<Settings>,
    /// Whether anything may be written; the seam for writes looks at it too.
    pub read_only: ReadOnly,
    /// What was seen and cannot be seen again.
    pub memory: Arc<Memory>,
    /// Lanes that want a turn where something is shared.
    pub turns: Arc<Turns>,
    /// One pass at a time makes network policies; the others then find them made.
    pub(crate) policies: Arc<tokio::sync::Mutex<()>>,
}

/// What a [`Context`] is made from.
pub struct Parts {
    /// The open store.
    pub store: store::Store,
    /// A client made with `default_retry = false`.
    pub client: Client,
    /// The seam for writes; [`KubeWrites::new`] with the same client.
    pub writes: KubeWrites,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// From which credentials are derived.
    pub key: InstallationKey,
    /// What does not change.
    pub settings: Settings,
}

impl Context {
    /// Puts it together. The caches are filled by [`crate::run`].
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts {
            store,
            client,
            writes,
            clock,
            key,
            settings,
        } = parts;
        Self {
            store,
            client,
            events: Recorder::new(writes.clone(), Arc::clone(&clock)),
            read_only: writes.read_only().clone(),
            writes,
            caches: Caches::default(),
            queue: Arc::default(),
            clock,
            key,
            settings: Arc::new(settings),
            memory: Arc::default(),
            turns: Arc::default(),
            policies: Arc::default(),
        }
    }

    /// Asks for a pass of a task.
    pub fn look_at(&self, task: TaskId) {
        self.queue.add(Key::Task(task));
    }

    /// Asks for a claim in a lane: at once, or in turn where it shares something.
    pub fn claim_in(&self, namespace: &str, runtime: &str) {
        let lane = LaneKey {
            namespace: namespace.to_owned(),
            runtime: runtime.to_owned(),
        };
        if claimer::is_shared(self, namespace) {
            turns::ask(self, &lane);
        } else {
            self.queue.add(Key::Lane(lane));
        }
    }
}
