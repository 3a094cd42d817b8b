//! Tasks, attempts, sessions, tokens and timelines, issues and who speaks under them, in SQLite or PostgreSQL.
//!
//! One transaction decides each step of a task's life ([`life`]); every write goes through one numbered seam
//! ([`WritePoint`]); [`Changes`] tells who listens what has changed. Rows hold ids, never a prompt and never
//! a credential. Instants are whole microseconds.

mod access;
mod attempts;
mod audit;
mod changes;
mod claim;
mod comments;
mod db;
mod error;
mod inbox;
mod issues;
pub mod life;
mod lists;
mod lock;
mod members;
mod open;
mod page;
#[cfg(test)]
mod plans;
mod runs;
mod sessions;
mod settings;
mod steps;
mod tasks;
mod text;
mod timeline;
mod tokens;
mod verdicts;
mod waiting;
mod wakes;
mod workspaces;
mod writes;

use std::fmt;
use std::sync::Arc;

pub use access::{TokenHolder, TokenKind};
pub use attempts::{AttemptRow, Opened};
pub use audit::Violation;
pub use changes::{Change, Changes};
pub use claim::{Claimed, Lane, LaneAgent};
pub use comments::TASK_COMMENTS;
pub use error::{Error, Retry};
pub use issues::CHILDREN;
pub use lists::Summary;
pub use sessions::{Holder, Pointer, RETIRED_SESSIONS, SessionKey, SessionRow};
pub use settings::Settings;
pub use tasks::{Entered, NewTask, TaskObject, TaskRow};
pub use timeline::{Appended, TimelineEntry};
pub use tokens::Authenticated;
pub use verdicts::{Decided, LATE_RESULTS, LateResult};
pub use waiting::Waiting;
pub use workspaces::{Acting, WorkspaceRef};
pub use writes::{Fault, Faults, WritePoint};

/// The open store. A clone is the same store; the last one dropped lets the database go.
#[derive(Clone)]
pub struct Store {
    inner: Arc<open::Inner>,
    /// How far agents may wake each other.
    limits: wake::Limits,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
