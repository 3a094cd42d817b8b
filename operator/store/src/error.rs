//! What can go wrong, and whether asking again may help.

use std::path::PathBuf;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database did not answer, or a lock in it was not got in time.
    #[error("the store did not answer: {doing}")]
    Unavailable {
        /// What was being done.
        doing: &'static str,
        /// What the driver said.
        #[source]
        source: sqlx::Error,
    },
    /// The database file was deleted or replaced under the operator. Nothing is written ever again.
    #[error(
        "{path} is no longer the file that was opened: it was deleted or replaced; nothing is written any more"
    )]
    Lost {
        /// Where it was.
        path: PathBuf,
    },
    /// The step does not apply to what the store holds.
    #[error("{what}")]
    Conflict {
        /// Which step and why.
        what: String,
    },
    /// As many tasks wait in the workspace as may.
    #[error(
        "{max} tasks wait in the workspace, which is as many as may (maxQueued of its AgentQuota): try again when some of them have begun"
    )]
    Full {
        /// How many may wait.
        max: u32,
    },
    /// What is to be changed is not as the caller read it.
    #[error("it was changed meanwhile: it is at revision {present} now; read it again")]
    Revision {
        /// The present revision.
        present: u32,
    },
    /// A row that the caller named does not exist.
    #[error("there is no {what}")]
    Missing {
        /// What was looked for.
        what: String,
    },
    /// The store holds what it should never hold.
    #[error("the store holds a {what} that cannot be read: {found}")]
    Corrupt {
        /// Column or table.
        what: &'static str,
        /// What was found.
        found: String,
    },
    /// A value is none that the store takes.
    #[error("{what} is not accepted: {why}")]
    Invalid {
        /// Which value.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// Another process has the database.
    #[error("{path} is held by another operator; one database file has one operator")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The file lies where locks and shared memory cannot be trusted.
    #[error(
        "{path} lies on {kind}: SQLite's locks are not safe there; use a local volume, or Postgres"
    )]
    NetworkFileSystem {
        /// The database file.
        path: PathBuf,
        /// Which file system.
        kind: &'static str,
    },
    /// The file or its lock could not be opened or looked at.
    #[error("{path} could not be used")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The schema could not be brought up to date.
    #[error("the schema could not be brought up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// The store was opened for reading.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// What is given as the store's address is none.
    #[error("{0} is neither a path nor a postgres:// URL")]
    Address(String),
    /// A test asked for a failure here.
    #[error("a test asked for a failure {when} {point}")]
    Injected {
        /// Before or after the write.
        when: &'static str,
        /// Which write.
        point: &'static str,
    },
}

/// What a caller may do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Asking again gives the same answer.
    Never,
    /// Asking again helps once something else has changed.
    WhenChanged,
    /// Asking again after a pause may help.
    WithBackoff,
}

impl Error {
    /// The word for events, logs and metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } | Self::Injected { .. } => "StoreUnavailable",
            Self::Lost { .. } => "StoreLost",
            Self::Conflict { .. } => "StoreConflict",
            Self::Full { .. } => "QueueFull",
            Self::Revision { .. } => "StoreRevision",
            Self::Missing { .. } => "StoreMissing",
            Self::Corrupt { .. } => "StoreCorrupt",
            Self::Invalid { .. } => "StoreInvalid",
            Self::Locked { .. } => "StoreLocked",
            Self::NetworkFileSystem { .. } => "StoreOnNetworkFileSystem",
            Self::File { .. } => "StoreFile",
            Self::Migrate(_) => "StoreMigration",
            Self::ReadOnly => "StoreReadOnly",
            Self::Address(_) => "StoreAddress",
        }
    }

    /// Whether asking again may help.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unavailable { .. } | Self::Injected { .. } | Self::Locked { .. } => {
                Retry::WithBackoff
            }
            Self::Conflict { .. }
            | Self::Full { .. }
            | Self::Revision { .. }
            | Self::Missing { .. } => Retry::WhenChanged,
            Self::Lost { .. }
            | Self::Corrupt { .. }
            | Self::Invalid { .. }
            | Self::NetworkFileSystem { .. }
            | Self::File { .. }
            | Self::Migrate(_)
            | Self::ReadOnly
            | Self::Address(_) => Retry::Never,
        }
    }
}
