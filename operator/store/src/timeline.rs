//! The timeline: what happened in a task, each event once, in one gap-free row of positions whatever attempt
//! it belongs to.

use jiff::Timestamp;
use protocol::runner::EventsResponse;
use protocol::{AttemptId, Event, EventBody, LogLevel, ProviderSession, TaskId, limits};
use serde::Serialize;

use crate::attempts::{self, AttemptRow};
use crate::db::{Sql, query, to_json};
use crate::sessions::{self, Conversation, Pointer};
use crate::writes::Write;
use crate::{Error, LiveChange, Store, WritePoint};

/// The number under which the note stands that says how many events were left out: the first number past the
/// budget, so that no event in the timeline has it.
const NOTE_SEQ: u64 = limits::ATTEMPT_EVENTS + 1;

/// Answer to [`Store::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// Everything was taken, or had been.
    Taken(EventsResponse),
    /// Refused, nothing was taken: events are missing.
    Gap {
        /// The number that was to come next.
        expected: u64,
    },
}

/// One entry of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEntry {
    /// 1 for the first of the task, rising by one.
    pub position: u64,
    /// Number of the attempt that it belongs to.
    pub attempt: u32,
    /// What happened.
    pub event: Event,
    /// Bytes of the whole text, where the event holds its beginning and the rest is kept beside.
    pub full_bytes: Option<u64>,
}

/// A row on its way into the table.
#[derive(Serialize)]
struct Line {
    seq: u64,
    position: u64,
    at: i64,
    body: String,
}

impl Store {
    /// Appends events of an attempt, each once: those stored before are passed over, and one that does not
    /// follow is refused with all of its batch. Also for an attempt that has ended: what it had seen is still
    /// true. Past [`limits::ATTEMPT_EVENTS`] or [`limits::ATTEMPT_EVENT_BYTES`] events are counted only, and one
    /// note says how many. A sign of life.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Invalid`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn append(
        &self,
        attempt: AttemptId,
        events: &[Event],
        now: Timestamp,
    ) -> Result<Appended, Error> {
        let mut write = self.write(WritePoint::Append).await?;
        let row = attempts::of_locked_session(&mut write, attempt).await?;
        let fresh = match after(row.last_seq(), events) {
            Ok(fresh) => fresh,
            Err(expected) => return Ok(Appended::Gap { expected }),
        };
        let (bodies, event_bytes) = fitting(&row, fresh)?;
        let (stored, left_out) = fresh.split_at(bodies.len());
        let lines = lines(&mut write, attempt, stored, bodies).await?;
        insert(&mut write, attempt, &lines).await?;
        let acknowledged = fresh.last().map_or(row.last_seq(), |event| event.seq);
        let left_out_before = row.left_out;
        let total_left_out = left_out_before + u64::try_from(left_out.len()).unwrap_or(u64::MAX);
        if let Some(last) = left_out.last() {
            note(
                &mut write,
                attempt,
                total_left_out,
                left_out_before == 0,
                last.at,
            )
            .await?;
        }
        let counts = [acknowledged, event_bytes, total_left_out];
        keep_counts(&mut write, attempt, counts).await?;
        // Of all events: a conversation begun past the budget is one too.
        point(&mut write, &row, fresh, now).await?;
        attempts::heard(&mut write, attempt, now).await?;
        if !lines.is_empty() || !left_out.is_empty() {
            write.happened(LiveChange::Events(attempt.task));
        }
        write.commit().await?;
        Ok(Appended::Taken(EventsResponse {
            acknowledged,
            left_out: total_left_out,
        }))
    }

    /// Entries after a position, in order.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn timeline(
        &self,
        task: TaskId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<TimelineEntry>, Error> {
        const PAGE: &str = "SELECT position, attempt, seq, at, body, \
            (SELECT bytes FROM event_texts AS whole WHERE whole.task = timeline.task AND whole.attempt = timeline.attempt \
            AND whole.seq = timeline.seq) AS full_bytes FROM timeline \
            WHERE task = $1 AND position > $2 ORDER BY position LIMIT $3";
        // A position past what the column can hold has nothing after it.
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let page = query("read a timeline", PAGE)
            .bind(task)
            .bind(after)
            .bind(limit);
        let rows = page.all(&mut self.reader().await?).await?;
        let entry = |row: &crate::db::Row| {
            let event = Event {
                seq: row.u64("seq")?,
                at: row.time("at")?,
                body: row.json("body")?,
            };
            let full: Option<i64> = row.get("full_bytes")?;
            Ok(TimelineEntry {
                position: row.u64("position")?,
                attempt: row.u32("attempt")?,
                event,
                full_bytes: full.map(i64::unsigned_abs),
            })
        };
        rows.iter().map(entry).collect()
    }
}

