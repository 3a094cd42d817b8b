//! Who listens is told what has changed. Never the only way to find out: a listener that was too slow, or
//! whose connection broke, is told to look at everything.

use futures::Stream;
use protocol::TaskId;
use sqlx::postgres::{PgListener, PgPool};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::db::{Tx, query};
use crate::{Error, LiveChange, Store};

const CHANNEL: &str = "mooring_changes";
/// What only those hear who look on: it happens much more often, and must not push out what the controller hears.
const LIVE: &str = "mooring_live";
/// What is told when a delivery waits, in the place of a task's id.
const DELIVERIES: &str = "deliveries";
/// Changes kept for a slow listener; one that falls further behind is told to look at everything.
const KEPT: usize = 1024;
/// Between attempts to listen again, in milliseconds. The driver itself reconnects before this is asked.
const RELISTEN_MS: u64 = 500;

/// Something has changed, and the change lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Look at this task.
    Task(TaskId),
    /// Something that a webhook delivered waits to be dealt with.
    Deliveries,
    /// Changes were missed: look at everything.
    Resync,
}

/// Changes as they are committed, from the moment this was made. Steps of a task's life, its priority and its
/// verdicts are told; heartbeats, events and what the controller records about objects are not.
#[derive(Debug)]
pub struct Changes {
    from: broadcast::Receiver<Change>,
}

impl Changes {
    /// The next change; `None` once the store is closed. May be dropped and called again without loss.
    pub async fn next(&mut self) -> Option<Change> {
        match self.from.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Resync),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Change> + Send {
        futures::stream::unfold(self, async |mut changes| {
            changes.next().await.map(|change| (change, changes))
        })
    }
}

impl Store {
    /// Listens from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes {
            from: self.inner.changes.sender.subscribe(),
        }
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct Sender {
    sender: broadcast::Sender<Change>,
    live: broadcast::Sender<LiveChange>,
    listener: Option<AbortHandle>,
}

impl Sender {
    /// For a store that only this process writes.
    pub(crate) fn within_process() -> Self {
        Self {
            sender: broadcast::Sender::new(KEPT),
            live: broadcast::Sender::new(KEPT),
            listener: None,
        }
    }

    /// Hears what those hear who look on.
    pub(crate) fn subscribe_live(&self) -> broadcast::Receiver<LiveChange> {
        self.live.subscribe()
    }

    /// For a store that others write too: the database tells, also about our own writes.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) async fn through_database(pool: &PgPool) -> Result<Self, Error> {
        let (sender, live) = (broadcast::Sender::new(KEPT), broadcast::Sender::new(KEPT));
        let listener = listen(pool).await.map_err(|source| Error::Unavailable {
            doing: "listen for changes",
            source,
        })?;
        let to = Both {
            sender: sender.clone(),
            live: live.clone(),
        };
        let task = tokio::spawn(forward(pool.clone(), listener, to));
        Ok(Self {
            sender,
            live,
            listener: Some(task.abort_handle()),
        })
    }

    /// Puts the changes into the transaction where the database is the one who tells.
    pub(crate) async fn announce(
        &self,
        tx: &mut Tx,
        changed: &[TaskId],
        live: &[LiveChange],
        delivered: bool,
    ) -> Result<(), Error> {
        if self.listener.is_some() {
            if delivered {
                let told = query(
                    "announce a delivery",
                    "SELECT pg_notify('mooring_changes', $1)",
                )
                .bind(DELIVERIES);
                told.execute(&mut *tx).await?;
            }
            for change in live {
                let told = query(
                    "announce what happened",
                    "SELECT pg_notify('mooring_live', $1)",
                )
                .bind(change.to_string());
                told.execute(&mut *tx).await?;
            }
            for task in changed {
                let told = query(
                    "announce a change",
                    "SELECT pg_notify('mooring_changes', $1)",
                )
                .bind(task.to_string());
                told.execute(&mut *tx).await?;
            }
        }
        Ok(())
    }

    /// Tells the listeners of this process where nobody else does.
    pub(crate) fn publish(&self, changed: &[TaskId], live: &[LiveChange], delivered: bool) {
        if self.listener.is_none() {
            if delivered {
                let _ = self.sender.send(Change::Deliveries);
            }
            for task in changed {
                // An error only says that nobody listens.
                let _ = self.sender.send(Change::Task(*task));
                let _ = self.live.send(LiveChange::Task(*task));
            }
            for change in live {
                let _ = self.live.send(*change);
            }
        }
    }
}

/// Where what the database tells is sent on.
struct Both {
    sender: broadcast::Sender<Change>,
    live: broadcast::Sender<LiveChange>,
}

impl Both {
    fn send(&self, channel: &str, payload: &str) {
        if channel == LIVE {
            let _ = self
                .live
                .send(payload.parse().unwrap_or(LiveChange::Resync));
            return;
        }
        if payload == DELIVERIES {
            let _ = self.sender.send(Change::Deliveries);
            return;
        }
        match payload.parse() {
            Ok(task) => {
                let _ = self.sender.send(Change::Task(task));
                let _ = self.live.send(LiveChange::Task(task));
            }
            Err(_) => self.resync(),
        }
    }

    fn resync(&self) {
        let _ = self.sender.send(Change::Resync);
        let _ = self.live.send(LiveChange::Resync);
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

async fn listen(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all([CHANNEL, LIVE]).await?;
    Ok(listener)
}

async fn forward(pool: PgPool, mut listener: PgListener, to: Both) {
    loop {
        match listener.try_recv().await {
            Ok(Some(told)) => {
                to.send(told.channel(), told.payload());
            }
            // The connection broke and was made again; what came between is missed.
            Ok(None) => to.resync(),
            Err(_) if pool.is_closed() => return,
            Err(error) => {
                tracing::warn!(%error, "changes of the store are not heard; trying again");
                listener = loop {
                    tokio::time::sleep(std::time::Duration::from_millis(RELISTEN_MS)).await;
                    match listen(&pool).await {
                        Ok(listener) => break listener,
                        Err(_) if pool.is_closed() => return,
                        Err(error) => tracing::debug!(%error, "still not listening"),
                    }
                };
                to.resync();
            }
        }
    }
}
