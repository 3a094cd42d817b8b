//! Agents wake each other, and give back what they were asked; never for ever.

use protocol::board::{CauseKind, InboxKind, IssueEdit, IssueStatus, NewIssue};
use protocol::{FailureClass, Outcome};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, agent, person, titled};
use crate::talk::{Scene, task_of, to, verdicts};

fn status(status: IssueStatus) -> IssueEdit {
    IssueEdit {
        status: Some(status),
        ..IssueEdit::default()
    }
}

/// The other of the two.
fn other(agent: &str) -> &'static str {
    match agent {
        "reviewer" => "writer",
        _ => "reviewer",
    }
}

both! {
    async fn two_agents_that_answer_each_other_stop_with_one_word(bed: Bed) {
        // #1576, #8753, #8754.
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let member = scene.bed.member("ada").await;
        let key = scene.issue.key.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let mut runs = 0;
        while let Some(attempt) = scene.claim().await {
            runs += 1;
            assert!(runs < 40, "they go on for ever");
            scene.open(attempt).await;
            let me = scene.bed.task(attempt.task).await.agent;
            let me = crate::board::acting_agent(&me, attempt.task);
            scene.answer(&me, &to(other(&me.author.id)), root).await;
            scene.end(attempt, Outcome::Succeeded).await;
        }
        // Three times there and back after the person's word.
        assert_eq!(runs, 7);
        let words = scene.words(&key).await;
        assert_eq!(words.len(), 1, "{words:?}");
        assert!(words[0].contains("3 times") && words[0].contains("A comment of a person"), "{words:?}");
        let guards = scene.inbox(&member).await.into_iter().filter(|entry| entry.kind == InboxKind::Guard);
        assert_eq!(guards.count(), 1);
        // A person lets them go on.
        let again = scene.answer(&ada, &to("writer"), root).await;
        assert_eq!(verdicts(&again.wakes), [("writer".to_owned(), "queued")]);
        let (attempt, writer) = scene.begin().await;
        let onward = scene.answer(&writer, &to("reviewer"), root).await;
        assert_eq!(verdicts(&onward.wakes), [("reviewer".to_owned(), "queued")]);
        scene.end(attempt, Outcome::Succeeded).await;
        assert_eq!(scene.words(&key).await.len(), 1);
        scene.bed.sound().await;
    }

    async fn agents_cause_a_bounded_number_of_runs_in_an_hour(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (attempt, reviewer) = scene.begin().await;
        // Each in a thread of its own, so none takes the other in.
        for run in 0..30 {
            let asked = scene.say(&reviewer, &to("writer")).await;
            assert_eq!(verdicts(&asked.wakes), [("writer".to_owned(), "queued")], "{run}");
        }
        for _ in 0..2 {
            let asked = scene.say(&reviewer, &to("writer")).await;
            assert_eq!(verdicts(&asked.wakes), [("writer".to_owned(), "rateLimit")]);
        }
        assert_eq!(scene.words(&key).await.len(), 1);
        scene.pass(3600);
        let asked = scene.say(&reviewer, &to("writer")).await;
        assert_eq!(verdicts(&asked.wakes), [("writer".to_owned(), "queued")]);
        scene.end(attempt, Outcome::Succeeded).await;
    }

    async fn parts_of_an_issue_are_no_way_around_the_number_of_runs(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (_, reviewer) = scene.begin().await;
        let part = || NewIssue { parent: Some(key.clone()), assignee: Some(agent("writer")), ..titled("a part") };
        let mut held = Vec::new();
        for made in 0..33 {
            let now = scene.tick();
            let saved = scene.bed.store.create_issue(&reviewer, part(), &AGENTS, now).await.unwrap();
            let wanted = if made < 30 { "queued" } else { "rateLimit" };
            assert_eq!(verdicts(&saved.wakes), [("writer".to_owned(), wanted)], "{made}");
            if wanted == "rateLimit" {
                held.extend(scene.words(&saved.issue.key).await);
            }
        }
        // Said once, not on each part.
        assert_eq!(held.len(), 1, "{held:?}");
        let member = scene.bed.member("ada").await;
        let guards = scene.inbox(&member).await.into_iter().filter(|entry| entry.kind == InboxKind::Guard);
        assert_eq!(guards.count(), 1);
        // A person lets it go on.
        scene.say(&ada, "Go on.").await;
        let now = scene.tick();
        let saved = scene.bed.store.create_issue(&reviewer, part(), &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&saved.wakes), [("writer".to_owned(), "queued")]);
        scene.bed.sound().await;
    }

    async fn a_part_that_is_closed_without_end_fills_no_issue(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        let store = scene.bed.store.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (_, reviewer) = scene.begin().await;
        let new = NewIssue { parent: Some(key.clone()), ..titled("a part") };
        let now = scene.tick();
        let part = store.create_issue(&reviewer, new, &AGENTS, now).await.unwrap().issue.key;
        let most = store::TASK_COMMENTS as usize;
        for _ in 0..most + 2 {
            for to in [IssueStatus::Done, IssueStatus::Todo] {
                let edit = IssueEdit { no_start: true, ..status(to) };
                let now = scene.tick();
                store.edit_issue(&reviewer, &part, edit, &AGENTS, now).await.unwrap();
            }
        }
        let issue = store.issue(&crate::board::workspace(), &key).await.unwrap().unwrap();
        // With the person's own word.
        assert_eq!(issue.comments as usize, most + 1);
    }

    async fn the_limits_can_be_set(bed: Bed) {
        let limits = wake::Limits { depth: 1, runs: 99, rounds: 1, root: 99 };
        let bed = Bed { store: bed.store.clone().with_limits(limits), ..bed };
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (asking, reviewer) = scene.begin().await;
        scene.answer(&reviewer, &to("writer"), root).await;
        scene.end(asking, Outcome::Succeeded).await;
        let (_, writer) = scene.begin().await;
        let further = scene.answer(&writer, &to("reviewer"), root).await;
        assert_eq!(verdicts(&further.wakes), [("reviewer".to_owned(), "depthLimit")]);
    }

    async fn a_chain_of_agents_is_bounded_across_issues(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        scene.say(&ada, &to("reviewer")).await;
        let (mut parent, mut made) = (scene.issue.key.clone(), 0);
        loop {
            let (attempt, me) = scene.begin().await;
            let new = NewIssue { parent: Some(parent.clone()), assignee: Some(agent(other(&me.author.id))), ..titled("deeper") };
            let now = scene.tick();
            let saved = scene.bed.store.create_issue(&me, new, &AGENTS, now).await.unwrap();
            parent = saved.issue.key;
            if verdicts(&saved.wakes)[0].1 != "queued" {
                assert_eq!(verdicts(&saved.wakes)[0].1, "depthLimit");
                break;
            }
            made += 1;
            scene.bed.store.cause(task_of(&saved.wakes)).await.unwrap().unwrap();
            let now = scene.tick();
            // It stays open, as a whole whose part is worked on: nothing goes back yet.
            scene.bed.store.contact(attempt, now).await.unwrap();
            assert!(made < 20);
        }
        assert_eq!(made, 8);
        let words = scene.words(&parent).await;
        assert!(words.len() == 1 && words[0].contains("chain of 8"), "{words:?}");
        let member = scene.bed.member("ada").await;
        assert_eq!(scene.inbox(&member).await[0].kind, InboxKind::Guard);
        scene.bed.sound().await;
    }

    async fn what_an_agent_asked_for_comes_back(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        let failure = || Outcome::failed(FailureClass::OOMKilled, "too big");
        // With an answer: by that; without (#8719): by a word of Mooring's; and so a failure (#6839), whatever was said
        // before.
        for (answers, outcome, by_word) in [(true, Outcome::Succeeded, false), (false, Outcome::Succeeded, true), (true, failure(), true)] {
            let words = scene.words(&key).await.len();
            let root = scene.say(&ada, &to("reviewer")).await.comment.id;
            let (asking, reviewer) = scene.begin().await;
            scene.answer(&reviewer, &to("writer"), root).await;
            scene.end(asking, Outcome::Succeeded).await;
            let (asked, writer) = scene.begin().await;
            assert_eq!(writer.author.id, "writer");
            let answer = match answers {
                true => Some(scene.answer(&writer, "Here it is.", root).await.comment.id),
                false => None,
            };
            scene.end(asked, outcome).await;
            let said = scene.words(&key).await.len() - words;
            assert_eq!(said, usize::from(by_word));
            let (back, me) = scene.begin().await;
            assert_eq!(me.author.id, "reviewer");
            let cause = scene.bed.store.cause(back.task).await.unwrap().unwrap();
            assert_eq!((cause.kind, cause.reply_to, cause.author.id.as_str()), (CauseKind::Comment, Some(root), "writer"));
            assert_eq!(cause.originator.as_deref(), Some("ada"));
            if !by_word {
                assert_eq!(cause.comment.map(|comment| comment.id), answer);
            }
            // What came back goes no further.
            scene.end(back, Outcome::Succeeded).await;
            assert_eq!(scene.claim().await, None);
        }
        scene.bed.sound().await;
    }

    async fn nothing_comes_back_twice_or_after_a_stop(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (asking, reviewer) = scene.begin().await;
        scene.answer(&reviewer, &to("writer"), root).await;
        scene.end(asking, Outcome::Succeeded).await;
        let (asked, writer) = scene.begin().await;
        // It mentions who asked: that is the answer.
        scene.answer(&writer, &to("reviewer"), root).await;
        scene.end(asked, Outcome::Succeeded).await;
        assert_eq!(scene.waiting().await.len(), 1);
        let (back, reviewer) = scene.begin().await;
        scene.answer(&reviewer, &to("writer"), root).await;
        scene.end(back, Outcome::Succeeded).await;
        // The reviewer's answer to the mention went by its own mention; the writer is asked once, and stopped.
        let (asked, _) = scene.begin().await;
        scene.end(asked, Outcome::failed(FailureClass::Cancelled, "stopped")).await;
        assert_eq!(scene.claim().await, None);
        assert_eq!(scene.words(&scene.issue.key).await, [] as [String; 0]);
    }

    async fn two_who_asked_both_hear(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let all = crate::board::Agents(&["reviewer", "writer", "tester"]);
        let root = scene.say(&ada, &format!("{} {}", to("reviewer"), to("writer"))).await.comment.id;
        // Two agents work on one issue at the same time (#637).
        let (one, reviewer) = scene.begin().await;
        let (two, writer) = scene.begin().await;
        for by in [&reviewer, &writer] {
            let new = protocol::board::NewComment { body: to("tester"), parent: Some(root), ..Default::default() };
            let now = scene.tick();
            scene.bed.store.post_comment(by, &scene.issue.key, new, &all, now).await.unwrap();
        }
        scene.end(one, Outcome::Succeeded).await;
        scene.end(two, Outcome::Succeeded).await;
        let now = scene.tick();
        let lane = crate::bed::lane(&[("tester", 9)], 9);
        let tester = scene.bed.store.claim_next(&lane, &scene.bed.key, now).await.unwrap().unwrap().attempt;
        scene.open(tester).await;
        scene.end(tester, Outcome::Succeeded).await;
        let mut waiting: Vec<_> = scene.waiting().await.into_iter().map(|(agent, _)| agent).collect();
        waiting.sort();
        assert_eq!(waiting, ["reviewer", "writer"]);
        scene.bed.sound().await;
    }

    async fn a_part_gives_back_to_the_whole(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        let root = scene.say(&ada, &to("reviewer")).await.comment.id;
        let (asking, reviewer) = scene.begin().await;
        let new = NewIssue { parent: Some(key.clone()), assignee: Some(agent("writer")), ..titled("a part") };
        let now = scene.tick();
        let part = scene.bed.store.create_issue(&reviewer, new, &AGENTS, now).await.unwrap().issue;
        scene.end(asking, Outcome::Succeeded).await;
        let (asked, _) = scene.begin().await;
        assert_eq!(scene.bed.store.answers_in(asked.task).await.unwrap(), []);
        scene.end(asked, Outcome::Succeeded).await;
        // On the issue of who asked, in the thread that it works in.
        let words = scene.words(&key).await;
        assert!(words.len() == 1 && words[0].contains(&part.key.to_string()), "{words:?}");
        let (back, me) = scene.begin().await;
        assert_eq!(me.author.id, "reviewer");
        let cause = scene.bed.store.cause(back.task).await.unwrap().unwrap();
        assert_eq!((cause.issue, cause.reply_to), (key.clone(), Some(root)));
        scene.end(back, Outcome::Succeeded).await;
        // Where closing the part told already, its end tells nothing more.
        scene.say(&ada, &to("reviewer")).await;
        let (asking, reviewer) = scene.begin().await;
        let new = NewIssue { parent: Some(key.clone()), assignee: Some(agent("writer")), ..titled("another") };
        let now = scene.tick();
        let another = scene.bed.store.create_issue(&reviewer, new, &AGENTS, now).await.unwrap().issue;
        let now = scene.tick();
        scene.bed.store.edit_issue(&ada, &part.key, status(IssueStatus::Done), &AGENTS, now).await.unwrap();
        scene.end(asking, Outcome::Succeeded).await;
        let (asked, writer) = scene.begin().await;
        let now = scene.tick();
        let saved = scene.bed.store.edit_issue(&writer, &another.key, status(IssueStatus::Done), &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&saved.wakes), [("reviewer".to_owned(), "queued")]);
        scene.end(asked, Outcome::Succeeded).await;
        assert_eq!(scene.waiting().await.len(), 1);
        let (back, _) = scene.begin().await;
        let cause = scene.bed.store.cause(back.task).await.unwrap().unwrap();
        assert_eq!(cause.kind, CauseKind::Children);
        scene.bed.sound().await;
    }

    async fn the_last_part_of_a_stage_wakes_the_whole(bed: Bed) {
        // #4320: once for each stage.
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let key = scene.issue.key.clone();
        let store = scene.bed.store.clone();
        let mut parts = Vec::new();
        for stage in [1, 1, 2] {
            let new = NewIssue { parent: Some(key.clone()), stage: Some(stage), ..titled("a part") };
            parts.push(scene.bed.issue(&ada, new, at(50)).await.key);
        }
        // Nobody has the whole, and nobody has worked on it: it is said, and nobody is woken.
        for part in &parts[..2] {
            let now = scene.tick();
            let saved = store.edit_issue(&ada, part, status(IssueStatus::Done), &AGENTS, now).await.unwrap();
            assert_eq!(saved.wakes, []);
        }
        let words = scene.words(&key).await;
        assert!(words.len() == 1 && words[0].contains("stage 1"), "{words:?}");
        // Who worked on it last hears, where nobody has it (#5706): it was woken by a mention only.
        scene.say(&ada, &to("writer")).await;
        scene.run().await;
        let now = scene.tick();
        let saved = store.edit_issue(&ada, &parts[2], status(IssueStatus::Cancelled), &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&saved.wakes), [("writer".to_owned(), "queued")]);
        let cause = store.cause(task_of(&saved.wakes)).await.unwrap().unwrap();
        assert_eq!((cause.kind, cause.author, cause.comment.unwrap().id), (CauseKind::Children, ada.author.clone(), cause.reply_to.unwrap()));
        scene.run().await;
        // Who has it goes before; a person who has it hears of it as a person does, and a closed one not at all.
        let bob = scene.bed.member("bob").await;
        for (assignee, wanted) in [(agent("reviewer"), vec![("reviewer".to_owned(), "queued")]), (person(&bob), vec![])] {
            let edit = IssueEdit { assignee: Some(Some(assignee)), no_start: true, ..IssueEdit::default() };
            let now = scene.tick();
            store.edit_issue(&ada, &key, edit, &AGENTS, now).await.unwrap();
            let now = scene.tick();
            store.edit_issue(&ada, &parts[2], status(IssueStatus::Todo), &AGENTS, now).await.unwrap();
            let now = scene.tick();
            let saved = store.edit_issue(&ada, &parts[2], status(IssueStatus::Done), &AGENTS, now).await.unwrap();
            assert_eq!(verdicts(&saved.wakes), wanted);
        }
        scene.bed.sound().await;
    }

    async fn an_issue_that_is_given_to_an_agent_begins_once(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let store = scene.bed.store.clone();
        let given = |status| NewIssue { assignee: Some(agent("reviewer")), status, ..titled("given") };
        let parked = store.create_issue(&ada, given(IssueStatus::Backlog), &AGENTS, scene.tick()).await.unwrap();
        assert_eq!(parked.wakes, []);
        let now = scene.tick();
        let begun = store.edit_issue(&ada, &parked.issue.key, status(IssueStatus::Todo), &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&begun.wakes), [("reviewer".to_owned(), "queued")]);
        let task = task_of(&begun.wakes);
        let cause = store.cause(task).await.unwrap().unwrap();
        assert_eq!((cause.kind, cause.comment, cause.reply_to), (CauseKind::Assignment, None, None));
        // A word on it before it has begun is part of the same run (#7237), and it is still given to it after.
        scene.issue = begun.issue.clone();
        let word = scene.say(&ada, "Mind the tests.").await;
        assert_eq!((verdicts(&word.wakes), task_of(&word.wakes)), (vec![("reviewer".to_owned(), "coalesced")], task));
        let cause = store.cause(task).await.unwrap().unwrap();
        assert_eq!((cause.kind, cause.reply_to), (CauseKind::Comment, Some(word.comment.id)));
        store.delete_comment(&ada, word.comment.id, scene.tick()).await.unwrap();
        assert_eq!(store.cause(task).await.unwrap().unwrap().kind, CauseKind::Assignment);
        // Given to somebody else before it has begun: it need not.
        let edit = IssueEdit { assignee: Some(Some(agent("writer"))), ..IssueEdit::default() };
        let now = scene.tick();
        let moved = store.edit_issue(&ada, &begun.issue.key, edit, &AGENTS, now).await.unwrap();
        assert_eq!(verdicts(&moved.wakes), [("writer".to_owned(), "queued")]);
        assert_eq!(scene.waiting().await, [("writer".to_owned(), task_of(&moved.wakes))]);
        // A mention, and then the issue too: one run.
        scene.run().await;
        let mention = scene.say(&ada, &to("reviewer")).await;
        let edit = IssueEdit { assignee: Some(Some(agent("reviewer"))), ..IssueEdit::default() };
        let now = scene.tick();
        let moved = store.edit_issue(&ada, &begun.issue.key, edit, &AGENTS, now).await.unwrap();
        assert_eq!((verdicts(&moved.wakes), task_of(&moved.wakes)), (vec![("reviewer".to_owned(), "coalesced")], task_of(&mention.wakes)));
        let cause = store.cause(task_of(&mention.wakes)).await.unwrap().unwrap();
        assert_eq!((cause.kind, cause.reply_to), (CauseKind::Comment, Some(mention.comment.id)));
        scene.bed.sound().await;
    }
}
