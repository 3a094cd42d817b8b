//! What agents' programs wrote: the end of it, of each attempt.

use protocol::board::{RawLog, RawQuery};
use protocol::runner::RawPart;
use protocol::{AttemptId, TaskId, limits};

use crate::db::query;
use crate::{Error, Store, WorkspaceRef, WritePoint, attempts};

/// Parts that are read at once.
const PARTS: usize = 8;

impl Store {
    /// Keeps a part, and lets go of what lies too far before it. A part that is there already stays.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Invalid`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn keep_raw(&self, attempt: AttemptId, part: RawPart) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO raw_logs (task, attempt, start, body) VALUES ($1, $2, $3, $4) \
            ON CONFLICT (task, attempt, start) DO NOTHING";
        const LET_GO: &str = "DELETE FROM raw_logs WHERE task = $1 AND attempt = $2 AND start < $3";
        let end = part.start.saturating_add(part.text.len() as u64);
        let start = i64::try_from(part.start).map_err(|why| Error::Invalid {
            what: "part",
            why: why.to_string(),
        })?;
        let kept_from = end.saturating_sub(limits::ATTEMPT_RAW_BYTES);
        let kept_from = i64::try_from(kept_from).unwrap_or(i64::MAX);
        let mut write = self.write(WritePoint::KeepRaw).await?;
        attempts::of_locked_session(&mut write, attempt).await?;
        let insert = query("keep a part of the raw output", INSERT)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(start)
            .bind(part.text);
        if insert.execute(&mut write).await? == 0 {
            return Ok(());
        }
        let let_go = query("let raw output go", LET_GO)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(kept_from);
        let_go.execute(&mut write).await?;
        write.commit().await
    }

    /// Some of the parts; none of a task or an attempt that is not of this workspace.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn raw(
        &self,
        workspace: &WorkspaceRef,
        task: TaskId,
        asked: RawQuery,
    ) -> Result<Option<RawLog>, Error> {
        const ATTEMPT: &str = "SELECT attempts.number AS number FROM attempts JOIN tasks ON tasks.id = attempts.task \
            WHERE attempts.task = $1 AND tasks.namespace_uid = $2 AND attempts.number <= $3 \
            ORDER BY attempts.number DESC LIMIT 1";
        const FIND: &str = "SELECT start, body FROM raw_logs \
            WHERE task = $1 AND attempt = $2 AND start >= $3 ORDER BY start LIMIT $4";
        let mut reader = self.reader().await?;
        let last = query("find the attempt of raw output", ATTEMPT)
            .bind(task)
            .bind(workspace.namespace_uid.as_str())
            .bind(asked.attempt.unwrap_or(u32::MAX >> 1));
        let Some(row) = last.optional(&mut reader).await? else {
            return Ok(None);
        };
        let attempt: u32 = row.u32("number")?;
        if asked.attempt.is_some_and(|asked| asked != attempt) {
            return Ok(None);
        }
        let find = query("read raw output", FIND)
            .bind(task)
            .bind(attempt)
            .bind(i64::try_from(asked.from).unwrap_or(i64::MAX))
            .bind(PARTS as i64 + 1);
        let mut parts = Vec::with_capacity(PARTS + 1);
        for row in find.all(&mut reader).await? {
            parts.push(RawPart {
                start: row.u64("start")?,
                text: row.get("body")?,
            });
        }
        let next = parts.get(PARTS).map(|part| part.start);
        parts.truncate(PARTS);
        Ok(Some(RawLog {
            attempt,
            parts,
            next,
        }))
    }
}
