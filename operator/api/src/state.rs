//! What every handler is given.

use std::sync::Arc;

use crds::{Agent, AgentSchedule, AgentTask, AgentTeam, AgentWebhook, Runtime, Skill};
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use protocol::InstallationKey;
use store::{Files, Store};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::held::Held;
use crate::limits::{Limits, Slots};
use crate::live::Hub;
use crate::metrics::Metrics;
use crate::people::Authority;
use crate::readiness::Readiness;
use crate::reviews::Reviews;
use crate::rights::Rights;

/// What the cluster defines, as far as it is known now. Answers at once: it is asked within requests.
pub trait Definitions: Send + Sync + 'static {
    /// False until everything was listed once: what is not known yet looks as if it were not there.
    fn is_complete(&self) -> bool;
    /// The AgentTask of this name.
    fn task(&self, namespace: &str, name: &str) -> Option<Arc<AgentTask>>;
    /// The Agent of this name.
    fn agent(&self, namespace: &str, name: &str) -> Option<Arc<Agent>>;
    /// The Runtime of this name.
    fn runtime(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>>;
    /// The Agents of a namespace by name, `most` of them that come after `after`; nothing comes before the
    /// empty name.
    fn agents(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Agent>>;
    /// The AgentTeam of this name.
    fn team(&self, namespace: &str, name: &str) -> Option<Arc<AgentTeam>>;
    /// Each AgentTeam of a namespace, as [`Definitions::agents`].
    fn teams(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentTeam>>;
    /// Whether agents of a workspace are woken only where a person is at the top of the chain of causes.
    fn requires_originator(&self, namespace: &str) -> bool;
    /// Tasks that may wait in a workspace; none for no limit.
    fn max_queued(&self, namespace: &str) -> Option<u32>;
    /// The Skill of this name.
    fn skill(&self, namespace: &str, name: &str) -> Option<Arc<Skill>>;
    /// The Skills of a namespace, as [`Definitions::agents`].
    fn skills(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Skill>>;
    /// The `AgentWebhook` of this name.
    fn webhook(&self, namespace: &str, name: &str) -> Option<Arc<AgentWebhook>>;
    /// The `AgentWebhooks` of a namespace, as [`Definitions::agents`].
    fn webhooks(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentWebhook>>;
    /// The `AgentSchedule` of this name.
    fn schedule(&self, namespace: &str, name: &str) -> Option<Arc<AgentSchedule>>;
    /// The `AgentSchedules` of a namespace, as [`Definitions::agents`].
    fn schedules(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentSchedule>>;
    /// The Runtimes of a namespace, as [`Definitions::agents`].
    fn runtimes(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Runtime>>;
    /// UID of a namespace that is a workspace: one that is labelled so.
    fn workspace(&self, namespace: &str) -> Option<String>;
}

/// Tells the time, in whole microseconds.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Whether tasks are served.
#[derive(Clone, Debug)]
pub enum Mode {
    /// They are; credentials are derived from this key.
    Serving(InstallationKey),
    /// They are not: store and cluster do not belong together, and runners are told to come back later.
    /// Refusing their credentials instead would end their runs.
    ReadOnly,
}

/// What an [`ApiState`] is made from.
pub struct Parts {
    /// The open store.
    pub store: Store,
    /// Whether tasks are served.
    pub mode: Mode,
    /// What the cluster defines.
    pub definitions: Arc<dyn Definitions>,
    /// Where the contents of attachments are; without it none are taken.
    pub files: Option<Files>,
    /// Who people are and what they may do.
    pub authority: Arc<dyn Authority>,
    /// What time it is.
    pub now: Now,
    /// What `/readyz` tells, beside the state of the store.
    pub readiness: Readiness,
    /// What `/metrics` tells, under a prefix of its own; the server adds its numbers.
    pub registry: Registry,
    /// Limits; the default unless a test wants others.
    pub limits: Limits,
    /// Cancelled when the server is to stop: held requests are answered then.
    pub shutdown: CancellationToken,
}

/// What every handler is given. A clone is the same.
#[derive(Clone)]
pub struct ApiState(pub(crate) Shared);

/// The same, as the crate sees it.
pub(crate) type Shared = Arc<Inner>;

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) mode: Mode,
    pub(crate) definitions: Arc<dyn Definitions>,
    pub(crate) files: Option<Files>,
    pub(crate) authority: Arc<dyn Authority>,
    pub(crate) reviews: Reviews,
    pub(crate) rights: Rights,
    pub(crate) now: Now,
    pub(crate) readiness: Readiness,
    pub(crate) registry: Registry,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) slots: Arc<Slots>,
    pub(crate) held: Arc<Held>,
    pub(crate) live: Arc<Hub>,
    pub(crate) shutdown: CancellationToken,
}

impl ApiState {
    /// Puts it together, and follows the changes of the store from now on until the shutdown. Has to be
    /// called within a runtime.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts {
            store,
            mode,
            definitions,
            files,
            authority,
            now,
            readiness,
            mut registry,
            limits,
            shutdown,
        } = parts;
        let metrics = Metrics::new(&mut registry);
        let held = Arc::new(Held::default());
        tokio::spawn(
            shutdown
                .clone()
                .run_until_cancelled_owned(Arc::clone(&held).follow(store.changes())),
        );
        let live = Arc::new(Hub::default());
        let follow = Arc::clone(&live).run(store.clone(), store.live());
        tokio::spawn(shutdown.clone().run_until_cancelled_owned(follow));
        let slots = Arc::new(Slots::default());
        let reviews = Reviews::new(Arc::clone(&authority), Arc::clone(&slots), limits);
        let inner = Inner {
            store,
            mode,
            definitions,
            files,
            rights: Rights::new(Arc::clone(&authority), limits.cluster_answer),
            authority,
            reviews,
            now,
            readiness,
            registry,
            metrics,
            limits,
            slots,
            held,
            live,
            shutdown,
        };
        Self(Arc::new(inner))
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// The key of the installation, which only exists where tasks are served.
    pub(crate) fn key(&self) -> Result<&InstallationKey, Failure> {
        match &self.mode {
            Mode::Serving(key) => Ok(key),
            Mode::ReadOnly => Err(Failure::unavailable(
                "no task is served: store and cluster do not belong together; /readyz says more",
            )),
        }
    }
}
