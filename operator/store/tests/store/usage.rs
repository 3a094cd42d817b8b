//! What attempts have used, whole texts, and what happened on an issue.

use std::collections::BTreeMap;

use protocol::board::{History, NewIssue, RawLog, RawQuery, UsageReport, WakeVerdict};
use protocol::runner::RawPart;
use protocol::{AttemptId, FailureClass, Outcome, TaskId, TokenUsage, Verdict, limits};
use store::{Error, Faults, WorkspaceRef};

use crate::bed::{Bed, at, both, failed, lane, text, told};
use crate::board::{AGENTS, agent, elsewhere, titled, workspace};

fn used(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input,
        output,
        cache_read: 3,
        cache_write: 4,
    }
}

/// A verdict whose result tells what was used.
fn telling(outcome: Outcome, models: &[(&str, TokenUsage)]) -> Verdict {
    let mut verdict = told(outcome, None);
    if let Some(result) = &mut verdict.result {
        result.usage = models
            .iter()
            .map(|(model, used)| ((*model).to_owned(), *used))
            .collect();
    }
    verdict
}

async fn of_run(bed: &Bed, task: TaskId) -> (u64, BTreeMap<String, TokenUsage>) {
    let run = bed.store.run(&workspace(), task).await.unwrap().unwrap();
    (run.tokens, run.usage)
}

async fn of_agent(bed: &Bed, workspace: &WorkspaceRef, since: i64) -> UsageReport {
    let since = Some(at(since));
    let report = bed.store.usage_of_agent(workspace, "reviewer", since);
    report.await.unwrap()
}

/// Gives an issue to an agent, and lets it work.
async fn work(bed: &Bed) -> (protocol::board::IssueKey, AttemptId) {
    let ada = bed.ada().await;
    let new = NewIssue {
        assignee: Some(agent("reviewer")),
        ..titled("for an agent")
    };
    let saved = bed.store.create_issue(&ada, new, &AGENTS, at(1)).await;
    let saved = saved.unwrap();
    let [wake] = saved.wakes.as_slice() else {
        panic!("{:?}", saved.wakes)
    };
    let WakeVerdict::Queued { task: Some(task) } = wake.verdict else {
        panic!("{wake:?}")
    };
    bed.store
        .bind_object(task, &format!("uid-{task}"))
        .await
        .unwrap();
    let attempt = bed.claim(&lane(&[("reviewer", 9)], 9)).await.unwrap();
    bed.start(attempt).await;
    (saved.issue.key, attempt)
}

