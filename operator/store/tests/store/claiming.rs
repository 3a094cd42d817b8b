//! Claims: one winner, in order, within the limits.

use std::collections::{HashMap, HashSet};

use protocol::{AttemptId, FailureClass, TaskState};
use store::Error;

use crate::bed::{Bed, at, both, failed, lane, lane_of, new_task};

both! {
    async fn a_claim_makes_an_attempt_that_holds_the_session(bed: Bed) {
        let task = bed.enter("reviewer", "hello").await;
        let lane = lane(&[("reviewer", 1)], 1);
        let claimed = bed.store.claim_next(&lane, &bed.key, at(10)).await.unwrap().unwrap();
        assert_eq!(claimed.attempt, AttemptId { task, number: 1 });
        assert_eq!(claimed.runtime, "claude");
        assert_eq!(claimed.session, bed.session_of(task).await);
        let holder = claimed.session.holder.unwrap();
        assert_eq!((holder.attempt, holder.runtime.as_str(), holder.since), (claimed.attempt, "claude", at(10)));
        assert_eq!(claimed.session.runs, 1);
        let row = bed.task(task).await;
        assert_eq!((row.state, row.attempt), (TaskState::Claimed, 1));
        let attempt = bed.attempt(claimed.attempt).await;
        assert_eq!((attempt.claimed_at, attempt.runtime.as_str(), attempt.provider.as_str()), (at(10), "claude", "claude"));
        assert_eq!((attempt.opened_at, attempt.ended_at, attempt.secret_gone), (None, None, false));
        assert_eq!(bed.claim(&lane).await, None);
        bed.sound().await;
    }

    async fn the_highest_priority_comes_first_then_the_oldest(bed: Bed) {
        let mut entered = Vec::new();
        for (subject, priority, created) in [("a", 0, 5), ("b", 0, 3), ("c", 5, 9), ("d", -1, 1), ("e", 5, 8)] {
            let mut new = new_task(if subject < "c" { "reviewer" } else { "writer" }, subject);
            (new.priority, new.created_at) = (priority, at(created));
            entered.push((subject, bed.enter_task(new).await));
        }
        let lane = lane(&[("reviewer", 9), ("writer", 9)], 9);
        let mut order = Vec::new();
        while let Some(attempt) = bed.claim(&lane).await {
            order.push(entered.iter().find(|(_, task)| *task == attempt.task).unwrap().0);
        }
        assert_eq!(order, ["e", "c", "b", "a", "d"]);
        bed.sound().await;
    }

    async fn within_a_session_the_same_order_holds_and_one_runs_at_a_time(bed: Bed) {
        let mut entered = Vec::new();
        for (name, priority, created) in [("old", 0, 1), ("new", 0, 2), ("urgent", 9, 3)] {
            let mut new = new_task("reviewer", "hello");
            (new.priority, new.created_at) = (priority, at(created));
            entered.push((name, bed.enter_task(new).await));
        }
        let lane = lane(&[("reviewer", 9)], 9);
        let mut order = Vec::new();
        while let Some(attempt) = bed.claim(&lane).await {
            assert_eq!(bed.claim(&lane).await, None, "the session is held");
            order.push(entered.iter().find(|(_, task)| *task == attempt.task).unwrap().0);
            bed.store.verdict(attempt, failed(FailureClass::Unknown), at(20)).await.unwrap();
            assert_eq!(bed.claim(&lane).await, None, "its pod is still there");
            assert!(bed.store.release(attempt, at(21)).await.unwrap());
        }
        assert_eq!(order, ["urgent", "old", "new"]);
        assert_eq!(bed.session_of(entered[0].1).await.runs, 3);
        bed.sound().await;
    }

    async fn a_new_priority_changes_the_order(bed: Bed) {
        let mut tasks = Vec::new();
        for subject in ["a", "a", "b"] {
            tasks.push(bed.enter("reviewer", subject).await);
        }
        assert!(bed.store.set_priority(tasks[2], 1).await.unwrap());
        assert!(bed.store.set_priority(tasks[1], 2).await.unwrap());
        assert!(!bed.store.set_priority(tasks[1], 2).await.unwrap());
        bed.sound().await;
        let lane = lane(&[("reviewer", 9)], 9);
        assert_eq!(bed.claim(&lane).await.unwrap().task, tasks[1]);
        assert_eq!(bed.claim(&lane).await.unwrap().task, tasks[2]);
        assert_eq!(bed.task(tasks[1]).await.priority, 2);
        assert!(matches!(bed.store.set_priority(protocol::TaskId(uuid::Uuid::now_v7()), 1).await, Err(Error::Missing { .. })));
    }

    async fn limits_count_holders_until_they_are_released(bed: Bed) {
        for (agent, created) in [("reviewer", 0), ("writer", 1)] {
            for subject in ["a", "b", "c", "d"] {
                let mut new = new_task(agent, subject);
                new.created_at = at(created);
                bed.enter_task(new).await;
            }
        }
        let lane = lane(&[("reviewer", 1), ("writer", 9)], 3);
        let mut held = Vec::new();
        while let Some(attempt) = bed.claim(&lane).await {
            held.push(attempt);
        }
        assert_eq!(held.len(), 3, "the Runtime is full");
        let mut reviewers = 0;
        for attempt in &held {
            reviewers += u32::from(bed.task(attempt.task).await.agent == "reviewer");
        }
        assert_eq!(reviewers, 1, "the agent is full");
        bed.store.verdict(held[0], failed(FailureClass::Unknown), at(20)).await.unwrap();
        assert_eq!(bed.claim(&lane).await, None, "a pod that is ending counts");
        bed.store.release(held[0], at(21)).await.unwrap();
        assert!(bed.claim(&lane).await.is_some());
        assert_eq!(bed.claim(&lane).await, None);
        assert!(bed.claim(&lane_of("other", &[("writer", 9)], 1)).await.is_some(), "another Runtime has room");
        assert_eq!(bed.claim(&lane_of("other", &[("writer", 9)], 1)).await, None);
        bed.sound().await;
    }

    async fn only_agents_of_the_lane_and_its_namespace_are_claimed(bed: Bed) {
        bed.enter("reviewer", "hello").await;
        let mut elsewhere = lane(&[("reviewer", 9)], 9);
        elsewhere.namespace_uid = "elsewhere".to_owned();
        for lane in [lane(&[("writer", 9)], 9), lane(&[], 9), lane(&[("reviewer", 0)], 9), lane(&[("reviewer", 9)], 0), elsewhere] {
            assert_eq!(bed.claim(&lane).await, None, "{lane:?}");
        }
    }

    async fn the_database_itself_allows_one_active_task_in_a_session(bed: Bed) {
        bed.running("reviewer", "hello").await;
        bed.enter("reviewer", "hello").await;
        let both = "UPDATE tasks SET state = 'running' WHERE state = 'queued'";
        let error = bed.try_aside(both).await.unwrap_err();
        assert!(error.as_database_error().unwrap().is_unique_violation(), "{error:?}");
    }

    async fn a_step_that_the_schema_refuses_is_a_conflict(bed: Bed) {
        // As if another operator had forgotten whom the session belongs to.
        let attempt = bed.running("reviewer", "hello").await;
        bed.enter("reviewer", "hello").await;
        bed.execute_aside("UPDATE sessions SET holder_task = NULL, holder_attempt = NULL, holder_runtime = NULL, holder_since = NULL").await;
        let refused = bed.store.claim_next(&lane(&[("reviewer", 9)], 9), &bed.key, at(10)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Running);
    }

    async fn of_many_claimers_one_wins_each_session_and_no_limit_is_passed(bed: Bed) {
        for number in 0..24 {
            bed.enter(["reviewer", "writer", "tester"][number % 3], &format!("s{}", number % 12)).await;
        }
        let lane = lane(&[("reviewer", 2), ("writer", 9), ("tester", 3)], 7);
        let claiming: Vec<_> = (0..12).map(|_| { let (bed, lane) = (bed.clone(), lane.clone()); tokio::spawn(claim_all(bed, lane)) }).collect();
        let mut won = Vec::new();
        for claiming in claiming {
            won.extend(claiming.await.unwrap());
        }
        assert_eq!(won.len(), 7);
        let (mut sessions, mut agents) = (HashSet::new(), HashMap::new());
        for attempt in &won {
            let row = bed.task(attempt.task).await;
            assert!(sessions.insert(row.session), "two hold one session");
            *agents.entry(row.agent).or_insert(0) += 1;
        }
        assert!(agents["reviewer"] <= 2 && agents["tester"] <= 3, "{agents:?}");
        bed.sound().await;
    }

    async fn claimers_and_finishers_at_once_lose_no_task(bed: Bed) {
        for number in 0..30 {
            bed.enter("reviewer", &format!("s{}", number % 10)).await;
        }
        let lane = lane(&[("reviewer", 4)], 3);
        let working: Vec<_> = (0..4).map(|_| { let (bed, lane) = (bed.clone(), lane.clone()); tokio::spawn(work_all(bed, lane)) }).collect();
        for working in working {
            working.await.unwrap();
        }
        assert_eq!(bed.store.open_tasks(None, 99).await.unwrap(), []);
        bed.sound().await;
    }
}

async fn claim_all(bed: Bed, lane: store::Lane) -> Vec<AttemptId> {
    let mut won = Vec::new();
    loop {
        match bed.store.claim_next(&lane, &bed.key, at(10)).await {
            Ok(Some(claimed)) => won.push(claimed.attempt),
            Ok(None) => return won,
            Err(Error::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
        let holders = bed.store.summary().await.unwrap().holders;
        assert!(holders <= u64::from(lane.max_pods), "{holders} hold");
    }
}

/// Claims and finishes until nothing is open.
async fn work_all(bed: Bed, lane: store::Lane) {
    while !bed.store.open_tasks(None, 1).await.unwrap().is_empty() {
        let mut attempts = Vec::new();
        if let Ok(Some(claimed)) = bed.store.claim_next(&lane, &bed.key, at(10)).await {
            attempts.push(claimed.attempt);
        }
        let holders = bed.store.summary().await.unwrap().holders;
        assert!(holders <= 3, "{holders} hold");
        for attempt in attempts {
            bed.finish(attempt, failed(FailureClass::Unknown)).await;
        }
    }
}
