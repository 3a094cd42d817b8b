//! Work for an event must not grow with the number of tasks: no statement of a task's life may read a whole
//! table. Asked of SQLite, whose answer does not depend on how much is in there.

mod approvals;
mod board;
mod chats;
mod steers;
mod talk;
mod ways;

use std::sync::Mutex;

use jiff::Timestamp;
use protocol::board::RawQuery;
use protocol::runner::RawPart;
use protocol::{
    AttemptId, Event, EventBody, FailureClass, InstallationKey, Outcome, Resumed, SessionPolicy,
    Subject, TaskId, TaskResult, TokenUsage, Verdict,
};
use sqlx::{ConnectOptions as _, Row as _};

use crate::{Lane, LaneAgent, NewTask, SessionKey, Settings, Store, TaskObject, WorkspaceRef};

/// Statements that were run, while somebody listens.
static RUN: Mutex<Option<Vec<(&'static str, &'static str)>>> = Mutex::new(None);

pub(crate) fn note(doing: &'static str, statement: &'static str) {
    if let Some(run) = RUN.lock().unwrap().as_mut() {
        run.push((doing, statement));
    }
}

/// Each grows with what is open or held, never with what there was.
const ALLOWED: &[&str] = &["count tasks", "count holders", "count all holders"];

#[tokio::test]
async fn no_statement_of_a_tasks_life_reads_a_whole_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&Settings::Sqlite { path: path.clone() })
        .await
        .unwrap();
    *RUN.lock().unwrap() = Some(Vec::new());
    live(&store).await;
    let mut run = RUN.lock().unwrap().take().unwrap();
    run.sort_unstable();
    run.dedup();
    assert!(run.len() > 100, "{}", run.len());
    let mut aside = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .unwrap();
    let referring = referring(&mut aside).await;
    let mut whole = Vec::new();
    for (doing, statement) in run {
        let plan = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        for row in sqlx::query(plan).fetch_all(&mut aside).await.unwrap() {
            let detail: String = row.get("detail");
            // A list that was handed over and a result of one row are bounded by themselves.
            let bounded = [
                "SCAN lane",
                "SCAN json_each",
                "SCAN offered",
                "SCAN counted",
                // By the words that are looked for.
                "SCAN search_words VIRTUAL TABLE INDEX 192:M",
                "SCAN CONSTANT ROW",
                // One row.
                "SCAN share_clock",
            ];
            // A list that had to be sorted was read to its end.
            let sorted = doing.starts_with("list ") && detail.contains("TEMP B-TREE");
            if is_check(&referring, statement, &detail) {
                continue;
            }
            if (detail.starts_with("SCAN") || sorted)
                && !bounded.iter().any(|bound| detail.starts_with(bound))
                && !ALLOWED.contains(&doing)
            {
                whole.push(format!("{doing}: {detail}"));
            }
        }
    }
    assert!(whole.is_empty(), "{whole:#?}");
}

/// Tables, each with one that it refers to.
async fn referring(aside: &mut sqlx::SqliteConnection) -> Vec<(String, String)> {
    const LIST: &str = "SELECT child.name AS child, parent.\"table\" AS parent FROM sqlite_master AS child \
        JOIN pragma_foreign_key_list(child.name) AS parent WHERE child.type = 'table'";
    let rows = sqlx::query(LIST).fetch_all(aside).await.unwrap();
    rows.iter()
        .map(|row| (row.get("child"), row.get("parent")))
        .collect()
}

/// Where an insert runs triggers, its plan also names the tables that refer to the row's own. They are looked through
/// when the statement has broken a reference before, so never by one that lasts.
fn is_check(referring: &[(String, String)], statement: &str, detail: &str) -> bool {
    let Some(into) = statement.strip_prefix("INSERT INTO ") else {
        return false;
    };
    let into = into.split(' ').next().unwrap_or_default();
    referring
        .iter()
        .any(|(child, parent)| parent == into && detail == format!("SCAN {child}"))
}

