//! Tasks, attempts, sessions, tokens and timelines, issues and who speaks under them, in SQLite or PostgreSQL.
//!
//! One transaction decides each step of a task's life ([`life`]); every write goes through one numbered seam
//! ([`WritePoint`]); [`Changes`] tells who listens what has changed. Rows hold ids, never a prompt and never
//! a credential. Instants are whole microseconds.

mod access;
mod approvals;
mod attachments;
mod attempts;
mod audit;
mod born;
mod changes;
mod chats;
mod claim;
mod comments;
mod db;
mod delivered;
mod deliveries;
mod error;
mod event_texts;
mod files;
mod history;
mod inbox;
mod issues;
pub mod life;
mod lists;
mod live;
mod lock;
mod members;
mod open;
mod page;
#[cfg(test)]
mod plans;
mod projects;
mod quick;
mod raw;
mod requests;
mod runs;
mod schedules;
mod search;
mod sessions;
mod settings;
mod shares;
mod steers;
mod steps;
mod subscribers;
mod tasks;
mod text;
mod timeline;
mod tokens;
mod unfile;
mod usage;
mod verdicts;
mod waiting;
mod wakes;
mod workspaces;
mod writes;

use std::fmt;
use std::sync::Arc;

pub use access::{TokenHolder, TokenKind};
pub use approvals::{Asked, Question};
pub use attachments::{ATTACHMENTS, Added, Room};
pub use attempts::{AttemptRow, Opened};
pub use audit::Violation;
pub use changes::{Change, Changes};
pub use claim::{Claimed, Lane, LaneAgent, Place};
pub use comments::TASK_COMMENTS;
pub use deliveries::{
    Become, Delivery, DeliveryOutcome, NewDelivery, Nothing, Took, WAITING_DELIVERIES,
};
pub use error::{Error, Retry};
pub use files::{Files, Incoming, Kept};
pub use issues::CHILDREN;
pub use lists::Summary;
pub use live::{Live, LiveChange, Whereabouts};
pub use projects::PROJECTS;
pub use requests::Request;
pub use schedules::{Fired, Firing, ScheduleRef, ScheduleRow};
pub use search::SearchScope;
pub use sessions::{Holder, Pointer, RETIRED_SESSIONS, SessionKey, SessionRow};
pub use settings::Settings;
pub use shares::{Held, Share};
pub use tasks::{Entered, NewTask, TaskObject, TaskRow};
pub use timeline::{Appended, TimelineEntry};
pub use tokens::Authenticated;
pub use verdicts::{Decided, LATE_RESULTS, LateResult};
pub use waiting::Waiting;
pub use wakes::Again;
pub use workspaces::{Acting, WorkspaceRef};
pub use writes::{Fault, Faults, WritePoint};

/// The open store. A clone is the same store; the last one dropped lets the database go.
#[derive(Clone)]
pub struct Store {
    inner: Arc<open::Inner>,
    /// How far agents may wake each other.
    limits: wake::Limits,
    /// What is made next is made once for this.
    request: Option<Arc<Request>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