/// The events after number `last`, or the number that is missing.
fn after(last: u64, events: &[Event]) -> Result<&[Event], u64> {
    let known = events.iter().take_while(|event| event.seq <= last).count();
    let fresh = &events[known..];
    for (expected, event) in (last + 1..).zip(fresh) {
        if event.seq != expected {
            return Err(expected);
        }
    }
    Ok(fresh)
}

/// The bodies of those events that the budget has room for, and the bytes that it will have taken. Once one
/// was left out all after it are, also a short one: the note is the last entry of its attempt.
fn fitting(row: &AttemptRow, events: &[Event]) -> Result<(Vec<String>, u64), Error> {
    let room = match row.left_out {
        0 => limits::ATTEMPT_EVENTS.saturating_sub(row.events),
        _ => 0,
    };
    let mut bytes = row.event_bytes;
    let mut bodies = Vec::new();
    for event in events
        .iter()
        .take(usize::try_from(room).unwrap_or(usize::MAX))
    {
        let body = to_json("event", &event.body)?;
        let with_it = bytes.saturating_add(u64::try_from(body.len()).unwrap_or(u64::MAX));
        if with_it > limits::ATTEMPT_EVENT_BYTES {
            break;
        }
        bytes = with_it;
        bodies.push(body);
    }
    Ok((bodies, bytes))
}

/// Takes positions for events.
async fn lines(
    write: &mut Write,
    attempt: AttemptId,
    events: &[Event],
    bodies: Vec<String>,
) -> Result<Vec<Line>, Error> {
    let before = take_positions(write, attempt.task, events.len()).await?;
    let line = |(position, (event, body)): (u64, (&Event, String))| Line {
        seq: event.seq,
        position,
        at: event.at.as_microsecond(),
        body,
    };
    let events = events.iter().zip(bodies);
    Ok((before + 1..).zip(events).map(line).collect())
}

/// Takes `count` positions of a task and gives the one before them.
async fn take_positions(write: &mut Write, task: TaskId, count: usize) -> Result<u64, Error> {
    const TAKE: &str = "UPDATE tasks SET events = events + $2 WHERE id = $1 RETURNING events";
    let count = i64::try_from(count).map_err(|error| Error::Invalid {
        what: "batch",
        why: error.to_string(),
    })?;
    let last = query("take positions", TAKE)
        .bind(task)
        .bind(count)
        .one(write)
        .await?
        .u64("events")?;
    Ok(last.saturating_sub(count.unsigned_abs()))
}

/// One statement for a batch. The body travels as a text inside the list, so that no database has a look at
/// it: Postgres would refuse a NUL character in JSON that it understands.
async fn insert(write: &mut Write, attempt: AttemptId, lines: &[Line]) -> Result<(), Error> {
    const INSERT: Sql = Sql {
        sqlite: "INSERT INTO timeline (task, attempt, seq, position, at, body) \
            SELECT $1, $2, value ->> 'seq', value ->> 'position', value ->> 'at', value ->> 'body' FROM json_each($3)",
        postgres: "INSERT INTO timeline (task, attempt, seq, position, at, body) \
            SELECT $1, $2, seq, position, at, body \
            FROM json_to_recordset($3::json) AS line (seq bigint, position bigint, at bigint, body text)",
    };
    if lines.is_empty() {
        return Ok(());
    }
    let insert = query("append to a timeline", INSERT)
        .bind(attempt.task)
        .bind(attempt.number);
    insert
        .bind(to_json("events", &lines)?)
        .execute(write)
        .await?;
    Ok(())
}

