//! Whether work for an event stays flat: claims, batches and releases a second with 100 and with 10,000 tasks
//! waiting, half of them behind one busy session. Every other claim is one in a workspace with a quota that shares
//! its pods with others; `next` is from the release of one attempt to the claim of the next.
//!
//! ```sh
//! cargo run --release -p store --example flat_work -- /var/tmp/flat.db
//! cargo run --release -p store --example flat_work -- postgres://user@127.0.0.1/empty_database
//! ```
//!
//! The store is filled with what the measurement needs, so it must be one that nobody else uses.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use protocol::{
    AttemptId, Event, EventBody, FailureClass, InstallationKey, Outcome, SessionPolicy, Subject,
    Verdict,
};
use store::{Lane, LaneAgent, NewTask, SessionKey, Settings, Share, Store, TaskObject};
use uuid::Uuid;

/// Claims, batches and releases of one measurement.
const ROUNDS: usize = 200;
/// What a workspace may have that shares its pods with others.
const SHARE: Share = Share {
    weight: 100,
    max_concurrent: Some(1000),
    runs_per_hour: Some(1000),
    max_pods: Some(1000),
};
/// Events of a batch.
const BATCH: u64 = 64;

#[tokio::main]
async fn main() -> Result<()> {
    let address = std::env::args()
        .nth(1)
        .context("the first argument is a path or a postgres:// URL")?;
    let settings: Settings = address.parse()?;
    let store = Store::open(&settings).await?;
    println!(
        "{:>8} {:>9} {:>12} {:>12} {:>12} {:>12}",
        "waiting", "what", "per second", "p50 ms", "p99 ms", "events/s"
    );
    for waiting in [100, 10_000] {
        measure(&store, waiting).await?;
    }
    Ok(())
}

async fn measure(store: &Store, waiting: usize) -> Result<()> {
    let namespace_uid = Uuid::now_v7().to_string();
    let (key, now) = (InstallationKey::new([1; 32]), Timestamp::UNIX_EPOCH);
    // The first ROUNDS are claimed, and then as many wait as was asked for.
    for number in 0..waiting + ROUNDS {
        let subject = if number % 2 == 1 && number > 2 * ROUNDS {
            0
        } else {
            number
        };
        store.enter(task(&namespace_uid, number, subject)?).await?;
    }
    let alone = lane(namespace_uid);
    let shared = Lane {
        share: SHARE,
        ..alone.clone()
    };
    let (mut claims, mut in_turn) = (Vec::new(), Vec::new());
    let (mut appends, mut releases, mut nexts) = (Vec::new(), Vec::new(), Vec::new());
    let mut attempts: Vec<AttemptId> = Vec::new();
    for round in 0..ROUNDS {
        let (lane, times) = if round % 2 == 0 {
            (&alone, &mut claims)
        } else {
            (&shared, &mut in_turn)
        };
        let begun = Instant::now();
        let claimed = store
            .claim_next(lane, &key, now)
            .await?
            .context("a task to claim")?;
        times.push(begun.elapsed());
        attempts.push(claimed.attempt);
    }
    for round in 0..ROUNDS as u64 {
        let attempt = attempts[usize::try_from(round)? % 8];
        let first = round / 8 * BATCH + 1;
        let batch: Vec<_> = (first..first + BATCH).map(event).collect();
        let begun = Instant::now();
        store.append(attempt, &batch, now).await?;
        appends.push(begun.elapsed());
    }
    for attempt in attempts {
        let begun = Instant::now();
        store.verdict(attempt, ended(now), now).await?;
        store.release(attempt, now).await?;
        releases.push(begun.elapsed());
    }
    for _ in 0..waiting.min(ROUNDS) / 2 {
        let claimed = store.claim_next(&alone, &key, now).await?;
        let attempt = claimed.context("a task to claim")?.attempt;
        store.verdict(attempt, ended(now), now).await?;
        let begun = Instant::now();
        store.release(attempt, now).await?;
        let next = store.claim_next(&alone, &key, now).await?;
        nexts.push(begun.elapsed());
        let next = next.context("a task to claim")?.attempt;
        store.verdict(next, ended(now), now).await?;
        store.release(next, now).await?;
    }
    report(waiting, "claim", claims, 0);
    report(waiting, "in turn", in_turn, 0);
    report(waiting, "next", nexts, 0);
    report(waiting, "append", appends, BATCH);
    report(waiting, "end", releases, 0);
    Ok(())
}

fn ended(now: Timestamp) -> Verdict {
    Verdict {
        outcome: Outcome::failed(FailureClass::Unknown, "measured"),
        at: now,
        result: None,
    }
}

fn report(waiting: usize, what: &str, mut times: Vec<Duration>, events: u64) {
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    let per_second = times.len() as f64 / total.as_secs_f64();
    let milliseconds = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1000.0;
    let (p50, p99) = (milliseconds(50), milliseconds(99));
    println!(
        "{waiting:>8} {what:>9} {per_second:>12.0} {p50:>12.2} {p99:>12.2} {:>12.0}",
        per_second * events as f64
    );
}

fn task(namespace_uid: &str, number: usize, subject: usize) -> Result<NewTask> {
    Ok(NewTask {
        object: TaskObject {
            namespace: "bench".to_owned(),
            namespace_uid: namespace_uid.to_owned(),
            name: format!("task-{number}"),
            uid: Some(Uuid::now_v7().to_string()),
            spec_hash: "abc".to_owned(),
        },
        session: SessionKey {
            namespace_uid: namespace_uid.to_owned(),
            agent: "reviewer".to_owned(),
            subject: Subject {
                kind: "Key".to_owned(),
                name: format!("s{subject}"),
            },
        },
        priority: 0,
        policy: SessionPolicy::Resume,
        created_at: Timestamp::from_second(i64::try_from(number)?)?,
        deadline_seconds: None,
        suspended: false,
        prompt: None,
        fire_at: None,
    })
}

fn lane(namespace_uid: String) -> Lane {
    Lane {
        namespace_uid,
        runtime: "claude".to_owned(),
        provider: "claude".to_owned(),
        max_pods: u32::MAX,
        agents: vec![LaneAgent {
            name: "reviewer".to_owned(),
            max_concurrent: u32::MAX,
        }],
        share: store::Share::default(),
    }
}

fn event(seq: u64) -> Event {
    Event {
        seq,
        at: Timestamp::UNIX_EPOCH,
        body: EventBody::Text {
            content: "a few words of an agent at work ".repeat(8),
        },
    }
}
