//! What a session knows of its conversation.

use protocol::{AttemptId, Event, EventBody, FailureClass, Outcome, Verdict};
use store::{Decided, Error, Pointer, RETIRED_SESSIONS};

use crate::bed::{Bed, at, both, failed, lane, provider_session, told};

fn status(seq: u64, session: &str) -> Event {
    let body = EventBody::Status {
        status: "running".to_owned(),
        session_id: Some(session.to_owned()),
    };
    Event {
        seq,
        at: at(12),
        body,
    }
}

fn retiring(mut verdict: Verdict, ids: &[&str]) -> Verdict {
    verdict.result.as_mut().unwrap().retired_sessions =
        ids.iter().map(|id| (*id).to_owned()).collect();
    verdict
}

fn failing(class: FailureClass, session: Option<&str>) -> Verdict {
    told(Outcome::failed(class, "no"), session)
}

async fn pointed(bed: &Bed, attempt: AttemptId) -> Option<String> {
    bed.session_of(attempt.task)
        .await
        .pointer
        .map(|pointer| pointer.session.id)
}

/// The session "hello" after a successful first run that left the pointer "one".
async fn with_past(bed: &Bed) {
    let first = bed.running("reviewer", "hello").await;
    bed.finish(first, told(Outcome::Succeeded, Some("one")))
        .await;
}

