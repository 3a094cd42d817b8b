//! What people say while an agent works: offered to its run, and never lost.

use protocol::board::{CommentEdit, CommentQuery, IssueQuery, NewComment, Posted, WakeVerdict};
use protocol::programs::Version;
use protocol::runner::CommandKind;
use protocol::{AttemptId, FailureClass, Outcome, TaskId, TaskState, limits};
use store::Error;
use wake::{AgentFacts, Directory, TeamFacts};

use crate::bed::{Bed, at, both, lane, told};
use crate::board::{AGENTS, acting, titled, workspace};
use crate::talk::{Scene, task_of, to, verdicts};

/// What the issue of [`speak`] is called.
pub(crate) const TITLE: &str = "steered";

/// The agents of the other tests, who want to hear at once.
struct Listening;

impl Directory for Listening {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        AGENTS.agent(name)
    }

    fn team(&self, name: &str) -> Option<TeamFacts> {
        AGENTS.team(name)
    }

    fn steers(&self, _agent: &str) -> bool {
        true
    }
}

/// The same, with a program from before it took remarks.
struct Old;

impl Directory for Old {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        AGENTS.agent(name)
    }

    fn steers(&self, _agent: &str) -> bool {
        true
    }

    fn version(&self, _runtime: &str) -> Option<Version> {
        Some(Version(2, 1, 109))
    }
}

/// An issue whose agent is told something while it works, and takes it in. What is there already is not made again.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let store = &bed.store;
    let ada = acting(&store.member(&workspace(), "ada", at(1)).await?);
    let issues = store.issues(&workspace(), &IssueQuery::default()).await?;
    let found = issues.items.into_iter().find(|issue| issue.title == TITLE);
    let key = match found {
        Some(issue) => issue.key,
        None => {
            let new = titled(TITLE);
            let saved = store.create_issue(&ada, new, &AGENTS, at(87)).await?;
            saved.issue.key
        }
    };
    let all = CommentQuery::default();
    let said = store.comments(&workspace(), &key, &all).await?.items;
    if said.is_empty() {
        let new = NewComment {
            body: to("writer"),
            ..NewComment::default()
        };
        store.post_comment(&ada, &key, new, &AGENTS, at(87)).await?;
    }
    let runs = store.runs_of_issue(&workspace(), &key, 9, None).await?;
    let task = runs.items.last().expect("it was woken").id;
    let attempt = AttemptId { task, number: 1 };
    if bed.task(task).await.state == TaskState::Queued {
        let lane = lane(&[("writer", 9)], 9);
        store.claim_next(&lane, &bed.key, at(88)).await?;
    }
    if !bed.task(task).await.state.has_verdict() {
        store.open_package(attempt, [2; 32], at(89)).await?;
        let remark = said.into_iter().find(|comment| comment.body == "remark");
        let remark = match remark {
            Some(remark) => remark.id,
            None => {
                let steered = store.steer(&ada, task, "remark", &AGENTS, at(90)).await?;
                steered.comment.id
            }
        };
        store.steered(attempt, remark, None, at(91)).await?;
        let verdict = told(Outcome::Succeeded, None);
        store.verdict(attempt, verdict, at(92)).await?;
    }
    store.release(attempt, at(93)).await?;
    Ok(())
}

/// It was offered once, taken in once, and nobody did it again.
pub(crate) async fn spoken(bed: &Bed) {
    let store = &bed.store;
    let issues = store.issues(&workspace(), &IssueQuery::default()).await;
    let mut issues = issues.unwrap().items.into_iter();
    let key = issues.find(|issue| issue.title == TITLE).unwrap().key;
    let runs = store.runs_of_issue(&workspace(), &key, 9, None).await;
    let runs = runs.unwrap().items;
    let ended: Vec<_> = runs.iter().map(|run| (run.attempt, run.failure)).collect();
    assert_eq!(ended, [(0, Some(FailureClass::Cancelled)), (1, None)]);
    let attempt = AttemptId {
        task: runs[1].id,
        number: 1,
    };
    assert_eq!(store.commands(attempt, 0).await.unwrap().len(), 1);
}

/// A person, and an agent that works for them in the thread of their comment.
struct Works {
    scene: Scene,
    asked: Posted,
    attempt: AttemptId,
}

