//! A timeline that is read to its end, also past a lost connection: by position, so that nothing is told twice.

use std::time::Duration;

use client::{EventQuery, Follow, Told};
use protocol::board::{RunView, TimelineItem};
use protocol::{TaskId, TaskState};

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

/// After a lost connection it is tried again this often in a row, …
const TRIES: u32 = 60;
/// … this long after the last time.
const WAIT: Duration = Duration::from_secs(1);

/// What is done with each part of a timeline.
pub(super) trait Reader {
    /// Takes the next part in.
    fn take(&mut self, part: &[TimelineItem], out: &mut Output<'_>) -> Result<(), Failure>;
}

/// Reads what follows a position, as it happens, until the task is over. A connection that is lost is made anew. Gives
/// the task as it ended.
pub(super) async fn until_over(
    mut follow: Follow,
    settings: &Settings,
    reader: &mut impl Reader,
    out: &mut Output<'_>,
) -> Result<RunView, Failure> {
    let mut session = Session::open(settings).await?;
    let mut tries = 0;
    loop {
        match follow.next(&session.board()?).await {
            Ok(Told::Events(part)) => {
                tries = 0;
                reader.take(&part, out)?;
            }
            Ok(Told::Stands(run)) if run.state == TaskState::Finished => return Ok(*run),
            Ok(Told::Stands(_)) => tries = 0,
            Err(error) if error.retry() && tries < TRIES => {
                tries += 1;
                out.note(&format!("{}; trying again", Failure::Api(error).words()))?;
                tokio::time::sleep(WAIT).await;
                // The pod through which it was reached may be the one that is gone.
                if let Ok(again) = Session::open(settings).await {
                    session = again;
                }
            }
            Err(error) => return Err(error.into()),
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
