//! What happens, on its way out: shaped, numbered, on the volume, then in the queue for the API.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use protocol::{Event, EventBody, LogLevel, limits};
use tokio::time::Instant;
use tracing::warn;

use crate::outbox::Outbox;
use crate::queue::Queue;
use crate::raw::{Pipe, Raw};
use crate::redact::Redactor;
use crate::shape::Shaper;
use crate::transcript::Transcript;

/// Each write waits for the disk, and the program with it. So after one that much is collected for the next, however fast
/// a batch is full,
const BETWEEN_WRITES: Duration = Duration::from_millis(10);
/// but no more than so many batches.
const BATCHES: usize = 4;
/// The last word of a text waits so long for more of itself.
const WORD: Duration = Duration::from_secs(1);

/// Said once, where whole texts find no room.
const LEFT_OUT: &str = "there is no room for more whole texts of what tools give (the API has all that it takes of one attempt, \
                        or cannot be reached): from here on the timeline holds their beginnings, and all of them is only \
                        in what the agent's program keeps on the volume";

/// Reads the time. Events carry it, and nothing is decided by it.
pub type Clock = fn() -> Timestamp;

/// The system's clock in whole microseconds, which is what the store keeps.
#[must_use]
pub fn system_clock() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the runner reads the clock"
    )]
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}

/// The timeline of one attempt, as the runner writes it.
#[derive(Debug)]
pub struct Journal {
    shaper: Shaper,
    transcript: Transcript,
    clock: Clock,
    /// Numbered, but neither on the volume nor in the queue.
    batch: VecDeque<Event>,
    /// When something that is not written yet was first recorded.
    since: Option<Instant>,
    /// Since when a last word waits after which nothing has come.
    held: Option<Instant>,
    /// When the volume was last written to.
    written: Option<Instant>,
    last_seq: u64,
    outbox: Option<Outbox>,
    raw: Raw,
    queue: Arc<Queue>,
    /// It was said that whole texts are left out.
    left_out: bool,
}

impl Journal {
    /// A journal without an outbox, which comes once the volume is known to be good.
    #[must_use]
    pub fn new(
        redactor: Redactor,
        transcript: Transcript,
        clock: Clock,
        queue: Arc<Queue>,
    ) -> Self {
        Self {
            shaper: Shaper::new(redactor),
            transcript,
            clock,
            batch: VecDeque::new(),
            since: None,
            held: None,
            written: None,
            last_seq: 0,
            outbox: None,
            raw: Raw::default(),
            queue,
            left_out: false,
        }
    }

    /// Writes to this outbox from now on.
    pub fn keep_in(&mut self, outbox: Outbox) {
        self.outbox = Some(outbox);
    }

    /// Keeps the raw output in this folder from now on.
    pub fn keep_raw_in(&mut self, state: &Path) {
        if let Err(error) = self.raw.keep_in(state) {
            warn!(%error, "the raw output cannot be kept on the volume");
        }
    }

    /// Takes a line of the agent's program as it is.
    pub fn raw(&mut self, pipe: Pipe, line: &[u8]) {
        if let Some(part) = self.raw.line(pipe, line, self.shaper.redactor()) {
            self.queue.push_raw(part);
        }
    }

