//! Who listens is told of what is committed.

use protocol::{FailureClass, TaskId};
use store::{Change, Changes, Fault, Faults, WritePoint};

use crate::bed::{Bed, DEADLINE, at, both, failed, new_task, texts};

async fn next(changes: &mut Changes) -> Change {
    tokio::time::timeout(DEADLINE, changes.next())
        .await
        .expect("a change in time")
        .expect("an open store")
}

/// Everything told up to and including this task, which is entered last and so is told last.
async fn until(bed: &Bed, changes: &mut Changes) -> Vec<Change> {
    let mark = bed.enter("mark", "mark").await;
    let mut told = Vec::new();
    loop {
        match next(changes).await {
            Change::Task(task) if task == mark => return told,
            change @ (Change::Task(_) | Change::Deliveries | Change::Resync) => told.push(change),
        }
    }
}

both! {
    async fn steps_are_told_and_heartbeats_are_not(bed: Bed) {
        let mut changes = bed.store.changes();
        let attempt = bed.running("reviewer", "hello").await;
        let told = Change::Task(attempt.task);
        assert_eq!(until(&bed, &mut changes).await, [told; 4], "entered, claimed, opened, started");
        bed.store.contact(attempt, at(13)).await.unwrap();
        bed.store.append(attempt, &texts(1..=3), at(13)).await.unwrap();
        bed.store.record_pod(attempt, "uid", Some("node")).await.unwrap();
        assert_eq!(until(&bed, &mut changes).await, []);
        bed.finish(attempt, failed(FailureClass::Unknown)).await;
        assert_eq!(until(&bed, &mut changes).await, [told; 2], "decided, released");
    }

    async fn what_is_not_committed_is_not_told(bed: Bed) {
        let bed = bed.reopen(Faults::once(WritePoint::Enter, Fault::ErrorBefore)).await;
        let mut changes = bed.store.changes();
        let new = new_task("reviewer", "hello");
        bed.store.enter(new.clone()).await.unwrap_err();
        assert_eq!(until(&bed, &mut changes).await, []);
        let task = bed.enter_task(new.clone()).await;
        assert_eq!(until(&bed, &mut changes).await, [Change::Task(task)]);
        bed.store.enter(new).await.unwrap();
        assert_eq!(until(&bed, &mut changes).await, [], "nothing changed");
    }

    async fn who_falls_behind_is_told_to_look_at_everything(bed: Bed) {
        let (mut slow, mut quick) = (bed.store.changes(), bed.store.changes());
        let task = bed.enter("reviewer", "hello").await;
        for priority in 1..1100 {
            bed.store.set_priority(task, priority).await.unwrap();
            assert_eq!(next(&mut quick).await, Change::Task(task));
        }
        assert_eq!(next(&mut slow).await, Change::Resync);
        assert_eq!(next(&mut slow).await, Change::Task(task));
    }

    async fn the_stream_tells_the_same(bed: Bed) {
        use futures::StreamExt as _;
        let mut changes = Box::pin(bed.store.changes().into_stream());
        let task = bed.enter("reviewer", "hello").await;
        let told = tokio::time::timeout(DEADLINE, changes.next()).await.unwrap();
        assert_eq!(told, Some(Change::Task(task)));
    }
}

#[tokio::test]
async fn with_postgres_another_operators_writes_are_told_and_a_broken_connection_too() {
    crate::bed::on_postgres(async |bed: Bed| {
        let other = Bed::open(bed.settings.clone(), Faults::default()).await;
        let mut changes = bed.store.changes();
        let task: TaskId = other.enter("reviewer", "hello").await;
        assert_eq!(next(&mut changes).await, Change::Task(task));
        bed.end_listeners().await;
        assert_eq!(next(&mut changes).await, Change::Resync);
        let task = other.enter("reviewer", "hello again").await;
        assert_eq!(next(&mut changes).await, Change::Task(task));
    })
    .await;
}
