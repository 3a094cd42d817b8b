//! A token lives as long as its task is active and its runner shows life.

use jiff::ToSpan as _;
use protocol::{FailureClass, Outcome, limits};
use secrecy::ExposeSecret as _;
use store::{Authenticated, Decided, Faults, Settings};

use crate::bed::{Bed, at, both, failed, lane, told};

const LIFE: i64 = limits::TOKEN_LIFE.as_secs() as i64;

both! {
    async fn it_is_its_attempts_from_the_claim_on(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let token = bed.token(attempt).await;
        let wanted = Some(Authenticated { attempt, expires_at: at(10 + LIFE) });
        assert_eq!(bed.store.authenticate_token(token, at(11)).await.unwrap(), wanted);
        assert_eq!(bed.store.authenticate_token([0; 32], at(11)).await.unwrap(), None);
    }

    async fn it_is_dead_with_the_verdict_whatever_that_is(bed: Bed) {
        for (number, verdict) in [
            told(Outcome::Succeeded, None),
            failed(FailureClass::Cancelled),
            failed(FailureClass::DeadlineExceeded),
            failed(FailureClass::NodeLost),
        ].into_iter().enumerate() {
            let attempt = bed.running("reviewer", &format!("s{number}")).await;
            let token = bed.token(attempt).await;
            assert!(bed.store.authenticate_token(token, at(13)).await.unwrap().is_some());
            assert_eq!(bed.store.verdict(attempt, verdict, at(20)).await.unwrap(), Decided::First);
            assert_eq!(bed.store.authenticate_token(token, at(20)).await.unwrap(), None);
            bed.store.contact(attempt, at(21)).await.unwrap();
            assert_eq!(bed.store.authenticate_token(token, at(21)).await.unwrap(), None, "no sign of life wakes the dead");
        }
        bed.sound().await;
    }

    async fn it_is_dead_with_a_suspension_and_the_next_attempt_has_another(bed: Bed) {
        let first = bed.running("reviewer", "hello").await;
        let token = bed.token(first).await;
        bed.store.suspend(first.task, at(20)).await.unwrap();
        assert_eq!(bed.store.authenticate_token(token, at(20)).await.unwrap(), None);
        bed.store.resume(first.task, at(30)).await.unwrap();
        bed.store.release(first, at(31)).await.unwrap();
        let second = bed.claim(&lane(&[("reviewer", 1)], 1)).await.unwrap();
        assert_eq!((second.task, second.number), (first.task, 2));
        assert_ne!(bed.token(second).await, token);
        assert_eq!(bed.store.authenticate_token(token, at(32)).await.unwrap(), None);
        assert!(bed.store.authenticate_token(bed.token(second).await, at(32)).await.unwrap().is_some());
        bed.store.append(first, &[], at(33)).await.unwrap();
        assert_eq!(bed.store.authenticate_token(token, at(33)).await.unwrap(), None);
        bed.sound().await;
    }

    async fn it_expires_and_a_sign_of_life_renews_it(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let token = bed.token(attempt).await;
        let alive = async |seconds| bed.store.authenticate_token(token, at(seconds)).await.unwrap().is_some();
        // Its start at 12 was the last sign of life.
        assert!(alive(12 + LIFE - 1).await);
        assert!(!alive(12 + LIFE).await);
        bed.store.contact(attempt, at(100)).await.unwrap();
        assert!(alive(100 + LIFE - 1).await && !alive(100 + LIFE).await);
        bed.store.append(attempt, &[], at(200)).await.unwrap();
        assert!(alive(200 + LIFE - 1).await);
        // The operator was away for longer than the token lives; the runner's own credential is good for ever.
        bed.store.contact(attempt, at(5000)).await.unwrap();
        assert!(alive(5001).await);
        assert_eq!(bed.attempt(attempt).await.last_contact_at, Some(at(5000)));
        // A clock that goes back takes nothing away.
        bed.store.contact(attempt, at(4000)).await.unwrap();
        let found = bed.store.authenticate_token(token, at(5001)).await.unwrap().unwrap();
        assert_eq!(found.expires_at, at(5000).checked_add(LIFE.seconds()).unwrap());
    }
}

#[tokio::test]
async fn no_credential_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::Sqlite {
        path: folder.path().join("store.db"),
    };
    let bed = Bed::open(settings, Faults::default()).await;
    let attempt = bed.running("reviewer", "hello").await;
    let salt = bed.attempt(attempt).await.salt;
    let secrets = [
        bed.key.task_token(attempt, salt),
        bed.key.runner_credential(attempt, salt),
        bed.key.mac_key(attempt, salt).to_wire(),
    ];
    let holds = |bytes: &[u8], text: &str| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    let mut known = false;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        known |= holds(&bytes, "reviewer");
        for secret in &secrets {
            assert!(!holds(&bytes, secret.expose_secret()));
            assert!(!holds(&bytes, &secret.expose_secret()[4..]));
        }
    }
    assert!(known, "what is looked for would be found");
}
