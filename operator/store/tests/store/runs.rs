//! Tasks as people see them.

use protocol::board::{CauseKind, NewIssue, RunView, WakeVerdict};
use protocol::{FailureClass, Outcome, Subject, TaskId, TaskState};
use store::Error;

use crate::bed::{Bed, at, both, failed, told};
use crate::board::{AGENTS, agent, elsewhere, titled, workspace};

async fn run(bed: &Bed, task: TaskId) -> RunView {
    bed.store.run(&workspace(), task).await.unwrap().unwrap()
}

both! {
    async fn a_run_says_how_it_stands(bed: Bed) {
        let waits = bed.enter("reviewer", "hello").await;
        let wanted = RunView {
            id: waits,
            name: bed.task(waits).await.object.name,
            agent: "reviewer".to_owned(),
            subject: Subject { kind: "Key".to_owned(), name: "hello".to_owned() },
            state: TaskState::Queued,
            attempt: 0,
            waits_for: None,
            deferred_until: None,
            succeeded: None,
            failure: None,
            message: None,
            cause: None,
            tokens: 0,
            usage: std::collections::BTreeMap::new(),
            created: at(0),
            finished: None,
        };
        assert_eq!(run(&bed, waits).await, wanted);
        assert_eq!(bed.store.run(&elsewhere(), waits).await.unwrap(), None);
        let good = bed.running("writer", "a").await;
        bed.finish(good, told(Outcome::Succeeded, None)).await;
        let bad = bed.running("writer", "b").await;
        bed.store.verdict(bad, failed(FailureClass::NodeLost), at(20)).await.unwrap();
        let (good, bad) = (run(&bed, good.task).await, run(&bed, bad.task).await);
        assert_eq!((good.state, good.succeeded, good.failure, good.finished), (TaskState::Finished, Some(true), None, Some(at(21))));
        let failure = Some(FailureClass::NodeLost);
        assert_eq!((bad.state, bad.succeeded, bad.failure, bad.finished), (TaskState::Finishing, Some(false), failure, None));
    }

    async fn runs_come_in_pages_newest_first(bed: Bed) {
        let mut wanted = Vec::new();
        for subject in ["a", "b", "c"] {
            wanted.insert(0, bed.enter("reviewer", subject).await);
        }
        let first = bed.store.runs(&workspace(), 2, None).await.unwrap();
        let rest = bed.store.runs(&workspace(), 2, first.next.as_deref()).await.unwrap();
        let ids = |runs: &[RunView]| runs.iter().map(|run| run.id).collect::<Vec<_>>();
        assert_eq!((ids(&first.items), ids(&rest.items), rest.next), (wanted[..2].to_vec(), wanted[2..].to_vec(), None));
        assert_eq!(bed.store.runs(&elsewhere(), 2, None).await.unwrap().items, []);
        let refused = bed.store.runs(&workspace(), 2, Some("x")).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }

    async fn an_issue_knows_the_runs_that_it_woke(bed: Bed) {
        let ada = bed.ada().await;
        bed.enter("reviewer", "hello").await;
        let mut woken = Vec::new();
        for (second, name) in [(1, "reviewer"), (2, "writer")] {
            let new = NewIssue { assignee: Some(agent(name)), ..titled("for an agent") };
            let saved = bed.store.create_issue(&ada, new, &AGENTS, at(second)).await.unwrap();
            let [wake] = saved.wakes.as_slice() else { panic!("{:?}", saved.wakes) };
            let WakeVerdict::Queued { task: Some(task) } = wake.verdict else { panic!("{wake:?}") };
            woken.push((saved.issue.key, task));
        }
        for (key, task) in &woken {
            let page = bed.store.runs_of_issue(&workspace(), key, 9, None).await.unwrap();
            let [run] = page.items.as_slice() else { panic!("{page:?}") };
            assert_eq!((run.id, run.cause, page.next), (*task, Some(CauseKind::Assignment), None));
            assert_eq!(run.subject, Subject { kind: "Issue".to_owned(), name: key.to_string() });
        }
        let all = bed.store.runs(&workspace(), 9, None).await.unwrap();
        assert_eq!(all.items.len(), 3);
        let unknown = bed.store.runs_of_issue(&workspace(), &"TEAMA-9".parse().unwrap(), 9, None).await;
        assert!(matches!(unknown, Err(Error::Missing { .. })));
    }
}
