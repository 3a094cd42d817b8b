//! No order of calls breaks the store: random lives of several tasks, judged after every step.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use protocol::{AttemptId, FailureClass, Outcome, TaskId, Verdict};
use store::Error;

use crate::bed::{Bed, at, both, failed, lane, lane_of, new_task, texts, told};

#[derive(Clone, Debug)]
enum Call {
    Enter {
        agent: bool,
        subject: u8,
        priority: i32,
        suspended: bool,
    },
    Claim {
        other_runtime: bool,
    },
    Open {
        which: usize,
        nonce: u8,
    },
    Start {
        which: usize,
    },
    Append {
        which: usize,
        from: u64,
        count: u64,
    },
    Verdict {
        which: usize,
        own: bool,
    },
    EndUnclaimed {
        which: usize,
    },
    Suspend {
        which: usize,
    },
    Resume {
        which: usize,
    },
    Priority {
        which: usize,
        priority: i32,
    },
    Release {
        which: usize,
    },
    Contact {
        which: usize,
    },
}

fn call() -> impl Strategy<Value = Call> {
    let which = 0..64_usize;
    prop_oneof![
        2 => (any::<bool>(), 0..3_u8, -2..3, any::<bool>()).prop_map(|(agent, subject, priority, suspended)| Call::Enter { agent, subject, priority, suspended }),
        5 => any::<bool>().prop_map(|other_runtime| Call::Claim { other_runtime }),
        3 => (which.clone(), 0..2_u8).prop_map(|(which, nonce)| Call::Open { which, nonce }),
        3 => which.clone().prop_map(|which| Call::Start { which }),
        3 => (which.clone(), 1..6_u64, 0..4_u64).prop_map(|(which, from, count)| Call::Append { which, from, count }),
        2 => (which.clone(), any::<bool>()).prop_map(|(which, own)| Call::Verdict { which, own }),
        1 => which.clone().prop_map(|which| Call::EndUnclaimed { which }),
        2 => which.clone().prop_map(|which| Call::Suspend { which }),
        2 => which.clone().prop_map(|which| Call::Resume { which }),
        1 => (which.clone(), -2..3).prop_map(|(which, priority)| Call::Priority { which, priority }),
        3 => which.clone().prop_map(|which| Call::Release { which }),
        1 => which.prop_map(|which| Call::Contact { which }),
    ]
}

#[derive(Default)]
struct Seen {
    tasks: Vec<TaskId>,
    attempts: Vec<AttemptId>,
    verdicts: HashMap<TaskId, Verdict>,
    now: i64,
}

impl Seen {
    fn task(&self, which: usize) -> Option<TaskId> {
        self.tasks.get(which % self.tasks.len().max(1)).copied()
    }

    fn attempt(&self, which: usize) -> Option<AttemptId> {
        // Young ones are asked for more often: old ones can do little.
        self.attempts
            .iter()
            .rev()
            .nth(which % self.attempts.len().clamp(1, 6))
            .copied()
    }
}

