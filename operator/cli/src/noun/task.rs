//! `moor task`.

mod show;

use std::time::Duration;

use clap::{Args, Subcommand};
use client::EventQuery;
use protocol::{TaskId, TaskState, limits};

use super::{Part, count, run};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

/// A timeline that is followed is asked for this often.
const EVERY: Duration = Duration::from_secs(1);
/// After a lost connection it is tried again this often, …
const TRIES: u32 = 60;
/// … this long after the last time.
const WAIT: Duration = Duration::from_secs(1);

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
    /// Shows what happened in a task: words, tools, remarks.
    Logs(Logs),
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Id of the task.
    id: TaskId,
    /// Only what follows this position.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    /// At most so many events, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count(), conflicts_with = "follow")]
    limit: Option<u32>,
    /// Goes on until the task is over, also after a lost connection.
    #[arg(long, short)]
    follow: bool,
}

impl Verb {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let session = Session::open(settings).await?;
        match self {
            Self::List { part } => {
                let page = session.board()?.tasks(&part.query()).await?;
                out.page(&page, |run| run.id.to_string(), run::table)
            }
            Self::Get { id } => get(&session, *id, out).await,
            Self::Cancel { id } => {
                let run = session.board()?.cancel_task(*id).await?;
                out.show(&run, |run| run.id.to_string(), run::describe)
            }
            Self::Logs(logs) if logs.follow => follow(logs, session, settings, out).await,
            Self::Logs(logs) => logs.show(&session, out).await,
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

impl Logs {
    async fn show(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let limit = self.limit.unwrap_or(limits::PAGE_ITEMS);
        let (last, more) = part(session, self.id, self.after, limit, out).await?;
        if more {
            out.note(&format!(
                "there is more: moor task logs {} --after {last}",
                self.id
            ))?;
        }
        Ok(())
    }
}

/// Prints until the task is over. A connection that is lost is made anew, and nothing is shown twice.
async fn follow(
    logs: &Logs,
    mut session: Session,
    settings: &Settings,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut after = logs.after;
    let mut tries = 0;
    loop {
        match to_its_end(&session, logs.id, &mut after, out).await {
            Ok(()) => return Ok(()),
            Err(Failure::Api(error)) if error.retry() && tries < TRIES => {
                tries += 1;
                out.note(&format!("{}; trying again", Failure::Api(error).words()))?;
                tokio::time::sleep(WAIT).await;
                // The pod through which it was reached may be the one that is gone.
                if let Ok(again) = Session::open(settings).await {
                    session = again;
                }
            }
            Err(failure) => return Err(failure),
        }
    }
}

async fn to_its_end(
    session: &Session,
    id: TaskId,
    after: &mut u64,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    loop {
        // Asked before the events: what was written until the end is then still read.
        let is_over = session.board()?.run(id).await?.state == TaskState::Finished;
        loop {
            let (last, more) = part(session, id, *after, limits::PAGE_ITEMS, out).await?;
            *after = last;
            if !more {
                break;
            }
        }
        if is_over {
            return Ok(());
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Prints a part of the timeline. Gives the last position, and whether there is more.
async fn part(
    session: &Session,
    id: TaskId,
    after: u64,
    limit: u32,
    out: &mut Output<'_>,
) -> Result<(u64, bool), Failure> {
    let query = EventQuery {
        after,
        limit: Some(limit),
    };
    let page = session.board()?.events(id, &query).await?;
    for item in &page.items {
        out.item(item, |item| item.position.to_string(), show::event)?;
    }
    let last = page.items.last().map_or(after, |item| item.position);
    Ok((last, page.next.is_some() && last > after))
}