both! {
    async fn each_attempt_counts_once(bed: Bed) {
        let (key, first) = work(&bed).await;
        bed.store.suspend(first.task, at(13)).await.unwrap();
        // Its runner had an answer all the same, and sends it twice.
        let late = telling(Outcome::Succeeded, &[("big", used(10, 1))]);
        for seconds in [14, 15] {
            bed.store.verdict(first, late.clone(), at(seconds)).await.unwrap();
        }
        bed.store.secret_gone(first).await.unwrap();
        assert!(bed.store.release(first, at(16)).await.unwrap());
        bed.store.resume(first.task, at(17)).await.unwrap();
        let second = bed.claim(&lane(&[("reviewer", 9)], 9)).await.unwrap();
        assert_eq!(second.number, 2);
        bed.start(second).await;
        let both = telling(Outcome::Succeeded, &[("big", used(20, 2)), ("small", used(5, 5))]);
        bed.finish(second, both.clone()).await;
        // Again, and otherwise: the first word of an attempt stands.
        bed.store.verdict(second, both, at(22)).await.unwrap();
        let other = telling(Outcome::Succeeded, &[("big", used(999, 9))]);
        bed.store.verdict(second, other, at(23)).await.unwrap();
        let models = BTreeMap::from([
            ("big".to_owned(), TokenUsage { input: 30, output: 3, cache_read: 6, cache_write: 8 }),
            ("small".to_owned(), used(5, 5)),
        ]);
        assert_eq!(of_run(&bed, first.task).await, (64, models.clone()));
        let report = UsageReport { since: None, tasks: 1, attempts: 2, models };
        assert_eq!(bed.store.usage_of_issue(&workspace(), &key).await.unwrap(), report);
        assert_eq!(of_agent(&bed, &workspace(), 0).await.attempts, 2);
        assert_eq!(of_agent(&bed, &workspace(), 15).await.models["big"].input, 20);
        assert_eq!(of_agent(&bed, &workspace(), 21).await, UsageReport { since: Some(at(21)), ..UsageReport::default() });
        assert_eq!(of_agent(&bed, &elsewhere(), 0).await.tasks, 0);
        let unknown = bed.store.usage_of_issue(&workspace(), &"TEAMA-9".parse().unwrap()).await;
        assert!(matches!(unknown, Err(Error::Missing { .. })));
    }

    async fn a_runner_that_lies_breaks_no_sum(bed: Bed) {
        let most = TokenUsage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        let long = "m\u{0}".repeat(limits::MODEL_BYTES);
        let names: Vec<_> = (0..2 * limits::MODELS).map(|name| format!("{name:03}{long}")).collect();
        let models: Vec<_> = names.iter().map(|name| (name.as_str(), most)).collect();
        for subject in ["a", "b", "c"] {
            let attempt = bed.running("reviewer", subject).await;
            bed.finish(attempt, telling(Outcome::Succeeded, &models)).await;
            assert_eq!(of_run(&bed, attempt.task).await.1.len(), limits::MODELS);
        }
        let report = of_agent(&bed, &workspace(), 0).await;
        assert_eq!((report.tasks, report.models.len()), (3, limits::MODELS));
        assert!(report.models.keys().all(|name| name.len() <= limits::MODEL_BYTES));
    }

    async fn a_task_without_a_result_has_used_nothing_that_is_known(bed: Bed) {
        let attempt = bed.running("reviewer", "a").await;
        bed.finish(attempt, failed(FailureClass::NodeLost)).await;
        assert_eq!(of_run(&bed, attempt.task).await, (0, BTreeMap::new()));
        let run = bed.store.run(&workspace(), attempt.task).await.unwrap().unwrap();
        assert_eq!(run.message.as_deref(), Some("it did not work"));
    }

    async fn a_whole_text_is_kept_beside_its_event(bed: Bed) {
        let attempt = bed.running("reviewer", "a").await;
        let whole = "ünï 🚢\n".repeat(1000);
        for _ in 0..2 {
            assert!(bed.store.keep_text(attempt, 2, whole.clone()).await.unwrap());
        }
        bed.store.append(attempt, &[text(1), text(2)], at(13)).await.unwrap();
        let timeline = bed.store.timeline(attempt.task, 0, 9).await.unwrap();
        let bytes: Vec<_> = timeline.iter().map(|entry| entry.full_bytes).collect();
        assert_eq!(bytes, [None, Some(whole.len() as u64)]);
        let found = async |workspace: WorkspaceRef, position: u64| {
            bed.store.text(&workspace, attempt.task, position).await.unwrap()
        };
        assert_eq!(found(workspace(), 2).await, Some(whole));
        assert_eq!(found(workspace(), 1).await, None);
        assert_eq!(found(workspace(), u64::MAX).await, None);
        assert_eq!(found(elsewhere(), 2).await, None);
        let nobody = AttemptId { task: attempt.task, number: 2 };
        assert!(matches!(bed.store.keep_text(nobody, 1, "x".to_owned()).await, Err(Error::Missing { .. })));
    }

    async fn of_what_a_program_wrote_the_end_is_kept(bed: Bed) {
        let attempt = bed.running("reviewer", "a").await;
        let of = async |workspace: WorkspaceRef, attempt_number: Option<u32>, from: u64| {
            let asked = RawQuery { attempt: attempt_number, from };
            bed.store.raw(&workspace, attempt.task, asked).await.unwrap()
        };
        let none = RawLog { attempt: 1, parts: Vec::new(), next: None };
        assert_eq!(of(workspace(), None, 0).await, Some(none));
        let bytes = limits::RAW_PART_BYTES as u64;
        let kept = limits::ATTEMPT_RAW_BYTES / bytes;
        for number in 0..kept + 3 {
            let part = RawPart { start: number * bytes, text: "x".repeat(limits::RAW_PART_BYTES) };
            for _ in 0..2 {
                bed.store.keep_raw(attempt, part.clone()).await.unwrap();
            }
        }
        let (mut starts, mut from) = (Vec::new(), Some(0));
        while let Some(at) = from {
            let log = of(workspace(), Some(1), at).await.unwrap();
            starts.extend(log.parts.iter().map(|part| part.start / bytes));
            from = log.next;
        }
        assert_eq!(starts, (3..kept + 3).collect::<Vec<_>>());
        assert_eq!(of(workspace(), Some(2), 0).await, None, "there was no such attempt");
        assert_eq!(of(elsewhere(), None, 0).await, None, "nor is it anybody else's");
        let nobody = AttemptId { task: attempt.task, number: 2 };
        let part = RawPart { start: 0, text: "x".to_owned() };
        assert!(matches!(bed.store.keep_raw(nobody, part).await, Err(Error::Missing { .. })));
    }

    async fn an_attempts_texts_have_an_end(bed: Bed) {
        let attempt = bed.running("reviewer", "a").await;
        let piece = "x".repeat(limits::TEXT_BYTES);
        let room = limits::ATTEMPT_TEXT_BYTES / limits::TEXT_BYTES as u64;
        for seq in 1..=room {
            assert!(bed.store.keep_text(attempt, seq, piece.clone()).await.unwrap(), "{seq}");
        }
        assert!(!bed.store.keep_text(attempt, room + 1, "x".to_owned()).await.unwrap());
        // What was refused took no room, and another attempt has its own.
        let bed = bed.reopen(Faults::default()).await;
        let other = bed.running("reviewer", "b").await;
        assert!(bed.store.keep_text(other, 1, piece).await.unwrap());
    }

    async fn what_happened_on_an_issue_comes_in_its_order(bed: Bed) {
        let ada = bed.ada().await;
        let (key, attempt) = work(&bed).await;
        let mut wanted = vec![attempt.task.0];
        for body in ["one", "two", "three"] {
            let new = protocol::board::NewComment { body: body.to_owned(), ..Default::default() };
            let posted = bed.store.post_comment(&ada, &key, new, &AGENTS, at(30)).await.unwrap();
            wanted.insert(0, posted.comment.id.0);
            for wake in posted.wakes {
                if let WakeVerdict::Queued { task: Some(task) } = wake.verdict {
                    wanted.insert(0, task.0);
                }
            }
        }
        assert!(wanted.len() > 4, "a comment to whom it is given wakes that agent");
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page = bed.store.history(&workspace(), &key, 2, cursor.as_deref()).await.unwrap();
            assert!(page.items.len() <= 2);
            found.extend(page.items.into_iter().map(|entry| match entry.what {
                History::Comment { comment } => comment.id.0,
                History::Run { run } => run.id.0,
            }));
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        // A comment and what it woke are of one moment, so which of the two is first does not matter.
        wanted.sort_unstable();
        wanted.reverse();
        assert_eq!(found, wanted);
        let unknown = bed.store.history(&workspace(), &"TEAMA-9".parse().unwrap(), 2, None).await;
        assert!(matches!(unknown, Err(Error::Missing { .. })));
    }
}
