//! A run is asked for again, a task is put aside, and what agents cause is counted from the person's word on.

use protocol::board::{BlockedReason, CauseKind, InboxKind, IssueEdit, NewIssue, WakeVerdict};
use protocol::{FailureClass, Outcome, SessionPolicy, TaskId, TaskState};
use store::{Again, Error};

use crate::bed::{Bed, both};
use crate::board::{AGENTS, Agents, acting, agent, titled};
use crate::talk::{Scene, task_of, to, verdicts};

fn out_of_memory() -> Outcome {
    Outcome::failed(FailureClass::OOMKilled, "")
}

fn new(verdict: &WakeVerdict) -> TaskId {
    match verdict {
        WakeVerdict::Queued { task } => task.unwrap(),
        WakeVerdict::Coalesced { .. }
        | WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. }
        | WakeVerdict::Blocked { .. } => panic!("{verdict:?}"),
    }
}

both! {
    async fn a_run_is_done_again_for_the_same_causes(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (ada, bob) = (scene.ada.clone(), acting(&scene.bed.member("bob").await));
        let store = scene.bed.store.clone();
        let first = scene.say(&ada, &to("reviewer")).await;
        let old = task_of(&first.wakes);
        let second = scene.answer(&ada, &to("reviewer"), first.comment.id).await;
        let now = scene.tick();
        let early = store.do_again(&bob, old, Again::Rerun, &AGENTS, now).await;
        assert!(matches!(early, Err(Error::Conflict { .. })), "{early:?}");
        assert_eq!(scene.run().await, old);
        let retried = store.do_again(&bob, old, Again::Retry { fresh: false }, &AGENTS, now).await;
        assert!(matches!(retried, Err(Error::Conflict { .. })), "it has not failed: {retried:?}");
        let done = store.do_again(&bob, old, Again::Rerun, &AGENTS, now).await.unwrap();
        let again = new(&done);
        assert_ne!(again, old);
        // Asked for twice it is one run, and the deletion of what it is about takes that back.
        let twice = store.do_again(&bob, old, Again::Rerun, &AGENTS, now).await.unwrap();
        assert_eq!(twice, WakeVerdict::Coalesced { task: again });
        let (row, before) = (scene.bed.task(again).await, scene.bed.task(old).await);
        assert_eq!((row.session, row.policy), (before.session, SessionPolicy::Resume));
        let now = scene.tick();
        store.delete_comment(&ada, second.comment.id, now).await.unwrap();
        let cause = store.cause(again).await.unwrap().unwrap();
        assert_eq!(cause.comment.map(|comment| comment.id), Some(first.comment.id));
        assert_eq!((cause.kind, cause.author, cause.originator.as_deref()), (CauseKind::Comment, bob.author.clone(), Some("bob")));
        let asked = cause.again.unwrap();
        assert_eq!((asked.task, asked.failure), (old, None));
        assert_eq!((cause.coalesced.len(), cause.reply_to), (0, Some(first.comment.id)));
        // It fails, and who asked is told.
        let attempt = scene.claim().await.unwrap();
        assert_eq!(attempt.task, again);
        scene.open(attempt).await;
        scene.end(attempt, out_of_memory()).await;
        let bob_is = scene.bed.member("bob").await;
        let told = scene.inbox(&bob_is).await;
        assert_eq!(told.iter().filter(|entry| entry.kind == InboxKind::Failure).count(), 1, "{told:?}");
        let now = scene.tick();
        let fresh = Again::Retry { fresh: true };
        let third = new(&store.do_again(&bob, again, fresh, &AGENTS, now).await.unwrap());
        assert_eq!(scene.bed.task(third).await.policy, SessionPolicy::Fresh);
        let cause = store.cause(third).await.unwrap().unwrap();
        assert_eq!(cause.again.unwrap().failure, Some(FailureClass::OOMKilled));
        // Who waits already goes on with the conversation.
        let refused = store.do_again(&bob, old, fresh, &AGENTS, now).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        let now = scene.tick();
        store.delete_comment(&ada, first.comment.id, now).await.unwrap();
        assert_eq!(scene.bed.task(third).await.state, TaskState::Finished);
        let nothing = store.do_again(&bob, old, Again::Rerun, &AGENTS, now).await;
        assert!(matches!(nothing, Err(Error::Conflict { .. })), "{nothing:?}");
        scene.bed.sound().await;
    }

    async fn an_agent_that_is_gone_is_not_woken_again(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let edit = IssueEdit { assignee: Some(Some(agent("reviewer"))), ..IssueEdit::default() };
        let now = scene.tick();
        let key = scene.issue.key.clone();
        let given = store.edit_issue(&ada, &key, edit, &AGENTS, now).await.unwrap();
        let old = task_of(&given.wakes);
        assert_eq!(scene.run().await, old);
        let gone = store.do_again(&ada, old, Again::Rerun, &Agents(&["writer"]), now).await.unwrap();
        assert_eq!(gone, WakeVerdict::Blocked { reason: BlockedReason::NotAvailable });
        let again = new(&store.do_again(&ada, old, Again::Rerun, &AGENTS, now).await.unwrap());
        let cause = store.cause(again).await.unwrap().unwrap();
        assert_eq!((cause.kind, cause.comment), (CauseKind::Assignment, None));
        let stranger = store::Acting { workspace: crate::board::elsewhere(), ..ada };
        let refused = store.do_again(&stranger, old, Again::Rerun, &AGENTS, now).await;
        assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
    }

    async fn what_was_declared_in_the_cluster_is_done_again_there(bed: Bed) {
        let scene = Scene::new(bed).await;
        let entered = scene.bed.store.enter(crate::bed::new_task("reviewer", "declared")).await.unwrap();
        let refused = scene.bed.store.do_again(&scene.ada, entered.task, Again::Rerun, &AGENTS, crate::bed::at(9)).await;
        assert!(matches!(refused, Err(Error::Conflict { what }) if what.contains("AgentTask")));
    }

    async fn what_is_put_aside_takes_nothing_in_and_goes_on(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let first = scene.say(&ada, &to("reviewer")).await;
        let (aside, root) = (task_of(&first.wakes), first.comment.id);
        let now = scene.tick();
        for _ in 0..2 {
            store.put_aside(aside, now).await.unwrap();
        }
        let row = scene.bed.task(aside).await;
        assert_eq!((row.state, row.held), (TaskState::Suspended, true));
        let second = scene.answer(&ada, &to("reviewer"), root).await;
        let other = task_of(&second.wakes);
        assert_ne!(other, aside);
        assert_eq!(scene.run().await, other);
        assert_eq!(scene.claim().await, None);
        let now = scene.tick();
        for _ in 0..2 {
            store.let_go_on(aside, now).await.unwrap();
        }
        let attempt = scene.claim().await.unwrap();
        assert_eq!(attempt.task, aside);
        // One that runs is put aside as well, and frees its session once its pod is gone.
        scene.open(attempt).await;
        let now = scene.tick();
        store.put_aside(aside, now).await.unwrap();
        assert_eq!(scene.bed.task(aside).await.state, TaskState::Suspended);
        let now = scene.tick();
        store.release(attempt, now).await.unwrap();
        store.let_go_on(aside, now).await.unwrap();
        assert_eq!(scene.run().await, aside);
        for over in [store.put_aside(aside, now).await, store.let_go_on(aside, now).await] {
            assert!(matches!(over, Err(Error::Conflict { .. })), "{over:?}");
        }
        scene.bed.sound().await;
    }

    async fn what_is_put_aside_by_its_object_goes_on_there(bed: Bed) {
        let scene = Scene::new(bed).await;
        let store = &scene.bed.store;
        let task = store.enter(crate::bed::new_task("reviewer", "declared")).await.unwrap().task;
        store.suspend(task, crate::bed::at(8)).await.unwrap();
        let refused = store.let_go_on(task, crate::bed::at(9)).await;
        assert!(matches!(refused, Err(Error::Conflict { what }) if what.contains("desiredState")));
    }

    async fn the_comment_of_what_is_put_aside_can_be_deleted(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let first = scene.say(&ada, &to("reviewer")).await;
        let aside = task_of(&first.wakes);
        let now = scene.tick();
        scene.bed.store.put_aside(aside, now).await.unwrap();
        scene.bed.store.delete_comment(&ada, first.comment.id, now).await.unwrap();
        assert_eq!(scene.bed.task(aside).await.state, TaskState::Finished);
        scene.bed.sound().await;
    }

    async fn one_word_of_a_person_pays_for_so_many_runs(bed: Bed) {
        let limits = wake::Limits { depth: 99, runs: 99, rounds: 99, root: 4 };
        let bed = Bed { store: bed.store.clone().with_limits(limits), ..bed };
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let member = scene.bed.member("ada").await;
        let key = scene.issue.key.clone();
        let store = scene.bed.store.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (_, reviewer) = scene.begin().await;
        // On ever new issues, of which none sees what goes on in the others; said once.
        let part = || NewIssue { parent: Some(key.clone()), assignee: Some(agent("writer")), ..titled("a part") };
        let mut held = Vec::new();
        for made in 0..7 {
            let now = scene.tick();
            let saved = store.create_issue(&reviewer, part(), &AGENTS, now).await.unwrap();
            let wanted = if made < 4 { "queued" } else { "rootLimit" };
            assert_eq!(verdicts(&saved.wakes), [("writer".to_owned(), wanted)], "{made}");
            held.extend(scene.words(&saved.issue.key).await);
        }
        assert!(held.len() == 1 && held[0].contains("4 runs"), "{held:?}");
        // A run further down is of the same root.
        let (attempt, writer) = scene.begin().await;
        let asked = scene.say(&writer, &to("reviewer")).await;
        assert_eq!(verdicts(&asked.wakes), [("reviewer".to_owned(), "rootLimit")]);
        assert_eq!(scene.words(&key).await, Vec::<String>::new());
        scene.end(attempt, Outcome::Succeeded).await;
        let guards = scene.inbox(&member).await.into_iter().filter(|entry| entry.kind == InboxKind::Guard);
        assert_eq!(guards.count(), 1);
        // What a person says begins anew.
        scene.say(&ada, "Go on.").await;
        let now = scene.tick();
        let saved = store.create_issue(&reviewer, part(), &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&saved.wakes), [("writer".to_owned(), "queued")]);
        scene.bed.sound().await;
    }
}
