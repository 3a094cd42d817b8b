//! Events are stored once, in order, each at its own position.

use protocol::runner::EventsResponse;
use protocol::{AttemptId, Event, EventBody, FailureClass, LogLevel, limits};
use store::{Appended, Error, TimelineEntry};

use crate::bed::{Bed, at, both, failed, lane, text, texts};

fn taken(acknowledged: u64) -> Appended {
    Appended::Taken(EventsResponse {
        acknowledged,
        left_out: 0,
    })
}

both! {
    async fn what_is_sent_again_is_stored_once(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        assert_eq!(bed.store.append(attempt, &texts(1..=3), at(13)).await.unwrap(), taken(3));
        assert_eq!(bed.store.append(attempt, &texts(1..=3), at(14)).await.unwrap(), taken(3));
        assert_eq!(bed.store.append(attempt, &texts(2..=5), at(15)).await.unwrap(), taken(5));
        assert_eq!(bed.store.append(attempt, &[], at(16)).await.unwrap(), taken(5));
        let timeline = bed.store.timeline(attempt.task, 0, 99).await.unwrap();
        let wanted: Vec<_> = (1..=5).map(|n| TimelineEntry { position: n, attempt: 1, event: text(n), full_bytes: None }).collect();
        assert_eq!(timeline, wanted);
        assert_eq!(bed.store.timeline(attempt.task, 1, 2).await.unwrap(), wanted[1..3]);
        assert_eq!(bed.store.timeline(attempt.task, 5, 9).await.unwrap(), []);
        let row = bed.attempt(attempt).await;
        assert_eq!((row.events, row.left_out, row.last_contact_at), (5, 0, Some(at(16))));
        bed.sound().await;
    }

    async fn a_gap_is_refused_and_nothing_is_stored(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        assert_eq!(bed.store.append(attempt, &texts(2..=3), at(13)).await.unwrap(), Appended::Gap { expected: 1 });
        bed.store.append(attempt, &texts(1..=2), at(13)).await.unwrap();
        let torn = [text(3), text(5)];
        assert_eq!(bed.store.append(attempt, &torn, at(14)).await.unwrap(), Appended::Gap { expected: 4 });
        assert_eq!(bed.store.timeline(attempt.task, 0, 99).await.unwrap().len(), 2);
        assert_eq!(bed.store.append(attempt, &texts(3..=5), at(15)).await.unwrap(), taken(5));
        let nobody = AttemptId { task: attempt.task, number: 2 };
        assert!(matches!(bed.store.append(nobody, &texts(1..=1), at(15)).await, Err(Error::Missing { .. })));
    }

    async fn every_kind_of_event_reads_back_be_it_never_so_odd(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let odd = "\u{0}NUL \u{1f}\"quotes\" \\u0000 \u{10ffff} ünï 🚢\r\n";
        let bodies = [
            EventBody::Text { content: odd.to_owned() },
            EventBody::Text { content: String::new() },
            EventBody::Thinking { content: "t".repeat(limits::EVENT_BYTES) },
            EventBody::ToolUse { tool: odd.to_owned(), call_id: "1".to_owned(), input: serde_json::json!({"a": [1, null, odd], "b": 1e300}) },
            EventBody::ToolResult { call_id: "1".to_owned(), tool: None, output: odd.to_owned(), status: None },
            EventBody::Status { status: "running".to_owned(), session_id: Some(odd.to_owned()) },
            EventBody::Error { content: odd.to_owned() },
            EventBody::Log { level: LogLevel::Debug, content: odd.to_owned() },
        ];
        let event = |(seq, body): (u64, EventBody)| Event { seq, at: "2027-01-01T00:00:00.123456Z".parse().unwrap(), body };
        let events: Vec<_> = (1..).zip(bodies).map(event).collect();
        bed.store.append(attempt, &events, at(13)).await.unwrap();
        let timeline = bed.store.timeline(attempt.task, 0, 99).await.unwrap();
        assert_eq!(timeline.into_iter().map(|entry| entry.event).collect::<Vec<_>>(), events);
        assert_eq!(bed.session_of(attempt.task).await.pointer.unwrap().session.id, odd);
    }

    async fn what_a_dead_attempt_had_seen_is_appended_late_without_a_gap_in_positions(bed: Bed) {
        let first = bed.running("reviewer", "hello").await;
        bed.store.append(first, &texts(1..=2), at(13)).await.unwrap();
        bed.store.suspend(first.task, at(20)).await.unwrap();
        bed.store.resume(first.task, at(21)).await.unwrap();
        bed.store.release(first, at(22)).await.unwrap();
        let second = bed.claim(&lane(&[("reviewer", 9)], 9)).await.unwrap();
        bed.store.append(second, &texts(1..=1), at(23)).await.unwrap();
        assert_eq!(bed.store.append(first, &texts(2..=4), at(24)).await.unwrap(), taken(4));
        bed.store.append(second, &texts(2..=2), at(25)).await.unwrap();
        bed.store.verdict(second, failed(FailureClass::Unknown), at(26)).await.unwrap();
        bed.store.release(second, at(27)).await.unwrap();
        assert_eq!(bed.store.append(second, &texts(3..=3), at(28)).await.unwrap(), taken(3));
        let timeline = bed.store.timeline(first.task, 0, 99).await.unwrap();
        let order: Vec<_> = timeline.iter().map(|entry| (entry.position, entry.attempt, entry.event.seq)).collect();
        assert_eq!(order, [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 1, 3), (5, 1, 4), (6, 2, 2), (7, 2, 3)]);
        bed.sound().await;
    }

    async fn appends_at_once_leave_no_gap(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let append = |_| { let store = bed.store.clone(); tokio::spawn(async move { store.append(attempt, &texts(1..=40), at(13)).await.unwrap() }) };
        let appending: Vec<_> = (0..6).map(append).collect();
        for appending in appending {
            assert_eq!(appending.await.unwrap(), taken(40));
        }
        assert_eq!(bed.store.timeline(attempt.task, 0, 99).await.unwrap().len(), 40);
        bed.sound().await;
    }

    async fn past_the_budget_events_are_counted_and_one_note_says_so(bed: Bed) {
        const BUDGET: u64 = limits::ATTEMPT_EVENTS;
        let attempt = bed.running("reviewer", "hello").await;
        let past = |acknowledged| Appended::Taken(EventsResponse { acknowledged, left_out: acknowledged - BUDGET });
        // Larger batches than the API lets through, for speed.
        let mut sent = 0;
        while sent < BUDGET - 2 {
            let last = (sent + 2000).min(BUDGET - 2);
            assert_eq!(bed.store.append(attempt, &texts(sent + 1..=last), at(13)).await.unwrap(), taken(last));
            sent = last;
        }
        assert_eq!(bed.store.append(attempt, &texts(sent + 1..=BUDGET + 3), at(14)).await.unwrap(), past(BUDGET + 3));
        assert_eq!(bed.store.append(attempt, &texts(sent + 1..=BUDGET + 3), at(14)).await.unwrap(), past(BUDGET + 3));
        assert_eq!(bed.store.append(attempt, &texts(BUDGET + 4..=BUDGET + 9), at(15)).await.unwrap(), past(BUDGET + 9));
        bed.store.verdict(attempt, failed(FailureClass::Unknown), at(20)).await.unwrap();
        assert_eq!(bed.store.append(attempt, &texts(BUDGET + 10..=BUDGET + 11), at(21)).await.unwrap(), past(BUDGET + 11));
        let row = bed.attempt(attempt).await;
        assert_eq!((row.events, row.left_out), (BUDGET, 11));
        let end = bed.store.timeline(attempt.task, BUDGET - 1, 99).await.unwrap();
        assert_eq!(end.len(), 2, "the last event and one note");
        assert_eq!(end[0].event, text(BUDGET));
        assert_eq!(end[1].position, BUDGET + 1);
        let EventBody::Log { level: LogLevel::Warn, content } = &end[1].event.body else { panic!("{end:?}") };
        assert!(content.starts_with("11 events past the budget of 20000"), "{content}");
        bed.sound().await;
    }

    async fn past_the_budget_of_bytes_events_are_left_out_just_so(bed: Bed) {
        const BUDGET: u64 = limits::ATTEMPT_EVENT_BYTES;
        let attempt = bed.running("reviewer", "hello").await;
        let long = |seq, bytes: u64| {
            // As many bytes of JSON.
            let content = "x".repeat(usize::try_from(bytes).unwrap() - r#"{"type":"text","content":""}"#.len());
            Event { seq, at: at(100), body: EventBody::Text { content } }
        };
        // Larger events than the API lets through, for speed.
        for seq in 1..=15 {
            assert_eq!(bed.store.append(attempt, &[long(seq, BUDGET / 16)], at(13)).await.unwrap(), taken(seq));
        }
        assert_eq!(bed.attempt(attempt).await.event_bytes, BUDGET / 16 * 15);
        let past = |acknowledged, left_out| Appended::Taken(EventsResponse { acknowledged, left_out });
        // 29 bytes are left; an event of as many comes after one that has one more.
        let batch = [long(16, BUDGET / 16 - 29), long(17, 30), long(18, 29)];
        assert_eq!(bed.store.append(attempt, &batch, at(14)).await.unwrap(), past(18, 2));
        assert_eq!(bed.store.append(attempt, &batch, at(14)).await.unwrap(), past(18, 2));
        assert_eq!(bed.store.append(attempt, &[long(19, 29)], at(15)).await.unwrap(), past(19, 3));
        let row = bed.attempt(attempt).await;
        assert_eq!((row.events, row.event_bytes, row.left_out, row.last_seq()), (16, BUDGET - 29, 3, 19));
        let end = bed.store.timeline(attempt.task, 15, 99).await.unwrap();
        assert_eq!((end.len(), &end[0].event), (2, &batch[0]), "the last event that fits and one note");
        let EventBody::Log { level: LogLevel::Warn, content } = &end[1].event.body else { panic!("{:?}", end[1]) };
        assert!(content.starts_with("3 events past the budget of 20000 events and 64 MiB"), "{content}");
        bed.sound().await;
    }

    async fn the_last_byte_of_the_budget_is_used(bed: Bed) {
        const FULL: &str = "UPDATE attempts SET event_bytes = 67108864 - 29";
        let attempt = bed.running("reviewer", "hello").await;
        bed.execute_aside(FULL).await;
        let one = |seq| Event { seq, at: at(100), body: EventBody::Text { content: "x".to_owned() } };
        assert_eq!(bed.store.append(attempt, &[one(1)], at(13)).await.unwrap(), taken(1));
        assert_eq!(bed.attempt(attempt).await.event_bytes, limits::ATTEMPT_EVENT_BYTES);
        let left = Appended::Taken(EventsResponse { acknowledged: 2, left_out: 1 });
        assert_eq!(bed.store.append(attempt, &[one(2)], at(13)).await.unwrap(), left);
        bed.sound().await;
    }
}