async fn live(store: &Store) {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let (key, lane) = (InstallationKey::new([1; 32]), lane());
    let first = store.enter(task("a", now)).await.unwrap().task;
    let second = store.enter(task("b", now)).await.unwrap().task;
    store.set_priority(second, -1).await.unwrap();
    let attempt = store
        .claim_next(&lane, &key, now)
        .await
        .unwrap()
        .unwrap()
        .attempt;
    assert_eq!(
        attempt,
        AttemptId {
            task: first,
            number: 1
        }
    );
    store.claim_next(&lane, &key, now).await.unwrap();
    let session = store.task(first).await.unwrap().unwrap().session;
    store.next_generation(session).await.unwrap();
    store.record_claim(session, 1, "uid").await.unwrap();
    store
        .record_pod(attempt, "uid", Some("node"))
        .await
        .unwrap();
    store.authenticate_token([0; 32], now).await.unwrap();
    store.open_package(attempt, [1; 32], now).await.unwrap();
    store.started(attempt, now).await.unwrap();
    store.contact(attempt, now).await.unwrap();
    let body = EventBody::Status {
        status: "running".to_owned(),
        session_id: Some("one".to_owned()),
    };
    store
        .append(
            attempt,
            &[Event {
                seq: 1,
                at: now,
                body,
            }],
            now,
        )
        .await
        .unwrap();
    store.timeline(first, 0, 9).await.unwrap();
    keep_texts(store, attempt).await;
    store.last_position(first).await.unwrap();
    store.place_of_task(first).await.unwrap();
    store.waiting(second, &lane, now).await.unwrap();
    store.suspend(second, now).await.unwrap();
    store.resume(second, now).await.unwrap();
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, ""),
        at: now,
        result: None,
    };
    store.verdict(attempt, verdict.clone(), now).await.unwrap();
    store.verdict(attempt, telling(now), now).await.unwrap();
    store.commands(attempt, 0).await.unwrap();
    store.pod_absent(attempt, Some(now)).await.unwrap();
    store.pod_absent(attempt, None).await.unwrap();
    store.secret_gone(attempt).await.unwrap();
    store.release(attempt, now).await.unwrap();
    store.end_unclaimed(second, verdict, now).await.unwrap();
    store.expire(second, now).await.unwrap();
    store.ran_before(&task("b", now).object).await.unwrap();
    store.prompt(second).await.unwrap();
    share(store, &key, now).await;
    read_lists(store, second).await;
    let (by, issue) = board::live(store, now).await;
    talk::live(store, &by, &issue, now).await;
    ways::live(store, &by, now).await;
    chats::live(store, &by, now).await;
}

/// What lies beside the timeline.
async fn keep_texts(store: &Store, attempt: AttemptId) {
    store
        .keep_text(attempt, 1, "whole".to_owned())
        .await
        .unwrap();
    let part = RawPart {
        start: 0,
        text: "raw".to_owned(),
    };
    store.keep_raw(attempt, part).await.unwrap();
    let workspace = WorkspaceRef {
        namespace: "team-a".to_owned(),
        namespace_uid: "uid".to_owned(),
    };
    let asked = RawQuery::default();
    store.raw(&workspace, attempt.task, asked).await.unwrap();
}

/// A verdict of a runner that tells what was used.
fn telling(at: Timestamp) -> Verdict {
    let result = TaskResult {
        outcome: Outcome::Succeeded,
        output: String::new(),
        duration_ms: 1,
        provider_session: None,
        retired_sessions: Vec::new(),
        resumed: Resumed::unknown("first run"),
        usage: [("big".to_owned(), TokenUsage::default())].into(),
        last_seq: 1,
    };
    Verdict {
        outcome: Outcome::Succeeded,
        at,
        result: Some(Box::new(result)),
    }
}

/// Claims where something is shared.
async fn share(store: &Store, key: &InstallationKey, now: Timestamp) {
    let third = store.enter_within(task("c", now), Some(9)).await.unwrap();
    let lane = Lane {
        share: crate::Share {
            weight: 1,
            max_concurrent: Some(9),
            runs_per_hour: Some(9),
            max_pods: Some(9),
        },
        ..lane()
    };
    store.next_in(&lane).await.unwrap().unwrap();
    store.served("uid").await.unwrap();
    store.held(&lane, now).await.unwrap();
    store.load("uid", 9).await.unwrap();
    let claimed = store.claim_next(&lane, key, now).await.unwrap().unwrap();
    assert_eq!(claimed.attempt.task, third.task);
}

async fn read_lists(store: &Store, after: TaskId) {
    store.open_tasks(Some(after), 9).await.unwrap();
    store
        .open_of_namespace("uid", Some(after), 9)
        .await
        .unwrap();
    store.does_agent_wait("uid", "reviewer").await.unwrap();
    store
        .waiting_of_agent("uid", "reviewer", Some(after), 9)
        .await
        .unwrap();
    store
        .active_of_agent("uid", "reviewer", Some(after), 9)
        .await
        .unwrap();
    store.held_sessions(None, 9).await.unwrap();
    store.session_by_key(&session_key("a")).await.unwrap();
    store.summary().await.unwrap();
    store.check().await.unwrap();
}

fn session_key(subject: &str) -> SessionKey {
    let subject = Subject {
        kind: "Key".to_owned(),
        name: subject.to_owned(),
    };
    SessionKey {
        namespace_uid: "uid".to_owned(),
        agent: "reviewer".to_owned(),
        subject,
    }
}

fn task(name: &str, created_at: Timestamp) -> NewTask {
    NewTask {
        object: TaskObject {
            namespace: "team-a".to_owned(),
            namespace_uid: "uid".to_owned(),
            name: name.to_owned(),
            uid: Some(format!("uid-{name}")),
            spec_hash: "abc".to_owned(),
        },
        session: session_key(name),
        priority: 0,
        policy: SessionPolicy::Resume,
        created_at,
        deadline_seconds: None,
        suspended: false,
        prompt: None,
        fire_at: None,
    }
}

fn lane() -> Lane {
    Lane {
        namespace_uid: "uid".to_owned(),
        runtime: "claude".to_owned(),
        provider: "claude".to_owned(),
        max_pods: 9,
        agents: vec![LaneAgent {
            name: "reviewer".to_owned(),
            max_concurrent: 9,
        }],
        share: crate::Share::default(),
    }
}
