//! What is to begin later: it waits with the others, takes in what comes, and begins with the earliest of its causes.

use protocol::board::{BlockedReason, NewComment, Posted, WakeVerdict};
use protocol::{CommentId, FailureClass, Outcome, SessionPolicy, TaskId, TaskState};
use store::{Again, Error, NewTask, Waiting};

use crate::bed::{Bed, at, both, failed, new_task};
use crate::board::{AGENTS, workspace};
use crate::talk::{Scene, room, task_of, to, verdicts};

/// Where it was begun twice it is the same task.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let mut new = NewTask {
        fire_at: Some(at(90)),
        ..new_task("reviewer", "later")
    };
    new.object.uid = Some("uid of what is deferred".to_owned());
    let task = bed.store.enter(new).await?.task;
    bed.store.fire(task, at(90)).await?;
    let over = failed(FailureClass::Cancelled);
    bed.store.end_unclaimed(task, over, at(95)).await?;
    Ok(())
}

impl Scene {
    /// Says something that wakes nobody before this second.
    async fn say_at(&mut self, second: i64, body: &str, parent: Option<CommentId>) -> Posted {
        let new = NewComment {
            body: body.to_owned(),
            parent,
            wake_at: Some(at(second)),
            ..NewComment::default()
        };
        let (key, ada) = (self.issue.key.clone(), self.ada.clone());
        self.try_post(&ada, &key, new).await.unwrap()
    }

    async fn until(&self, task: TaskId) -> Option<jiff::Timestamp> {
        self.bed.task(task).await.deferred_until()
    }
}