impl Works {
    async fn new(bed: Bed) -> Self {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let asked = scene.say(&ada, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        Self {
            scene,
            asked,
            attempt,
        }
    }

    async fn post(&mut self, new: NewComment) -> Posted {
        let now = self.scene.tick();
        let key = self.scene.issue.key.clone();
        let store = &self.scene.bed.store;
        let ada = &self.scene.ada;
        let foreseen = store
            .preview_comment(ada, &key, &new, &Listening, now)
            .await
            .unwrap();
        let posted = store
            .post_comment(ada, &key, new, &Listening, now)
            .await
            .unwrap();
        let offered = |verdict: &WakeVerdict| matches!(verdict, WakeVerdict::Steered { .. });
        assert_eq!(
            offered(&foreseen.wakes[0].verdict),
            offered(&posted.wakes[0].verdict)
        );
        posted
    }

    /// A person answers in the thread.
    async fn add(&mut self, body: &str) -> Posted {
        let parent = Some(self.asked.comment.id);
        self.post(NewComment {
            body: body.to_owned(),
            parent,
            ..NewComment::default()
        })
        .await
    }

    /// A person changes what they said.
    async fn edit(&mut self, posted: &Posted, body: &str) -> Posted {
        let now = self.scene.tick();
        let edit = CommentEdit {
            revision: None,
            body: body.to_owned(),
        };
        let (store, ada) = (&self.scene.bed.store, &self.scene.ada);
        let id = posted.comment.id;
        let edited = store.edit_comment(ada, id, edit, &Listening, now).await;
        edited.unwrap()
    }

    async fn remarks(&self) -> Vec<String> {
        let commands = self
            .scene
            .bed
            .store
            .commands(self.attempt, 0)
            .await
            .unwrap();
        let words = commands.into_iter().filter_map(|command| {
            if let CommandKind::Steer { text, .. } = command.kind {
                Some(text)
            } else {
                None
            }
        });
        words.collect()
    }

    async fn answer(&mut self, posted: &Posted, why: Option<&str>) -> Result<(), Error> {
        let now = self.scene.tick();
        let store = &self.scene.bed.store;
        store
            .steered(self.attempt, posted.comment.id, why, now)
            .await
    }

    async fn end(&mut self) {
        self.scene.end(self.attempt, Outcome::Succeeded).await;
    }
}

fn offered(posted: &Posted) -> (TaskId, TaskId) {
    let WakeVerdict::Steered {
        task,
        follow_up: Some(next),
    } = posted.wakes[0].verdict
    else {
        panic!("{:?}", posted.wakes);
    };
    (task, next)
}

async fn not_taken_in(bed: Bed, told: Option<&str>) {
    let mut works = Works::new(bed).await;
    let posted = works.add("only Safari").await;
    let (_, next) = offered(&posted);
    if told.is_some() {
        works.answer(&posted, told).await.unwrap();
    }
    works.end().await;
    // Too late: it stays with who waits.
    works.answer(&posted, None).await.unwrap();
    let (after, _) = works.scene.begin().await;
    assert_eq!(after.task, next, "{told:?}");
    works.scene.end(after, Outcome::Succeeded).await;
    works.scene.bed.sound().await;
}

both! {
    async fn what_the_run_takes_in_is_not_done_again(bed: Bed) {
        let mut works = Works::new(bed).await;
        let posted = works.add("only Safari").await;
        let (task, next) = offered(&posted);
        assert_eq!(task, works.attempt.task);
        assert_eq!(works.remarks().await, ["only Safari"]);
        works.answer(&posted, None).await.unwrap();
        let waited = works.scene.bed.task(next).await;
        assert_eq!(waited.state, TaskState::Finished);
        // Said twice, it is the same.
        works.answer(&posted, None).await.unwrap();
        works.answer(&posted, Some("no")).await.unwrap();
        works.end().await;
        assert_eq!(works.scene.claim().await, None);
        works.scene.bed.sound().await;
    }

    async fn what_it_does_not_take_in_is_done_after(bed: Bed) {
        not_taken_in(bed, Some("the turn is over")).await;
    }

    async fn what_nothing_was_heard_of_is_done_after(bed: Bed) {
        not_taken_in(bed, None).await;
    }

    async fn what_was_changed_after_it_was_offered_is_done_after(bed: Bed) {
        let mut works = Works::new(bed).await;
        let posted = works.add("only Safari").await;
        let (_, next) = offered(&posted);
        works.edit(&posted, "only Firefox").await;
        // The run took in what was said first.
        works.answer(&posted, None).await.unwrap();
        works.end().await;
        let (after, _) = works.scene.begin().await;
        assert_eq!(after.task, next);
        let cause = works.scene.bed.store.cause(next).await.unwrap();
        assert_eq!(cause.unwrap().comment.unwrap().body, "only Firefox");
        works.scene.end(after, Outcome::Succeeded).await;
        works.scene.bed.sound().await;
    }

    async fn a_run_is_offered_a_comment_once(bed: Bed) {
        let mut works = Works::new(bed).await;
        let posted = works.add(&to("reviewer")).await;
        offered(&posted);
        works.edit(&posted, &to("writer")).await;
        let again = works.edit(&posted, &to("reviewer")).await;
        assert_eq!(verdicts(&again.wakes), [("reviewer".to_owned(), "queued")]);
        assert_eq!(works.remarks().await.len(), 1);
        works.answer(&posted, None).await.unwrap();
        works.end().await;
        let (after, _) = works.scene.begin().await;
        assert_eq!(after.task, task_of(&again.wakes));
        works.scene.end(after, Outcome::Succeeded).await;
        works.scene.bed.sound().await;
    }

    async fn two_remarks_wait_in_one_task_until_both_are_taken_in(bed: Bed) {
        let mut works = Works::new(bed).await;
        let one = works.add("one").await;
        let two = works.add("two").await;
        assert_eq!(offered(&one), offered(&two));
        works.answer(&one, None).await.unwrap();
        works.end().await;
        let (after, _) = works.scene.begin().await;
        assert_eq!(after.task, offered(&two).1);
        let cause = works.scene.bed.store.cause(after.task).await.unwrap();
        let cause = cause.unwrap();
        assert_eq!(cause.comment.unwrap().id, two.comment.id);
        assert!(cause.coalesced.is_empty(), "{:?}", cause.coalesced);
    }

    async fn a_program_of_a_version_that_takes_no_remarks_is_offered_none(bed: Bed) {
        let works = Works::new(bed).await;
        let new = NewComment {
            body: "only Safari".to_owned(),
            parent: Some(works.asked.comment.id),
            ..NewComment::default()
        };
        let (store, ada) = (&works.scene.bed.store, &works.scene.ada);
        let key = &works.scene.issue.key;
        let foreseen = store.preview_comment(ada, key, &new, &Old, at(95)).await;
        let posted = store.post_comment(ada, key, new, &Old, at(95)).await;
        for wakes in [foreseen.unwrap().wakes, posted.unwrap().wakes] {
            assert_eq!(verdicts(&wakes), [("reviewer".to_owned(), "queued")]);
        }
        assert!(works.remarks().await.is_empty());
    }

    async fn only_a_persons_words_in_the_same_thread_said_now_are_offered(bed: Bed) {
        let mut works = Works::new(bed).await;
        let elsewhere = works
            .post(NewComment {
                body: to("reviewer"),
                ..NewComment::default()
            })
            .await;
        let later = works.scene.tick() + jiff::SignedDuration::from_hours(1);
        let later = works
            .post(NewComment {
                body: to("reviewer"),
                parent: Some(works.asked.comment.id),
                wake_at: Some(later),
                ..NewComment::default()
            })
            .await;
        for posted in [elsewhere, later] {
            assert!(
                !matches!(posted.wakes[0].verdict, WakeVerdict::Steered { .. }),
                "{:?}",
                posted.wakes
            );
        }
        assert!(works.remarks().await.is_empty());
        // Who does not want to hear at once is not told, unless a person insists.
        let ada = works.scene.ada.clone();
        let root = works.asked.comment.id;
        let quiet = works.scene.answer(&ada, "and?", root).await;
        assert!(!matches!(quiet.wakes[0].verdict, WakeVerdict::Steered { .. }));
        let now = works.scene.tick();
        let store = works.scene.bed.store.clone();
        let task = works.attempt.task;
        let said = store.steer(&ada, task, "now", &AGENTS, now).await.unwrap();
        assert_eq!(offered(&said).0, task);
        assert_eq!(said.comment.thread, root);
        works.end().await;
        let now = works.scene.tick();
        let over = store.steer(&ada, task, "now", &AGENTS, now).await;
        assert!(matches!(over, Err(Error::Conflict { .. })), "{over:?}");
    }

    async fn a_run_is_told_no_more_than_it_may(bed: Bed) {
        let mut works = Works::new(bed).await;
        for number in 0..limits::REMARKS_PER_ATTEMPT {
            offered(&works.add(&number.to_string()).await);
        }
        let one_more = works.add("one more").await;
        assert!(matches!(
            one_more.wakes[0].verdict,
            WakeVerdict::Coalesced { .. }
        ));
        assert_eq!(works.remarks().await.len(), limits::REMARKS_PER_ATTEMPT as usize);
    }
}
