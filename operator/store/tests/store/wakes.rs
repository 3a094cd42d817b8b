//! Who is woken by what: every comment that should wake an agent is in one task of it, until it has been told.

use protocol::board::{CauseKind, CommentEdit, InboxKind, NewComment};
use protocol::{FailureClass, Outcome, TaskState, limits};
use store::Error;

use crate::bed::{Bed, at, both, failed};
use crate::board::{AGENTS, acting, elsewhere};
use crate::talk::{Scene, task_of, to, verdicts};

both! {
    async fn a_mention_makes_a_task_before_it_has_an_object(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let posted = scene.say(&ada, &to("reviewer")).await;
        assert_eq!(verdicts(&posted.wakes), [("reviewer".to_owned(), "queued")]);
        let task = task_of(&posted.wakes);
        let store = scene.bed.store.clone();
        let row = scene.bed.task(task).await;
        assert_eq!((row.state, row.object.uid, row.object.spec_hash.as_str()), (TaskState::Queued, None, ""));
        assert_eq!(row.object.name, format!("reviewer-{}", &task.to_string()[24..]));
        let session = scene.bed.session_of(task).await;
        assert_eq!((session.key.subject.kind.as_str(), session.key.subject.name), ("Issue", scene.issue.key.to_string()));
        assert_eq!(store.woken_by(task).await.unwrap(), Some((CauseKind::Comment, Some(posted.comment.id))));
        assert_eq!(store.answers_in(task).await.unwrap(), [posted.comment.id]);
        // It can run before anybody has made the object.
        let attempt = scene.claim().await.unwrap();
        assert_eq!(attempt.task, task);
        for _ in 0..2 {
            store.bind_object(task, "uid-1").await.unwrap();
        }
        assert_eq!(store.task_by_object("uid-1").await.unwrap(), Some(task));
        assert_eq!(scene.bed.task(task).await.object.uid.as_deref(), Some("uid-1"));
        assert!(matches!(store.bind_object(task, "uid-2").await, Err(Error::Conflict { .. })));
        let other = task_of(&scene.say(&ada, &to("writer")).await.wakes);
        assert!(matches!(store.bind_object(other, "uid-1").await, Err(Error::Conflict { .. })));
        assert!(matches!(store.bind_object(protocol::TaskId(uuid::Uuid::nil()), "uid-3").await, Err(Error::Missing { .. })));
        scene.bed.sound().await;
    }

    async fn what_comes_before_the_package_is_opened_is_taken_in(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (ada, bob) = (scene.ada.clone(), acting(&scene.bed.member("bob").await));
        let first = scene.say(&ada, &to("reviewer")).await;
        let (task, root) = (task_of(&first.wakes), first.comment.id);
        // Queued: the newest is the cause, and who wrote it answers for it. None is dropped (#1099, #5914).
        let second = scene.answer(&bob, &to("reviewer"), root).await;
        assert_eq!((verdicts(&second.wakes), task_of(&second.wakes)), (vec![("reviewer".to_owned(), "coalesced")], task));
        let cause = scene.bed.store.cause(task).await.unwrap().unwrap();
        assert_eq!(cause.comment.map(|comment| comment.id), Some(second.comment.id));
        assert_eq!((cause.author, cause.originator.as_deref()), (bob.author.clone(), Some("bob")));
        // Claimed, not opened: still.
        let attempt = scene.claim().await.unwrap();
        let third = scene.answer(&ada, &to("reviewer"), root).await;
        assert_eq!(task_of(&third.wakes), task);
        // Another thread is another slot, for which the session is not free yet (#4332).
        let elsewhere = scene.say(&ada, &to("reviewer")).await;
        assert_eq!(verdicts(&elsewhere.wakes), [("reviewer".to_owned(), "queued")]);
        assert_eq!(scene.claim().await, None);
        scene.open(attempt).await;
        let cause = scene.bed.store.cause(task).await.unwrap().unwrap();
        let taken: Vec<_> = cause.coalesced.iter().map(|comment| comment.id).collect();
        assert_eq!((taken, cause.cut), (vec![first.comment.id, second.comment.id], false));
        assert_eq!((cause.comment.unwrap().id, cause.reply_to), (third.comment.id, Some(root)));
        // Opened: what comes now is for the next one.
        let fourth = scene.answer(&ada, &to("reviewer"), root).await;
        assert_ne!(task_of(&fourth.wakes), task);
        let fifth = scene.answer(&ada, "and one thing more", root).await;
        assert_eq!(task_of(&fifth.wakes), task_of(&fourth.wakes));
        scene.end(attempt, Outcome::Succeeded).await;
        assert_eq!(scene.run().await, task_of(&elsewhere.wakes));
        assert_eq!(scene.run().await, task_of(&fourth.wakes));
        assert_eq!(scene.claim().await, None);
        scene.bed.sound().await;
    }

    async fn a_person_who_goes_on_means_who_answered(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (ada, bob) = (scene.ada.clone(), acting(&scene.bed.member("bob").await));
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (attempt, reviewer) = scene.begin().await;
        let answer = scene.answer(&reviewer, "Done.", root).await;
        // An agent's plain answer wakes nobody (#4650).
        assert_eq!(answer.wakes, []);
        scene.end(attempt, Outcome::Succeeded).await;
        let onward = scene.answer(&bob, "And the tests?", answer.comment.id).await;
        assert_eq!(verdicts(&onward.wakes), [("reviewer".to_owned(), "queued")]);
        let in_thread = scene.answer(&bob, "I mean all of them.", root).await;
        assert_eq!(verdicts(&in_thread.wakes), [("reviewer".to_owned(), "coalesced")]);
        // A thread of people (#6676), a note, and a top-level word on an issue of nobody are for people.
        let people = scene.say(&ada, "What do you think?").await;
        assert_eq!(people.wakes, []);
        assert_eq!(scene.answer(&bob, "Nothing.", people.comment.id).await.wakes, []);
        assert_eq!(scene.say(&ada, &format!("/note {}", to("reviewer"))).await.wakes, []);
        // People are told: of a mention, and of an answer in their thread.
        let ada_member = scene.bed.member("ada").await;
        let kinds: Vec<_> = scene.inbox(&ada_member).await.into_iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [InboxKind::Reply; 4]);
        let mention = format!("[Ada](mention://member/{}) look", ada_member.id);
        scene.say(&bob, &mention).await;
        // Everybody are all others.
        scene.say(&ada, "[all](mention://all/all) done").await;
        let bob_member = scene.bed.member("bob").await;
        assert_eq!(scene.inbox(&bob_member).await[0].kind, InboxKind::Mention);
        assert_eq!(scene.inbox(&ada_member).await[0].kind, InboxKind::Mention);
        // No agent calls them together.
        scene.say(&reviewer, "[all](mention://all/all) done").await;
        // It is a comment like others, for who follows the issue.
        assert_eq!(scene.inbox(&bob_member).await[0].kind, InboxKind::Reply);
    }

    async fn who_cannot_be_woken_is_named_with_a_reason(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let both = format!("{} {} {}", to("reviewer"), to("nobody"), to("writer"));
        let new = NewComment { body: both, suppress: vec!["writer".to_owned()], ..NewComment::default() };
        let store = scene.bed.store.clone();
        let now = scene.tick();
        let posted = store.post_comment(&ada, &scene.issue.key, new, &AGENTS, now).await.unwrap();
        let wanted = [("reviewer", "queued"), ("nobody", "notAvailable"), ("writer", "suppressed")];
        assert_eq!(verdicts(&posted.wakes), wanted.map(|(agent, word)| (agent.to_owned(), word)));
        let (attempt, reviewer) = scene.begin().await;
        let own = scene.answer(&reviewer, &to("reviewer"), posted.comment.id).await;
        assert_eq!(verdicts(&own.wakes), [("reviewer".to_owned(), "selfTrigger")]);
        scene.end(attempt, Outcome::Succeeded).await;
        assert_eq!(scene.claim().await, None);
    }

    async fn bad_comments_are_refused(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        let huge = "x".repeat(limits::COMMENT_BYTES + 1);
        for body in ["", " \n", "a\0b", huge.as_str()] {
            assert!(matches!(scene.try_say(&ada, &key, body, None).await, Err(Error::Invalid { .. })));
        }
        let unknown = "TEAMA-99".parse().unwrap();
        assert!(matches!(scene.try_say(&ada, &unknown, "hi", None).await, Err(Error::Missing { .. })));
        let nowhere = Some(protocol::CommentId(uuid::Uuid::nil()));
        assert!(matches!(scene.try_say(&ada, &key, "hi", nowhere).await, Err(Error::Missing { .. })));
        // A comment of another issue is no parent, and one of another workspace is not there.
        let root = scene.say(&ada, "hi").await.comment;
        let other = scene.bed.issue(&ada, crate::board::titled("other"), at(2)).await;
        assert!(matches!(scene.try_say(&ada, &other.key, "hi", Some(root.id)).await, Err(Error::Missing { .. })));
        let store = scene.bed.store.clone();
        assert_eq!(store.comment(&elsewhere(), root.id).await.unwrap(), None);
        let stranger = store::Acting { workspace: elsewhere(), ..ada.clone() };
        assert!(matches!(store.delete_comment(&stranger, root.id, at(999)).await, Err(Error::Missing { .. })));
        assert_eq!(store.comment(&crate::board::workspace(), root.id).await.unwrap(), Some((key, root)));
        scene.bed.sound().await;
    }

    async fn a_task_writes_a_bounded_number_of_comments(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (_, reviewer) = scene.begin().await;
        let key = scene.issue.key.clone();
        let fill = format!(
            "INSERT INTO comments (id, issue, thread, author_kind, author_id, author_name, body, task, last_activity_at, revision, created_at) \
             SELECT {id}, issue, thread, 'agent', 'reviewer', 'R', 'x', (SELECT task FROM wakes), 0, 1, 0 FROM comments, {numbers}",
            id = if scene.bed.is_sqlite() { "randomblob(16)" } else { "gen_random_uuid()" },
            numbers = if scene.bed.is_sqlite() {
                "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 499) SELECT i FROM n) AS n"
            } else {
                "generate_series(1, 499) AS n(i)"
            },
        );
        scene.bed.execute_aside(fill.leak()).await;
        scene.say(&reviewer, "the last one").await;
        let more = scene.try_say(&reviewer, &key, "one more", None).await;
        assert!(matches!(more, Err(Error::Conflict { what }) if what.contains("500 comments")));
        // Others go on.
        scene.say(&ada, "stop it").await;
    }

    async fn an_edit_takes_back_and_adds(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let posted = scene.say(&ada, &to("reviewer")).await;
        let (id, first) = (posted.comment.id, task_of(&posted.wakes));
        let edit = |body: &str, revision| CommentEdit { revision: Some(revision), body: body.to_owned() };
        let edited = store.edit_comment(&ada, id, edit(&to("writer"), 1), &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(verdicts(&edited.wakes), [("writer".to_owned(), "queued")]);
        assert_eq!((edited.comment.revision, edited.comment.edited.is_some()), (2, true));
        assert!(matches!(store.edit_comment(&ada, id, edit("x", 1), &AGENTS, scene.tick()).await, Err(Error::Revision { present: 2 })));
        let row = scene.bed.task(first).await;
        assert_eq!((row.state, row.verdict.unwrap().outcome.class()), (TaskState::Finished, Some(FailureClass::Cancelled)));
        // The same text again is no edit; another word leaves who waits where it is.
        let same = store.edit_comment(&ada, id, edit(&to("writer"), 2), &AGENTS, scene.tick()).await.unwrap();
        assert_eq!((same.comment.revision, same.wakes), (2, Vec::new()));
        let text = format!("{} now", to("writer"));
        let kept = store.edit_comment(&ada, id, edit(&text, 2), &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(verdicts(&kept.wakes), [("writer".to_owned(), "coalesced")]);
        // Its pod is on the way: it is called back.
        let attempt = scene.claim().await.unwrap();
        let back = store.edit_comment(&ada, id, edit("never mind", 3), &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(back.wakes, []);
        assert_eq!(scene.bed.task(attempt.task).await.state, TaskState::Finishing);
        store.release(attempt, scene.tick()).await.unwrap();
        // It works: it is left alone (#7522), and not woken again by the same words.
        store.edit_comment(&ada, id, edit(&to("writer"), 4), &AGENTS, scene.tick()).await.unwrap();
        let (attempt, _) = scene.begin().await;
        for (revision, body) in [(5, "never mind".to_owned()), (6, to("writer"))] {
            let told = store.edit_comment(&ada, id, edit(&body, revision), &AGENTS, scene.tick()).await.unwrap();
            assert_eq!(told.wakes, [], "{body}");
            assert_eq!(scene.bed.task(attempt.task).await.state, TaskState::Preparing);
        }
        scene.end(attempt, Outcome::Succeeded).await;
        assert_eq!(scene.claim().await, None);
        scene.bed.sound().await;
    }

    async fn an_edit_wakes_nobody_whom_its_author_left_out(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let new = NewComment { body: to("writer"), suppress: vec!["writer".to_owned()], ..NewComment::default() };
        let posted = store.post_comment(&ada, &scene.issue.key.clone(), new, &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(verdicts(&posted.wakes), [("writer".to_owned(), "suppressed")]);
        for (body, wanted) in [
            (format!("{} as said", to("writer")), vec![]),
            (format!("{} {} as said", to("writer"), to("reviewer")), vec![("reviewer".to_owned(), "queued")]),
        ] {
            let edit = CommentEdit { revision: None, body };
            let edited = store.edit_comment(&ada, posted.comment.id, edit, &AGENTS, scene.tick()).await.unwrap();
            assert_eq!(verdicts(&edited.wakes), wanted);
        }
        scene.bed.sound().await;
    }

    async fn an_edit_after_the_issue_moved_takes_nothing_back(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let give = |to: &str| protocol::board::IssueEdit {
            assignee: Some(Some(crate::board::agent(to))),
            no_start: true,
            ..Default::default()
        };
        let key = scene.issue.key.clone();
        let now = scene.tick();
        scene.issue = store.edit_issue(&ada, &key, give("reviewer"), &AGENTS, now).await.unwrap().issue;
        let posted = scene.say(&ada, "Lok at it.").await;
        let now = scene.tick();
        store.edit_issue(&ada, &key, give("writer"), &AGENTS, now).await.unwrap();
        let edit = CommentEdit { revision: None, body: "Look at it.".to_owned() };
        let now = scene.tick();
        let edited = store.edit_comment(&ada, posted.comment.id, edit, &AGENTS, now).await.unwrap();
        assert_eq!(edited.wakes, []);
        assert_eq!(scene.waiting().await, [("reviewer".to_owned(), task_of(&posted.wakes))]);
        scene.bed.sound().await;
    }

    async fn an_edit_means_whom_the_comment_answered(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (attempt, _) = scene.begin().await;
        let ask = scene.answer(&ada, &to("writer"), root).await;
        scene.end(attempt, Outcome::Succeeded).await;
        let (attempt, writer) = scene.begin().await;
        assert_eq!(attempt.task, task_of(&ask.wakes));
        let answer = scene.answer(&writer, "Written.", root).await.comment.id;
        let onward = scene.answer(&ada, "Shorter pleas", answer).await;
        assert_eq!(verdicts(&onward.wakes), [("writer".to_owned(), "queued")]);
        // The thread began with the reviewer; what is corrected is still for the writer.
        let edit = CommentEdit { revision: None, body: "Shorter, please".to_owned() };
        let edited = store.edit_comment(&ada, onward.comment.id, edit, &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(verdicts(&edited.wakes), [("writer".to_owned(), "coalesced")]);
        assert_eq!(task_of(&edited.wakes), task_of(&onward.wakes));
    }

    async fn a_deleted_comment_leaves_the_others(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let first = scene.say(&ada, &to("reviewer")).await;
        let (task, root) = (task_of(&first.wakes), first.comment.id);
        let second = scene.answer(&ada, &to("reviewer"), root).await.comment.id;
        store.delete_comment(&ada, second, scene.tick()).await.unwrap();
        let cause = store.cause(task).await.unwrap().unwrap();
        assert_eq!((cause.comment.unwrap().id, cause.coalesced), (root, Vec::new()));
        let third = scene.answer(&ada, &to("reviewer"), root).await.comment.id;
        store.delete_comment(&ada, root, scene.tick()).await.unwrap();
        assert_eq!(scene.bed.task(task).await.state, TaskState::Queued);
        // The thread stays, without the text.
        let listed: Vec<_> = scene.comments(&scene.issue.key).await.into_iter().map(|each| (each.id, each.body, each.replies)).collect();
        assert_eq!(listed, [(root, String::new(), 1), (third, to("reviewer"), 0)]);
        store.delete_comment(&ada, third, scene.tick()).await.unwrap();
        assert_eq!(scene.bed.task(task).await.state, TaskState::Finished);
        assert_eq!(scene.comments(&scene.issue.key).await, []);
        assert!(matches!(store.delete_comment(&ada, third, scene.tick()).await, Err(Error::Missing { .. })));
        assert_eq!(store.issue(&ada.workspace, &scene.issue.key).await.unwrap().unwrap().comments, 0);
        assert_eq!(scene.claim().await, None);
        scene.bed.sound().await;
    }

    async fn a_failure_is_told_to_who_caused_it(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let member = scene.bed.member("ada").await;
        scene.say(&ada, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        scene.end(attempt, Outcome::failed(FailureClass::OOMKilled, "too big")).await;
        let entries = scene.inbox(&member).await;
        assert_eq!(entries.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [InboxKind::Failure]);
        assert_eq!(entries[0].author.id, "reviewer");
        // Who stops it knows what it did.
        scene.say(&ada, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        scene.end(attempt, Outcome::failed(FailureClass::Cancelled, "stopped")).await;
        assert_eq!(scene.inbox(&member).await.len(), 1);
        // Where nobody has read it yet, who wrote it hears that nobody will.
        let lost = scene.say(&ada, &to("reviewer")).await;
        let task = task_of(&lost.wakes);
        let now = scene.tick();
        assert!(scene.bed.store.end_unclaimed(task, failed(FailureClass::Cancelled), now).await.unwrap());
        let entries = scene.inbox(&member).await;
        assert_eq!((entries.len(), entries[0].kind, entries[0].comment), (2, InboxKind::Failure, Some(lost.comment.id)));
        // And the slot is free again.
        let next = scene.say(&ada, &to("reviewer")).await;
        assert_eq!(verdicts(&next.wakes), [("reviewer".to_owned(), "queued")]);
        scene.bed.sound().await;
    }

    async fn the_package_says_what_is_new(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        scene.say(&ada, "background").await;
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (attempt, reviewer) = scene.begin().await;
        let cause = store.cause(attempt.task).await.unwrap().unwrap();
        assert_eq!((cause.last_run, cause.new_comments, cause.unchanged), (None, 1, false));
        assert_eq!((cause.title.as_str(), cause.kind, cause.cut), ("broken", CauseKind::Comment, false));
        let began = scene.bed.attempt(attempt).await.opened_at;
        scene.answer(&reviewer, "Done.", root).await;
        scene.end(attempt, Outcome::Succeeded).await;
        scene.say(&ada, "beside").await;
        let long = format!("{} {}", to("reviewer"), "ä".repeat(limits::CAUSE_COMMENT_BYTES));
        scene.answer(&ada, &long, root).await;
        let (attempt, _) = scene.begin().await;
        let cause = store.cause(attempt.task).await.unwrap().unwrap();
        assert_eq!((cause.last_run, cause.new_comments, cause.unchanged), (began, 1, true));
        assert!(cause.cut && cause.comment.unwrap().body.len() <= limits::CAUSE_COMMENT_BYTES);
        scene.end(attempt, Outcome::Succeeded).await;
        let edit = protocol::board::IssueEdit { description: Some("More.".to_owned()), ..Default::default() };
        let now = scene.tick();
        store.edit_issue(&ada, &scene.issue.key, edit, &AGENTS, now).await.unwrap();
        scene.answer(&ada, &to("reviewer"), root).await;
        let (attempt, _) = scene.begin().await;
        let cause = store.cause(attempt.task).await.unwrap().unwrap();
        assert_eq!((cause.unchanged, cause.new_comments), (false, 0));
    }

    async fn a_package_holds_a_bounded_number_of_comments(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let mut newest = root;
        for _ in 0..limits::CAUSE_COMMENTS + 3 {
            newest = scene.answer(&ada, &to("reviewer"), root).await.comment.id;
        }
        let (attempt, _) = scene.begin().await;
        let cause = scene.bed.store.cause(attempt.task).await.unwrap().unwrap();
        assert_eq!((cause.coalesced.len(), cause.cut), (limits::CAUSE_COMMENTS, true));
        assert_eq!(cause.comment.unwrap().id, newest);
        assert!(cause.coalesced.is_sorted_by_key(|comment| comment.id));
        assert!(cause.coalesced.last().unwrap().id < newest);
    }
}