both! {
    async fn a_comment_wakes_nobody_before_its_time(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let store = scene.bed.store.clone();
        let posted = scene.say_at(300, &to("reviewer"), None).await;
        let task = task_of(&posted.wakes);
        assert_eq!(posted.wakes[0].verdict, WakeVerdict::Deferred { task: Some(task), until: at(300) });
        assert_eq!(scene.claim().await, None);
        let waits = store.waiting(task, &room(), at(200)).await.unwrap();
        assert_eq!(waits, Some(Waiting::Deferred { until: at(300) }));
        let run = store.run(&workspace(), task).await.unwrap().unwrap();
        assert_eq!((run.state, run.deferred_until), (TaskState::Queued, Some(at(300))));
        assert!(!store.does_agent_wait(crate::bed::NAMESPACE, "reviewer").await.unwrap());
        assert!(!store.fire(task, at(299)).await.unwrap());
        assert_eq!(scene.claim().await, None);
        // What was said after it and before its time goes first.
        let ada = scene.ada.clone();
        let other = task_of(&scene.say(&ada, &to("reviewer")).await.wakes);
        assert!(store.fire(task, at(300)).await.unwrap());
        assert!(!store.fire(task, at(300)).await.unwrap(), "once");
        assert_eq!(scene.until(task).await, None);
        scene.bed.sound().await;
        scene.pass(300);
        assert_eq!(scene.run().await, other);
        assert_eq!(scene.run().await, task);
        scene.bed.sound().await;
    }

    async fn what_comes_sooner_lets_it_begin_and_taken_back_lets_it_wait_again(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (store, ada) = (scene.bed.store.clone(), scene.ada.clone());
        let first = scene.say_at(500, &to("reviewer"), None).await;
        let (root, task) = (first.comment.id, task_of(&first.wakes));
        let sooner = scene.say_at(400, &to("reviewer"), Some(root)).await;
        assert_eq!(sooner.wakes[0].verdict, WakeVerdict::Deferred { task: Some(task), until: at(400) });
        let later = scene.say_at(450, &to("reviewer"), Some(root)).await;
        assert_eq!(later.wakes[0].verdict, WakeVerdict::Deferred { task: Some(task), until: at(400) });
        let now = scene.tick();
        store.delete_comment(&ada, sooner.comment.id, now).await.unwrap();
        assert_eq!(scene.until(task).await, Some(at(450)));
        let at_once = scene.answer(&ada, &to("reviewer"), root).await;
        assert_eq!(at_once.wakes[0].verdict, WakeVerdict::Coalesced { task });
        assert_eq!(scene.until(task).await, None);
        scene.bed.sound().await;
        let now = scene.tick();
        store.delete_comment(&ada, at_once.comment.id, now).await.unwrap();
        assert_eq!(scene.until(task).await, Some(at(450)));
        assert_eq!(scene.claim().await, None);
        // Whom an edit names beside waits for the same moment.
        let edit = protocol::board::CommentEdit { revision: None, body: format!("{} {}", to("reviewer"), to("writer")) };
        let now = scene.tick();
        let edited = store.edit_comment(&ada, root, edit, &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&edited.wakes), [("reviewer".to_owned(), "deferred"), ("writer".to_owned(), "deferred")]);
        assert_eq!(edited.wakes[1].verdict, WakeVerdict::Deferred { task: Some(task_of(&edited.wakes[1..])), until: at(500) });
        // Once somebody has it, it is theirs.
        let at_once = scene.answer(&ada, &to("reviewer"), root).await;
        let attempt = scene.claim().await.unwrap();
        let now = scene.tick();
        store.delete_comment(&ada, at_once.comment.id, now).await.unwrap();
        assert_eq!((scene.until(task).await, attempt.task), (None, task));
        scene.open(attempt).await;
        scene.bed.sound().await;
    }

    async fn it_fills_the_queue_and_lies_no_month_ahead(bed: Bed) {
        struct One;
        impl wake::Directory for One {
            fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
                AGENTS.agent(name)
            }

            fn max_queued(&self) -> Option<u32> {
                Some(1)
            }
        }
        let mut scene = Scene::new(bed).await;
        let (store, ada) = (scene.bed.store.clone(), scene.ada.clone());
        scene.say_at(500, &to("reviewer"), None).await;
        let new = NewComment { body: to("writer"), ..NewComment::default() };
        let now = scene.tick();
        let full = store.post_comment(&ada, &scene.issue.key, new.clone(), &One, now).await.unwrap();
        assert_eq!(full.wakes[0].verdict, WakeVerdict::Blocked { reason: BlockedReason::QueueFull });
        let far = NewComment { wake_at: Some(at(31 * 24 * 3600)), ..new };
        for refused in [
            store.preview_comment(&ada, &scene.issue.key, &far, &AGENTS, now).await.map(drop),
            store.post_comment(&ada, &scene.issue.key, far, &AGENTS, now).await.map(drop),
        ] {
            assert!(matches!(refused, Err(Error::Invalid { what: "wakeAt", .. })), "{refused:?}");
        }
        // What is past is now.
        let posted = scene.say_at(1, &to("writer"), None).await;
        assert_eq!(verdicts(&posted.wakes), [("writer".to_owned(), "queued")]);
    }

    async fn a_run_is_done_again_later(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (store, ada) = (scene.bed.store.clone(), scene.ada.clone());
        scene.say(&ada, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        scene.end(attempt, Outcome::failed(FailureClass::OOMKilled, "")).await;
        let old = attempt.task;
        let now = scene.tick();
        let fresh = (Again::Retry { fresh: true }, Some(at(900)));
        let done = store.do_again_at(&ada, old, fresh, &AGENTS, now).await.unwrap();
        let WakeVerdict::Deferred { task: Some(task), until } = done else { panic!("{done:?}") };
        assert_eq!((until, scene.bed.task(task).await.policy), (at(900), SessionPolicy::Fresh));
        // Asked for again later it is the same, sooner it is sooner.
        for (wanted, verdict) in [
            (Some(at(950)), WakeVerdict::Coalesced { task }),
            (Some(at(800)), WakeVerdict::Deferred { task: Some(task), until: at(800) }),
            (None, WakeVerdict::Coalesced { task }),
        ] {
            let now = scene.tick();
            let done = store.do_again_at(&ada, old, (Again::Rerun, wanted), &AGENTS, now).await.unwrap();
            assert_eq!(done, verdict, "{wanted:?}");
        }
        assert_eq!(scene.run().await, task);
        scene.bed.sound().await;
    }

    async fn a_deadline_counts_from_its_time_and_a_task_put_aside_keeps_it(bed: Bed) {
        let new = NewTask { fire_at: Some(at(500)), deadline_seconds: Some(60), ..new_task("reviewer", "later") };
        let task = bed.store.enter(new).await.unwrap().task;
        assert_eq!(bed.task(task).await.deadline_at, Some(at(560)));
        bed.store.suspend(task, at(50)).await.unwrap();
        assert!(!bed.store.fire(task, at(600)).await.unwrap(), "it is put aside");
        bed.store.resume(task, at(80)).await.unwrap();
        assert_eq!(bed.task(task).await.deferred_until(), Some(at(500)));
        assert_eq!(bed.store.claim_next(&room(), &bed.key, at(90)).await.unwrap(), None);
        bed.sound().await;
        assert!(bed.store.fire(task, at(600)).await.unwrap());
        let claimed = bed.store.claim_next(&room(), &bed.key, at(600)).await.unwrap();
        assert_eq!(claimed.map(|claimed| claimed.attempt.task), Some(task));
        bed.sound().await;
    }
}
