//! One live connection from its beginning to its end.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use protocol::board::{LiveBody, LiveMessage, LiveRequest, LiveTarget};
use protocol::{IssueId, TaskId, code, limits};
use tokio::time::Instant;

use super::caller::LiveCaller;
use super::hub::{Mark, Marks};
use super::subscription::{Followed, Subscriptions};
use crate::board::{GetIssues, GetTimelines, ListTasks};
use crate::error::Failure;
use crate::routes::run_of;
use crate::state::Shared;

/// Events of a task that are read at a time.
const PART: u32 = 32;
/// A reader that takes nothing for this long is cut off.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection, and what is told on it.
pub(crate) struct Reader {
    state: Shared,
    caller: LiveCaller,
    socket: WebSocket,
    follows: Subscriptions,
    /// Of the last message.
    number: u64,
    /// When something was heard last.
    heard: Instant,
}

/// Why a connection ends.
enum End {
    /// It is broken, or the client has closed it.
    Gone,
    /// The server closes it.
    Close(u16, String),
}

impl From<axum::Error> for End {
    fn from(_: axum::Error) -> Self {
        Self::Gone
    }
}

impl Reader {
    pub(crate) fn new(state: Shared, caller: LiveCaller, socket: WebSocket) -> Self {
        let namespace = caller.workspace.namespace_uid.clone();
        Self {
            follows: Subscriptions::new(state.live.clone(), namespace),
            state,
            caller,
            socket,
            number: 0,
            heard: Instant::now(),
        }
    }

    /// Serves it to its end.
    pub(crate) async fn serve(mut self) {
        self.state.metrics.live.inc();
        if let End::Close(code, why) = self.talk().await {
            let reason = why.as_str().into();
            let close = Message::Close(Some(CloseFrame { code, reason }));
            // Who does not hear it any more finds the connection gone.
            let _ = tokio::time::timeout(PATIENCE, self.socket.send(close)).await;
        }
        self.state.metrics.live.dec();
    }

    async fn talk(&mut self) -> End {
        let shutdown = self.state.shutdown.clone();
        let inbox = self.follows.inbox.clone();
        let mut check = tokio::time::interval(self.state.limits.live_check);
        let mut ping = tokio::time::interval(self.state.limits.live_ping);
        check.reset();
        ping.reset();
        loop {
            let went = tokio::select! {
                () = shutdown.cancelled() => {
                    Err(End::Close(close_code::AWAY, "the server stops: connect again".to_owned()))
                }
                heard = self.socket.recv() => self.hear(heard).await,
                marks = inbox.take() => self.look(marks).await,
                _ = check.tick() => self.check().await,
                _ = ping.tick() => self.ping().await,
            };
            if let Err(end) = went {
                return end;
            }
        }
    }

    /// Takes what the client says.
    async fn hear(&mut self, heard: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        self.heard = Instant::now();
        let text = match heard.ok_or(End::Gone)?? {
            Message::Text(text) => text,
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Binary(_) => {
                let why = "requests are JSON in text messages".to_owned();
                return Err(End::Close(close_code::UNSUPPORTED, why));
            }
            Message::Close(_) => return Err(End::Gone),
        };
        match serde_json::from_str(&text) {
            Ok(LiveRequest::Subscribe { id, to }) => match self.subscribe(&id, to).await {
                Ok(()) => self.begin(&id).await,
                Err(failure) => self.refuse(Some(&id), &failure).await,
            },
            Ok(LiveRequest::Unsubscribe { id }) => {
                self.follows.remove(&id);
                Ok(())
            }
            Err(error) => {
                let failure = Failure::invalid(format!("this is no request: {error}"));
                self.refuse(None, &failure).await
            }
        }
    }

    async fn subscribe(&mut self, id: &str, to: LiveTarget) -> Result<(), Failure> {
        let state = &self.state;
        let followed = match to {
            LiveTarget::Workspace {} => {
                self.caller.check::<ListTasks>(state).await?;
                Followed::Workspace
            }
            LiveTarget::Issue { key } => {
                self.caller.check::<GetIssues>(state).await?;
                self.caller.check::<ListTasks>(state).await?;
                let found = state.store.issue(&self.caller.workspace, &key).await?;
                Followed::Issue(found.ok_or_else(Failure::not_found)?.id)
            }
            LiveTarget::Task { task, after } => {
                self.caller.check::<GetTimelines>(state).await?;
                run_of(state, &self.caller.workspace, task).await?;
                Followed::Task { task, told: after }
            }
        };
        self.follows.add(id, followed)
    }

    /// Says that it is followed, and how it stands.
    async fn begin(&mut self, id: &str) -> Result<(), End> {
        self.send(Some(id), LiveBody::Subscribed {}).await?;
        let all = self.follows.all();
        let this = all.into_iter().filter(|(word, _)| word == id);
        for (word, followed) in this {
            self.tell_all(&word, &followed).await?;
        }
        Ok(())
    }

    /// Looks at what was marked.
    async fn look(&mut self, marks: Marks) -> Result<(), End> {
        if marks.missed {
            for (word, followed) in self.follows.all() {
                if followed == Followed::Workspace {
                    let gap = LiveBody::Gap {
                        after: None,
                        until: None,
                    };
                    self.send(Some(&word), gap).await?;
                }
                self.tell_all(&word, &followed).await?;
            }
        }
        for mark in marks.each {
            for (word, followed) in self.follows.of(mark) {
                match (mark, followed) {
                    (Mark::Events(task), Followed::Task { told, .. }) => {
                        // The rest is looked at after what others wait for.
                        if self.events(&word, task, told).await? {
                            self.follows.inbox.put(mark);
                        }
                    }
                    (Mark::Run(task, _) | Mark::Rest(task), followed) => {
                        self.run(&word, task, &followed).await?;
                    }
                    (Mark::Issue(issue), _) => self.issue(&word, issue).await?,
                    // Nobody else follows events.
                    (Mark::Events(_), Followed::Workspace | Followed::Issue(_)) => {}
                }
            }
        }
        Ok(())
    }

