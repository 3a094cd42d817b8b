//! Events on their way to the API, in memory. It never forgets one that is not acknowledged; when it is full
//! the CLI's output is not read on, so the CLI waits.
//!
//! Whole texts of what the events hold the beginning of go before them; they are no reason to wait, so those for which
//! there is no room are left out.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use protocol::runner::RawPart;
use protocol::{Event, limits};
use tokio::sync::Notify;

/// Bytes of JSON that may wait. Some fifty thousand events of the usual length.
const ROOM_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of whole texts that may wait.
const TEXTS_BYTES: usize = 4 * 1024 * 1024;

/// Parts of the raw output that may wait; of more the oldest are left out.
const RAW_PARTS: usize = 64;

/// The queue between the journal and the uploader.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    acknowledged: u64,
    abandoned: bool,
    /// By the number of their event.
    texts: VecDeque<(u64, String)>,
    texts_bytes: usize,
    /// Bytes of all texts so far.
    texts_told: u64,
    no_texts: bool,
    raw: VecDeque<RawPart>,
    no_raw: bool,
}

/// What goes to the API next.
#[derive(Debug)]
pub enum Next {
    /// These events; never none.
    Events(Vec<Event>),
    /// No event waits, and this does.
    Raw(RawPart),
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing panics while it holds the queue")
    }

    /// Adds events, whether or not there is room.
    pub fn push(&self, events: Vec<Event>) {
        let mut state = self.state();
        if state.abandoned {
            return;
        }
        for event in events {
            let bytes = serde_json::to_vec(&event).map_or(0, |json| json.len());
            state.bytes += bytes;
            state.events.push_back((event, bytes));
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Adds the whole text of an event that is added later. False when there is no room for it.
    pub fn push_text(&self, seq: u64, text: String) -> bool {
        let mut state = self.state();
        let bytes = text.len();
        let told = state.texts_told.saturating_add(bytes as u64);
        let full = state.texts_bytes + bytes > TEXTS_BYTES || told > limits::ATTEMPT_TEXT_BYTES;
        let taken = !(full || state.abandoned || state.no_texts);
        if taken {
            state.texts_bytes += bytes;
            state.texts_told = told;
            state.texts.push_back((seq, text));
        }
        taken
    }

    /// The oldest text of an event up to this number.
    #[must_use]
    pub fn text(&self, up_to: u64) -> Option<(u64, String)> {
        let state = self.state();
        state
            .texts
            .front()
            .filter(|(seq, _)| *seq <= up_to)
            .cloned()
    }

    /// Forgets the oldest text: it was sent, or will never be taken.
    pub fn text_done(&self) {
        let mut state = self.state();
        if let Some((_, text)) = state.texts.pop_front() {
            state.texts_bytes -= text.len();
        }
    }

    /// Takes no further texts: the API has no room for more of this attempt.
    pub fn no_texts(&self) {
        let mut state = self.state();
        state.no_texts = true;
        state.texts.clear();
        state.texts_bytes = 0;
    }

    /// Adds a part of the raw output, which nobody waits for.
    pub fn push_raw(&self, part: RawPart) {
        let mut state = self.state();
        if state.abandoned || state.no_raw {
            return;
        }
        if state.raw.len() == RAW_PARTS {
            state.raw.pop_front();
        }
        state.raw.push_back(part);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Forgets a part: it was sent, or will never be taken.
    pub fn raw_done(&self, start: u64) {
        let mut state = self.state();
        state.raw.retain(|part| part.start != start);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes no further part: the API takes none of this attempt.
    pub fn no_raw(&self) {
        let mut state = self.state();
        state.no_raw = true;
        state.raw.clear();
        drop(state);
        self.changed.notify_waiters();
    }

    /// True while more may be added.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.state().bytes < ROOM_BYTES
    }

    /// True when even whoever cannot wait for room may add no more.
    #[must_use]
    pub fn overflows(&self) -> bool {
        self.state().bytes >= 2 * ROOM_BYTES
    }

    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<Event> {
        self.state().events.back().map(|(event, _)| event.clone())
    }

    /// Number of the last event that the API has taken.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.state().acknowledged
    }

    /// Waits until there is room.
    pub async fn room(&self) {
        self.until(|state| (state.bytes < ROOM_BYTES).then_some(()))
            .await;
    }

    /// Waits until nothing waits any more: all was taken, or the API will never take it.
    pub async fn drained(&self) {
        self.until(|state| (state.events.is_empty() && state.raw.is_empty()).then_some(()))
            .await;
    }

    /// Waits for what goes next: the oldest events that wait, at most `most` of them and within the limits of a batch;
    /// where there are none, the oldest of the raw output.
    pub async fn next(&self, most: usize) -> Next {
        self.until(|state| {
            let batch = state.batch(most);
            match state.raw.front() {
                Some(part) if batch.is_empty() => Some(Next::Raw(part.clone())),
                Some(_) | None => (!batch.is_empty()).then_some(Next::Events(batch)),
            }
        })
        .await
    }

    /// The same, of events alone.
    #[cfg(test)]
    pub(crate) async fn batch(&self, most: usize) -> Vec<Event> {
        self.until(|state| {
            let batch = state.batch(most);
            (!batch.is_empty()).then_some(batch)
        })
        .await
    }

    /// Forgets everything up to this number.
    pub fn acknowledge(&self, seq: u64) {
        let mut state = self.state();
        state.acknowledged = state.acknowledged.max(seq);
        while let Some((_, bytes)) = state.events.pop_front_if(|(event, _)| event.seq <= seq) {
            state.bytes -= bytes;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Forgets everything for ever, so that nobody waits for an API that will take none of it.
    pub fn abandon(&self) {
        let mut state = self.state();
        *state = State {
            acknowledged: state.acknowledged,
            abandoned: true,
            ..State::default()
        };
        drop(state);
        self.changed.notify_waiters();
    }

    async fn until<T>(&self, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(value) = ready(&self.state()) {
                return value;
            }
            changed.await;
        }
    }
}

impl State {
    fn batch(&self, most: usize) -> Vec<Event> {
        // Half of the body's limit leaves room for the envelope.
        let mut room = limits::BODY_BYTES / 2;
        self.events
            .iter()
            .take(most.min(limits::BATCH_EVENTS))
            .take_while(|(_, bytes)| {
                let fits = room >= *bytes;
                room = room.saturating_sub(*bytes);
                fits
            })
            .map(|(event, _)| event.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::EventBody;

    use super::*;

    fn events(seqs: std::ops::RangeInclusive<u64>, bytes: usize) -> Vec<Event> {
        seqs.map(|seq| Event {
            seq,
            at: Timestamp::UNIX_EPOCH,
            body: EventBody::Text {
                content: "x".repeat(bytes),
            },
        })
        .collect()
    }

    #[tokio::test]
    async fn batches_are_bounded_and_repeated_until_acknowledged() {
        let queue = Queue::default();
        queue.push(events(1..=100, 10));
        assert_eq!(queue.batch(1000).await.len(), limits::BATCH_EVENTS);
        assert_eq!(queue.batch(1).await[0].seq, 1);
        queue.acknowledge(64);
        assert_eq!(queue.batch(1000).await[0].seq, 65);
        queue.acknowledge(100);
        queue.drained().await;
        assert_eq!(queue.acknowledged(), 100);

        queue.push(events(101..=164, 60 * 1024));
        let batch = queue.batch(1000).await;
        assert!(serde_json::to_vec(&batch).unwrap().len() < limits::BODY_BYTES);
        assert!(batch.len() > 1);
    }

    #[test]
    fn texts_go_before_their_events_and_have_an_end() {
        let queue = Queue::default();
        let piece = "x".repeat(limits::TEXT_BYTES);
        for seq in 1..=9 {
            assert_eq!(queue.push_text(2 * seq, piece.clone()), seq <= 4);
        }
        assert_eq!(queue.text(1), None);
        let mut sent = Vec::new();
        while let Some((seq, _)) = queue.text(u64::MAX) {
            sent.push(seq);
            queue.text_done();
        }
        assert_eq!(sent, [2, 4, 6, 8], "what finds no room is left out");
        for seq in 100..200 {
            let _ = queue.push_text(seq, piece.clone());
            queue.text_done();
        }
        assert!(!queue.push_text(200, "x".into()));
        assert_eq!(
            queue.text(u64::MAX),
            None,
            "an attempt has so much and no more"
        );
        let queue = Queue::default();
        assert!(queue.push_text(1, "x".into()));
        queue.no_texts();
        assert!(!queue.push_text(2, "x".into()));
        assert_eq!(queue.text(u64::MAX), None);
        assert!(queue.has_room());
    }

    #[tokio::test]
    async fn raw_output_waits_for_events_and_nobody_waits_for_it() {
        let queue = Queue::default();
        let part = |start| RawPart {
            start,
            text: "x".into(),
        };
        for start in 0..RAW_PARTS as u64 + 2 {
            queue.push_raw(part(start));
        }
        assert!(queue.has_room());
        queue.push(events(1..=1, 10));
        assert!(matches!(queue.next(9).await, Next::Events(_)));
        queue.acknowledge(1);
        assert!(matches!(queue.next(9).await, Next::Raw(next) if next == part(2)));
        queue.raw_done(2);
        assert!(matches!(queue.next(9).await, Next::Raw(next) if next == part(3)));
        queue.no_raw();
        queue.drained().await;
        queue.push_raw(part(99));
        queue.drained().await;
    }

    #[tokio::test]
    async fn a_full_queue_has_no_room_until_something_is_taken() {
        let queue = Queue::default();
        queue.push(events(1..=300, 60 * 1024));
        assert!(!queue.has_room());
        let (_, ()) = tokio::join!(async { queue.acknowledge(100) }, queue.room());
        assert!(queue.has_room());
        queue.abandon();
        queue.push(events(301..=301, 1));
        queue.drained().await;
    }
}