    /// What removes values from texts that leave by another way.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        self.shaper.redactor()
    }

    /// The queue that it fills.
    #[must_use]
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Number of the last event.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Takes an event.
    pub fn record(&mut self, body: EventBody) {
        let shaped = self.shaper.push(body);
        self.number(shaped);
        // Of the last event: that of a tool's result follows the text before it.
        if let Some(whole) = self.shaper.take_whole()
            && !self.queue.push_text(self.last_seq, whole)
            && !std::mem::replace(&mut self.left_out, true)
        {
            self.remark(LogLevel::Warn, LEFT_OUT);
        }
        if !self.batch.is_empty() || self.shaper.is_open() {
            self.since.get_or_insert_with(Instant::now);
            self.held = None;
        }
        let is_due = || self.full_due().is_some_and(|due| due <= Instant::now());
        if self.batch.len() >= BATCHES * limits::BATCH_EVENTS || is_due() {
            self.write();
        }
    }

    /// When a full batch is written.
    fn full_due(&self) -> Option<Instant> {
        let is_full = self.batch.len() >= limits::BATCH_EVENTS;
        let since = self.since.filter(|_| is_full)?;
        Some(
            self.written
                .map_or(since, |written| written + BETWEEN_WRITES),
        )
    }

    /// Takes a remark of the runner.
    pub fn remark(&mut self, level: LogLevel, content: impl Into<String>) {
        self.record(EventBody::Log {
            level,
            content: content.into(),
        });
    }

    /// A line for the transcript only.
    pub fn note(&mut self, line: &str) {
        let line = self.shaper.redactor().text(line);
        self.transcript.line(&line);
    }

    /// When [`Journal::write`] is due at the latest.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let batch = self.since.map(|since| since + limits::BATCH_DELAY);
        let full = self.full_due();
        let batch = full.map_or(batch, |full| batch.map(|batch| batch.min(full)));
        batch.or(self.held.map(|held| held + WORD))
    }

    /// Writes what was recorded to the volume and into the queue. An end of a text that may be the beginning
    /// of a secret stays back until more of it comes, or something else; if it is but a word, for a moment.
    pub fn write(&mut self) {
        let waited = self
            .held
            .take()
            .is_some_and(|held| held + WORD <= Instant::now());
        let shaped = if waited {
            self.shaper.settle()
        } else {
            self.shaper.flush()
        };
        self.number(shaped);
        self.hand_over();
        self.since = None;
        if self.shaper.is_open() && !waited {
            self.held = Some(Instant::now());
        }
    }

    /// Writes all of it: nothing more comes for now.
    pub fn close(&mut self) {
        let shaped = self.shaper.close();
        self.number(shaped);
        self.hand_over();
        (self.since, self.held) = (None, None);
        if let Some(part) = self.raw.close(self.shaper.redactor()) {
            self.queue.push_raw(part);
        }
    }

    /// Says so when something in the pod has changed the outbox.
    pub fn check_outbox(&mut self) {
        let changed = self
            .outbox
            .as_ref()
            .map(Outbox::changed)
            .unwrap_or_default();
        if !changed.is_empty() {
            let names = changed.join(", ");
            self.remark(
                LogLevel::Warn,
                format!(
                    "something in the pod changed the outbox on the volume ({names}): what was added there is not believed"
                ),
            );
        }
    }

    /// Waits until the API has everything, at most so long. False when it has not.
    pub async fn drain(&mut self, patience: Duration) -> bool {
        let drained = tokio::time::timeout(patience, self.queue.drained()).await;
        if let Some(outbox) = &mut self.outbox {
            outbox.acknowledged(self.queue.acknowledged());
        }
        drained.is_ok()
    }

    fn number(&mut self, bodies: Vec<EventBody>) {
        for body in bodies {
            self.transcript.event(&body);
            self.last_seq += 1;
            let (seq, at) = (self.last_seq, (self.clock)());
            self.batch.push_back(Event { seq, at, body });
        }
    }

    fn hand_over(&mut self) {
        let mut events: Vec<_> = self.batch.drain(..).collect();
        if let Some(outbox) = &mut self.outbox {
            outbox.acknowledged(self.queue.acknowledged());
            if let Err(error) = outbox.append(&events) {
                self.lose_outbox(&error);
                // There may be no other time for what was said of it.
                events.extend(self.batch.drain(..));
            }
        }
        self.queue.push(events);
        self.written = Some(Instant::now());
    }

    /// A full volume must not end the run: the events still go to the API.
    fn lose_outbox(&mut self, error: &io::Error) {
        warn!(%error, "the outbox cannot be written");
        self.outbox = None;
        self.number(vec![EventBody::Log {
            level: LogLevel::Warn,
            content: format!(
                "the outbox on the volume cannot be written ({error}): events are only sent to the API from here on"
            ),
        }]);
    }
}

#[cfg(test)]
mod tests {
    use protocol::{AttemptId, MacKey, TaskId};

    use super::*;

