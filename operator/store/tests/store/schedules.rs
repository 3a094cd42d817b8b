//! Times of schedules: each begins once, whoever asks and whatever crashes.

use protocol::board::{IssueQuery, NewIssue, WakeVerdict};
use protocol::{FailureClass, TaskId};
use store::{Acting, Error, Fired, ScheduleRef, ScheduleRow, WorkspaceRef};

use crate::bed::{Bed, at, both, failed};
use crate::board::{AGENTS, agent, elsewhere, titled, workspace};
use crate::talk::task_of;

const HOURLY: &str = "@hourly Etc/UTC";

fn schedule(uid: &str, workspace: WorkspaceRef) -> ScheduleRef {
    ScheduleRef {
        uid: uid.to_owned(),
        name: "nightly".to_owned(),
        workspace,
    }
}

/// A schedule as who writes.
fn writer(on: &ScheduleRef) -> Acting {
    Acting::mooring(&on.workspace, "schedule", "nightly")
}

async fn row(bed: &Bed, on: &ScheduleRef) -> ScheduleRow {
    bed.store.schedule(&on.uid).await.unwrap().unwrap()
}

fn given() -> NewIssue {
    NewIssue {
        assignee: Some(agent("reviewer")),
        ..titled("look at the log")
    }
}

both! {
    async fn a_time_makes_one_issue_and_wakes_who_gets_it(bed: Bed) {
        let on = schedule("uid-1", workspace());
        assert_eq!(bed.store.schedule(&on.uid).await.unwrap(), None);
        bed.store.heed_schedule(&on, HOURLY, at(0)).await.unwrap();
        let by = writer(&on);
        let fired = bed.store.fire_issue(&on, at(3600), (&by, given()), &AGENTS, at(3601)).await;
        let saved = fired.unwrap().unwrap();
        assert_eq!(saved.issue.creator, by.author);
        let WakeVerdict::Queued { task: Some(task) } = saved.wakes[0].verdict else {
            panic!("{:?}", saved.wakes)
        };
        assert_eq!(bed.store.open_tasks_of_issue(saved.issue.id).await.unwrap(), [task]);
        let firing = Fired::Issue(saved.issue.id, saved.issue.key.clone());
        let seen = row(&bed, &on).await;
        assert_eq!((seen.since, seen.last_fired), (at(3600), Some(at(3600))));
        assert_eq!(seen.going.iter().map(|one| (one.at, one.what.clone())).collect::<Vec<_>>(), [(at(3600), firing)]);

        // The same time again, and an earlier one, are dealt with.
        for again in [at(3600), at(1800)] {
            let fired = bed.store.fire_issue(&on, again, (&by, given()), &AGENTS, at(3700)).await;
            assert_eq!(fired.unwrap(), None);
            assert!(!bed.store.fire_task(&on, again, "nightly-x").await.unwrap());
        }
        let issues = bed.store.issues(&workspace(), &IssueQuery::default()).await.unwrap();
        assert_eq!(issues.items.len(), 1);

        bed.store.end_unclaimed(task, failed(FailureClass::Cancelled), at(3800)).await.unwrap();
        assert_eq!(bed.store.open_tasks_of_issue(saved.issue.id).await.unwrap(), Vec::<TaskId>::new());
        bed.store.end_firing(&on, at(3600)).await.unwrap();
        assert_eq!(row(&bed, &on).await.going, []);
        bed.sound().await;
    }

    async fn an_issue_that_cannot_be_leaves_its_time_to_be_taken(bed: Bed) {
        let on = schedule("uid-1", workspace());
        bed.store.heed_schedule(&on, HOURLY, at(0)).await.unwrap();
        let nobody = NewIssue { assignee: Some(agent("nobody")), ..titled("x") };
        let by = writer(&on);
        let fired = bed.store.fire_issue(&on, at(3600), (&by, nobody), &AGENTS, at(3601)).await;
        assert!(matches!(fired, Err(Error::Missing { .. })), "{fired:?}");
        assert_eq!(row(&bed, &on).await.since, at(0));
        let fired = bed.store.fire_issue(&on, at(3600), (&by, given()), &AGENTS, at(3601)).await;
        task_of(&fired.unwrap().unwrap().wakes);
    }

    async fn many_begin_one_time_once(bed: Bed) {
        let on = schedule("uid-1", workspace());
        bed.store.heed_schedule(&on, HOURLY, at(0)).await.unwrap();
        let asked = (0..8).map(|number| {
            let (store, on) = (bed.store.clone(), on.clone());
            tokio::spawn(async move { store.fire_task(&on, at(3600), &format!("nightly-{number}")).await })
        });
        let mut began = 0;
        for one in asked.collect::<Vec<_>>() {
            began += u32::from(one.await.unwrap().unwrap());
        }
        assert_eq!(began, 1);
        assert_eq!(row(&bed, &on).await.going.len(), 1);
    }

    async fn another_rule_or_another_object_begins_anew(bed: Bed) {
        let on = schedule("uid-1", workspace());
        bed.store.heed_schedule(&on, HOURLY, at(0)).await.unwrap();
        assert!(bed.store.fire_task(&on, at(3600), "nightly-x").await.unwrap());
        let made = |made| Fired::Task { name: "nightly-x".to_owned(), made };
        assert_eq!(row(&bed, &on).await.going[0].what, made(false));
        bed.store.fired_task_made(&on, at(3600)).await.unwrap();
        assert_eq!(row(&bed, &on).await.going[0].what, made(true));
        bed.store.heed_schedule(&on, "@daily Etc/UTC", at(5000)).await.unwrap();
        let seen = row(&bed, &on).await;
        assert_eq!((seen.rule.as_str(), seen.since, seen.last_fired), ("@daily Etc/UTC", at(5000), Some(at(3600))));
        assert_eq!(seen.going.len(), 1);

        let later = schedule("uid-2", workspace());
        bed.store.heed_schedule(&later, HOURLY, at(6000)).await.unwrap();
        assert_eq!(bed.store.schedule(&on.uid).await.unwrap(), None);
        assert_eq!(row(&bed, &later).await.going, []);
        // In another workspace the name is another one's.
        let other = schedule("uid-3", elsewhere());
        bed.store.heed_schedule(&other, HOURLY, at(6000)).await.unwrap();
        bed.store.forget_schedule(&workspace().namespace_uid, "nightly").await.unwrap();
        assert_eq!(bed.store.schedule(&later.uid).await.unwrap(), None);
        assert!(bed.store.schedule(&other.uid).await.unwrap().is_some());
    }
}

