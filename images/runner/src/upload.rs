//! Sends the queue to the API, batch by batch, for as long as it takes.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use client::Client;
use protocol::runner::{EventsRequest, RawPart, TextRequest, TextResponse};
use protocol::{Event, EventBody, LogLevel, limits};
use secrecy::SecretString;
use tracing::{error, info, warn};

use crate::queue::{Next, Queue};

/// How long to wait between tries: quick at first, and never so long that a returning API is kept waiting.
pub(crate) fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(2))
        .with_jitter()
        .without_max_times()
}

/// Sends for ever; the task is dropped when the runner ends.
pub async fn run(client: Client, credential: SecretString, queue: Arc<Queue>) {
    let mut waits = backoff().build();
    let mut most = limits::BATCH_EVENTS;
    let mut replaced = None;
    loop {
        let mut events = match queue.next(most).await {
            Next::Events(events) => events,
            Next::Raw(part) => {
                send_raw(&client, &credential, &queue, &part, &mut waits).await;
                continue;
            }
        };
        let last = events.last().map_or(0, |event| event.seq);
        if let Some((seq, text)) = queue.text(last) {
            // Before its event, so that who reads that finds it.
            match client
                .keep_text(&credential, &TextRequest { seq, text })
                .await
            {
                Ok(TextResponse { kept: true }) => queue.text_done(),
                Ok(TextResponse { kept: false }) => queue.no_texts(),
                Err(error) if error.retry() => {
                    info!(%error, "a text waits for the API");
                    pause(&mut waits).await;
                }
                Err(error) => {
                    warn!(%error, event.seq = seq, "a text was refused");
                    queue.text_done();
                }
            }
            continue;
        }
        if let Some(first) = events.first_mut()
            && replaced == Some(first.seq)
        {
            first.body = left_out();
        }
        match client
            .events(
                &credential,
                &EventsRequest {
                    events: events.clone(),
                },
            )
            .await
        {
            Ok(answer) => {
                queue.acknowledge(answer.acknowledged);
                waits = backoff().build();
                most = limits::BATCH_EVENTS;
            }
            Err(error) if error.retry() => {
                info!(error = %error, "events wait for the API");
                pause(&mut waits).await;
            }
            Err(error) => match after_refusal(&events, most, replaced) {
                Refused::OneByOne => {
                    warn!(%error, "a batch was refused; its events are sent one by one");
                    most = 1;
                }
                Refused::Replace(seq) => {
                    warn!(%error, event.seq = seq, "an event was refused");
                    replaced = Some(seq);
                }
                Refused::Abandon => {
                    error!(%error, "the API takes no events of this attempt; they stay on the volume");
                    queue.abandon();
                }
            },
        }
    }
}

/// A part of the raw output, which may be lost.
async fn send_raw(
    client: &Client,
    credential: &SecretString,
    queue: &Queue,
    part: &RawPart,
    waits: &mut impl Iterator<Item = Duration>,
) {
    match client.keep_raw(credential, part).await {
        Ok(()) => queue.raw_done(part.start),
        Err(error) if error.retry() => {
            info!(%error, "raw output waits for the API");
            pause(waits).await;
        }
        Err(error) => {
            warn!(%error, "raw output was refused");
            queue.no_raw();
        }
    }
}

async fn pause(waits: &mut impl Iterator<Item = Duration>) {
    let wait = waits.next().unwrap_or(Duration::from_secs(2));
    tokio::time::sleep(wait).await;
}

/// What to do about a batch that was refused for good.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// One of its events may be to blame.
    OneByOne,
    /// This one is; a remark takes its number.
    Replace(u64),
    /// It is not the events.
    Abandon,
}

fn after_refusal(events: &[Event], most: usize, replaced: Option<u64>) -> Refused {
    match events {
        [] => Refused::Abandon,
        [only] if replaced == Some(only.seq) => Refused::Abandon,
        [only] if most == 1 => Refused::Replace(only.seq),
        _ => Refused::OneByOne,
    }
}

fn left_out() -> EventBody {
    EventBody::Log {
        level: LogLevel::Warn,
        content: "the API refused this event; the outbox on the volume has it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn events(count: u64) -> Vec<Event> {
        (1..=count)
            .map(|seq| Event {
                seq,
                at: Timestamp::UNIX_EPOCH,
                body: left_out(),
            })
            .collect()
    }

    #[test]
    fn one_bad_event_costs_only_itself() {
        assert_eq!(after_refusal(&events(5), 64, None), Refused::OneByOne);
        assert_eq!(after_refusal(&events(1), 64, None), Refused::OneByOne);
        assert_eq!(after_refusal(&events(1), 1, None), Refused::Replace(1));
        assert_eq!(after_refusal(&events(1), 1, Some(1)), Refused::Abandon);
    }
}
