//! What people do with a task: have it done again, put it aside, let it go on.

use clap::Args;
use protocol::TaskId;
use protocol::board::{Rerun as Later, Retry as How};

use super::run;
use crate::failure::Failure;
use crate::noun::when::When;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

/// Which task.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its id.
    pub(super) id: TaskId,
}

#[derive(Debug, Args)]
pub(crate) struct Rerun {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    when: When,
    /// Begins a new conversation, on the same files.
    #[arg(long)]
    fresh: bool,
}

/// What is done with it.
pub(super) enum Deed<'a> {
    Rerun(&'a Rerun),
    Retry(&'a Retry),
    Suspend(&'a Which),
    Resume(&'a Which),
}

impl Deed<'_> {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let session = Session::open(settings).await?;
        let board = session.board()?;
        let shown = match self {
            Self::Rerun(Rerun { which, when }) => {
                let later = Later {
                    wake_at: when.at,
                    wake_after_seconds: when.after,
                };
                board.rerun_task(which.id, &later).await?
            }
            Self::Retry(Retry { which, when, fresh }) => {
                let how = How {
                    fresh: *fresh,
                    wake_at: when.at,
                    wake_after_seconds: when.after,
                };
                board.retry_task(which.id, &how).await?
            }
            Self::Suspend(which) => board.suspend_task(which.id).await?,
            Self::Resume(which) => board.resume_task(which.id).await?,
        };
        out.show(&shown, |run| run.id.to_string(), run::describe)
    }
}
