//! What people do with a task: have it done again, put it aside, let it go on.

use clap::Args;
use protocol::TaskId;
use protocol::board::Retry as How;

use super::run;
use crate::failure::Failure;
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
pub(crate) struct Retry {
    #[command(flatten)]
    which: Which,
    /// Begins a new conversation, on the same files.
    #[arg(long)]
    fresh: bool,
}

/// What is done with it.
pub(super) enum Deed<'a> {
    Rerun(&'a Which),
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
            Self::Rerun(which) => board.rerun_task(which.id).await?,
            Self::Retry(Retry { which, fresh }) => {
                board.retry_task(which.id, &How { fresh: *fresh }).await?
            }
            Self::Suspend(which) => board.suspend_task(which.id).await?,
            Self::Resume(which) => board.resume_task(which.id).await?,
        };
        out.show(&shown, |run| run.id.to_string(), run::describe)
    }
}
