//! Tokens: a row is a live token; there is one for each active task.

use jiff::Timestamp;
use protocol::{AttemptId, TaskId, limits};

use crate::db::query;
use crate::writes::Write;
use crate::{Error, Store};

/// Whose token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The attempt.
    pub attempt: AttemptId,
    /// When the token ends unless the runner goes on to show life.
    pub expires_at: Timestamp,
}

impl Store {
    /// Whose token has this SHA-256; `None` when it is nobody's, has expired, or its task is not active.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn authenticate_token(
        &self,
        hash: [u8; 32],
        now: Timestamp,
    ) -> Result<Option<Authenticated>, Error> {
        const FIND: &str = "SELECT tokens.task, tokens.attempt, tokens.expires_at \
            FROM tokens JOIN tasks ON tasks.id = tokens.task AND tasks.attempt = tokens.attempt \
            WHERE tokens.hash = $1 AND tokens.expires_at > $2 \
            AND tasks.state IN ('claimed', 'preparing', 'running')";
        let find = query("find a token", FIND).bind(hash.to_vec()).bind(now);
        let Some(row) = find.optional(&mut self.reader().await?).await? else {
            return Ok(None);
        };
        let attempt = AttemptId {
            task: TaskId(row.get("task")?),
            number: row.u32("attempt")?,
        };
        Ok(Some(Authenticated {
            attempt,
            expires_at: row.time("expires_at")?,
        }))
    }
}

/// Gives an attempt its token.
pub(crate) async fn insert(
    write: &mut Write,
    attempt: AttemptId,
    hash: [u8; 32],
    now: Timestamp,
) -> Result<(), Error> {
    const INSERT: &str =
        "INSERT INTO tokens (task, attempt, hash, expires_at) VALUES ($1, $2, $3, $4)";
    let insert = query("give an attempt its token", INSERT)
        .bind(attempt.task)
        .bind(attempt.number);
    insert
        .bind(hash.to_vec())
        .bind(expiry(now)?)
        .execute(write)
        .await?;
    Ok(())
}

/// Lets a token that still is there live on from `now`.
pub(crate) async fn renew(
    write: &mut Write,
    attempt: AttemptId,
    now: Timestamp,
) -> Result<(), Error> {
    const UPDATE: &str =
        "UPDATE tokens SET expires_at = $3 WHERE task = $1 AND attempt = $2 AND expires_at < $3";
    let update = query("renew a token", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number);
    update.bind(expiry(now)?).execute(write).await?;
    Ok(())
}

/// Ends a token.
pub(crate) async fn delete(write: &mut Write, attempt: AttemptId) -> Result<(), Error> {
    const DELETE: &str = "DELETE FROM tokens WHERE task = $1 AND attempt = $2";
    query("end a token", DELETE)
        .bind(attempt.task)
        .bind(attempt.number)
        .execute(write)
        .await?;
    Ok(())
}

fn expiry(now: Timestamp) -> Result<Timestamp, Error> {
    now.checked_add(limits::TOKEN_LIFE)
        .map_err(|error| Error::Invalid {
            what: "expiry",
            why: error.to_string(),
        })
}
