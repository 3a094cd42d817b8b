//! Entering tasks, finding them again, and what the store belongs to.

use protocol::{FailureClass, InstallationId, SessionPolicy, TaskState};
use store::{Entered, Error, Summary};
use uuid::Uuid;

use crate::bed::{Bed, at, both, failed, lane, new_task, session_key};

both! {
    async fn the_same_object_is_one_task(bed: Bed) {
        let new = new_task("reviewer", "hello");
        let first = bed.store.enter(new.clone()).await.unwrap();
        assert!(first.created);
        assert_eq!(bed.store.enter(new.clone()).await.unwrap(), Entered { task: first.task, created: false });
        assert_eq!(bed.store.task_by_object(new.object.uid.as_deref().unwrap()).await.unwrap(), Some(first.task));
        assert_eq!(bed.store.task_by_object("another").await.unwrap(), None);
        assert_eq!(bed.store.open_tasks(None, 10).await.unwrap(), [first.task]);
        bed.sound().await;
    }

    async fn an_object_entered_by_many_at_once_is_one_task(bed: Bed) {
        let new = new_task("reviewer", "hello");
        let entering = (0..8).map(|_| { let (store, new) = (bed.store.clone(), new.clone()); tokio::spawn(async move { store.enter(new).await.unwrap() }) });
        let entering: Vec<_> = entering.collect();
        let mut entered = Vec::new();
        for entering in entering {
            entered.push(entering.await.unwrap());
        }
        assert_eq!(entered.iter().filter(|entered| entered.created).count(), 1);
        assert!(entered.iter().all(|other| other.task == entered[0].task));
        bed.sound().await;
    }

    async fn a_task_reads_back_as_it_was_entered(bed: Bed) {
        let mut new = new_task("reviewer", "hello");
        (new.priority, new.policy, new.deadline_seconds) = (-7, SessionPolicy::Require, Some(90));
        let task = bed.enter_task(new.clone()).await;
        let row = bed.task(task).await;
        assert_eq!(row.id, task);
        assert_eq!(row.object, new.object);
        assert_eq!((row.agent.as_str(), row.priority, row.policy), ("reviewer", -7, SessionPolicy::Require));
        assert_eq!((row.state, row.attempt), (TaskState::Queued, 0));
        assert_eq!((row.created_at, row.deadline_at, row.suspended_at), (at(0), Some(at(90)), None));
        assert_eq!((row.verdict, row.resumed, row.closed_at), (None, None, None));
        assert!(row.late_results.is_empty());
        let session = bed.store.session(row.session).await.unwrap().unwrap();
        assert_eq!((&session.key, session.namespace.as_str()), (&session_key("reviewer", "hello"), "team-a"));
        assert_eq!((session.holder, session.pointer, session.runs), (None, None, 0));
        let by_key = bed.store.session_by_key(&session_key("reviewer", "hello")).await.unwrap().unwrap();
        assert_eq!(by_key.id, session.id);
        assert_eq!(bed.store.session_by_key(&session_key("reviewer", "other")).await.unwrap(), None);
    }

    async fn ids_sort_by_creation(bed: Bed) {
        let mut tasks = Vec::new();
        for seconds in [3, 1, 2] {
            let mut new = new_task("reviewer", "hello");
            new.created_at = at(seconds);
            tasks.push(bed.enter_task(new).await);
        }
        assert_eq!(bed.store.open_tasks(None, 10).await.unwrap(), [tasks[1], tasks[2], tasks[0]]);
    }

    async fn a_time_before_1970_is_refused(bed: Bed) {
        let mut new = new_task("reviewer", "hello");
        new.created_at = "1969-01-01T00:00:00Z".parse().unwrap();
        assert!(matches!(bed.store.enter(new).await, Err(Error::Invalid { .. })));
    }

    async fn lists_come_in_pages_and_hold_what_they_say(bed: Bed) {
        let mut waiting = Vec::new();
        for subject in ["a", "b", "c"] {
            waiting.push(bed.enter("reviewer", subject).await);
        }
        let other = bed.enter("writer", "a").await;
        let running = bed.running("runner", "a").await.task;
        let finished = bed.running("closer", "a").await;
        bed.finish(finished, failed(FailureClass::Unknown)).await;
        let store = &bed.store;
        assert_eq!(store.waiting_of_agent(crate::bed::NAMESPACE, "reviewer", None, 2).await.unwrap().len(), 2);
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = store.waiting_of_agent(crate::bed::NAMESPACE, "reviewer", after, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(*last);
            seen.extend(page);
        }
        waiting.sort();
        assert_eq!(seen, waiting);
        assert_eq!(store.active_of_agent(crate::bed::NAMESPACE, "runner", None, 9).await.unwrap(), [running]);
        assert_eq!(store.active_of_agent(crate::bed::NAMESPACE, "reviewer", None, 9).await.unwrap(), []);
        let mut open = store.open_of_namespace(crate::bed::NAMESPACE, None, 9).await.unwrap();
        assert_eq!(open, store.open_tasks(None, 9).await.unwrap());
        let mut wanted = [waiting, vec![other, running]].concat();
        open.sort();
        wanted.sort();
        assert_eq!(open, wanted);
        assert_eq!(store.open_of_namespace("other", None, 9).await.unwrap(), []);
        let summary = Summary { queued: 4, running: 1, holders: 1, ..Summary::default() };
        assert_eq!(store.summary().await.unwrap(), summary);
    }

    async fn what_its_time_to_live_removed_is_known_again(bed: Bed) {
        let new = new_task("reviewer", "hello");
        let task = bed.enter_task(new.clone()).await;
        assert!(!bed.store.expire(task, at(30)).await.unwrap(), "it is not finished");
        bed.store.end_unclaimed(task, failed(FailureClass::Cancelled), at(20)).await.unwrap();
        assert_eq!(bed.store.ran_before(&new.object).await.unwrap(), None, "a person deleted it");
        assert!(bed.store.expire(task, at(30)).await.unwrap());
        assert!(!bed.store.expire(task, at(31)).await.unwrap());
        let mut again = new.object.clone();
        again.uid = Some("another".to_owned());
        assert_eq!(bed.store.ran_before(&again).await.unwrap(), Some(task));
        again.spec_hash = "changed".to_owned();
        assert_eq!(bed.store.ran_before(&again).await.unwrap(), None);
    }

    async fn an_empty_store_takes_one_installation(bed: Bed) {
        let (one, other) = (InstallationId(Uuid::now_v7()), InstallationId(Uuid::now_v7()));
        assert_eq!(bed.store.installation().await.unwrap(), None);
        bed.store.adopt_installation(one).await.unwrap();
        assert_eq!(bed.store.installation().await.unwrap(), Some(one));
        bed.enter("reviewer", "hello").await;
        bed.store.adopt_installation(one).await.unwrap();
        assert!(matches!(bed.store.adopt_installation(other).await, Err(Error::Conflict { .. })));
        assert_eq!(bed.store.installation().await.unwrap(), Some(one));
    }

    async fn a_store_with_tasks_of_nobody_takes_none(bed: Bed) {
        bed.enter("reviewer", "hello").await;
        let id = InstallationId(Uuid::now_v7());
        assert!(matches!(bed.store.adopt_installation(id).await, Err(Error::Conflict { .. })));
        assert_eq!(bed.store.installation().await.unwrap(), None);
    }

    async fn a_task_suspended_from_the_start_waits_for_nothing(bed: Bed) {
        let mut new = new_task("reviewer", "hello");
        (new.suspended, new.deadline_seconds) = (true, Some(100));
        let task = bed.enter_task(new).await;
        let row = bed.task(task).await;
        assert_eq!((row.state, row.suspended_at), (TaskState::Suspended, Some(at(0))));
        assert_eq!(bed.claim(&lane(&[("reviewer", 9)], 9)).await, None);
        assert!(bed.store.resume(task, at(40)).await.unwrap());
        assert_eq!(bed.task(task).await.deadline_at, Some(at(140)));
        assert_eq!(bed.claim(&lane(&[("reviewer", 9)], 9)).await.unwrap().task, task);
    }

    async fn a_prompt_that_comes_from_elsewhere_is_kept(bed: Bed) {
        let store = &bed.store;
        let mut new = new_task("reviewer", "night");
        new.prompt = Some("Go.".to_owned());
        let entered = store.enter(new.clone()).await.unwrap();
        new.prompt = Some("Stop.".to_owned());
        let again = store.enter(new).await.unwrap();
        assert_eq!((again.task, again.created), (entered.task, false));
        assert_eq!(store.prompt(entered.task).await.unwrap().as_deref(), Some("Go."));
        let other = store.enter(new_task("reviewer", "day")).await.unwrap();
        assert_eq!(store.prompt(other.task).await.unwrap(), None);
    }
}