both! {
    async fn it_points_where_the_events_tell_before_the_turn_ends(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let session = bed.session_of(attempt.task).await;
        let generation = bed.store.next_generation(session.id).await.unwrap();
        bed.store.record_claim(session.id, generation, "claim-uid").await.unwrap();
        bed.start(attempt).await;
        bed.store.append(attempt, &[status(1, "one")], at(13)).await.unwrap();
        let wanted = Pointer {
            session: provider_session("one"),
            claim_uid: Some("claim-uid".to_owned()),
            task: attempt.task,
            at: at(13),
        };
        assert_eq!(bed.session_of(attempt.task).await.pointer, Some(wanted.clone()));
        // The pod dies without a result: the conversation is not forgotten.
        bed.finish(attempt, failed(FailureClass::NodeLost)).await;
        let session = bed.session_of(attempt.task).await;
        assert_eq!(session.pointer, Some(wanted));
        assert_eq!(session.last_used_at, Some(at(20)));
    }

    async fn a_result_points_and_one_that_says_nothing_leaves_it(bed: Bed) {
        with_past(&bed).await;
        let second = bed.running("reviewer", "hello").await;
        assert_eq!(pointed(&bed, second).await.as_deref(), Some("one"));
        bed.finish(second, failing(FailureClass::PrepareFailed, None)).await;
        assert_eq!(pointed(&bed, second).await.as_deref(), Some("one"));
        let third = bed.running("reviewer", "hello").await;
        bed.finish(third, failing(FailureClass::ProviderOverloaded, Some("two"))).await;
        let session = bed.session_of(third.task).await;
        assert_eq!(session.pointer.unwrap().session, provider_session("two"));
        assert_eq!(session.retired, [] as [String; 0]);
    }

    async fn a_poisoned_end_retires_its_conversation(bed: Bed) {
        with_past(&bed).await;
        let second = bed.running("reviewer", "hello").await;
        bed.store.append(second, &[status(1, "one")], at(13)).await.unwrap();
        bed.finish(second, failing(FailureClass::ContextOverflow, None)).await;
        let session = bed.session_of(second.task).await;
        assert_eq!((session.pointer, session.retired), (None, vec!["one".to_owned()]));
        // It can never come back, neither by an event nor by a result.
        let third = bed.running("reviewer", "hello").await;
        bed.store.append(third, &[status(1, "one")], at(13)).await.unwrap();
        assert_eq!(pointed(&bed, third).await, None);
        bed.finish(third, told(Outcome::Succeeded, Some("one"))).await;
        assert_eq!(pointed(&bed, third).await, None);
        let fourth = bed.running("reviewer", "hello").await;
        bed.finish(fourth, told(Outcome::Succeeded, Some("two"))).await;
        assert_eq!(pointed(&bed, fourth).await.as_deref(), Some("two"));
    }

    async fn ids_that_a_result_retires_are_remembered_up_to_a_bound(bed: Bed) {
        with_past(&bed).await;
        let attempt = bed.running("reviewer", "hello").await;
        let ids: Vec<_> = (0..RETIRED_SESSIONS + 4).map(|number| format!("old-{number}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).chain(["one", "one"]).collect();
        bed.finish(attempt, retiring(told(Outcome::Succeeded, Some("two")), &ids)).await;
        let session = bed.session_of(attempt.task).await;
        assert_eq!(session.pointer.unwrap().session.id, "two");
        assert_eq!(session.retired, ids[5..ids.len() - 1]);
    }

    async fn a_late_result_of_the_holder_still_tells_of_its_conversation(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        bed.store.verdict(attempt, failed(FailureClass::Cancelled), at(20)).await.unwrap();
        let late = told(Outcome::Succeeded, Some("one"));
        assert_eq!(bed.store.verdict(attempt, late, at(21)).await.unwrap(), Decided::Late);
        assert_eq!(pointed(&bed, attempt).await.as_deref(), Some("one"));
    }

    async fn who_no_longer_holds_the_session_points_nowhere(bed: Bed) {
        let first = bed.running("reviewer", "hello").await;
        bed.finish(first, failed(FailureClass::NodeLost)).await;
        let second = bed.running("reviewer", "hello").await;
        bed.store.append(second, &[status(1, "two")], at(30)).await.unwrap();
        bed.store.append(first, &[status(1, "one")], at(31)).await.unwrap();
        assert_eq!(pointed(&bed, second).await.as_deref(), Some("two"));
        let late = retiring(told(Outcome::Succeeded, Some("one")), &["zero"]);
        assert_eq!(bed.store.verdict(first, late, at(32)).await.unwrap(), Decided::Late);
        let session = bed.session_of(second.task).await;
        assert_eq!(session.pointer.unwrap().session.id, "two");
        assert_eq!(session.retired, ["zero"]);
        // A poisoned end of the older one does not touch the newer conversation.
        let late = failing(FailureClass::ContextOverflow, None);
        bed.store.verdict(first, late, at(33)).await.unwrap();
        assert_eq!(pointed(&bed, second).await.as_deref(), Some("two"));
        bed.sound().await;
    }

    async fn a_volume_claims_name_is_never_used_twice(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        let session = bed.session_of(attempt.task).await.id;
        let store = &bed.store;
        assert_eq!(store.next_generation(session).await.unwrap(), 1);
        assert_eq!(store.next_generation(session).await.unwrap(), 1, "none was seen yet");
        store.record_claim(session, 1, "uid-1").await.unwrap();
        store.record_claim(session, 1, "uid-1").await.unwrap();
        assert_eq!(bed.attempt(attempt).await.claim_uid.as_deref(), Some("uid-1"));
        assert_eq!(store.next_generation(session).await.unwrap(), 2);
        let row = bed.session_of(attempt.task).await;
        assert_eq!((row.claim_generation, row.claim_uid), (2, None));
        assert!(matches!(store.record_claim(session, 1, "uid-1").await, Err(Error::Conflict { .. })));
        store.record_claim(session, 2, "uid-2").await.unwrap();
        assert_eq!(bed.attempt(attempt).await.claim_uid.as_deref(), Some("uid-2"));
        // What an ended attempt had mounted stays what it was; the next one begins with what is there.
        bed.finish(attempt, failed(FailureClass::Unknown)).await;
        let second = bed.claimed("reviewer", "hello").await;
        assert_eq!(bed.attempt(second).await.claim_uid.as_deref(), Some("uid-2"));
        store.next_generation(session).await.unwrap();
        store.record_claim(session, 3, "uid-3").await.unwrap();
        assert_eq!(bed.attempt(second).await.claim_uid.as_deref(), Some("uid-3"));
        assert_eq!(bed.attempt(attempt).await.claim_uid.as_deref(), Some("uid-2"));
    }

    async fn the_node_is_remembered_for_the_next_time(bed: Bed) {
        let attempt = bed.claimed("reviewer", "hello").await;
        bed.store.record_pod(attempt, "pod-uid", None).await.unwrap();
        assert_eq!(bed.session_of(attempt.task).await.last_node, None);
        bed.store.record_pod(attempt, "pod-uid", Some("node-1")).await.unwrap();
        bed.store.record_pod(attempt, "pod-uid", None).await.unwrap();
        let row = bed.attempt(attempt).await;
        assert_eq!((row.pod_uid.as_deref(), row.node.as_deref()), (Some("pod-uid"), Some("node-1")));
        bed.finish(attempt, failed(FailureClass::Unknown)).await;
        assert_eq!(bed.session_of(attempt.task).await.last_node.as_deref(), Some("node-1"));
        bed.store.record_pod(attempt, "pod-uid", Some("node-2")).await.unwrap();
        assert_eq!(bed.session_of(attempt.task).await.last_node.as_deref(), Some("node-1"), "it no longer holds");
        assert!(bed.claim(&lane(&[("reviewer", 1)], 1)).await.is_none());
    }
}
