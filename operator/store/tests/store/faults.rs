//! A crash or an error at each numbered write: opened again, the store is sound, and the work comes to its end.

use std::collections::BTreeSet;

use protocol::runner::RawPart;
use protocol::{AttemptId, FailureClass, InstallationId, Outcome, TaskId, TaskState, TokenUsage};
use store::{Appended, Error, Fault, Faults, NewTask, Opened, WritePoint};
use uuid::Uuid;

use crate::bed::{Bed, DEADLINE, at, both, failed, lane, new_task, text, told};

/// What the second attempt tells that it has used.
const USED: TokenUsage = TokenUsage {
    input: 1,
    output: 2,
    cache_read: 3,
    cache_write: 4,
};

/// What a test remembers across a crash: names of objects, as the cluster would keep them.
#[derive(Clone)]
struct World {
    installation: InstallationId,
    main: NewTask,
    other: NewTask,
}

impl World {
    fn new() -> Self {
        let installation = InstallationId(Uuid::now_v7());
        Self {
            installation,
            main: new_task("reviewer", "hello"),
            other: new_task("reviewer", "other"),
        }
    }
}

/// Lives through everything that is ever written, from wherever the store stands: as controller and runner do,
/// each step is asked for by what is there, and asked for again when its answer was lost.
async fn live(bed: Bed, world: World) -> Result<(), Error> {
    let store = &bed.store;
    store.adopt_installation(world.installation).await?;
    let task = store.enter(world.main).await?.task;
    let other = store.enter(world.other).await?.task;
    store.set_priority(task, 5).await?;
    if store.task(task).await?.unwrap().attempt == 0 {
        store.suspend(other, at(5)).await?;
        claim(&bed, task).await?;
    }
    let first = AttemptId { task, number: 1 };
    if store.attempt(first).await?.unwrap().ended_at.is_none() {
        run(&bed, first).await?;
        store.suspend(task, at(30)).await?;
        store.pod_absent(first, Some(at(35))).await?;
    }
    store.secret_gone(first).await?;
    store.resume(task, at(40)).await?;
    store.release(first, at(41)).await?;
    if store.task(task).await?.unwrap().attempt == 1 {
        claim(&bed, task).await?;
    }
    let second = AttemptId { task, number: 2 };
    if store.attempt(second).await?.unwrap().ended_at.is_none() {
        run(&bed, second).await?;
    }
    let mut verdict = told(Outcome::Succeeded, Some("one"));
    if let Some(result) = &mut verdict.result {
        result.usage.insert("big".to_owned(), USED);
    }
    store.verdict(second, verdict, at(50)).await?;
    store.secret_gone(second).await?;
    store.release(second, at(51)).await?;
    store
        .end_unclaimed(other, failed(FailureClass::Cancelled), at(60))
        .await?;
    store.expire(other, at(70)).await?;
    crate::board::speak(&bed).await?;
    crate::talk::speak(&bed).await?;
    crate::chats::speak(&bed).await?;
    crate::schedules::speak(&bed).await?;
    crate::deferred::speak(&bed).await?;
    crate::steering::speak(&bed).await?;
    crate::deliveries::speak(&bed).await
}

async fn claim(bed: &Bed, task: TaskId) -> Result<(), Error> {
    let claimed = bed
        .store
        .claim_next(&lane(&[("reviewer", 9)], 9), &bed.key, at(10))
        .await?;
    assert_eq!(claimed.map(|claimed| claimed.attempt.task), Some(task));
    Ok(())
}

async fn run(bed: &Bed, attempt: AttemptId) -> Result<(), Error> {
    let store = &bed.store;
    let session = store.task(attempt.task).await?.unwrap().session;
    if store.session(session).await?.unwrap().claim_uid.is_none() {
        let generation = store.next_generation(session).await?;
        assert_eq!(generation, 1);
        store.record_claim(session, generation, "claim-uid").await?;
    }
    store.record_pod(attempt, "pod-uid", Some("node")).await?;
    let opened = store.open_package(attempt, [1; 32], at(12)).await?;
    assert!(matches!(opened, Opened::First | Opened::Again));
    assert!(store.started(attempt, at(13)).await?);
    store.contact(attempt, at(14)).await?;
    assert!(store.keep_text(attempt, 1, "whole".to_owned()).await?);
    let part = RawPart {
        start: 0,
        text: "raw".to_owned(),
    };
    store.keep_raw(attempt, part).await?;
    for seq in 1..=2 {
        assert!(matches!(
            store.append(attempt, &[text(seq)], at(15)).await?,
            Appended::Taken(_)
        ));
    }
    crate::approvals::speak(store, attempt).await?;
    Ok(())
}

