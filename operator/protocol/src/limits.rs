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

/// How long a control request is held when there is nothing to say.
pub const CONTROL_HOLD: Duration = Duration::from_secs(30);
/// An unfinished batch is sent after this long.
pub const BATCH_DELAY: Duration = Duration::from_millis(500);
/// A token lives this long past the last heartbeat.
pub const TOKEN_LIFE: Duration = Duration::from_secs(600);
