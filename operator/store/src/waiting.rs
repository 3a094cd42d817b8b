//! What a queued task waits for.

use jiff::Timestamp;
use protocol::{TaskId, TaskState};

use crate::claim::Lane;
use crate::db::{Reader, query};
use crate::shares::{self, Held};
use crate::{Error, Store, sessions};

/// What a queued task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Its session is held by an attempt of another task, or by an earlier one of its own that is not
    /// cleared away yet.
    SessionBusy {
        /// Whose attempt it is.
        holder: TaskId,
    },
    /// Its agent has as many sessions held as it may.
    AgentFull {
        /// How many are held.
        running: u32,
        /// How many may be.
        max: u32,
    },
    /// The Runtime has as many sessions held as it may.
    RuntimeFull {
        /// How many are held.
        running: u32,
        /// How many may be.
        max: u32,
    },
    /// It is not to be claimed before a moment.
    Deferred {
        /// Which.
        until: Timestamp,
    },
    /// Its workspace, or all of them, have as much as they may.
    Held(Held),
    /// Nothing but its turn.
    Next,
}

const HELD_ON_RUNTIME: &str = "SELECT count(*) AS held FROM sessions \
    WHERE namespace_uid = $1 AND holder_runtime = $2 AND holder_task IS NOT NULL";

impl Store {
    /// Whether as many sessions are held on the lane's Runtime as may be.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn is_runtime_full(&self, lane: &Lane) -> Result<bool, Error> {
        let mut reader = self.reader().await?;
        let (namespace, runtime) = (&lane.namespace_uid, &lane.runtime);
        let running = held(&mut reader, HELD_ON_RUNTIME, namespace, runtime).await?;
        Ok(running >= lane.max_pods)
    }

    /// What a task waits for in this lane; `None` when it does not wait, or its agent is not of the lane.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn waiting(
        &self,
        task: TaskId,
        lane: &Lane,
        now: Timestamp,
    ) -> Result<Option<Waiting>, Error> {
        const AGENT: &str = "SELECT count(*) AS held FROM sessions \
            WHERE namespace_uid = $1 AND agent = $2 AND holder_task IS NOT NULL";
        let Some(row) = self.task(task).await? else {
            return Ok(None);
        };
        let agent = lane.agents.iter().find(|agent| agent.name == row.agent);
        let Some(agent) = agent.filter(|_| row.state == TaskState::Queued) else {
            return Ok(None);
        };
        if let Some(until) = row.deferred_until() {
            return Ok(Some(Waiting::Deferred { until }));
        }
        let mut reader = self.reader().await?;
        if let Some(holder) = sessions::read(&mut reader, row.session).await?.holder {
            return Ok(Some(Waiting::SessionBusy {
                holder: holder.attempt.task,
            }));
        }
        let running = held(&mut reader, AGENT, &lane.namespace_uid, &agent.name).await?;
        if running >= agent.max_concurrent {
            return Ok(Some(Waiting::AgentFull {
                running,
                max: agent.max_concurrent,
            }));
        }
        let running = held(
            &mut reader,
            HELD_ON_RUNTIME,
            &lane.namespace_uid,
            &lane.runtime,
        )
        .await?;
        if running >= lane.max_pods {
            return Ok(Some(Waiting::RuntimeFull {
                running,
                max: lane.max_pods,
            }));
        }
        let held = shares::held(&mut reader, lane, now).await?;
        Ok(Some(held.map_or(Waiting::Next, Waiting::Held)))
    }
}

async fn held(
    reader: &mut Reader,
    count: &'static str,
    namespace_uid: &str,
    name: &str,
) -> Result<u32, Error> {
    query("count holders", count)
        .bind(namespace_uid)
        .bind(name)
        .one(reader)
        .await?
        .u32("held")
}
