//! What can go wrong in a pass.

use crate::kube_writes::{WriteCause, WriteError};

/// Why a pass did not do its work. The next one starts from nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store did not do what was asked.
    #[error("the store: {0}")]
    Store(#[from] store::Error),
    /// A write to the cluster is not known to have been done.
    #[error("writing to the cluster")]
    Write(#[from] WriteError),
    /// A read of the cluster failed.
    #[error("reading {what}")]
    Read {
        /// What was read.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: Box<kube::Error>,
    },
    /// A read of the cluster got no answer in time.
    #[error("reading {what}: no answer")]
    NoAnswer {
        /// What was read.
        what: &'static str,
    },
    /// What was there a moment ago is not.
    #[error("{what} is gone again")]
    GoneAgain {
        /// What it was.
        what: &'static str,
    },
    /// The name of an AgentTask to be made belongs to another one.
    #[error(
        "AgentTask {namespace}/{name} was not made by Mooring and has the name of one to be made: delete it"
    )]
    NameTaken {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A task was born in the store, and the store does not know by what.
    #[error("the store does not know what woke the agent of task {task}")]
    NoCause {
        /// Which task.
        task: protocol::TaskId,
    },
    /// A name cannot be derived.
    #[error("deriving a name")]
    Name(#[from] crds::names::NameError),
}

/// What a caller may do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Nothing helps.
    Never,
    /// It helps once something has changed, and then there will be an event.
    WhenChanged,
    /// Trying again after a pause may help.
    WithBackoff,
}

impl Error {
    /// The word for logs and metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Store(error) => error.reason(),
            Self::Write(error) => error.point.as_str(),
            Self::Read { .. } | Self::NoAnswer { .. } | Self::GoneAgain { .. } => "ReadFailed",
            Self::NameTaken { .. } => "NameTaken",
            Self::NoCause { .. } => "CauseMissing",
            Self::Name(_) => "NameInvalid",
        }
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Store(error) => match error.retry() {
                store::Retry::Never => Retry::Never,
                store::Retry::WhenChanged | store::Retry::WithBackoff => Retry::WithBackoff,
            },
            Self::Write(error) => match error.cause {
                WriteCause::ReadOnly(_) => Retry::Never,
                WriteCause::Refused(_) | WriteCause::NoAnswer(_) | WriteCause::TimedOut => {
                    Retry::WithBackoff
                }
            },
            Self::Read { .. }
            | Self::NoAnswer { .. }
            | Self::GoneAgain { .. }
            | Self::NameTaken { .. } => Retry::WithBackoff,
            Self::NoCause { .. } | Self::Name(_) => Retry::Never,
        }
    }
}
