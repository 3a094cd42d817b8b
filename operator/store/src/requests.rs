//! Requests that can be made again: what was made under a key is not made twice, and the second answer is that of
//! the first.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan as _};
use protocol::board::WakeOutcome;
use uuid::Uuid;

use crate::db::{Sql, query, to_json};
use crate::writes::Write;
use crate::{Acting, Error, Store};

/// A key is known this long.
const KEPT_HOURS: i64 = 24;
/// Keys that are forgotten with each new one, so that their number follows what is made in a day.
const CLEARED: u32 = 20;

/// What its caller may send again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the caller calls it, alike for the same thing only.
    pub key: String,
    /// SHA-256 of all that is asked.
    pub digest: [u8; 32],
}

/// What a request has made.
pub(crate) struct Made {
    pub(crate) id: Uuid,
    pub(crate) wakes: Vec<WakeOutcome>,
}

impl Store {
    /// The same store, in which what is made next is made once for this request: in one transaction with the note
    /// that it was. Without one, every call makes another thing.
    #[must_use]
    pub fn for_request(&self, request: Option<Request>) -> Self {
        Self {
            request: request.map(Arc::new),
            ..self.clone()
        }
    }
}

/// What was made for the write's request before; nothing where it has none. From here on nobody else makes it.
pub(crate) async fn made(
    write: &mut Write,
    by: &Acting,
    now: Timestamp,
) -> Result<Option<Made>, Error> {
    const FIND: &str =
        "SELECT request, made, wakes FROM requests WHERE caller = $1 AND key = $2 AND made_at > $3";
    const FORGET: &str = "DELETE FROM requests WHERE caller = $1 AND key = $2";
    let Some(request) = write.request() else {
        return Ok(None);
    };
    let (caller, key) = (caller(by), request.key.as_str());
    write.serialize(&format!("request {caller} {key}")).await?;
    let find = query("look for a request", FIND)
        .bind(caller.as_str())
        .bind(key)
        .bind(oldest(now));
    let Some(row) = find.optional(&mut *write).await? else {
        let forget = query("forget an old request", FORGET)
            .bind(caller)
            .bind(key);
        forget.execute(write).await?;
        return Ok(None);
    };
    if row.bytes::<32>("request")? != request.digest {
        return Err(Error::Conflict {
            what: "the Idempotency-Key was used for another request: choose a new one for each thing that is made"
                .to_owned(),
        });
    }
    Ok(Some(Made {
        id: row.get("made")?,
        wakes: row.json("wakes")?,
    }))
}

/// Notes what was made for the write's request, where it has one.
pub(crate) async fn keep(
    write: &mut Write,
    by: &Acting,
    id: Uuid,
    wakes: &[WakeOutcome],
    now: Timestamp,
) -> Result<(), Error> {
    const KEEP: &str = "INSERT INTO requests (caller, key, request, made, wakes, made_at) VALUES ($1, $2, $3, $4, $5, $6)";
    // What another write has in hand goes there.
    const CLEAR: Sql = Sql {
        sqlite: "DELETE FROM requests WHERE (caller, key) IN (SELECT caller, key FROM requests \
            WHERE made_at <= $1 ORDER BY made_at LIMIT $2)",
        postgres: "DELETE FROM requests WHERE (caller, key) IN (SELECT caller, key FROM requests \
            WHERE made_at <= $1 ORDER BY made_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
    };
    let Some(request) = write.request() else {
        return Ok(());
    };
    query("keep a request", KEEP)
        .bind(caller(by))
        .bind(request.key.as_str())
        .bind(request.digest.to_vec())
        .bind(id)
        .bind(to_json("wakes", &wakes)?)
        .bind(now)
        .execute(&mut *write)
        .await?;
    query("forget old requests", CLEAR)
        .bind(oldest(now))
        .bind(CLEARED)
        .execute(write)
        .await?;
    Ok(())
}

fn oldest(now: Timestamp) -> Timestamp {
    now.checked_sub(KEPT_HOURS.hours())
        .unwrap_or(Timestamp::MIN)
}

/// Whose keys they are: a member's, or those of a task.
fn caller(by: &Acting) -> String {
    match by.task {
        Some(task) => format!("task {task}"),
        None => format!("{} {}", by.author.kind.as_str(), by.author.id),
    }
}
