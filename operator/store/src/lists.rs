//! Pages of task ids, and counts.

use protocol::{TaskId, TaskState};
use uuid::Uuid;

use crate::db::{Query, query};
use crate::{Error, Store};

/// How many tasks stand where. Finished ones are not counted: that would take longer with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Wait.
    pub queued: u64,
    /// Have the session, no open package.
    pub claimed: u64,
    /// Prepare.
    pub preparing: u64,
    /// Run.
    pub running: u64,
    /// Are being cleared away.
    pub finishing: u64,
    /// Are put aside.
    pub suspended: u64,
    /// Sessions that an attempt holds, ended ones included: what counts against the limits.
    pub holders: u64,
}

impl Store {
    /// Tasks that are not finished, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn open_tasks(
        &self,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str =
            "SELECT id FROM tasks WHERE state <> 'finished' AND id > $1 ORDER BY id LIMIT $2";
        self.page(query("list open tasks", PAGE), after, limit)
            .await
    }

    /// Tasks of a namespace that are not finished, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn open_of_namespace(
        &self,
        namespace_uid: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND state <> 'finished' AND id > $2 \
            ORDER BY id LIMIT $3";
        self.page(
            query("list open tasks of a namespace", PAGE).bind(namespace_uid),
            after,
            limit,
        )
        .await
    }

    /// Queued tasks of an agent, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn waiting_of_agent(
        &self,
        namespace_uid: &str,
        agent: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND agent = $2 AND state = 'queued' AND id > $3 \
            ORDER BY id LIMIT $4";
        let list = query("list waiting tasks", PAGE)
            .bind(namespace_uid)
            .bind(agent);
        self.page(list, after, limit).await
    }

    /// Whether a task of an agent waits that may be claimed as far as its time goes.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn does_agent_wait(&self, namespace_uid: &str, agent: &str) -> Result<bool, Error> {
        const FIND: &str = "SELECT 1 AS found FROM sessions WHERE namespace_uid = $1 AND agent = $2 \
            AND head_task IS NOT NULL LIMIT 1";
        let find = query("look whether an agent has something waiting", FIND)
            .bind(namespace_uid)
            .bind(agent);
        Ok(find.optional(&mut self.reader().await?).await?.is_some())
    }

    /// Claimed, preparing and running tasks of an agent, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn active_of_agent(
        &self,
        namespace_uid: &str,
        agent: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND agent = $2 \
            AND state IN ('claimed', 'preparing', 'running') AND id > $3 ORDER BY id LIMIT $4";
        let list = query("list active tasks", PAGE)
            .bind(namespace_uid)
            .bind(agent);
        self.page(list, after, limit).await
    }

    async fn page(
        &self,
        list: Query,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        // No task has the nil id, so it stands before all.
        let list = list.bind(after.unwrap_or(TaskId(Uuid::nil()))).bind(limit);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter().map(|row| row.get("id").map(TaskId)).collect()
    }

    /// Counts for metrics.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn summary(&self) -> Result<Summary, Error> {
        const TASKS: &str =
            "SELECT state, count(*) AS tasks FROM tasks WHERE state <> 'finished' GROUP BY state";
        const HOLDERS: &str =
            "SELECT count(*) AS holders FROM sessions WHERE holder_task IS NOT NULL";
        let mut reader = self.reader().await?;
        let mut summary = Summary::default();
        for row in query("count tasks", TASKS).all(&mut reader).await? {
            let count = row.u64("tasks")?;
            match row.word("state", TaskState::parse)? {
                TaskState::Queued => summary.queued = count,
                TaskState::Claimed => summary.claimed = count,
                TaskState::Preparing => summary.preparing = count,
                TaskState::Running => summary.running = count,
                TaskState::Finishing => summary.finishing = count,
                TaskState::Suspended => summary.suspended = count,
                TaskState::Finished => {}
            }
        }
        summary.holders = query("count holders", HOLDERS)
            .one(&mut reader)
            .await?
            .u64("holders")?;
        Ok(summary)
    }
}
