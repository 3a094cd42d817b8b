//! One live connection from its beginning to its end.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use http::StatusCode;
use protocol::board::{LiveBody, LiveMessage, LiveRequest, LiveTarget};
use protocol::{IssueId, TaskId, code, limits};
use tokio::time::Instant;

use super::caller::LiveCaller;
use super::hub::{Mark, Marks};
use super::subscription::{Followed, Subscriptions};
use crate::board::{GetIssues, GetTimelines, ListTasks, check_private};
use crate::error::Failure;
use crate::routes::run_of;
use crate::state::Shared;

/// Events of a task that are read at a time.
const PART: u32 = 16;
/// A reader that takes longer for a message, or for a part of a timeline, is cut off.
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
    /// When its rights were looked at last.
    checked: Instant,
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
            checked: Instant::now(),
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
        let (state, workspace) = (&self.state, &self.caller.workspace);
        let followed = match to {
            LiveTarget::Workspace {} => Followed::Workspace,
            LiveTarget::Issue { key } => {
                // Before it is looked for: who may not see it does not learn whether it is there.
                self.caller.check::<GetIssues>(state).await?;
                let found = state.store.issue(workspace, &key).await?;
                Followed::Issue(found.ok_or_else(Failure::not_found)?.id)
            }
            LiveTarget::Task { task, after } => {
                self.caller.check::<GetTimelines>(state).await?;
                run_of(state, workspace, Some(self.caller.member), task).await?;
                Followed::Task { task, told: after }
            }
        };
        self.allowed(&followed).await?;
        self.follows.add(id, followed)
    }

    /// Says that it is followed, and how it stands.
    async fn begin(&mut self, id: &str) -> Result<(), End> {
        self.send(Some(id), LiveBody::Subscribed {}).await?;
        for (word, followed) in self.follows.all() {
            // What a whole workspace holds is read over HTTP.
            if word == id && followed != Followed::Workspace {
                self.each(&word, followed, None).await?;
            }
        }
        Ok(())
    }

    /// Looks at what was marked.
    async fn look(&mut self, marks: Marks) -> Result<(), End> {
        if marks.missed {
            for (word, followed) in self.follows.all() {
                self.each(&word, followed, None).await?;
            }
        }
        for mark in marks.each {
            for (word, followed) in self.follows.of(mark) {
                self.each(&word, followed, Some(mark)).await?;
            }
        }
        Ok(())
    }

    /// Tells one thing under one word; all of it where nobody knows what has changed. What takes its reader too long
    /// ends the connection, and rights are looked at in between: reading slowly makes none last longer.
    async fn each(
        &mut self,
        word: &str,
        followed: Followed,
        mark: Option<Mark>,
    ) -> Result<(), End> {
        if self.checked.elapsed() >= self.state.limits.live_check {
            self.check().await?;
        }
        if !self.follows.has(word) {
            return Ok(());
        }
        let told = tokio::time::timeout(PATIENCE, self.tell(word, followed, mark)).await;
        told.map_err(|_| End::Gone)?
    }

    async fn tell(
        &mut self,
        word: &str,
        followed: Followed,
        mark: Option<Mark>,
    ) -> Result<(), End> {
        match (mark, followed) {
            (None, Followed::Workspace) => {
                let gap = LiveBody::Gap {
                    after: None,
                    until: None,
                };
                self.send(Some(word), gap).await
            }
            (None, Followed::Issue(issue)) => self.issue(word, issue).await,
            (None, followed @ Followed::Task { task, .. }) => self.run(word, task, &followed).await,
            (Some(mark @ Mark::Events(task)), Followed::Task { told, .. }) => {
                // The rest is looked at after what others wait for.
                if self.events(word, task, told).await? {
                    self.follows.inbox.put(mark);
                }
                Ok(())
            }
            (Some(Mark::Run(task, _) | Mark::Rest(task)), followed) => {
                self.run(word, task, &followed).await
            }
            (Some(Mark::Issue(issue)), _) => self.issue(word, issue).await,
            // Nobody else follows events.
            (Some(Mark::Events(_)), Followed::Workspace | Followed::Issue(_)) => Ok(()),
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
        let run = match run_of(
            &self.state,
            &self.caller.workspace,
            Some(self.caller.member),
            task,
        )
        .await
        {
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
        self.checked = Instant::now();
        match self.caller.check_all(&self.state).await {
            Err(failure) if is_final(&failure) => {
                self.refuse(None, &failure).await?;
                return Err(End::Close(close_code::POLICY, failure.message.into_owned()));
            }
            Ok(()) | Err(_) => {}
        }
        for (word, followed) in self.follows.all() {
            match self.allowed(&followed).await {
                Err(failure) if is_final(&failure) => self.refuse(Some(&word), &failure).await?,
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses who may not follow it. (A connection cannot be shared, so not even for a look.)
    async fn allowed(&mut self, followed: &Followed) -> Result<(), Failure> {
        let (state, caller) = (&self.state, &self.caller);
        match followed {
            Followed::Workspace => caller.check::<ListTasks>(state).await,
            Followed::Issue(_) => {
                caller.check::<GetIssues>(state).await?;
                caller.check::<ListTasks>(state).await
            }
            Followed::Task { task, .. } => {
                caller.check::<GetTimelines>(state).await?;
                check_private(state, caller.member, *task).await
            }
        }
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

/// True for what takes a right away; a cluster that does not answer, or one request too many, does not.
fn is_final(failure: &Failure) -> bool {
    [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
    ]
    .contains(&failure.status)
}
