//! Opening: one operator on a file, a schema from nothing, and a file that is taken away.

use protocol::FailureClass;
use store::{Error, Faults, Retry, Settings, Store};

use crate::bed::{Bed, at, both, failed, lane, new_task, on_postgres, text};

both! {
    async fn what_was_written_is_there_again(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let (task, row, session) = (bed.task(attempt.task).await, bed.attempt(attempt).await, bed.session_of(attempt.task).await);
        let bed = bed.reopen(Faults::default()).await;
        assert_eq!(bed.task(attempt.task).await, task);
        assert_eq!(bed.attempt(attempt).await, row);
        assert_eq!(bed.session_of(attempt.task).await, session);
        bed.store.check().await.unwrap();
        bed.sound().await;
    }

    async fn a_look_beside_the_operator_reads_and_writes_nothing(bed: Bed) {
        let task = bed.enter("reviewer", "hello").await;
        let look = Store::open_read_only(&bed.settings).await.unwrap();
        assert_eq!(look.task(task).await.unwrap(), Some(bed.task(task).await));
        assert_eq!(look.violations().await.unwrap(), []);
        assert!(matches!(look.suspend(task, at(1)).await, Err(Error::ReadOnly)));
        // It sees what is written while it looks.
        bed.store.suspend(task, at(1)).await.unwrap();
        assert_eq!(look.task(task).await.unwrap(), Some(bed.task(task).await));
        look.close().await;
        bed.store.resume(task, at(2)).await.unwrap();
    }

    async fn a_store_of_the_first_schema_gets_what_it_lacks_and_keeps_what_it_has(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        bed.store.append(attempt, &[text(1)], at(13)).await.unwrap();
        let mut before = bed.attempt(attempt).await;
        for back in [
            "ALTER TABLE attempts DROP COLUMN event_bytes",
            "ALTER TABLE attempts DROP COLUMN pod_absent_since",
            "DELETE FROM _sqlx_migrations WHERE version = 2",
        ] {
            bed.execute_aside(back).await;
        }
        let bed = bed.reopen(Faults::default()).await;
        before.event_bytes = 0;
        assert_eq!(bed.attempt(attempt).await, before);
        bed.store.append(attempt, &[text(2)], at(14)).await.unwrap();
        assert!(bed.attempt(attempt).await.event_bytes > 0);
        bed.sound().await;
    }

    async fn a_newer_schema_is_left_as_it_is(bed: Bed) {
        let task = bed.enter("reviewer", "hello").await;
        bed.execute_aside(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             SELECT version + 9000, 'newer', success, checksum, 0 FROM _sqlx_migrations",
        )
        .await;
        let bed = bed.reopen(Faults::default()).await;
        assert!(bed.store.suspend(task, at(1)).await.unwrap());
    }

    async fn a_closed_store_says_that_it_is_away(bed: Bed) {
        let task = bed.enter("reviewer", "hello").await;
        bed.store.close().await;
        let error = bed.store.task(task).await.unwrap_err();
        assert_eq!((error.reason(), error.retry()), ("StoreUnavailable", Retry::WithBackoff));
        assert!(matches!(bed.store.check().await, Err(Error::Unavailable { .. })));
    }
}

#[tokio::test]
async fn two_that_open_an_empty_database_at_once_both_find_the_schema() {
    on_postgres(async |bed: Bed| {
        bed.drop_schema().await;
        let opening: Vec<_> = (0..4)
            .map(|_| {
                let settings = bed.settings.clone();
                tokio::spawn(async move { Store::open(&settings).await.unwrap() })
            })
            .collect();
        for opening in opening {
            opening.await.unwrap().summary().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn of_two_that_open_a_new_file_at_once_one_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::Sqlite {
        path: folder.path().join("store.db"),
    };
    let opening: Vec<_> = (0..4)
        .map(|_| {
            let settings = settings.clone();
            tokio::spawn(async move { Store::open(&settings).await })
        })
        .collect();
    let mut opened = Vec::new();
    for opening in opening {
        match opening.await.unwrap() {
            Ok(store) => opened.push(store),
            Err(error) => assert!(matches!(error, Error::Locked { .. }), "{error:?}"),
        }
    }
    assert_eq!(opened.len(), 1);
    opened[0].summary().await.unwrap();
    drop(opened);
    Store::open(&settings).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_taken_away_is_lost_and_never_written_again() {
    for action in ["delete", "replace"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let bed = Bed::open(Settings::Sqlite { path: path.clone() }, Faults::default()).await;
        let attempt = bed.running("reviewer", "hello").await;
        let waiting = bed.enter("reviewer", "other").await;
        std::fs::rename(&path, folder.path().join("aside")).unwrap();
        if action == "replace" {
            std::fs::copy(folder.path().join("aside"), &path).unwrap();
        }
        let error = bed.store.check().await.unwrap_err();
        assert_eq!(
            (error.reason(), error.retry()),
            ("StoreLost", Retry::Never),
            "{action}"
        );
        // Also when it comes back: what happened to it meanwhile nobody knows.
        std::fs::rename(folder.path().join("aside"), &path).unwrap();
        let lost = |result: Result<(), Error>| {
            assert!(
                matches!(result, Err(Error::Lost { .. })),
                "{action}: {result:?}"
            )
        };
        let store = &bed.store;
        lost(store.enter(new_task("reviewer", "third")).await.map(drop));
        lost(
            store
                .claim_next(&lane(&[("reviewer", 9)], 9), &bed.key, at(30))
                .await
                .map(drop),
        );
        lost(
            store
                .verdict(attempt, failed(FailureClass::Unknown), at(30))
                .await
                .map(drop),
        );
        lost(store.append(attempt, &[text(1)], at(30)).await.map(drop));
        lost(store.contact(attempt, at(30)).await);
        lost(store.suspend(waiting, at(30)).await.map(drop));
        lost(store.check().await);
        // What was read before still can be.
        assert_eq!(bed.task(waiting).await.suspended_at, None);
        assert_eq!(store.timeline(attempt.task, 0, 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn nothing_is_made_in_the_place_of_a_lost_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let bed = Bed::open(Settings::Sqlite { path: path.clone() }, Faults::default()).await;
    let task = bed.enter("reviewer", "hello").await;
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        bed.store.suspend(task, at(1)).await,
        Err(Error::Lost { .. })
    ));
    assert!(!path.exists(), "nothing was made in its place");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::Sqlite {
        path: folder.path().join("missing/store.db"),
    };
    let error = Store::open(&settings).await.unwrap_err();
    assert!(
        matches!(&error, Error::File { path, .. } if path.ends_with("missing/store.db.lock")),
        "{error:?}"
    );
}
