//! Tokens that attempts have used. An attempt counts once, with what its first result tells.

use std::collections::BTreeMap;

use jiff::Timestamp;
use protocol::board::{IssueKey, UsageReport};
use protocol::{TaskId, TokenUsage, Verdict, bound, limits};

use crate::attempts::AttemptRow;
use crate::db::{Conn, Query, Row, query};
use crate::writes::Write;
use crate::{Error, Store, WorkspaceRef, issues};

/// No turn uses more tokens of one model. A runner that tells of more is not believed beyond it, so that sums of
/// millions of runs are still numbers.
const MOST: u64 = 1 << 40;

impl Store {
    /// What was used on an issue.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn usage_of_issue(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
    ) -> Result<UsageReport, Error> {
        const MODELS: &str = "SELECT model, CAST(SUM(input) AS BIGINT) AS input, CAST(SUM(output) AS BIGINT) AS output, \
            CAST(SUM(cache_read) AS BIGINT) AS cache_read, CAST(SUM(cache_write) AS BIGINT) AS cache_write \
            FROM usage WHERE issue = $1 GROUP BY model";
        const COUNT: &str = "SELECT COUNT(DISTINCT task) AS tasks, COUNT(*) AS attempts \
            FROM (SELECT DISTINCT task, attempt FROM usage WHERE issue = $1) AS counted";
        let issue = self.issue(workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?;
        let ask = |sql| query("sum up what an issue used", sql).bind(issue.id);
        self.report(ask(MODELS), ask(COUNT), None).await
    }

    /// What an agent has used since a moment; all, without one.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn usage_of_agent(
        &self,
        workspace: &WorkspaceRef,
        agent: &str,
        since: Option<Timestamp>,
    ) -> Result<UsageReport, Error> {
        const MODELS: &str = "SELECT model, CAST(SUM(input) AS BIGINT) AS input, CAST(SUM(output) AS BIGINT) AS output, \
            CAST(SUM(cache_read) AS BIGINT) AS cache_read, CAST(SUM(cache_write) AS BIGINT) AS cache_write \
            FROM usage WHERE namespace_uid = $1 AND agent = $2 AND at >= $3 GROUP BY model";
        const COUNT: &str = "SELECT COUNT(DISTINCT task) AS tasks, COUNT(*) AS attempts FROM \
            (SELECT DISTINCT task, attempt FROM usage WHERE namespace_uid = $1 AND agent = $2 AND at >= $3) AS counted";
        let ask = |sql| {
            query("sum up what an agent used", sql)
                .bind(workspace.namespace_uid.as_str())
                .bind(agent)
                .bind(since.unwrap_or(Timestamp::MIN))
        };
        self.report(ask(MODELS), ask(COUNT), since).await
    }

    async fn report(
        &self,
        models: Query,
        count: Query,
        since: Option<Timestamp>,
    ) -> Result<UsageReport, Error> {
        let mut reader = self.reader().await?;
        let models = by_model(models, &mut reader).await?;
        let counts = count.one(&mut reader).await?;
        Ok(UsageReport {
            since,
            tasks: counts.u64("tasks")?,
            attempts: counts.u64("attempts")?,
            models,
        })
    }
}

/// What the attempts of a task have used.
pub(crate) async fn of_task(
    on: impl Into<Conn<'_>>,
    task: TaskId,
) -> Result<BTreeMap<String, TokenUsage>, Error> {
    const MODELS: &str = "SELECT model, CAST(SUM(input) AS BIGINT) AS input, CAST(SUM(output) AS BIGINT) AS output, \
        CAST(SUM(cache_read) AS BIGINT) AS cache_read, CAST(SUM(cache_write) AS BIGINT) AS cache_write \
        FROM usage WHERE task = $1 GROUP BY model";
    by_model(query("sum up what a task used", MODELS).bind(task), on).await
}

/// Keeps what the result of an attempt tells, within the write of its verdict; what is known of the attempt stays.
pub(crate) async fn record(
    write: &mut Write,
    attempt: &AttemptRow,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO usage (task, attempt, model, namespace_uid, agent, issue, at, input, output, \
        cache_read, cache_write) \
        SELECT tasks.id, $2, $3, tasks.namespace_uid, tasks.agent, \
        (SELECT issue FROM wakes WHERE wakes.task = tasks.id), $4, $5, $6, $7, $8 FROM tasks WHERE tasks.id = $1 \
        ON CONFLICT (task, attempt, model) DO NOTHING";
    let Some(result) = &verdict.result else {
        return Ok(());
    };
    if result.usage.is_empty() || is_known(write, attempt).await? {
        return Ok(());
    }
    for (model, used) in result.usage.iter().take(limits::MODELS) {
        let mut model = model.replace('\0', "\u{fffd}");
        bound::cut(&mut model, limits::MODEL_BYTES);
        let insert = query("keep what an attempt used", INSERT)
            .bind(attempt.id.task)
            .bind(attempt.id.number)
            .bind(model)
            .bind(now);
        let counts = [used.input, used.output, used.cache_read, used.cache_write];
        let insert = counts.into_iter().fold(insert, |insert, count| {
            insert.bind(i64::try_from(count.min(MOST)).unwrap_or(i64::MAX))
        });
        insert.execute(&mut *write).await?;
    }
    Ok(())
}

/// Whether a result of the attempt was counted: another one would count its turn twice.
async fn is_known(write: &mut Write, attempt: &AttemptRow) -> Result<bool, Error> {
    const FIND: &str = "SELECT 1 AS found FROM usage WHERE task = $1 AND attempt = $2 LIMIT 1";
    let find = query("look for what an attempt used", FIND)
        .bind(attempt.id.task)
        .bind(attempt.id.number);
    Ok(find.optional(write).await?.is_some())
}

async fn by_model(
    models: Query,
    on: impl Into<Conn<'_>>,
) -> Result<BTreeMap<String, TokenUsage>, Error> {
    let rows = models.all(on).await?;
    let read = |row: &Row| {
        let used = TokenUsage {
            input: row.u64("input")?,
            output: row.u64("output")?,
            cache_read: row.u64("cache_read")?,
            cache_write: row.u64("cache_write")?,
        };
        Ok((row.get("model")?, used))
    };
    rows.iter().map(read).collect()
}
