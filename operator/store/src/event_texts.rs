//! Whole texts of what tools gave, where the timeline holds the beginning alone.

use protocol::{AttemptId, TaskId, limits};

use crate::db::query;
use crate::{Error, Store, WorkspaceRef, WritePoint, attempts};

impl Store {
    /// Keeps the whole text of an event that has this number in its attempt, or will have it. Says whether there was
    /// room for it; a text that is there already stays.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Invalid`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn keep_text(
        &self,
        attempt: AttemptId,
        seq: u64,
        text: String,
    ) -> Result<bool, Error> {
        const INSERT: &str = "INSERT INTO event_texts (task, attempt, seq, bytes, body) VALUES ($1, $2, $3, $4, $5) \
            ON CONFLICT (task, attempt, seq) DO NOTHING";
        const COUNT: &str = "UPDATE attempts SET text_bytes = text_bytes + $3 \
            WHERE task = $1 AND number = $2 AND text_bytes + $3 <= $4";
        let invalid = |why: std::num::TryFromIntError| Error::Invalid {
            what: "text",
            why: why.to_string(),
        };
        let seq = i64::try_from(seq).map_err(invalid)?;
        let bytes = i64::try_from(text.len()).map_err(invalid)?;
        let most = i64::try_from(limits::ATTEMPT_TEXT_BYTES).map_err(invalid)?;
        let mut write = self.write(WritePoint::KeepText).await?;
        attempts::of_locked_session(&mut write, attempt).await?;
        let insert = query("keep a text", INSERT)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(seq)
            .bind(bytes)
            .bind(text);
        if insert.execute(&mut write).await? == 0 {
            return Ok(true);
        }
        let count = query("count texts", COUNT)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(bytes)
            .bind(most);
        if count.execute(&mut write).await? == 0 {
            return Ok(false);
        }
        write.commit().await?;
        Ok(true)
    }

    /// The whole text of the event at a position, where it was kept.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn text(
        &self,
        workspace: &WorkspaceRef,
        task: TaskId,
        position: u64,
    ) -> Result<Option<String>, Error> {
        const FIND: &str = "SELECT event_texts.body AS body FROM timeline \
            JOIN event_texts ON event_texts.task = timeline.task AND event_texts.attempt = timeline.attempt AND event_texts.seq = timeline.seq \
            JOIN tasks ON tasks.id = timeline.task \
            WHERE timeline.task = $1 AND timeline.position = $2 AND tasks.namespace_uid = $3";
        let find = query("read a text", FIND)
            .bind(task)
            .bind(i64::try_from(position).unwrap_or(i64::MAX))
            .bind(workspace.namespace_uid.as_str());
        let found = find.optional(&mut self.reader().await?).await?;
        found.map(|row| row.get("body")).transpose()
    }
}
