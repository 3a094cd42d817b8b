//! The life of an issue, and what its model knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use protocol::board::{AuthorKind, CommentQuery, Issue, WakeVerdict};
use protocol::{AttemptId, CommentId, TaskId, TaskState};
use store::{Acting, Error, Faults, Opened};

use super::calls::{Answer, Call, faulty, make};
use super::{NAMES, Step, body, named, names};
use crate::bed::{Bed, DEADLINE, at};
use crate::board::{acting, acting_agent, titled, workspace};

/// A comment, as the model knows it.
struct Known {
    id: CommentId,
    by: Acting,
    /// Whom it must reach.
    names: BTreeSet<String>,
    alive: bool,
    /// The second before which nobody is to be woken by it.
    wake_at: i64,
}

pub(super) struct Life {
    /// Absent only while one process is dead and the next one not there yet.
    bed: Option<Bed>,
    armed: Arc<AtomicU8>,
    faults: Faults,
    issue: Issue,
    people: [Acting; 2],
    now: i64,
    written: u32,
    comments: Vec<Known>,
    attempts: Vec<AttemptId>,
    /// In which tasks an agent was told of a comment.
    pub(super) told: BTreeMap<(CommentId, String), BTreeSet<TaskId>>,
    /// What was waiting in tasks that somebody stopped, or that failed before they were opened.
    stopped: BTreeSet<(CommentId, String)>,
    pub(super) crashes: usize,
}

impl Life {
    pub(super) async fn new(bed: Bed) -> Self {
        let (armed, now) = (Arc::default(), 10);
        let faults = faulty(&armed);
        let bed = bed.reopen(faults.clone()).await;
        let people = [
            acting(&bed.member("ada").await),
            acting(&bed.member("bob").await),
        ];
        let issue = bed.issue(&people[0], titled("broken"), at(now)).await;
        Self {
            bed: Some(bed),
            armed,
            faults,
            issue,
            people,
            now,
            written: 0,
            comments: Vec::new(),
            attempts: Vec::new(),
            told: BTreeMap::new(),
            stopped: BTreeSet::new(),
            crashes: 0,
        }
    }

    pub(super) fn bed(&self) -> &Bed {
        self.bed.as_ref().unwrap()
    }

    /// Another issue in the same store.
    pub(super) async fn again(&mut self) {
        self.now += 10_000;
        self.issue = self
            .bed()
            .issue(&self.people[0], titled("broken"), at(self.now))
            .await;
        (self.comments, self.attempts) = (Vec::new(), Vec::new());
        (self.told, self.stopped) = (BTreeMap::new(), BTreeSet::new());
    }

    /// Makes a call, and makes it again, as its caller would, when something went wrong in the middle of it.
    async fn call(&mut self, call: Call) {
        self.now += 1;
        let made = |life: &Self| {
            make(
                life.bed().store.clone(),
                life.bed().key.clone(),
                life.issue.clone(),
                call.clone(),
                life.now,
            )
        };
        let answer = if self.armed.load(Ordering::Acquire) == 3 {
            let task = tokio::spawn(made(self));
            let abort = task.abort_handle();
            tokio::select! {
                answer = task => Some(answer.unwrap()),
                () = self.faults.crashed() => {
                    abort.abort();
                    self.rise().await;
                    None
                }
                () = tokio::time::sleep(DEADLINE) => panic!("{call:?} hangs"),
            }
        } else {
            Some(made(self).await)
        };
        match answer {
            Some(Ok(answer)) => self.learn(&call, answer).await,
            Some(Err(Error::Injected { .. })) | None => self.look(call).await,
            Some(Err(error)) => panic!("{call:?}: {error:?}"),
        }
    }

    /// The process died; another one begins.
    async fn rise(&mut self) {
        self.crashes += 1;
        self.armed = Arc::default();
        self.faults = faulty(&self.armed);
        let dead = self.bed.take().unwrap();
        self.bed = Some(dead.rise(self.faults.clone()).await);
    }

    /// Nobody knows what became of a call: who made it looks.
    async fn look(&mut self, call: Call) {
        match &call {
            Call::Post(by, body, _, wake_at) => {
                let query = CommentQuery {
                    limit: Some(200),
                    ..CommentQuery::default()
                };
                let page = self
                    .bed()
                    .store
                    .comments(&workspace(), &self.issue.key, &query)
                    .await
                    .unwrap();
                if let Some(found) = page.items.into_iter().find(|comment| comment.body == *body) {
                    // What a guard said of it is not known; a person is held back by none.
                    let names = if by.author.kind == AuthorKind::Member {
                        named(body)
                    } else {
                        BTreeSet::new()
                    };
                    self.comments.push(Known {
                        id: found.id,
                        by: (**by).clone(),
                        names,
                        alive: true,
                        wake_at: wake_at.unwrap_or(0),
                    });
                }
            }
            Call::Claim => {
                for task in self.bed().store.open_tasks(None, 200).await.unwrap() {
                    let row = self.bed().task(task).await;
                    let attempt = AttemptId {
                        task,
                        number: row.attempt,
                    };
                    if row.state == TaskState::Claimed && !self.attempts.contains(&attempt) {
                        self.attempts.push(attempt);
                    }
                }
            }
            Call::Edit(..)
            | Call::Delete(..)
            | Call::Open(..)
            | Call::Verdict(..)
            | Call::Release(..)
            | Call::Fire(..)
            | Call::Stop(..) => {
                let (store, key) = (self.bed().store.clone(), self.bed().key.clone());
                let answer = make(store, key, self.issue.clone(), call.clone(), self.now)
                    .await
                    .unwrap();
                self.learn(&call, answer).await;
            }
        }
    }