/// Says in the timeline how many events were left out: one entry, the last of the attempt, kept up to date.
async fn note(
    write: &mut Write,
    attempt: AttemptId,
    left_out: u64,
    first: bool,
    at: Timestamp,
) -> Result<(), Error> {
    const UPDATE: &str =
        "UPDATE timeline SET body = $4, at = $5 WHERE task = $1 AND attempt = $2 AND seq = $3";
    let (events, mebibytes) = (limits::ATTEMPT_EVENTS, limits::ATTEMPT_EVENT_BYTES >> 20);
    let content = format!(
        "{left_out} events past the budget of {events} events and {mebibytes} MiB were left out here; \
         the run went on, and its full text is on the volume"
    );
    let body = to_json(
        "event",
        &EventBody::Log {
            level: LogLevel::Warn,
            content,
        },
    )?;
    if first {
        let position = take_positions(write, attempt.task, 1).await? + 1;
        return insert(
            write,
            attempt,
            &[Line {
                seq: NOTE_SEQ,
                position,
                at: at.as_microsecond(),
                body,
            }],
        )
        .await;
    }
    let seq = i64::try_from(NOTE_SEQ).unwrap_or(i64::MAX);
    let update = query("say what was left out", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number);
    update.bind(seq).bind(body).bind(at).execute(write).await?;
    Ok(())
}

/// Keeps the number of the last event taken, the bytes stored, and how many events were left out.
async fn keep_counts(
    write: &mut Write,
    attempt: AttemptId,
    [last_seq, event_bytes, left_out]: [u64; 3],
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE attempts SET last_seq = $3, event_bytes = $4, left_out = $5 WHERE task = $1 AND number = $2";
    let stored = |number: u64| {
        i64::try_from(number).map_err(|error| Error::Invalid {
            what: "count of events",
            why: error.to_string(),
        })
    };
    let update = query("count events", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number);
    update
        .bind(stored(last_seq)?)
        .bind(stored(event_bytes)?)
        .bind(stored(left_out)?)
        .execute(write)
        .await?;
    Ok(())
}

/// Points the session at the conversation that the events tell of, so that it is kept even if the turn never
/// ends. Only the holder's word counts: an older attempt's conversation is not the last one.
async fn point(
    write: &mut Write,
    row: &AttemptRow,
    events: &[Event],
    now: Timestamp,
) -> Result<(), Error> {
    let told = events.iter().rev().find_map(|event| match &event.body {
        EventBody::Status { session_id, .. } => session_id.as_ref(),
        EventBody::Text { .. }
        | EventBody::Thinking { .. }
        | EventBody::ToolUse { .. }
        | EventBody::ToolResult { .. }
        | EventBody::Error { .. }
        | EventBody::Log { .. } => None,
    });
    let Some(id) = told else { return Ok(()) };
    let session = sessions::read(&mut *write, row.session).await?;
    if !session.is_held_by(row.id) {
        return Ok(());
    }
    let mut conversation = Conversation::of(&session);
    conversation.point(Pointer {
        session: ProviderSession {
            provider: row.provider.clone(),
            id: id.clone(),
        },
        claim_uid: row.claim_uid.clone(),
        task: row.id.task,
        at: now,
    });
    conversation.store(write, &session).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_passed_over_and_a_gap_is_named() {
        let events = |seqs: &[u64]| -> Vec<Event> {
            let body = EventBody::Text {
                content: String::new(),
            };
            seqs.iter()
                .map(|seq| Event {
                    seq: *seq,
                    at: Timestamp::UNIX_EPOCH,
                    body: body.clone(),
                })
                .collect()
        };
        for (last, given, wanted) in [
            (0, &[1, 2, 3][..], Ok(3)),
            (2, &[1, 2, 3], Ok(1)),
            (3, &[1, 2, 3], Ok(0)),
            (0, &[], Ok(0)),
            (0, &[2], Err(1)),
            (3, &[5, 6], Err(4)),
            (3, &[2, 3, 5], Err(4)),
            (3, &[4, 4], Err(5)),
            (3, &[4, 6], Err(5)),
            (3, &[5, 4], Err(4)),
        ] {
            assert_eq!(
                after(last, &events(given)).map(<[Event]>::len),
                wanted,
                "{last} {given:?}"
            );
        }
    }
}
