//! `moor task`.

mod again;
mod explain;
mod follow;
mod show;
mod steer;
mod steps;
mod watch;

use clap::Subcommand;
use protocol::TaskId;

use self::again::{Deed, Rerun, Retry, Which};
use self::steer::Steer;
use self::watch::{Logs, Messages, Watch};
use super::{Part, run};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the tasks of the workspace, newest first.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows a task.
    Get {
        /// Its id; in a task's pod, without one, the task of the token.
        id: Option<TaskId>,
    },
    /// Ends a task. What it has done stays.
    Cancel {
        /// Its id.
        id: TaskId,
    },
    /// Says why a task is where it is, with what shows it: limits, conditions, attempts, how it ended.
    Explain(Which),
    /// Runs a task that is over once more, for the same causes and in the same conversation.
    Rerun(Rerun),
    /// Tries a task again that failed.
    Retry(Retry),
    /// Says something to a task while it works: a comment in its thread, of which its agent is told at once. Where it does
    /// not take it in, another task does it after.
    Steer(Steer),
    /// Puts a task aside: its pod ends, its place is free for others, what is said meanwhile is for another task.
    Suspend(Which),
    /// Lets a task go on that was put aside.
    Resume(Which),
    /// Shows all that happened in a task, event by event.
    Logs(Logs),
    /// Shows what happened in a task as one reads it: a call of a tool and what it gave are one step.
    Messages(Messages),
    /// Shows what happens in a task until it is over, and ends as it does: with 0 when it succeeded, with 8 when
    /// not. A terminal gets colours unless `NO_COLOR` is set.
    Watch(Watch),
}

impl Verb {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let open = async || Session::open(settings).await;
        match self {
            Self::List { part } => {
                let session = open().await?;
                let page = session.board()?.tasks(&part.query()).await?;
                out.page(&page, |run| run.id.to_string(), run::table)
            }
            Self::Get { id } => get(&open().await?, *id, out).await,
            Self::Cancel { id } => {
                let session = open().await?;
                let run = session.board()?.cancel_task(*id).await?;
                out.show(&run, |run| run.id.to_string(), run::describe)
            }
            Self::Explain(which) => {
                let session = open().await?;
                let explained = session.board()?.explain_task(which.id).await?;
                out.show(&explained, |it| it.run.id.to_string(), explain::describe)
            }
            Self::Rerun(rerun) => Deed::Rerun(rerun).run(settings, out).await,
            Self::Retry(retry) => Deed::Retry(retry).run(settings, out).await,
            Self::Steer(steer) => steer.run(settings, out).await,
            Self::Suspend(which) => Deed::Suspend(which).run(settings, out).await,
            Self::Resume(which) => Deed::Resume(which).run(settings, out).await,
            Self::Logs(logs) => logs.run(settings, out).await,
            Self::Messages(messages) => messages.run(settings, out).await,
            Self::Watch(watch) => watch.run(settings, out).await,
        }
    }
}

/// A task's token sees its own task with what is asked of it; people see any of the workspace.
async fn get(session: &Session, id: Option<TaskId>, out: &mut Output<'_>) -> Result<(), Failure> {
    let id = match id {
        Some(id) => id,
        None => session.own_task().await?,
    };
    if session.is_of_task() {
        let task = session.client.task(&session.token, id).await?;
        return out.show(&task, |task| task.id.to_string(), show::describe);
    }
    let run = session.board()?.run(id).await?;
    out.show(&run, |run| run.id.to_string(), run::describe)
}
