//! What the cluster holds, followed by watches, and which keys each change asks a pass for.

mod cache;
mod routes;

use std::pin::pin;

use crds::{
    Agent, AgentQuota, AgentSchedule, AgentSession, AgentTask, AgentTeam, AgentWebhook, Runtime,
    Skill, labels,
};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::PartialObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

pub use cache::{Cache, Seen};
pub(crate) use routes::object_key;

use crate::context::{Context, Key};

/// A namespace, of which only its metadata is of interest.
pub type NamespaceMeta = PartialObjectMeta<Namespace>;

/// The watch caches.
#[derive(Clone, Default)]
pub struct Caches {
    /// Every AgentTask.
    pub tasks: Cache<AgentTask>,
    /// Every Agent.
    pub agents: Cache<Agent>,
    /// Every AgentTeam.
    pub teams: Cache<AgentTeam>,
    /// Every `AgentSchedule`.
    pub schedules: Cache<AgentSchedule>,
    /// Every `AgentWebhook`.
    pub webhooks: Cache<AgentWebhook>,
    /// Every Runtime.
    pub runtimes: Cache<Runtime>,
    /// Every Skill.
    pub skills: Cache<Skill>,
    /// Every `AgentQuota`.
    pub quotas: Cache<AgentQuota>,
    /// Every AgentSession.
    pub sessions: Cache<AgentSession>,
    /// Pods of ours.
    pub pods: Cache<Pod>,
    /// Volume claims of ours.
    pub claims: Cache<PersistentVolumeClaim>,
    /// Metadata of every namespace.
    pub namespaces: Cache<NamespaceMeta>,
    /// Every node, its conditions and taints.
    pub nodes: Cache<Node>,
    /// Network policies of ours.
    pub policies: Cache<NetworkPolicy>,
}

impl Caches {
    /// Waits until everything was listed once.
    pub async fn ready(&self) {
        tokio::join!(
            self.tasks.ready(),
            self.agents.ready(),
            self.teams.ready(),
            self.schedules.ready(),
            self.webhooks.ready(),
            self.runtimes.ready(),
            self.quotas.ready(),
            self.skills.ready(),
            self.sessions.ready(),
            self.pods.ready(),
            self.claims.ready(),
            self.namespaces.ready(),
            self.nodes.ready(),
            self.policies.ready(),
        );
    }
}

/// Starts all watches. They end when the set is dropped.
pub fn start(ctx: &Context) -> JoinSet<()> {
    let (client, caches) = (&ctx.client, &ctx.caches);
    let mut watches = JoinSet::new();
    let everything = Config::default;
    let ours = || Config::default().labels(&format!("{}={}", labels::MANAGED_BY, labels::MANAGER));

    let on = &mut watches;
    add(on, ctx, everything(), &caches.tasks, routes::task);
    add(on, ctx, everything(), &caches.agents, routes::agent);
    add(on, ctx, everything(), &caches.teams, routes::team);
    add(on, ctx, everything(), &caches.runtimes, routes::runtime);
    add(on, ctx, everything(), &caches.schedules, routes::schedule);
    add(on, ctx, everything(), &caches.webhooks, routes::webhook);
    add(on, ctx, everything(), &caches.quotas, routes::quota);
    add(on, ctx, everything(), &caches.skills, routes::skill);
    add(on, ctx, everything(), &caches.sessions, |_, _| {});
    add(on, ctx, ours(), &caches.pods, routes::pod);
    add(on, ctx, ours(), &caches.claims, |_, _| {});
    add(on, ctx, ours(), &caches.policies, routes::policy);
    watches.spawn(follow(
        ctx.clone(),
        whole(client, everything()),
        caches.nodes.clone(),
        trim_node,
        routes::node,
    ));
    let namespaces =
        watcher(Api::<NamespaceMeta>::all(client.clone()), everything()).map_ok(guarded);
    watches.spawn(follow(
        ctx.clone(),
        namespaces,
        caches.namespaces.clone(),
        |_| {},
        routes::namespace,
    ));
    watches
}

/// Follows a kind as it is.
fn add<K>(
    watches: &mut JoinSet<()>,
    ctx: &Context,
    config: Config,
    cache: &Cache<K>,
    on: fn(&Context, &Seen<K>),
) where
    K: Resource<DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    let events = whole(&ctx.client, config);
    watches.spawn(follow(ctx.clone(), events, cache.clone(), |_| {}, on));
}

fn whole<K>(
    client: &Client,
    config: Config,
) -> impl Stream<Item = watcher::Result<Event<DeserializeGuard<K>>>> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    watcher(Api::<DeserializeGuard<K>>::all(client.clone()), config)
}

fn guarded<K>(event: Event<K>) -> Event<DeserializeGuard<K>> {
    match event {
        Event::Apply(object) => Event::Apply(DeserializeGuard(Ok(object))),
        Event::Delete(object) => Event::Delete(DeserializeGuard(Ok(object))),
        Event::InitApply(object) => Event::InitApply(DeserializeGuard(Ok(object))),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

async fn follow<K>(
    ctx: Context,
    events: impl Stream<Item = watcher::Result<Event<DeserializeGuard<K>>>> + Send,
    cache: Cache<K>,
    trim: fn(&mut K),
    on: fn(&Context, &Seen<K>),
) where
    K: Resource<DynamicType = ()>,
{
    let kind = K::kind(&());
    let mut events = pin!(events.default_backoff());
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%kind, error = &error as &dyn std::error::Error, "a watch broke; it is taken up again");
                continue;
            }
        };
        if let Event::Delete(DeserializeGuard(Err(invalid))) = &event {
            cache.forget(&invalid.metadata);
            // Who asked for it is not known without reading it.
            ctx.queue.add(Key::Resync);
            continue;
        }
        let Some(event) = readable(event, &cache, &kind) else {
            continue;
        };
        let event = event.modify(|object| {
            object.meta_mut().managed_fields = None;
            trim(object);
        });
        for seen in cache.apply(event) {
            on(&ctx, &seen);
        }
    }
}

/// The event, unless its object cannot be read: one such object must neither stop the watch nor look gone.
fn readable<K: Resource>(
    event: Event<DeserializeGuard<K>>,
    cache: &Cache<K>,
    kind: &str,
) -> Option<Event<K>> {
    let (guard, made): (_, fn(K) -> Event<K>) = match event {
        Event::Init => return Some(Event::Init),
        Event::InitDone => return Some(Event::InitDone),
        Event::Apply(guard) => (guard, Event::Apply),
        Event::InitApply(guard) => (guard, Event::InitApply),
        Event::Delete(guard) => (guard, Event::Delete),
    };
    match guard.0 {
        Ok(object) => Some(made(object)),
        Err(invalid) => {
            let (namespace, name) = (&invalid.metadata.namespace, &invalid.metadata.name);
            tracing::warn!(%kind, ?namespace, ?name, error = %invalid.error, "an object cannot be read and is left alone");
            cache.unreadable(&invalid.metadata);
            None
        }
    }
}

/// Of a node its conditions and taints are of interest; its list of images is long.
fn trim_node(node: &mut Node) {
    if let Some(status) = &mut node.status {
        status.images = None;
        status.volumes_attached = None;
        status.volumes_in_use = None;
    }
}
