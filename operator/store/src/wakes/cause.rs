//! What a woken agent is told of why: ids from the rows, texts as they stand when it is asked.

use jiff::Timestamp;
use protocol::board::{self, CauseKind, Comment};
use protocol::{CommentId, TaskId, limits};
use uuid::Uuid;

use super::row::WakeRow;
use crate::db::{Reader, query};
use crate::{Error, Store, comments, issues};

/// Threads that a task may answer in at most; the newest.
const THREADS: u32 = 50;

impl Store {
    /// What woke a task, for its package; `None` for a task that was not born here. Once the package is open,
    /// which comments it holds changes no more.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Missing`], [`Error::Unavailable`].
    pub async fn cause(&self, task: TaskId) -> Result<Option<board::Cause>, Error> {
        let mut reader = self.reader().await?;
        let Some(row) = WakeRow::find(&mut reader, task).await? else {
            return Ok(None);
        };
        let issue = issues::read_by_id(&mut reader, row.issue)
            .await?
            .ok_or_else(|| Error::Missing {
                what: format!("issue {}", row.issue),
            })?;
        let mut taken = taken_in(&mut reader, task).await?;
        let mut cut = taken.len() > limits::CAUSE_COMMENTS + 1;
        let newest = taken
            .iter()
            .position(|comment| Some(comment.id) == row.cause.comment);
        let mut comment = newest.map(|at| taken.remove(at));
        taken.truncate(limits::CAUSE_COMMENTS);
        taken.reverse();
        for each in comment.iter_mut().chain(&mut taken) {
            cut |= shorten(&mut each.body);
        }
        let before = last_run(&mut reader, &row).await?;
        let again = match row.cause.again_of {
            Some(task) => Some(board::Again {
                task,
                failure: self
                    .task(task)
                    .await?
                    .and_then(|task| task.verdict.and_then(|verdict| verdict.outcome.class())),
            }),
            None => None,
        };
        let shown = row
            .shown_hash
            .clone()
            .or_else(|| Some(super::ended::shown(&issue)));
        Ok(Some(board::Cause {
            kind: row.cause.kind,
            issue: issue.key,
            title: issue.title,
            status: issue.status,
            author: row.cause.author.clone(),
            originator: row
                .cause
                .originator
                .as_ref()
                .map(|person| person.user.clone()),
            comment,
            coalesced: taken,
            cut,
            reply_to: row.reply_to(),
            last_run: before.as_ref().map(|(at, _)| *at),
            new_comments: count_new(&mut reader, &row, before.as_ref().map(|(at, _)| *at)).await?,
            unchanged: before.is_some_and(|(_, before)| before.is_some() && before == shown),
            again,
        }))
    }

    /// The comments that begin the threads that a task may answer in: that of the cause that counts first. Empty
    /// for a task that no comment woke.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn answers_in(&self, task: TaskId) -> Result<Vec<CommentId>, Error> {
        const LIST: &str = "SELECT thread FROM wake_causes JOIN comments ON comments.id = wake_causes.comment \
            WHERE wake_causes.task = $1 GROUP BY thread ORDER BY MAX(number) DESC LIMIT $2";
        let list = query("find the threads of a task", LIST)
            .bind(task)
            .bind(THREADS);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter()
            .map(|row| row.get::<Uuid>("thread").map(CommentId))
            .collect()
    }

    /// The task that this one does again.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn again_of(&self, task: TaskId) -> Result<Option<TaskId>, Error> {
        let row = WakeRow::find(&mut self.reader().await?, task).await?;
        Ok(row.and_then(|row| row.cause.again_of))
    }

    /// What kind of thing woke a task and in which comment, for the object that is made for it; `None` for a task
    /// that was not born here.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn woken_by(
        &self,
        task: TaskId,
    ) -> Result<Option<(CauseKind, Option<CommentId>)>, Error> {
        let row = WakeRow::find(&mut self.reader().await?, task).await?;
        Ok(row.map(|row| (row.cause.kind, row.cause.comment)))
    }
}

impl Store {
    /// The team that a task was woken to lead; `None` for one that was woken for itself, or not born here.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn led_team(&self, task: TaskId) -> Result<Option<String>, Error> {
        let row = WakeRow::find(&mut self.reader().await?, task).await?;
        Ok(row.and_then(|row| row.cause.team))
    }
}

/// The comments that a task has taken in, newest first; two more than a package holds, to know of the rest.
async fn taken_in(reader: &mut Reader, task: TaskId) -> Result<Vec<Comment>, Error> {
    const LIST: &str = comments::select!(
        "JOIN wake_causes ON wake_causes.comment = comments.id WHERE wake_causes.task = $1 \
         AND deleted_at IS NULL ORDER BY number DESC LIMIT $2"
    );
    let most = u32::try_from(limits::CAUSE_COMMENTS + 2).unwrap_or(u32::MAX);
    let list = query("list what a task took in", LIST)
        .bind(task)
        .bind(most);
    let rows = list.all(&mut *reader).await?;
    comments::read_all(reader, &rows).await
}

/// When the agent's last task on the issue was opened before this one, and the hash of what it was shown.
async fn last_run(
    reader: &mut Reader,
    row: &WakeRow,
) -> Result<Option<(Timestamp, Option<Vec<u8>>)>, Error> {
    const LAST: &str = "SELECT opened_at, shown_hash FROM wakes WHERE issue = $1 AND agent = $2 \
        AND opened_at IS NOT NULL AND opened_at <= $3 AND task <> $4 ORDER BY opened_at DESC LIMIT 1";
    let find = query("find the last run on an issue", LAST)
        .bind(row.issue)
        .bind(row.agent.as_str())
        .bind(row.opened_at.unwrap_or(Timestamp::MAX))
        .bind(row.task);
    let found = find.optional(reader).await?;
    found
        .map(|row| Ok((row.time("opened_at")?, row.get("shown_hash")?)))
        .transpose()
}

/// Comments of others since then that are not in the package.
async fn count_new(
    reader: &mut Reader,
    row: &WakeRow,
    since: Option<Timestamp>,
) -> Result<u32, Error> {
    const COUNT: &str = "SELECT count(*) AS others FROM comments WHERE issue = $1 AND created_at > $2 \
        AND deleted_at IS NULL AND NOT (author_kind = 'agent' AND author_id = $3) \
        AND NOT EXISTS (SELECT 1 FROM wake_causes WHERE wake_causes.comment = comments.id AND agent = $3 AND task = $4)";
    let count = query("count what is new to an agent", COUNT)
        .bind(row.issue)
        .bind(since.unwrap_or(Timestamp::MIN))
        .bind(row.agent.as_str())
        .bind(row.task);
    count.one(reader).await?.u32("others")
}

/// Cuts a text to what a package holds of it; says whether it did.
fn shorten(body: &mut String) -> bool {
    if body.len() <= limits::CAUSE_COMMENT_BYTES {
        return false;
    }
    let end = (0..=limits::CAUSE_COMMENT_BYTES)
        .rev()
        .find(|at| body.is_char_boundary(*at));
    body.truncate(end.unwrap_or(0));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut body = "ä".repeat(limits::CAUSE_COMMENT_BYTES);
        body.insert(0, 'x');
        assert!(shorten(&mut body));
        assert!(body.len() < limits::CAUSE_COMMENT_BYTES && body.ends_with('ä'));
        let mut short = "x".repeat(limits::CAUSE_COMMENT_BYTES);
        assert!(!shorten(&mut short));
    }
}