/// What a controller does for a schedule, asked for by what is there.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let (store, on) = (&bed.store, schedule("uid-1", elsewhere()));
    if store.schedule(&on.uid).await?.is_none() {
        store.heed_schedule(&on, HOURLY, at(0)).await?;
    }
    let by = writer(&on);
    store
        .fire_issue(&on, at(3600), (&by, titled("nightly")), &AGENTS, at(3601))
        .await?;
    store.fire_task(&on, at(7200), "nightly-x").await?;
    for firing in store.schedule(&on.uid).await?.unwrap().going {
        match firing.what {
            Fired::Issue(..) => store.end_firing(&on, firing.at).await?,
            Fired::Task { made: false, .. } => store.fired_task_made(&on, firing.at).await?,
            Fired::Task { made: true, .. } => {}
        }
    }
    let gone = ScheduleRef {
        uid: "uid-2".to_owned(),
        name: "gone".to_owned(),
        workspace: elsewhere(),
    };
    store.heed_schedule(&gone, HOURLY, at(0)).await?;
    store
        .forget_schedule(&elsewhere().namespace_uid, "gone")
        .await
}

/// Each of its times began once.
pub(crate) async fn spoken(bed: &Bed) {
    let seen = row(bed, &schedule("uid-1", elsewhere())).await;
    assert_eq!(seen.last_fired, Some(at(7200)));
    let made = Fired::Task {
        name: "nightly-x".to_owned(),
        made: true,
    };
    assert_eq!(
        seen.going
            .iter()
            .map(|one| one.what.clone())
            .collect::<Vec<_>>(),
        [made]
    );
    let issues = bed.store.issues(&elsewhere(), &IssueQuery::default()).await;
    let issues = issues.unwrap().items;
    assert_eq!(
        issues
            .iter()
            .filter(|issue| issue.title == "nightly")
            .count(),
        1
    );
    assert_eq!(bed.store.schedule("uid-2").await.unwrap(), None);
}
