//! Nothing lost, nothing twice, one run per slot: random lives of an issue, with crashes and lost answers between
//! any two of its steps, judged by a model that knows only what was said and what was told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use protocol::board::{
    AuthorKind, CommentEdit, CommentQuery, Issue, NewComment, Posted, WakeVerdict,
};
use protocol::{AttemptId, CommentId, FailureClass, Outcome, TaskId, TaskState};
use store::{Acting, Error, Fault, Faults, Opened, Store};

use crate::bed::{Bed, DEADLINE, at, both, failed, told};
use crate::board::{AGENTS, acting, acting_agent, titled, workspace};
use crate::talk::{room, to};

const NAMES: [&str; 2] = ["reviewer", "writer"];

/// What somebody wants to do; which one is meant is chosen among what there is then.
#[derive(Clone, Debug)]
enum Step {
    /// A person writes: which person, whom it names (bits), in which thread (or a new one).
    Say(bool, u8, Option<usize>),
    /// A person changes what it names.
    Edit(usize, u8),
    /// A person deletes a comment.
    Delete(usize),
    /// An agent that works writes, and may name the other.
    Answer(usize, bool),
    Claim,
    Open(usize),
    Finish(usize, bool),
    Release(usize),
    /// A person stops a task that nobody has claimed.
    Stop(usize),
    /// The next write goes wrong.
    Fault(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..16_usize;
    prop_oneof![
        6 => (any::<bool>(), 1..4_u8, proptest::option::weighted(0.7, which.clone())).prop_map(|(who, names, thread)| Step::Say(who, names, thread)),
        3 => (which.clone(), 0..4_u8).prop_map(|(which, names)| Step::Edit(which, names)),
        2 => which.clone().prop_map(Step::Delete),
        3 => (which.clone(), any::<bool>()).prop_map(|(which, names)| Step::Answer(which, names)),
        5 => Just(Step::Claim),
        4 => which.clone().prop_map(Step::Open),
        4 => (which.clone(), proptest::bool::weighted(0.8)).prop_map(|(which, well)| Step::Finish(which, well)),
        4 => which.clone().prop_map(Step::Release),
        1 => which.prop_map(Step::Stop),
        2 => (1..4_u8).prop_map(Step::Fault),
    ]
}

/// One call, with all it needs, so that it can be made again by who got no answer.
#[derive(Clone, Debug)]
enum Call {
    Post(Box<Acting>, String, Option<CommentId>),
    Edit(Box<Acting>, CommentId, String),
    Delete(Box<Acting>, CommentId),
    Claim,
    Open(AttemptId),
    Verdict(AttemptId, bool),
    Release(AttemptId),
    Stop(TaskId),
}

enum Answer {
    Posted(Box<Posted>),
    Claimed(Option<AttemptId>),
    Opened(Opened),
    Done,
}

/// A comment, as the model knows it.
struct Known {
    id: CommentId,
    by: Acting,
    /// Whom it must reach.
    names: BTreeSet<String>,
    alive: bool,
}

/// Makes the next write go wrong; 0 for none.
fn faulty(armed: &Arc<AtomicU8>) -> Faults {
    let armed = Arc::clone(armed);
    Faults::new(move |_| match armed.swap(0, Ordering::AcqRel) {
        1 => Some(Fault::ErrorBefore),
        2 => Some(Fault::ErrorAfter),
        3 => Some(Fault::CrashAfter),
        _ => None,
    })
}

struct Life {
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
    told: BTreeMap<(CommentId, String), BTreeSet<TaskId>>,
    /// What was waiting in tasks that somebody stopped, or that failed before they were opened.
    stopped: BTreeSet<(CommentId, String)>,
    crashes: usize,
}

fn names(bits: u8) -> BTreeSet<String> {
    let named = NAMES.iter().enumerate();
    let named = named.filter(|(bit, _)| bits & (1 << bit) != 0);
    named.map(|(_, name)| (*name).to_owned()).collect()
}

fn body(number: u32, names: &BTreeSet<String>) -> String {
    let named: Vec<_> = names.iter().map(|name| to(name)).collect();
    // Who names nobody writes a note: a plain word would be for whoever the thread is with.
    let begin = if named.is_empty() { "/note" } else { "" };
    format!("{begin} number {number}: {}", named.join(" "))
        .trim()
        .to_owned()
}

async fn make(
    store: Store,
    key: protocol::InstallationKey,
    issue: Issue,
    call: Call,
    now: i64,
) -> Result<Answer, Error> {
    let time = at(now);
    Ok(match call {
        Call::Post(by, body, parent) => {
            let new = NewComment {
                body,
                parent,
                suppress: Vec::new(),
            };
            Answer::Posted(Box::new(
                store
                    .post_comment(&by, &issue.key, new, &AGENTS, time)
                    .await?,
            ))
        }
        Call::Edit(by, id, body) => {
            let edit = CommentEdit {
                revision: None,
                body,
            };
            Answer::Posted(Box::new(
                store.edit_comment(&by, id, edit, &AGENTS, time).await?,
            ))
        }
        Call::Delete(by, id) => match store.delete_comment(&by, id, time).await {
            Ok(()) | Err(Error::Missing { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
        Call::Claim => {
            let claimed = store.claim_next(&room(), &key, time).await?;
            Answer::Claimed(claimed.map(|claimed| claimed.attempt))
        }
        Call::Open(attempt) => Answer::Opened(store.open_package(attempt, [1; 32], time).await?),
        Call::Verdict(attempt, well) => {
            let outcome = if well {
                Outcome::Succeeded
            } else {
                Outcome::failed(FailureClass::OOMKilled, "too big")
            };
            store.verdict(attempt, told(outcome, None), time).await?;
            Answer::Done
        }
        Call::Release(attempt) => match store.release(attempt, time).await {
            Ok(_) | Err(Error::Conflict { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
        Call::Stop(task) => match store
            .end_unclaimed(task, failed(FailureClass::Cancelled), time)
            .await
        {
            Ok(_) | Err(Error::Conflict { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
    })
}

impl Life {
    async fn new(bed: Bed) -> Self {
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

    fn bed(&self) -> &Bed {
        self.bed.as_ref().unwrap()
    }

    /// Another issue in the same store.
    async fn again(&mut self) {
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
        let Bed {
            settings,
            store,
            key,
        } = self.bed.take().unwrap();
        drop(store);
        let open = async {
            loop {
                match Store::open_with(&settings, self.faults.clone()).await {
                    Ok(store) => return store,
                    // The dead one's tasks are not gone yet.
                    Err(Error::Locked { .. }) => tokio::task::yield_now().await,
                    Err(error) => panic!("{error:?}"),
                }
            }
        };
        let store = tokio::time::timeout(DEADLINE, open).await.unwrap();
        self.bed = Some(Bed {
            settings,
            store,
            key,
        });
    }

    /// Nobody knows what became of a call: who made it looks.
    async fn look(&mut self, call: Call) {
        match &call {
            Call::Post(by, body, _) => {
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
            (Call::Post(by, body, _), Answer::Posted(posted)) => {
                let mut names = named(body);
                for wake in &posted.wakes {
                    if matches!(wake.verdict, WakeVerdict::Blocked { .. }) {
                        names.remove(&wake.recipient.id);
                    }
                }
                self.comments.push(Known {
                    id: posted.comment.id,
                    by: (**by).clone(),
                    names,
                    alive: true,
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
            (Call::Claim, Answer::Claimed(claimed)) => self.attempts.extend(claimed),
            (Call::Open(attempt), Answer::Opened(Opened::First | Opened::Again)) => {
                self.hear(*attempt).await
            }
            _ => {}
        }
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
    async fn step(&mut self, step: Step) {
        let pick = |which: usize, of: usize| (of > 0).then(|| which % of.max(1));
        match step {
            Step::Say(who, bits, thread) => {
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
            | Step::Fault(_) => {}
        }
    }

    /// Works until nothing is left to do.
    async fn drain(&mut self) {
        self.armed.store(0, Ordering::Release);
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
    async fn judge_slots(&self) {
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
    fn judge(&self) {
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

/// Whom a text of this test names.
fn named(body: &str) -> BTreeSet<String> {
    let named = NAMES.iter().filter(|name| body.contains(&to(name)));
    named.map(|name| (*name).to_owned()).collect()
}

both! {
    async fn nothing_is_lost_and_nothing_told_twice_one(bed: Bed) {
        live(bed, 1).await;
    }

    async fn nothing_is_lost_and_nothing_told_twice_two(bed: Bed) {
        live(bed, 2).await;
    }

    async fn nothing_is_lost_and_nothing_told_twice_three(bed: Bed) {
        live(bed, 3).await;
    }

    async fn nothing_is_lost_and_nothing_told_twice_four(bed: Bed) {
        live(bed, 4).await;
    }

    async fn who_writes_and_who_works_at_once_neither_lose_nor_repeat(bed: Bed) {
        let scene = crate::talk::Scene::new(bed.clone()).await;
        let issue = scene.issue.clone();
        let root = bed.store.post_comment(&scene.ada, &issue.key, plain("/note here"), &AGENTS, at(50)).await.unwrap().comment.id;
        let writing: Vec<_> = (0..4).map(|person| {
            tokio::spawn(write(bed.clone(), issue.clone(), root, person))
        }).collect();
        let working: Vec<_> = (0..2).map(|_| tokio::spawn(work(bed.clone(), 12))).collect();
        let mut written = Vec::new();
        for writing in writing {
            written.extend(writing.await.unwrap());
        }
        let mut told = Vec::new();
        for working in working {
            told.extend(working.await.unwrap());
        }
        told.extend(work(bed.clone(), 200).await);
        assert_eq!(bed.store.open_tasks(None, 9).await.unwrap(), []);
        let once: BTreeSet<_> = told.iter().cloned().collect();
        assert_eq!(once.len(), told.len(), "told twice");
        let wanted: BTreeSet<_> = written.into_iter().flat_map(|id| NAMES.map(|name| (id, name.to_owned()))).collect();
        assert_eq!(once, wanted);
        bed.sound().await;
    }
}

/// A quarter of the lives: 250 on SQLite, so 1,000 in all; on PostgreSQL, where one takes longer, 15.
async fn live(bed: Bed, seed: u8) {
    // The same lives in every run: a failure here is to be seen again.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let lives: usize = if bed.is_sqlite() { 250 } else { 15 };
    let mut life = Life::new(bed).await;
    let (mut told, mut taken_in) = (0, 0);
    for number in 0..lives {
        let steps = proptest::collection::vec(step(), 12..30).new_tree(&mut runner);
        let steps = steps.unwrap().current();
        for step in steps {
            life.step(step).await;
        }
        life.judge_slots().await;
        life.drain().await;
        life.judge();
        told += life.told.len();
        let tasks: BTreeSet<_> = life.told.values().flatten().collect();
        taken_in += life.told.len() - tasks.len();
        // The rules of the store itself read all of it.
        if number % 50 == 49 || number + 1 == lives {
            life.bed().sound().await;
        }
        life.again().await;
    }
    let crashes = life.crashes;
    assert!(
        told > lives && taken_in > lives / 10 && crashes > lives / 10,
        "the lives come to something: {told}, {taken_in}, {crashes}"
    );
}

fn plain(body: &str) -> NewComment {
    NewComment {
        body: body.to_owned(),
        ..NewComment::default()
    }
}

/// A person who names both agents again and again, in one thread.
async fn write(bed: Bed, issue: Issue, root: CommentId, person: usize) -> Vec<CommentId> {
    let me = acting(&bed.member(&format!("person-{person}")).await);
    let mut written = Vec::new();
    for number in 0..2 {
        let new = NewComment {
            parent: Some(root),
            ..plain(&format!("{} {}", to("writer"), to("reviewer")))
        };
        let posted = bed
            .store
            .post_comment(&me, &issue.key, new, &AGENTS, at(100 + number))
            .await
            .unwrap();
        written.push(posted.comment.id);
    }
    written
}

/// A controller and its runners: claims, opens and ends what there is; says who was told of what.
async fn work(bed: Bed, rounds: i64) -> Vec<(CommentId, String)> {
    let mut told = Vec::new();
    for round in 0..rounds {
        let now = at(200 + round);
        let claimed = match bed.store.claim_next(&room(), &bed.key, now).await {
            Ok(claimed) => claimed,
            Err(Error::Conflict { .. }) => continue,
            Err(error) => panic!("{error:?}"),
        };
        let Some(claimed) = claimed else {
            tokio::task::yield_now().await;
            continue;
        };
        let (attempt, agent) = (claimed.attempt, claimed.session.key.agent);
        assert_eq!(
            bed.store.open_package(attempt, [1; 32], now).await.unwrap(),
            Opened::First
        );
        let cause = bed.store.cause(attempt.task).await.unwrap().unwrap();
        assert!(!cause.cut);
        let comments = cause.comment.into_iter().chain(cause.coalesced);
        told.extend(comments.map(|comment| (comment.id, agent.clone())));
        bed.store
            .verdict(attempt, crate::bed::told(Outcome::Succeeded, None), now)
            .await
            .unwrap();
        assert!(bed.store.release(attempt, now).await.unwrap());
    }
    told
}