async fn perform(bed: &Bed, seen: &mut Seen, call: Call) -> Result<(), Error> {
    let store = &bed.store;
    seen.now += 1;
    let now = at(seen.now);
    match call {
        Call::Enter {
            agent,
            subject,
            priority,
            suspended,
        } => {
            let mut new = new_task(
                if agent { "reviewer" } else { "writer" },
                &format!("s{subject}"),
            );
            (new.priority, new.suspended, new.created_at) = (priority, suspended, now);
            seen.tasks.push(store.enter(new).await?.task);
        }
        Call::Claim { other_runtime } => {
            let agents = [("reviewer", 2), ("writer", 1)];
            let lane = if other_runtime {
                lane_of("other", &agents, 1)
            } else {
                lane(&agents, 2)
            };
            seen.attempts.extend(
                store
                    .claim_next(&lane, &bed.key, now)
                    .await?
                    .map(|claimed| claimed.attempt),
            );
        }
        Call::Open { which, nonce } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            store.open_package(attempt, [nonce; 32], now).await?;
        }
        Call::Start { which } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            store.started(attempt, now).await?;
        }
        Call::Append { which, from, count } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            store
                .append(attempt, &texts(from..=from + count), now)
                .await?;
        }
        Call::Verdict { which, own } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            let verdict = if own {
                told(Outcome::Succeeded, Some("one"))
            } else {
                failed(FailureClass::Cancelled)
            };
            store.verdict(attempt, verdict, now).await?;
        }
        Call::EndUnclaimed { which } => {
            let Some(task) = seen.task(which) else {
                return Ok(());
            };
            store
                .end_unclaimed(task, failed(FailureClass::DeadlineExceeded), now)
                .await?;
        }
        Call::Suspend { which } => {
            let Some(task) = seen.task(which) else {
                return Ok(());
            };
            store.suspend(task, now).await?;
        }
        Call::Resume { which } => {
            let Some(task) = seen.task(which) else {
                return Ok(());
            };
            store.resume(task, now).await?;
        }
        Call::Priority { which, priority } => {
            let Some(task) = seen.task(which) else {
                return Ok(());
            };
            store.set_priority(task, priority).await?;
        }
        Call::Release { which } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            store.release(attempt, now).await?;
        }
        Call::Contact { which } => {
            let Some(attempt) = seen.attempt(which) else {
                return Ok(());
            };
            store.contact(attempt, now).await?;
        }
    }
    Ok(())
}

/// What the rules of the store itself cannot see: the first verdict of each task is the one that stands.
async fn judge(bed: &Bed, seen: &mut Seen, call: &Call) {
    let violations = bed.store.violations().await.unwrap();
    assert!(violations.is_empty(), "after {call:?}: {violations:?}");
    for task in &seen.tasks {
        let row = bed.task(*task).await;
        match (seen.verdicts.get(task), row.verdict) {
            (Some(first), now) => assert_eq!(now.as_ref(), Some(first), "after {call:?}"),
            (None, Some(verdict)) => drop(seen.verdicts.insert(*task, verdict)),
            (None, None) => {}
        }
    }
    let summary = bed.store.summary().await.unwrap();
    assert!(summary.holders <= 3, "after {call:?}: {summary:?}");
}

both! {
    async fn no_order_of_calls_breaks_the_store(bed: Bed) {
        // The same lives in every run: a failure here is to be seen again.
        let mut runner = TestRunner::deterministic();
        let lives = if bed.is_sqlite() { 12 } else { 5 };
        let mut decided = 0;
        for _ in 0..lives {
            bed.empty().await;
            let calls = proptest::collection::vec(call(), 120).new_tree(&mut runner).unwrap().current();
            let mut seen = Seen::default();
            for call in calls {
                match perform(&bed, &mut seen, call.clone()).await {
                    Ok(()) | Err(Error::Conflict { .. }) => {}
                    Err(error) => panic!("{call:?}: {error:?}"),
                }
                judge(&bed, &mut seen, &call).await;
            }
            decided += seen.verdicts.len();
        }
        assert!(decided > 2 * lives, "the lives come to something: {decided}");
    }

    async fn calls_at_once_neither_break_the_store_nor_wait_for_each_other(bed: Bed) {
        let mut runner = TestRunner::deterministic();
        let working: Vec<_> = (0..6).map(|_| {
            let calls = proptest::collection::vec(call(), 100).new_tree(&mut runner).unwrap().current();
            tokio::spawn(work(bed.clone(), calls))
        }).collect();
        for working in working {
            working.await.unwrap();
        }
        bed.sound().await;
        assert!(bed.store.summary().await.unwrap().holders <= 3);
    }
}

/// One of several that share sessions, and so meet at every step.
async fn work(bed: Bed, calls: Vec<Call>) {
    let mut seen = Seen::default();
    for call in calls {
        match perform(&bed, &mut seen, call.clone()).await {
            Ok(()) | Err(Error::Conflict { .. }) => {}
            // Among them a deadlock, which the database would end after a second.
            Err(error) => panic!("{call:?}: {error:?}"),
        }
    }
}
