//! Waiting for conditions, always with a deadline. Objects are watched; what cannot be watched is looked at often.

use std::fmt::{Debug, Display};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use crds::AgentTask;
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::objects;

/// Long enough for anything that one pod does, unless a test says otherwise.
pub const USUAL: Duration = Duration::from_secs(45);
/// How often a thing that cannot be watched is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// More changes than any story makes; a test that reaches it is broken.
const MOST_CHANGES: usize = 100_000;

/// What a watch can be kept on.
pub trait Watchable:
    Resource<DynamicType: Default>
    + Clone
    + DeserializeOwned
    + Serialize
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Watchable for K where
    K: Resource<DynamicType: Default>
        + Clone
        + DeserializeOwned
        + Serialize
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// Watches one object until `look` finds in it what it looks for; it gets `None` while there is no such object.
///
/// # Errors
/// When that does not happen in time; the message shows the object as it was last.
pub async fn object<K: Watchable, T>(
    api: &Api<K>,
    name: &str,
    what: &str,
    limit: Duration,
    mut look: impl FnMut(Option<&K>) -> Option<T>,
) -> Result<T> {
    let (mut last, mut trouble) = (None, None);
    // Boxed: a watch is large, and stories wait often.
    let watched = Box::pin(async {
        let mut states = pin!(watcher::watch_object(api.clone(), name).default_backoff());
        while let Some(state) = states.next().await {
            // The stream comes back by itself after an error.
            let state = match state {
                Ok(state) => state,
                Err(error) => {
                    trouble = Some(error);
                    continue;
                }
            };
            let found = look(state.as_ref());
            last = state;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        bail!("the watch ended")
    });
    match tokio::time::timeout(limit, watched).await {
        Ok(found) => found.with_context(|| format!("watch {name}: {what}")),
        Err(_) => {
            let shown = last.map_or_else(
                || Ok("there is none".to_owned()),
                |object| serde_yaml::to_string(&object),
            );
            let trouble = trouble.map(|error| format!("\nthe watch failed: {error}"));
            bail!(
                "not within {limit:?}: {name}: {what}\n{}{}",
                shown?,
                trouble.unwrap_or_default()
            )
        }
    }
}

/// Asks again and again, for conditions that no watch tells.
///
/// # Errors
/// When the answer is an error, or does not come in time.
pub async fn polled<T>(
    what: impl Display,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let mut turn = tokio::time::interval(LOOK);
    let answer = tokio::time::timeout(limit, async {
        loop {
            turn.tick().await;
            if let Some(found) = look().await? {
                return Ok(found);
            }
        }
    });
    match answer.await {
        Ok(found) => found,
        Err(_) => bail!("not within {limit:?}: {what}"),
    }
}

/// One change of an object, and when it was seen here.
#[derive(Clone, Debug)]
pub struct Seen<K> {
    /// For durations.
    pub at: Instant,
    /// For comparing with what others wrote down.
    pub time: Timestamp,
    /// True for the last sight of an object: it is gone.
    pub gone: bool,
    /// The object.
    pub object: K,
}

/// Everything that happened to the objects of one kind since the record was started.
#[derive(Debug)]
pub struct Record<K> {
    seen: Arc<Mutex<Vec<Seen<K>>>>,
    changed: watch::Receiver<usize>,
    writer: JoinHandle<()>,
}

impl<K> Drop for Record<K> {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

impl<K: Watchable> Record<K> {
    /// Starts to watch; returns once what is there has been seen.
    ///
    /// # Errors
    /// When the first list does not come.
    pub async fn start(api: Api<K>) -> Result<Self> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (change, changed) = watch::channel(0);
        let (ready, listed) = tokio::sync::oneshot::channel();
        let writer = tokio::spawn(write(api, Arc::clone(&seen), change, ready));
        tokio::time::timeout(USUAL, listed)
            .await
            .context("no first list")??;
        Ok(Self {
            seen,
            changed,
            writer,
        })
    }

    /// All changes so far, oldest first.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen<K>> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until `look` finds in all changes what it looks for.
    ///
    /// # Errors
    /// When that does not happen in time; the message shows the last change.
    pub async fn until<T>(
        &self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut(&[Seen<K>]) -> Option<T>,
    ) -> Result<T> {
        let mut changed = self.changed.clone();
        let found = tokio::time::timeout(limit, async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = look(&self.seen()) {
                    return Ok(found);
                }
                changed.changed().await.context("the watch ended")?;
            }
        });
        if let Ok(found) = found.await {
            return found;
        }
        let last = self
            .seen()
            .pop()
            .map(|seen| serde_yaml::to_string(&seen.object))
            .transpose()?;
        bail!(
            "not within {limit:?}: {what}\nlast change: {}",
            last.unwrap_or_default()
        )
    }

    /// The first change that `wanted` accepts.
    ///
    /// # Errors
    /// As [`Record::until`].
    pub async fn first(
        &self,
        what: &str,
        limit: Duration,
        mut wanted: impl FnMut(&Seen<K>) -> bool,
    ) -> Result<Seen<K>> {
        self.until(what, limit, |seen| {
            seen.iter().find(|seen| wanted(seen)).cloned()
        })
        .await
    }
}

async fn write<K: Watchable>(
    api: Api<K>,
    log: Arc<Mutex<Vec<Seen<K>>>>,
    change: watch::Sender<usize>,
    ready: tokio::sync::oneshot::Sender<()>,
) {
    let mut ready = Some(ready);
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        let (object, gone) = match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                (object, false)
            }
            Ok(watcher::Event::Delete(object)) => (object, true),
            Ok(watcher::Event::InitDone) => {
                if let Some(ready) = ready.take() {
                    let _ = ready.send(());
                }
                continue;
            }
            // The stream comes back by itself; a change that was missed meanwhile fails the test that waits for it.
            Ok(watcher::Event::Init) | Err(_) => continue,
        };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() == MOST_CHANGES {
            return;
        }
        log.push(Seen {
            at: Instant::now(),
            time: now(),
            gone,
            object,
        });
        change.send_replace(log.len());
    }
}

/// The wall clock, for comparing with the audit log of the same machine.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the edge: tests measure real time"
)]
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::now()
}

impl Record<AgentTask> {
    /// The `number`th task that `is_it` knows, once it is over.
    ///
    /// # Errors
    /// When it is not within the limit.
    pub async fn over(
        &self,
        what: &str,
        limit: Duration,
        number: usize,
        is_it: impl Fn(&AgentTask) -> bool,
    ) -> Result<AgentTask> {
        let what = format!("{what} {number} is over");
        self.until(&what, limit, |seen| {
            let mut found: Vec<&AgentTask> = Vec::new();
            for task in seen.iter().map(|seen| &seen.object) {
                let is_new = found
                    .iter()
                    .all(|known| known.metadata.uid != task.metadata.uid);
                if is_new && is_it(task) && objects::is_true(task, "Finished") {
                    found.push(task);
                }
            }
            found.get(number - 1).map(|task| (*task).clone())
        })
        .await
    }

    /// The `number`th task of an agent, once it is over.
    ///
    /// # Errors
    /// When it is not in the usual time.
    pub async fn over_of(&self, agent: &str, number: usize) -> Result<AgentTask> {
        let is_it = |task: &AgentTask| task.spec.agent_ref.name == agent;
        self.over(&format!("task of {agent}"), USUAL, number, is_it)
            .await
    }
}