/// Everything came to its end as if nothing had happened.
async fn ended(bed: &Bed, world: &World) {
    bed.sound().await;
    let task = bed
        .store
        .task_by_object(world.main.object.uid.as_deref().unwrap())
        .await
        .unwrap()
        .unwrap();
    let row = bed.task(task).await;
    assert_eq!(
        (row.state, row.attempt, row.late_results.len()),
        (TaskState::Finished, 2, 0)
    );
    assert_eq!(row.verdict.unwrap().outcome, Outcome::Succeeded);
    let timeline = bed.store.timeline(task, 0, 99).await.unwrap();
    let order: Vec<_> = timeline
        .iter()
        .map(|entry| (entry.attempt, entry.event.seq))
        .collect();
    assert_eq!(order, [(1, 1), (1, 2), (2, 1), (2, 2)]);
    let whole: Vec<_> = timeline.iter().map(|entry| entry.full_bytes).collect();
    assert_eq!(whole, [Some(5), None, Some(5), None]);
    let run = bed.store.run(&crate::board::workspace(), task).await;
    let used: Vec<_> = run.unwrap().unwrap().usage.into_iter().collect();
    assert_eq!(used, [("big".to_owned(), USED)]);
    let session = bed.session_of(task).await;
    assert_eq!(
        (session.holder, session.runs, session.claim_generation),
        (None, 2, 1)
    );
    let other = bed
        .store
        .task_by_object(world.other.object.uid.as_deref().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(bed.task(other).await.state, TaskState::Finished);
    assert_eq!(bed.store.open_tasks(None, 9).await.unwrap(), []);
    let attempts = [1, 2].map(|number| AttemptId { task, number });
    crate::approvals::spoken(bed, attempts).await;
    crate::board::spoken(bed).await;
    crate::talk::spoken(bed).await;
    crate::steering::spoken(bed).await;
    crate::chats::spoken(bed).await;
    crate::schedules::spoken(bed).await;
    crate::deliveries::spoken(bed).await;
}

/// Puts one fault at one point, and lives on after it.
async fn survive(mut bed: Bed, point: WritePoint, fault: Fault) -> Bed {
    let world = World::new();
    let faults = Faults::once(point, fault);
    bed = bed.reopen(faults.clone()).await;
    let life = tokio::spawn(live(bed.clone(), world.clone()));
    let abort = life.abort_handle();
    tokio::select! {
        outcome = life => {
            let error = outcome.unwrap().expect_err(point.as_str());
            assert!(matches!(error, Error::Injected { .. }), "{point:?}: {error:?}");
        }
        () = faults.crashed() => {
            assert_eq!(fault, Fault::CrashAfter);
            // Nor does anything else of that process go on.
            let read = tokio::time::timeout(std::time::Duration::from_millis(5), bed.store.summary());
            assert!(read.await.is_err(), "{point:?}");
            abort.abort();
        }
        () = tokio::time::sleep(DEADLINE) => panic!("{point:?} was never reached"),
    }
    assert_eq!(faults.passed().last(), Some(&point));
    assert_eq!(faults.has_crashed(), fault == Fault::CrashAfter);
    bed = reopened(bed).await;
    bed.sound().await;
    live(bed.clone(), world.clone())
        .await
        .unwrap_or_else(|error| panic!("{point:?} {fault:?}: {error:?}"));
    ended(&bed, &world).await;
    bed
}

/// Opens the store again once the tasks of the dead process are gone, which takes the runtime a moment.
async fn reopened(bed: Bed) -> Bed {
    let Bed {
        settings, store, ..
    } = bed;
    drop(store);
    let open = async {
        loop {
            match store::Store::open(&settings).await {
                Ok(store) => return store,
                Err(Error::Locked { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    let store = tokio::time::timeout(DEADLINE, open)
        .await
        .expect("the dead process lets go");
    Bed {
        settings: settings.clone(),
        store,
        key: protocol::InstallationKey::new([7; 32]),
    }
}

both! {
    async fn a_life_without_faults_passes_every_point(bed: Bed) {
        let (world, faults) = (World::new(), Faults::new(|_| None));
        let bed = bed.reopen(faults.clone()).await;
        live(bed.clone(), world.clone()).await.unwrap();
        ended(&bed, &world).await;
        let passed: BTreeSet<_> = faults.passed().into_iter().collect();
        let never: Vec<_> = WritePoint::ALL.iter().filter(|point| !passed.contains(*point)).collect();
        assert!(never.is_empty(), "never written: {never:?}");
        // And a second time changes nothing more.
        live(bed.clone(), world.clone()).await.unwrap();
        ended(&bed, &world).await;
    }

    async fn a_crash_after_each_write_is_survived(bed: Bed) {
        each_point(bed, Fault::CrashAfter).await;
    }

    async fn an_error_after_each_write_is_survived(bed: Bed) {
        each_point(bed, Fault::ErrorAfter).await;
    }

    async fn an_error_before_each_write_is_survived(bed: Bed) {
        each_point(bed, Fault::ErrorBefore).await;
    }
}

async fn each_point(mut bed: Bed, fault: Fault) {
    for point in WritePoint::ALL {
        bed.empty().await;
        bed = survive(bed, *point, fault).await;
    }
}
