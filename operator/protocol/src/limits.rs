//! Every limit of the wire, with its unit. What lies beyond one is refused with the error code named here.

use std::time::Duration;

/// Bytes of one request body, code `bodyTooLarge`.
pub const BODY_BYTES: usize = 2 * 1024 * 1024;
/// Events of one batch, code `batchTooLarge`.
pub const BATCH_EVENTS: usize = 64;
/// Bytes of one event as JSON, code `eventTooLarge`. The runner cuts longer texts into several events.
pub const EVENT_BYTES: usize = 64 * 1024;
/// Bytes of a tool's output in the timeline; the whole is kept beside it, within [`TEXT_BYTES`].
pub const TOOL_OUTPUT_BYTES: usize = 8192;
/// Bytes of the whole text of a tool's output that is kept beside the timeline; what is longer is cut there too.
pub const TEXT_BYTES: usize = 1024 * 1024;
/// Bytes of such texts of one attempt; those that come when it is full are not kept.
pub const ATTEMPT_TEXT_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a part of what an agent's program wrote; what is longer is cut there.
pub const RAW_PART_BYTES: usize = 64 * 1024;
/// Bytes of what an agent's program wrote that are kept of one attempt: the end of it.
pub const ATTEMPT_RAW_BYTES: u64 = 4 * 1024 * 1024;
/// Models that one result may tell of; more are left out.
pub const MODELS: usize = 16;
/// Bytes of a model's name.
pub const MODEL_BYTES: usize = 200;
/// Files that come with one comment.
pub const COMMENT_FILES: usize = 10;
/// Live connections of one person, code `tooManyRequests`.
pub const LIVE_PER_PERSON: usize = 8;
/// Live connections in all.
pub const LIVE: usize = 512;
/// Subscriptions of a live connection to one kind of thing, code `tooManyRequests`.
pub const LIVE_SUBSCRIPTIONS: usize = 64;
/// Bytes of the word of a subscription.
pub const LIVE_WORD_BYTES: usize = 64;
/// Bytes of what a client says on a live connection at once.
pub const LIVE_REQUEST_BYTES: usize = 4096;
/// Events of a task that may wait for a live reader; past it they are a gap.
pub const LIVE_BEHIND: u64 = 1000;
/// Events one attempt may put into the timeline. Past it the run goes on, and the timeline's last event
/// says how many were left out; the full text stays on the volume.
pub const ATTEMPT_EVENTS: u64 = 20_000;
/// Bytes that the bodies of one attempt's events may take in the timeline, as JSON. Past it, as past
/// [`ATTEMPT_EVENTS`]: with long texts alone a run could else fill the store.
pub const ATTEMPT_EVENT_BYTES: u64 = 64 * 1024 * 1024;
/// Days ahead to which a task can be deferred; what comes later than that is an `AgentSchedule`'s.
pub const DEFER_DAYS: i32 = 30;
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
/// Bytes of an attachment that no setting can go beyond; what is usual is [`ATTACHMENT_BYTES`].
pub const ATTACHMENT_BYTES_MOST: u64 = 256 * 1024 * 1024;
/// Bytes of an attachment where nothing else is set, code `bodyTooLarge`.
pub const ATTACHMENT_BYTES: u64 = 25 * 1024 * 1024;
/// Bytes of the name of an attachment, code `invalidRequest`.
pub const FILE_NAME_BYTES: usize = 200;
/// Bytes of a media type.
pub const MEDIA_TYPE_BYTES: usize = 100;
/// Repositories of a project, code `invalidRequest`.
pub const REPOSITORIES: usize = 16;
/// Mentions that one text may hold; more are not read.
pub const MENTIONS: usize = 50;
/// Agents that one write may wake.
pub const RECIPIENTS: usize = 20;
/// Bytes of a comment in the package of the task that it woke; the rest is read with `moor`.
pub const CAUSE_COMMENT_BYTES: usize = 8 * 1024;
/// Remarks that are offered to one attempt while it works; later ones wait for the next task.
pub const REMARKS_PER_ATTEMPT: u32 = 32;
/// Comments in the package beside the one that woke the task.
pub const CAUSE_COMMENTS: usize = 10;
/// Messages of a chat in the package of the task that answers them; the newest.
pub const CHAT_BATCH: usize = 10;
/// Messages of a chat that wait for a run at most, code `wrongState`.
pub const CHAT_WAITING: u32 = 50;
/// Chats of a person that are not put away, code `wrongState`.
pub const CHATS_PER_PERSON: u32 = 500;
/// Issues that agents are to write for a person at a time, code `wrongState`.
pub const QUICK_ISSUES_PER_PERSON: u32 = 20;
/// Labels of an issue, code `invalidRequest`.
pub const LABELS: usize = 20;
/// Bytes of a label.
pub const LABEL_BYTES: usize = 63;
/// Keys of an issue's metadata, code `invalidRequest`.
pub const METADATA_KEYS: usize = 50;
/// Bytes of one of them.
pub const METADATA_KEY_BYTES: usize = 63;
/// Bytes of all keys and values together.
pub const METADATA_BYTES: usize = 4096;
/// Members who follow an issue: a comment tells no more of them.
pub const SUBSCRIBERS: u32 = 1000;
/// Bytes of what is searched for, code `invalidRequest`.
pub const SEARCH_BYTES: usize = 400;
/// Words of it; all of them must be found.
pub const SEARCH_WORDS: usize = 16;
/// Characters of a text around what was found in it.
pub const SNIPPET_CHARS: usize = 160;
/// Bytes of what a tool is to be given, as JSON, for a person to look at. A longer one is refused: half of it is not what
/// was approved.
pub const APPROVAL_INPUT_BYTES: usize = 48 * 1024;
/// Bytes of the name of a tool, of the id of its call, and of why somebody is asked.
pub const APPROVAL_WORD_BYTES: usize = 512;
/// Decisions for which one attempt can wait at a time, code `wrongState`.
pub const APPROVALS_PENDING: u32 = 16;
/// Decisions that one attempt can ask for in all, code `wrongState`.
pub const APPROVALS_PER_ATTEMPT: u32 = 500;
/// Bytes of what a person says to a decision, code `invalidRequest`.
pub const DECISION_BYTES: usize = 2048;
/// Days that a person's own token may live.
pub const TOKEN_DAYS: u32 = 90;
/// The header that makes a request safe to send again.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Bytes of such a key.
pub const IDEMPOTENCY_KEY_BYTES: usize = 128;
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
