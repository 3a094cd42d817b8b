//! Wire types shared by API, runner and command line: what is said, in which shape, within which limits.
//!
//! Nothing here does I/O or reads a clock. Field names on the wire are camelCase, times RFC 3339 in UTC.

pub mod board;
pub mod bound;
mod credential;
mod error;
mod event;
mod failure;
pub mod footprint;
mod ids;
pub mod limits;
mod mac;
mod options;
mod package;
pub mod paths;
pub mod probe;
pub mod programs;
pub mod providers;
pub mod redact;
pub mod runner;
pub mod shown;
mod state;
pub mod texts;
pub mod tools;
mod verdict;
pub mod webhook;

pub use credential::{Credential, InstallationKey, MacKey, Salt};
pub use error::{ErrorBody, ErrorDetail, code};
pub use event::{Event, EventBody, LogLevel, ToolStatus};
pub use failure::{FailureClass, Fault, Retry, SessionEffect};
pub use ids::{
    ApprovalId, AttachmentId, AttemptId, ChatId, CommentId, InboxId, InstallationId, IssueId,
    MemberId, SessionId, TaskId, TokenId,
};
pub use mac::{MacError, OutboxLine, TerminationMessage};
pub use options::{McpPlace, McpServer, McpSource, McpValue, RunOptions};
pub use package::{
    AgentBrief, Package, RuntimeBrief, SessionBrief, SessionPolicy, Subject, TaskTimeouts,
    TokenScope,
};
pub use state::{EndReason, TaskState};
pub use verdict::{
    Answer, Evidence, Outcome, ProviderSession, Resumed, TaskResult, TokenUsage, Verdict,
};

/// Version of the messages between runner and API. A running pod outlives operator upgrades, so the API
/// answers the version a runner opened its package with.
pub const WIRE_VERSION: u32 = 1;