    async fn learn(&mut self, call: &Call, answer: Answer) {
        match (call, answer) {
            (Call::Post(by, body, _, wake_at), Answer::Posted(posted)) => {
                let mut names = named(body);
                for wake in &posted.wakes {
                    if matches!(wake.verdict, WakeVerdict::Blocked { .. }) {
                        names.remove(match wake.recipient.id.as_str() {
                            "pens" => "writer",
                            agent => agent,
                        });
                    }
                }
                self.comments.push(Known {
                    id: posted.comment.id,
                    by: (**by).clone(),
                    names,
                    alive: true,
                    wake_at: wake_at.unwrap_or(0),
                });
            }
            (Call::Edit(_, id, body), Answer::Posted(_)) => {
                let known = self
                    .comments
                    .iter_mut()
                    .find(|known| known.id == *id)
                    .unwrap();
                known.names = named(body);
            }
            (Call::Delete(_, id), Answer::Done) => {
                self.comments
                    .iter_mut()
                    .find(|known| known.id == *id)
                    .unwrap()
                    .alive = false;
            }
            (Call::Claim, Answer::Claimed(Some(attempt))) => {
                self.comes_in_time(attempt).await;
                self.attempts.push(attempt);
            }
            (Call::Open(attempt), Answer::Opened(Opened::First | Opened::Again)) => {
                self.hear(*attempt).await
            }
            _ => {}
        }
    }

    /// Something of what a task was woken by was to be heard by now.
    async fn comes_in_time(&self, attempt: AttemptId) {
        let cause = self.bed().store.cause(attempt.task).await.unwrap().unwrap();
        let comments = cause.comment.into_iter().chain(cause.coalesced);
        let time = |id| {
            let known = self.comments.iter().find(|known| known.id == id);
            known.map_or(0, |known| known.wake_at)
        };
        let earliest = comments.map(|comment| time(comment.id)).min();
        assert!(
            earliest.is_none_or(|at| at <= self.now),
            "{attempt:?} came at {} and not at {earliest:?}",
            self.now
        );
    }

    /// What the package of an open task says.
    async fn hear(&mut self, attempt: AttemptId) {
        let agent = self.bed().task(attempt.task).await.agent;
        let cause = self.bed().store.cause(attempt.task).await.unwrap().unwrap();
        for comment in cause.comment.into_iter().chain(cause.coalesced) {
            if comment.author.kind == AuthorKind::Member {
                // What no longer names it is not told any more.
                assert!(
                    named(&comment.body).contains(&agent),
                    "{agent} is told of {comment:?}"
                );
            }
            let tasks = self.told.entry((comment.id, agent.clone())).or_default();
            tasks.insert(attempt.task);
        }
    }

    /// What waits in a task, which is about to be over without anybody having been told.
    async fn give_up(&mut self, task: TaskId) {
        let row = self.bed().task(task).await;
        if row.state.has_verdict() {
            return;
        }
        let cause = self.bed().store.cause(task).await.unwrap().unwrap();
        let comments = cause.comment.into_iter().chain(cause.coalesced);
        self.stopped
            .extend(comments.map(|comment| (comment.id, row.agent.clone())));
    }

    async fn state(&self, attempt: AttemptId) -> TaskState {
        self.bed().task(attempt.task).await.state
    }

