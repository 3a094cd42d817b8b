//! A timeline that is read to its end, also past a lost connection: by position, so that nothing is told twice.

use std::time::Duration;

use client::EventQuery;
use protocol::board::{RunView, TimelineItem};
use protocol::{TaskId, TaskState, limits};

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

/// A timeline that is followed is asked for this often.
const EVERY: Duration = Duration::from_secs(1);
/// After a lost connection it is tried again this often in a row, …
const TRIES: u32 = 60;
/// … this long after the last time.
const WAIT: Duration = Duration::from_secs(1);

/// What is done with each part of a timeline.
pub(super) trait Reader {
    /// Takes the next part in.
    fn take(&mut self, part: &[TimelineItem], out: &mut Output<'_>) -> Result<(), Failure>;
}

/// Where the reading stands.
pub(super) struct Follow {
    task: TaskId,
    /// The last position that was taken in.
    after: u64,
    /// Failures since something was answered.
    tries: u32,
}

impl Follow {
    pub(super) fn new(task: TaskId, after: u64) -> Self {
        Self {
            task,
            after,
            tries: 0,
        }
    }

    /// Reads until the task is over. A connection that is lost is made anew. Gives the task as it ended.
    pub(super) async fn until_over(
        mut self,
        settings: &Settings,
        reader: &mut impl Reader,
        out: &mut Output<'_>,
    ) -> Result<RunView, Failure> {
        let mut session = Session::open(settings).await?;
        loop {
            match self.read(&session, reader, out).await {
                Ok(run) => return Ok(run),
                Err(Failure::Api(error)) if error.retry() && self.tries < TRIES => {
                    self.tries += 1;
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

    async fn read(
        &mut self,
        session: &Session,
        reader: &mut impl Reader,
        out: &mut Output<'_>,
    ) -> Result<RunView, Failure> {
        loop {
            // Asked before the events: what was written until the end is then still read.
            let run = session.board()?.run(self.task).await?;
            loop {
                let (part, more) = part(session, self.task, self.after, limits::PAGE_ITEMS).await?;
                self.tries = 0;
                if !part.is_empty() {
                    reader.take(&part, out)?;
                }
                self.after = part.last().map_or(self.after, |last| last.position);
                if !more {
                    break;
                }
            }
            if run.state == TaskState::Finished {
                return Ok(run);
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// A part of a timeline, and whether there is more.
pub(super) async fn part(
    session: &Session,
    task: TaskId,
    after: u64,
    limit: u32,
) -> Result<(Vec<TimelineItem>, bool), Failure> {
    let query = EventQuery {
        after,
        limit: Some(limit),
    };
    let page = session.board()?.events(task, &query).await?;
    // A page that does not move on would be asked for for ever.
    let moves = page.items.last().is_some_and(|last| last.position > after);
    Ok((page.items, page.next.is_some() && moves))
}
