//! A task that is followed to its end, past lost connections: by position, so that nothing is told twice and
//! nothing is left out.

use std::time::Duration;

use protocol::board::{LiveBody, LiveTarget, RunView, TimelineItem};
use protocol::{TaskId, code, limits};
use tokio::time::Instant;

use crate::{Board, Error, EventQuery, Live};

/// The word of the one subscription.
const WORD: &str = "task";
/// What happens so soon after something is told with it: the call of a tool and what it gave, most times.
const TOGETHER: Duration = Duration::from_millis(400);
/// Events that are told together at most.
const EVENTS: usize = 64;

/// Where the following stands.
#[derive(Debug)]
pub struct Follow {
    task: TaskId,
    /// The last position that was told.
    after: u64,
    /// Until this position it is read over HTTP.
    gap: Option<u64>,
    live: Option<Live>,
    /// What came behind events that were told together: their end, too.
    behind: Option<Result<LiveBody, Error>>,
}

/// What is told.
#[derive(Debug)]
pub enum Told {
    /// What happened next. Never empty.
    Events(Vec<TimelineItem>),
    /// How the task stands, after all that had happened by then.
    Stands(Box<RunView>),
}

impl Follow {
    /// Follows a task from behind this position; 0 for all.
    #[must_use]
    pub fn new(task: TaskId, after: u64) -> Self {
        Self {
            task,
            after,
            gap: None,
            live: None,
            behind: None,
        }
    }

    /// What is next; waits for it. After an error the next call connects anew, and goes on where this one stopped.
    ///
    /// # Errors
    /// [`Error`], as for every call; [`Error::Ended`] where the task may not be followed, [`Error::NotLive`].
    pub async fn next(&mut self, board: &Board<'_>) -> Result<Told, Error> {
        let told = self.told(board).await;
        if told.is_err() {
            self.live = None;
            self.behind = None;
        }
        told
    }

    async fn told(&mut self, board: &Board<'_>) -> Result<Told, Error> {
        loop {
            if let Some(events) = self.missed(board).await? {
                return Ok(Told::Events(events));
            }
            let body = match self.behind.take() {
                Some(body) => body?,
                None => self.live(board).await?.next().await?.body,
            };
            match body {
                LiveBody::Event { item } => {
                    let events = self.together(*item).await;
                    if !events.is_empty() {
                        return Ok(Told::Events(events));
                    }
                }
                LiveBody::Run { run } => return Ok(Told::Stands(run)),
                LiveBody::Gap { until, .. } => self.gap = until,
                LiveBody::Ended { code, message } => return Err(Error::Ended { code, message }),
                LiveBody::Subscribed {} | LiveBody::Issue { .. } => {}
            }
        }
    }

    /// The connection; a new one where there is none.
    async fn live(&mut self, board: &Board<'_>) -> Result<&mut Live, Error> {
        let live = match self.live.take() {
            Some(live) => live,
            None => connect(board, self.task, self.after).await?,
        };
        Ok(self.live.insert(live))
    }

    /// The next part of what the connection does not tell.
    async fn missed(&mut self, board: &Board<'_>) -> Result<Option<Vec<TimelineItem>>, Error> {
        let Some(until) = self.gap.filter(|until| *until > self.after) else {
            self.gap = None;
            return Ok(None);
        };
        let query = EventQuery {
            after: self.after,
            limit: Some(limits::PAGE_ITEMS),
        };
        let mut events = board.events(self.task, &query).await?.items;
        events.retain(|event| event.position > self.after);
        let Some(last) = events.last() else {
            return Err(Error::Live(format!("events until {until} are missing")));
        };
        self.after = last.position;
        Ok(Some(events))
    }

    /// An event, and those that come soon after it. Empty when it was told before.
    async fn together(&mut self, first: TimelineItem) -> Vec<TimelineItem> {
        let mut events = Vec::new();
        let until = Instant::now() + TOGETHER;
        let mut item = first;
        loop {
            // Read over HTTP already, maybe.
            if item.position > self.after {
                self.after = item.position;
                events.push(item);
            }
            let Some(live) = self.live.as_mut().filter(|_| events.len() < EVENTS) else {
                return events;
            };
            let next = match tokio::time::timeout_at(until, live.next()).await {
                Err(_) => return events,
                Ok(next) => next.map(|message| message.body),
            };
            item = match next {
                Ok(LiveBody::Event { item }) => *item,
                // What was told is told first.
                behind @ (Ok(
                    LiveBody::Subscribed {}
                    | LiveBody::Issue { .. }
                    | LiveBody::Run { .. }
                    | LiveBody::Gap { .. }
                    | LiveBody::Ended { .. },
                )
                | Err(_)) => {
                    self.behind = Some(behind);
                    return events;
                }
            };
        }
    }
}

async fn connect(board: &Board<'_>, task: TaskId, after: u64) -> Result<Live, Error> {
    let mut live = match board.live().await {
        Ok(live) => live,
        Err(error) if error.code() == Some(code::NOT_FOUND) => {
            // Who may see the task, and not look on, is told so in other words.
            board.run(task).await?;
            return Err(Error::NotLive);
        }
        Err(error) => return Err(error),
    };
    live.subscribe(WORD, LiveTarget::Task { task, after })
        .await?;
    Ok(live)
}
