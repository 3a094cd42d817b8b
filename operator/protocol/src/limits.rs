//! Every limit of the wire, with its unit. What lies beyond one is refused with the error code named here.

use std::time::Duration;

/// Bytes of one request body, code `bodyTooLarge`.
pub const BODY_BYTES: usize = 2 * 1024 * 1024;
/// Events of one batch, code `batchTooLarge`.
pub const BATCH_EVENTS: usize = 64;
/// Bytes of one event as JSON, code `eventTooLarge`. The runner cuts longer texts into several events.
pub const EVENT_BYTES: usize = 64 * 1024;
/// Bytes of a tool's output in the timeline; the rest stays in the CLI's own transcript on the volume.
pub const TOOL_OUTPUT_BYTES: usize = 8192;
/// Events one attempt may put into the timeline. Past it the run goes on, and the timeline's last event
/// says how many were left out; the full text stays on the volume.
pub const ATTEMPT_EVENTS: u64 = 20_000;
/// Bytes that the bodies of one attempt's events may take in the timeline, as JSON. Past it, as past
/// [`ATTEMPT_EVENTS`]: with long texts alone a run could else fill the store.
pub const ATTEMPT_EVENT_BYTES: u64 = 64 * 1024 * 1024;
/// Open connections of the API; the next one is answered 503 with code `tooManyConnections`.
pub const CONNECTIONS: usize = 4096;
/// Requests of one task token waiting at the same time, code `tooManyRequests`.
pub const REQUESTS_PER_TASK: usize = 16;
/// Bytes of the answer text kept in a result, cut at a character boundary.
pub const OUTPUT_BYTES: usize = 16 * 1024;
/// Bytes of a failure's message.
pub const MESSAGE_BYTES: usize = 1024;
/// Bytes of the termination message; the kubelet keeps 4096.
pub const TERMINATION_BYTES: usize = 3072;
/// Bytes of one line of a CLI's output before it counts as a protocol failure.
pub const LINE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a prompt.
pub const PROMPT_BYTES: usize = 64 * 1024;
/// Items of a page, code `invalidRequest` for more.
pub const PAGE_ITEMS: u32 = 200;
/// Items of a page that asks for no number.
pub const PAGE_DEFAULT: u32 = 50;
/// Bytes of an issue's title, code `invalidRequest`.
pub const TITLE_BYTES: usize = 500;
/// Bytes of an issue's description, code `invalidRequest`.
pub const DESCRIPTION_BYTES: usize = 256 * 1024;
/// Bytes of a comment, code `invalidRequest`.
pub const COMMENT_BYTES: usize = 64 * 1024;
/// Mentions that one text may hold; more are not read.
pub const MENTIONS: usize = 50;
/// Agents that one write may wake.
pub const RECIPIENTS: usize = 20;
/// Bytes of a comment in the package of the task that it woke; the rest is read with `moor`.
pub const CAUSE_COMMENT_BYTES: usize = 8 * 1024;
/// Comments in the package beside the one that woke the task.
pub const CAUSE_COMMENTS: usize = 10;
/// Days that a person's own token may live.
pub const TOKEN_DAYS: u32 = 90;
/// Tokens that a person may have.
pub const TOKENS_PER_PERSON: u32 = 50;

/// How long a control request is held when there is nothing to say.
pub const CONTROL_HOLD: Duration = Duration::from_secs(30);
/// An unfinished batch is sent after this long.
pub const BATCH_DELAY: Duration = Duration::from_millis(500);
/// A token of `moor login` lives this long.
pub const LOGIN_LIFE: Duration = Duration::from_secs(12 * 3600);
/// A task's token lives this long past the last heartbeat.
pub const TOKEN_LIFE: Duration = Duration::from_secs(600);