    fn journal() -> Journal {
        let transcript = Transcript::new(Box::new(io::sink()));
        let redactor = Redactor::new(["sk-live-12345"]);
        Journal::new(
            redactor,
            transcript,
            || Timestamp::UNIX_EPOCH,
            Arc::default(),
        )
    }

    fn text(content: &str) -> EventBody {
        EventBody::Text {
            content: content.into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn text_waits_half_a_second_and_a_full_batch_does_not() {
        let mut journal = journal();
        assert_eq!(journal.due(), None);
        journal.record(text("a b"));
        assert_eq!(journal.due(), Some(Instant::now() + limits::BATCH_DELAY));
        journal.write();
        assert_eq!(
            journal.queue().batch(9).await.len(),
            1,
            "the last word waits for its end"
        );
        assert_eq!(journal.due(), Some(Instant::now() + WORD));
        tokio::time::advance(WORD).await;
        journal.write();
        assert_eq!(journal.due(), None);
        assert_eq!(journal.queue().batch(9).await.len(), 2, "it has none");
        let error = || EventBody::Error {
            content: "x".into(),
        };
        tokio::time::advance(BETWEEN_WRITES).await;
        for _ in 0..limits::BATCH_EVENTS {
            journal.record(error());
        }
        assert_eq!(journal.last_seq(), 2 + limits::BATCH_EVENTS as u64);
        assert_eq!(journal.due(), None, "it was written");
        // What comes right after it waits a moment, and no more than a few batches do.
        for _ in 0..limits::BATCH_EVENTS {
            journal.record(error());
        }
        assert_eq!(journal.due(), Some(Instant::now() + BETWEEN_WRITES));
        for _ in 0..(BATCHES - 1) * limits::BATCH_EVENTS {
            journal.record(error());
        }
        assert_eq!(journal.due(), None);
    }

    #[tokio::test]
    async fn that_whole_texts_are_left_out_is_said_once() {
        let mut journal = journal();
        let queue = Arc::clone(journal.queue());
        let result = || EventBody::ToolResult {
            call_id: "1".into(),
            tool: None,
            output: "x y ".repeat(limits::OUTPUT_BYTES),
            status: None,
        };
        let said = |events: &[Event]| {
            let said = |event: &&Event| matches!(&event.body, EventBody::Log { content, .. } if content == LEFT_OUT);
            events.iter().filter(said).count()
        };
        journal.record(result());
        journal.write();
        assert_eq!(said(&queue.batch(9).await), 0);
        queue.no_texts();
        for _ in 0..3 {
            journal.record(result());
        }
        journal.write();
        assert_eq!(said(&queue.batch(9).await), 1);
    }

    #[tokio::test]
    async fn nothing_secret_reaches_volume_or_queue() {
        let state = tempfile::tempdir().unwrap();
        let attempt = AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 1,
        };
        let key = MacKey::from_wire(&"A".repeat(43)).unwrap();
        let mut journal = journal();
        journal.keep_in(Outbox::open(state.path(), attempt, key).unwrap().0);
        journal.record(text("the key is sk-live"));
        journal.write();
        journal.record(text("-12345, so"));
        journal.close();
        let events = journal.queue().batch(9).await;
        let sent = serde_json::to_string(&events).unwrap();
        let mut kept = String::new();
        for entry in std::fs::read_dir(state.path().join("outbox")).unwrap() {
            kept.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
        }
        for said in [sent, kept] {
            assert!(said.contains("[redacted], so"), "{said}");
            assert!(!said.contains("sk-live"), "{said}");
        }
    }

    #[tokio::test]
    async fn a_volume_that_fails_does_not_stop_the_events() {
        let state = tempfile::tempdir().unwrap();
        let attempt = AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 1,
        };
        let key = MacKey::from_wire(&"A".repeat(43)).unwrap();
        let mut journal = journal();
        journal.keep_in(Outbox::open(state.path(), attempt, key).unwrap().0);
        std::fs::remove_dir(state.path().join("outbox")).unwrap();
        journal.record(text("one"));
        journal.close();
        let events = journal.queue().batch(9).await;
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(format!("{:?}", events[1]).contains("outbox"));
    }
}