    /// Tells how something stands. What a whole workspace holds is read over HTTP.
    async fn tell_all(&mut self, word: &str, followed: &Followed) -> Result<(), End> {
        match followed {
            Followed::Workspace => Ok(()),
            Followed::Issue(issue) => self.issue(word, *issue).await,
            Followed::Task { task, .. } => self.run(word, *task, followed).await,
        }
    }

    async fn issue(&mut self, word: &str, issue: IssueId) -> Result<(), End> {
        let found = self.state.store.issue_by_id(issue).await;
        let Some((_, issue)) = found.map_err(|error| unavailable(&error))? else {
            return Ok(());
        };
        let body = LiveBody::Issue {
            key: issue.key,
            revision: issue.revision,
            comments: issue.comments,
            updated: issue.updated,
        };
        self.send(Some(word), body).await
    }

    /// Tells how a task stands; to who follows it, after all that had happened by then.
    async fn run(&mut self, word: &str, task: TaskId, followed: &Followed) -> Result<(), End> {
        let run = match run_of(&self.state, &self.caller.workspace, task).await {
            Ok(run) => Box::new(run),
            Err(failure) => return self.refuse(Some(word), &failure).await,
        };
        if let Followed::Task { told, .. } = followed
            && self.events(word, task, *told).await?
        {
            // There is more that was before it.
            self.follows.inbox.put(Mark::Rest(task));
            return Ok(());
        }
        self.send(Some(word), LiveBody::Run { run }).await
    }

    /// Tells a part of what happened in a task after a position, and says whether there may be more.
    async fn events(&mut self, word: &str, task: TaskId, mut told: u64) -> Result<bool, End> {
        let store = self.state.store.clone();
        let last = store.last_position(task).await;
        let last = last.map_err(|error| unavailable(&error))?;
        if last.saturating_sub(told) > limits::LIVE_BEHIND {
            let gap = LiveBody::Gap {
                after: Some(told),
                until: Some(last),
            };
            self.follows.told(word, last);
            self.send(Some(word), gap).await?;
            told = last;
        }
        let part = store.timeline(task, told, PART).await;
        let part = part.map_err(|error| unavailable(&error))?;
        let more = part.len() == PART as usize;
        for entry in part {
            self.follows.told(word, entry.position);
            let item = Box::new(crate::routes::item(entry));
            self.send(Some(word), LiveBody::Event { item }).await?;
        }
        Ok(more)
    }

    /// Ends what its reader may not follow any more; all of it where that is everything.
    async fn check(&mut self) -> Result<(), End> {
        if let Err(failure) = self.caller.check_all(&self.state).await {
            // A cluster that does not answer takes no right away.
            if failure.status.is_server_error() {
                return Ok(());
            }
            self.refuse(None, &failure).await?;
            return Err(End::Close(close_code::POLICY, failure.message.into_owned()));
        }
        for (word, followed) in self.follows.all() {
            let allowed = match followed {
                Followed::Workspace => self.caller.check::<ListTasks>(&self.state).await,
                Followed::Issue(_) => match self.caller.check::<GetIssues>(&self.state).await {
                    Ok(()) => self.caller.check::<ListTasks>(&self.state).await,
                    refused => refused,
                },
                Followed::Task { .. } => self.caller.check::<GetTimelines>(&self.state).await,
            };
            match allowed {
                Err(failure) if !failure.status.is_server_error() => {
                    self.refuse(Some(&word), &failure).await?;
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), End> {
        if self.heard.elapsed() > 3 * self.state.limits.live_ping {
            return Err(End::Gone);
        }
        self.put(Message::Ping(axum::body::Bytes::new())).await
    }

    /// Says that something is not followed, or not any more.
    async fn refuse(&mut self, id: Option<&str>, failure: &Failure) -> Result<(), End> {
        if let Some(id) = id {
            self.follows.remove(id);
        }
        let body = LiveBody::Ended {
            code: failure.code.to_owned(),
            message: failure.message.clone().into_owned(),
        };
        self.send(id, body).await
    }

    async fn send(&mut self, id: Option<&str>, body: LiveBody) -> Result<(), End> {
        self.number += 1;
        let message = LiveMessage {
            number: self.number,
            id: id.map(str::to_owned),
            body,
        };
        let text = serde_json::to_string(&message).map_err(|error| {
            tracing::error!(%error, "a live message cannot be written");
            End::Close(close_code::ERROR, code::INTERNAL.to_owned())
        })?;
        self.put(Message::Text(text.into())).await
    }

    async fn put(&mut self, message: Message) -> Result<(), End> {
        let sent = tokio::time::timeout(PATIENCE, self.socket.send(message)).await;
        sent.map_err(|_| End::Gone)?.map_err(End::from)
    }
}

/// The client comes again, and says where it stands.
fn unavailable(error: &store::Error) -> End {
    tracing::warn!(%error, "a live connection cannot read the store");
    End::Close(close_code::AGAIN, "try again".to_owned())
}
