//! The life of a task, step by step.

use protocol::runner::{Command, CommandKind};
use protocol::{Answer, AttemptId, EndReason, Evidence, FailureClass, Outcome, TaskId, TaskState};
use store::{Decided, Error, Faults, LATE_RESULTS, LateResult, Opened, WritePoint};
use uuid::Uuid;

use crate::bed::{Bed, at, both, failed, lane, new_task, told};

both! {
    async fn from_the_queue_to_its_end(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let state = async || bed.task(attempt.task).await.state;
        assert_eq!(state().await, TaskState::Claimed);
        assert!(matches!(bed.store.started(attempt, at(11)).await, Err(Error::Conflict { .. })), "it is not open");
        bed.store.open_package(attempt, [1; 32], at(11)).await.unwrap();
        assert_eq!(state().await, TaskState::Preparing);
        bed.store.started(attempt, at(12)).await.unwrap();
        assert!(bed.store.started(attempt, at(13)).await.unwrap(), "said again");
        assert_eq!(state().await, TaskState::Running);
        assert!(matches!(bed.store.release(attempt, at(14)).await, Err(Error::Conflict { .. })), "it runs");
        let verdict = told(Outcome::Succeeded, None);
        assert_eq!(bed.store.verdict(attempt, verdict.clone(), at(20)).await.unwrap(), Decided::First);
        assert_eq!(state().await, TaskState::Finishing);
        bed.store.secret_gone(attempt).await.unwrap();
        assert!(bed.store.release(attempt, at(21)).await.unwrap());
        assert!(!bed.store.release(attempt, at(22)).await.unwrap(), "it was released");
        let row = bed.task(attempt.task).await;
        assert_eq!((row.state, row.closed_at), (TaskState::Finished, Some(at(21))));
        assert_eq!(row.verdict, Some(verdict));
        let attempt = bed.attempt(attempt).await;
        assert_eq!((attempt.opened_at, attempt.started_at, attempt.ended_at), (Some(at(11)), Some(at(12)), Some(at(20))));
        assert_eq!((attempt.end_reason, attempt.secret_gone), (None, true));
        bed.sound().await;
    }

    async fn a_package_opens_with_one_nonce_only(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let open = async |nonce| bed.store.open_package(attempt, [nonce; 32], at(11)).await.unwrap();
        assert_eq!(open(1).await, Opened::First);
        assert_eq!(open(1).await, Opened::Again);
        assert_eq!(open(2).await, Opened::OtherNonce);
        bed.store.started(attempt, at(12)).await.unwrap();
        assert_eq!(open(1).await, Opened::Again);
        assert_eq!(open(2).await, Opened::OtherNonce);
        bed.store.verdict(attempt, failed(FailureClass::Cancelled), at(20)).await.unwrap();
        assert_eq!(open(1).await, Opened::WrongState);
        let nobody = AttemptId { task: attempt.task, number: 2 };
        assert!(matches!(bed.store.open_package(nobody, [1; 32], at(11)).await, Err(Error::Missing { .. })));
        let nobody = AttemptId { task: TaskId(Uuid::now_v7()), number: 1 };
        assert!(matches!(bed.store.open_package(nobody, [1; 32], at(11)).await, Err(Error::Missing { .. })));
    }

    async fn who_asks_in_vain_for_a_package_writes_nothing(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        bed.store.open_package(attempt, [1; 32], at(11)).await.unwrap();
        let faults = Faults::new(|_| None);
        let bed = bed.reopen(faults.clone()).await;
        let open = async |nonce| bed.store.open_package(attempt, [nonce; 32], at(12)).await.unwrap();
        assert_eq!((open(2).await, open(1).await), (Opened::OtherNonce, Opened::Again));
        assert_eq!(faults.passed(), []);
        bed.store.verdict(attempt, failed(FailureClass::Cancelled), at(20)).await.unwrap();
        assert_eq!(open(1).await, Opened::WrongState);
        assert_eq!(faults.passed(), [WritePoint::Verdict]);
    }

    async fn the_first_notice_of_an_absent_pod_stands_until_it_is_seen_again(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let since = async || bed.attempt(attempt).await.pod_absent_since;
        assert_eq!(since().await, None);
        bed.store.pod_absent(attempt, Some(at(20))).await.unwrap();
        bed.store.pod_absent(attempt, Some(at(30))).await.unwrap();
        assert_eq!(since().await, Some(at(20)));
        bed.store.pod_absent(attempt, None).await.unwrap();
        assert_eq!(since().await, None);
        bed.store.pod_absent(attempt, Some(at(40))).await.unwrap();
        assert_eq!(since().await, Some(at(40)));
        let nobody = AttemptId { task: attempt.task, number: 2 };
        for since in [None, Some(at(50))] {
            assert!(matches!(bed.store.pod_absent(nobody, since).await, Err(Error::Missing { .. })));
        }
    }

    async fn of_two_nonces_at_once_one_opens(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let opening = (0..6).map(|nonce| { let store = bed.store.clone(); tokio::spawn(async move { store.open_package(attempt, [nonce; 32], at(11)).await.unwrap() }) });
        let mut answers = Vec::new();
        for opening in opening.collect::<Vec<_>>() {
            answers.push(opening.await.unwrap());
        }
        assert_eq!(answers.iter().filter(|answer| **answer == Opened::First).count(), 1);
        assert_eq!(answers.iter().filter(|answer| **answer == Opened::OtherNonce).count(), 5);
    }

    async fn the_first_verdict_stands_and_what_comes_later_is_kept_beside(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let first = failed(FailureClass::TaskTimeout);
        assert_eq!(bed.store.verdict(attempt, first.clone(), at(20)).await.unwrap(), Decided::First);
        let mut late = told(Outcome::Succeeded, None);
        late.result.as_mut().unwrap().resumed.volume = Evidence { answer: Answer::Yes, evidence: "same UID".to_owned() };
        for moment in [21, 22] {
            assert_eq!(bed.store.verdict(attempt, late.clone(), at(moment)).await.unwrap(), Decided::Late);
        }
        assert_eq!(bed.store.verdict(attempt, failed(FailureClass::Cancelled), at(23)).await.unwrap(), Decided::Late);
        let row = bed.task(attempt.task).await;
        assert_eq!((row.state, row.verdict.as_ref()), (TaskState::Finishing, Some(&first)));
        assert_eq!(row.late_results, [LateResult { attempt: 1, verdict: late.clone() }], "once, and no word of our own");
        assert_eq!(row.resumed, late.result.map(|result| result.resumed));
        for number in 0..LATE_RESULTS + 3 {
            let other = told(Outcome::failed(FailureClass::CliCrashed, format!("{number}")), None);
            bed.store.verdict(attempt, other, at(30)).await.unwrap();
        }
        assert_eq!(bed.task(attempt.task).await.late_results.len(), LATE_RESULTS);
        bed.release_and_check(attempt, &first).await;
    }

    async fn the_same_verdict_said_again_still_is_the_first(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let mut verdict = told(Outcome::Succeeded, None);
        assert_eq!(bed.store.verdict(attempt, verdict.clone(), at(20)).await.unwrap(), Decided::First);
        verdict.at = at(22);
        assert_eq!(bed.store.verdict(attempt, verdict, at(22)).await.unwrap(), Decided::First);
        let row = bed.task(attempt.task).await;
        assert_eq!((row.verdict.unwrap().at, row.late_results.len()), (at(20), 0));
    }

    async fn of_many_verdicts_at_once_one_stands(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let deciding = (0..8).map(|number| {
            let store = bed.store.clone();
            let verdict = told(Outcome::failed(FailureClass::CliCrashed, format!("{number}")), None);
            tokio::spawn(async move { (store.verdict(attempt, verdict.clone(), at(20)).await.unwrap(), verdict) })
        });
        let mut stands = Vec::new();
        for deciding in deciding.collect::<Vec<_>>() {
            let (decided, verdict) = deciding.await.unwrap();
            stands.extend((decided == Decided::First).then_some(verdict));
        }
        assert_eq!(stands.len(), 1);
        let row = bed.task(attempt.task).await;
        assert_eq!((row.verdict.as_ref(), row.late_results.len()), (stands.first(), 7));
    }

    async fn a_runner_is_told_to_stop_where_it_did_not_say_so_itself(bed: Bed) {
        for (number, (class, reason)) in [
            (FailureClass::Cancelled, EndReason::Cancelled),
            (FailureClass::DeadlineExceeded, EndReason::TimedOut),
            (FailureClass::TaskTimeout, EndReason::TimedOut),
            (FailureClass::AgentDeleted, EndReason::AgentDeleted),
            (FailureClass::PodDeleted, EndReason::Failed),
        ].into_iter().enumerate() {
            let attempt = bed.running("reviewer", &format!("s{number}")).await;
            assert_eq!(bed.store.commands(attempt, 0).await.unwrap(), []);
            bed.store.verdict(attempt, failed(class), at(20)).await.unwrap();
            let stop = Command { number: 1, kind: CommandKind::Stop { reason } };
            assert_eq!(bed.store.commands(attempt, 0).await.unwrap(), [stop]);
            assert_eq!(bed.store.commands(attempt, 1).await.unwrap(), []);
            assert_eq!(bed.store.commands(attempt, u64::MAX).await.unwrap(), []);
            assert_eq!(bed.attempt(attempt).await.end_reason, Some(reason));
        }
        let attempt = bed.running("reviewer", "told").await;
        bed.store.verdict(attempt, told(Outcome::Succeeded, None), at(20)).await.unwrap();
        assert_eq!(bed.store.commands(attempt, 0).await.unwrap(), []);
    }

    async fn a_suspended_task_ends_its_attempt_and_goes_on_later(bed: Bed) {
        let mut new = new_task("reviewer", "hello");
        new.deadline_seconds = Some(1000);
        let task = bed.enter_task(new).await;
        let lane = lane(&[("reviewer", 9)], 9);
        let first = bed.claim(&lane).await.unwrap();
        bed.start(first).await;
        assert!(bed.store.suspend(task, at(100)).await.unwrap());
        assert!(!bed.store.suspend(task, at(101)).await.unwrap());
        let row = bed.task(task).await;
        assert_eq!((row.state, row.suspended_at, row.verdict), (TaskState::Suspended, Some(at(100)), None));
        let stop = Command { number: 1, kind: CommandKind::Stop { reason: EndReason::Suspended } };
        assert_eq!(bed.store.commands(first, 0).await.unwrap(), [stop]);
        let attempt = bed.attempt(first).await;
        assert_eq!((attempt.ended_at, attempt.end_reason), (Some(at(100)), Some(EndReason::Suspended)));
        assert!(!bed.store.started(first, at(101)).await.unwrap(), "a stale attempt starts nothing");
        assert_eq!(bed.store.open_package(first, [1; 32], at(101)).await.unwrap(), Opened::WrongState);
        assert!(bed.session_of(task).await.is_held_by(first), "its pod is still there");
        assert!(bed.store.resume(task, at(400)).await.unwrap());
        assert!(!bed.store.resume(task, at(401)).await.unwrap());
        let row = bed.task(task).await;
        assert_eq!((row.state, row.suspended_at, row.deadline_at), (TaskState::Queued, None, Some(at(1300))));
        assert_eq!(bed.claim(&lane).await, None, "the former pod has the volume");
        // What the ended attempt still says is kept, and decides nothing.
        let late = told(Outcome::Succeeded, Some("one"));
        assert_eq!(bed.store.verdict(first, late, at(402)).await.unwrap(), Decided::Late);
        assert_eq!(bed.task(task).await.state, TaskState::Queued);
        assert!(bed.store.release(first, at(410)).await.unwrap());
        let second = bed.claim(&lane).await.unwrap();
        assert_eq!(second, AttemptId { task, number: 2 });
        bed.start(second).await;
        assert_eq!(bed.store.verdict(first, told(Outcome::Succeeded, None), at(420)).await.unwrap(), Decided::Late);
        assert_eq!(bed.task(task).await.state, TaskState::Running);
        bed.finish(second, told(Outcome::Succeeded, None)).await;
        bed.sound().await;
    }

    async fn a_task_that_was_never_claimed_is_finished_at_once(bed: Bed) {
        for (number, suspend) in [false, true].into_iter().enumerate() {
            let task = bed.enter("reviewer", &format!("s{number}")).await;
            if suspend {
                bed.store.suspend(task, at(5)).await.unwrap();
            }
            assert!(bed.store.end_unclaimed(task, failed(FailureClass::Cancelled), at(20)).await.unwrap());
            assert!(!bed.store.end_unclaimed(task, failed(FailureClass::DeadlineExceeded), at(21)).await.unwrap());
            let row = bed.task(task).await;
            assert_eq!((row.state, row.closed_at, row.suspended_at), (TaskState::Finished, Some(at(20)), None));
            assert_eq!(row.verdict, Some(failed(FailureClass::Cancelled)));
            assert!(!bed.store.suspend(task, at(30)).await.unwrap());
            assert!(!bed.store.resume(task, at(30)).await.unwrap());
        }
        assert_eq!(bed.claim(&lane(&[("reviewer", 9)], 9)).await, None);
        bed.sound().await;
    }

    async fn one_whose_former_attempt_still_holds_is_finished_with_its_release(bed: Bed) {
        for (subject, resume) in [("a", false), ("b", true)] {
            let attempt = bed.running("reviewer", subject).await;
            bed.store.suspend(attempt.task, at(20)).await.unwrap();
            if resume {
                bed.store.resume(attempt.task, at(21)).await.unwrap();
            }
            assert!(bed.store.end_unclaimed(attempt.task, failed(FailureClass::Cancelled), at(30)).await.unwrap());
            assert_eq!(bed.task(attempt.task).await.state, TaskState::Finishing);
            bed.release_and_check(attempt, &failed(FailureClass::Cancelled)).await;
        }
    }

    async fn a_live_attempt_is_decided_by_its_verdict_only(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let refused = bed.store.end_unclaimed(attempt.task, failed(FailureClass::Cancelled), at(20)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })));
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Running);
    }

    async fn an_ended_task_leaves_the_next_one_of_its_session_its_place(bed: Bed) {
        let first = bed.enter("reviewer", "hello").await;
        let second = bed.enter("reviewer", "hello").await;
        let (first, second) = if first < second { (first, second) } else { (second, first) };
        bed.store.end_unclaimed(first, failed(FailureClass::Cancelled), at(20)).await.unwrap();
        assert_eq!(bed.claim(&lane(&[("reviewer", 9)], 9)).await.unwrap().task, second);
        bed.sound().await;
    }

    async fn held_sessions_are_listed(bed: Bed) {
        let mut held = Vec::new();
        for subject in ["a", "b", "c"] {
            held.push(bed.running("reviewer", subject).await);
        }
        bed.finish(held[1], failed(FailureClass::Unknown)).await;
        let first = bed.store.held_sessions(None, 1).await.unwrap();
        let rest = bed.store.held_sessions(Some(first[0].id), 9).await.unwrap();
        let mut found: Vec<_> = first.iter().chain(&rest).map(|session| session.holder.clone().unwrap().attempt).collect();
        let mut wanted = vec![held[0], held[2]];
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}

impl Bed {
    async fn release_and_check(&self, attempt: AttemptId, verdict: &protocol::Verdict) {
        assert!(self.store.release(attempt, at(50)).await.unwrap());
        let row = self.task(attempt.task).await;
        assert_eq!(
            (row.state, row.closed_at),
            (TaskState::Finished, Some(at(50)))
        );
        assert_eq!(row.verdict.as_ref(), Some(verdict));
        self.sound().await;
    }
}