    /// Does a step, where there is something to do it to.
    pub(super) async fn step(&mut self, step: Step) {
        let pick = |which: usize, of: usize| (of > 0).then(|| which % of.max(1));
        match step {
            Step::Say(who, bits, thread, later) => {
                let parent = thread.and_then(|which| pick(which, self.comments.len()));
                let parent = parent
                    .map(|at| &self.comments[at])
                    .filter(|known| known.alive)
                    .map(|known| known.id);
                self.written += 1;
                let call = Call::Post(
                    Box::new(self.people[usize::from(who)].clone()),
                    body(self.written, &names(bits)),
                    parent,
                    later.map(|seconds| self.now + i64::from(seconds)),
                );
                self.call(call).await;
            }
            Step::Edit(which, bits) => {
                let Some(at) = pick(which, self.comments.len()) else {
                    return;
                };
                let known = &self.comments[at];
                if !known.alive || known.by.author.kind != AuthorKind::Member {
                    return;
                }
                self.written += 1;
                let call = Call::Edit(
                    Box::new(known.by.clone()),
                    known.id,
                    body(self.written, &names(bits)),
                );
                self.call(call).await;
            }
            Step::Delete(which) => {
                let Some(at) = pick(which, self.comments.len()) else {
                    return;
                };
                if self.comments[at].alive {
                    let call = Call::Delete(Box::new(self.people[0].clone()), self.comments[at].id);
                    self.call(call).await;
                }
            }
            Step::Claim => self.call(Call::Claim).await,
            Step::Fault(fault) => self.armed.store(fault, Ordering::Release),
            Step::Fire(which) => {
                let open = self.bed().store.open_tasks(None, 200).await.unwrap();
                if let Some(at) = pick(which, open.len()) {
                    self.call(Call::Fire(open[at])).await;
                }
            }
            Step::Stop(which) => {
                let open = self.bed().store.open_tasks(None, 200).await.unwrap();
                let Some(at) = pick(which, open.len()) else {
                    return;
                };
                if self.bed().task(open[at]).await.state == TaskState::Queued {
                    self.give_up(open[at]).await;
                    self.call(Call::Stop(open[at])).await;
                }
            }
            Step::Answer(which, _)
            | Step::Open(which)
            | Step::Finish(which, _)
            | Step::Release(which) => {
                let Some(at) = pick(which, self.attempts.len().min(4)) else {
                    return;
                };
                // Young ones are asked for: old ones are over.
                let attempt = self.attempts[self.attempts.len() - 1 - at];
                self.work(step, attempt).await;
            }
        }
    }

    async fn work(&mut self, step: Step, attempt: AttemptId) {
        let state = self.state(attempt).await;
        match step {
            Step::Answer(_, other) if state == TaskState::Preparing => {
                let agent = self.bed().task(attempt.task).await.agent;
                let parent = self
                    .bed()
                    .store
                    .answers_in(attempt.task)
                    .await
                    .unwrap()
                    .first()
                    .copied();
                let parent = parent.filter(|root| {
                    self.comments
                        .iter()
                        .any(|known| known.id == *root && known.alive)
                });
                self.written += 1;
                let text = match other {
                    true => body(
                        self.written,
                        &NAMES
                            .iter()
                            .filter(|name| **name != agent)
                            .map(|name| (*name).to_owned())
                            .collect(),
                    ),
                    false => format!("number {}: done", self.written),
                };
                self.call(Call::Post(
                    Box::new(acting_agent(&agent, attempt.task)),
                    text,
                    parent,
                    None,
                ))
                .await;
            }
            Step::Open(_) if state == TaskState::Claimed => self.call(Call::Open(attempt)).await,
            Step::Finish(_, well) if state.is_active() => {
                if state == TaskState::Claimed {
                    self.give_up(attempt.task).await;
                }
                self.call(Call::Verdict(attempt, well)).await;
            }
            Step::Release(_) if state == TaskState::Finishing => {
                self.call(Call::Release(attempt)).await
            }
            Step::Say(..)
            | Step::Edit(..)
            | Step::Delete(_)
            | Step::Answer(..)
            | Step::Claim
            | Step::Open(_)
            | Step::Finish(..)
            | Step::Release(_)
            | Step::Stop(_)
            | Step::Fire(_)
            | Step::Fault(_) => {}
        }
    }

    /// Works until nothing is left to do.
    pub(super) async fn drain(&mut self) {
        self.armed.store(0, Ordering::Release);
        // All times come.
        self.now += 100;
        for task in self.bed().store.open_tasks(None, 200).await.unwrap() {
            self.call(Call::Fire(task)).await;
        }
        for _ in 0..200 {
            for attempt in self.attempts.clone() {
                self.work(Step::Open(0), attempt).await;
                self.work(Step::Finish(0, true), attempt).await;
                self.work(Step::Release(0), attempt).await;
            }
            let before = self.attempts.len();
            self.call(Call::Claim).await;
            if self.attempts.len() == before {
                break;
            }
        }
        assert_eq!(
            self.bed().store.open_tasks(None, 9).await.unwrap(),
            [],
            "it comes to its end"
        );
    }

    /// One task waits in each slot, and one works for each agent.
    pub(super) async fn judge_slots(&self) {
        let (mut waiting, mut working) = (BTreeSet::new(), BTreeSet::new());
        for task in self.bed().store.open_tasks(None, 200).await.unwrap() {
            let row = self.bed().task(task).await;
            let thread = self.bed().store.answers_in(task).await.unwrap();
            if row.state == TaskState::Queued {
                assert!(
                    waiting.insert((row.agent.clone(), thread)),
                    "two wait in a slot: {row:?}"
                );
            }
            if row.state.is_active() {
                assert!(
                    working.insert(row.agent.clone()),
                    "two work at once: {row:?}"
                );
            }
        }
    }

    /// Nothing was lost, nothing was told twice.
    pub(super) fn judge(&self) {
        for ((comment, agent), tasks) in &self.told {
            assert_eq!(tasks.len(), 1, "{agent} was told of {comment} by {tasks:?}");
        }
        for known in self.comments.iter().filter(|known| known.alive) {
            for agent in &known.names {
                let key = (known.id, agent.clone());
                assert!(
                    self.told.contains_key(&key) || self.stopped.contains(&key),
                    "{agent} was never told of {}",
                    known.id
                );
            }
        }
    }
}
