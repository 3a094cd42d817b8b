//! Every waiting task can say what it waits for.

use protocol::FailureClass;
use store::Waiting;

use crate::bed::{Bed, at, both, failed, lane};

both! {
    async fn each_limit_is_named(bed: Bed) {
        let first = bed.running("reviewer", "a").await;
        let same_session = bed.enter("reviewer", "a").await;
        let same_agent = bed.enter("reviewer", "b").await;
        let other_agent = bed.enter("writer", "a").await;
        let asked = [same_session, same_agent, other_agent];
        let waiting = async |lane: &store::Lane| {
            let mut answers = Vec::new();
            for task in asked {
                answers.push(bed.store.waiting(task, lane, at(30)).await.unwrap());
            }
            answers
        };
        let busy = Some(Waiting::SessionBusy { holder: first.task });
        let agent_full = Some(Waiting::AgentFull { running: 1, max: 1 });
        let runtime_full = Some(Waiting::RuntimeFull { running: 1, max: 1 });
        let tight = lane(&[("reviewer", 1), ("writer", 1)], 1);
        assert_eq!(waiting(&tight).await, [busy, agent_full, runtime_full]);
        let is_full = async |max| bed.store.is_runtime_full(&lane(&[], max)).await.unwrap();
        assert_eq!((is_full(0).await, is_full(1).await, is_full(2).await), (true, true, false));
        assert_eq!(waiting(&lane(&[("reviewer", 2)], 2)).await, [busy, Some(Waiting::Next), None]);
        assert_eq!(bed.store.waiting(first.task, &tight, at(30)).await.unwrap(), None, "it runs");
        bed.store.verdict(first, failed(FailureClass::Unknown), at(20)).await.unwrap();
        assert_eq!(waiting(&tight).await, [busy, agent_full, runtime_full], "its pod is still there");
        bed.store.release(first, at(21)).await.unwrap();
        assert_eq!(waiting(&tight).await, [Some(Waiting::Next); 3]);
    }

    async fn a_resumed_task_waits_for_its_own_former_attempt(bed: Bed) {
        let attempt = bed.running("reviewer", "a").await;
        let lane = lane(&[("reviewer", 9)], 9);
        bed.store.suspend(attempt.task, at(20)).await.unwrap();
        assert_eq!(bed.store.waiting(attempt.task, &lane, at(30)).await.unwrap(), None, "it is suspended");
        bed.store.resume(attempt.task, at(21)).await.unwrap();
        assert_eq!(bed.store.waiting(attempt.task, &lane, at(30)).await.unwrap(), Some(Waiting::SessionBusy { holder: attempt.task }));
    }
}
