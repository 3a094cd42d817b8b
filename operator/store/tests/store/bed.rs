//! A database for each test, and short words for what the tests do with it.

use std::future::Future;
use std::io::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use protocol::{
    AttemptId, Credential, Event, EventBody, FailureClass, InstallationKey, Outcome,
    ProviderSession, Resumed, SessionPolicy, Subject, TaskId, TaskResult, Verdict,
};
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use store::{
    AttemptRow, Faults, Lane, LaneAgent, NewTask, Opened, SessionKey, SessionRow, Settings, Store,
    TaskObject, TaskRow,
};
use uuid::Uuid;

/// Longer than anything here takes; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Longer than any test takes, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(600);

/// Defines a test that runs on both databases, as `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($($(#[$attribute:meta])* async fn $name:ident($bed:ident: $type:ty) $body:block)+) => {
        $(
            $(#[$attribute])*
            mod $name {
                use super::*;

                async fn test($bed: $type) $body

                #[tokio::test]
                async fn sqlite() {
                    crate::bed::on_sqlite(test).await;
                }

                #[tokio::test]
                async fn postgres() {
                    crate::bed::on_postgres(test).await;
                }
            }
        )+
    };
}
pub(crate) use both;

/// A store of its own.
#[derive(Clone)]
pub(crate) struct Bed {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) key: InstallationKey,
}

pub(crate) async fn on_sqlite<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Bed) -> F,
) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::Sqlite {
        path: folder.path().join("store.db"),
    };
    run(settings, test).await.unwrap();
}

pub(crate) async fn on_postgres<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Bed) -> F,
) {
    let Some(server) = postgres_server() else {
        return;
    };
    let name = format!("mooring_test_{}", Uuid::now_v7().simple());
    let mut admin = PgConnection::connect(&server).await.unwrap();
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&mut admin)
        .await
        .unwrap();
    let url = with_database(&server, &name);
    let outcome = run(
        Settings::Postgres {
            url: SecretString::from(url),
        },
        test,
    )
    .await;
    sqlx::query(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)")))
        .execute(&mut admin)
        .await
        .unwrap();
    outcome.unwrap();
}

/// The server to test on. Without one the test is skipped and says so; in CI that is a failure.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no main that could parse settings"
)]
fn postgres_server() -> Option<String> {
    if let Ok(server) = std::env::var("MOORING_TEST_POSTGRES") {
        return Some(server);
    }
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "MOORING_TEST_POSTGRES is not set"
    );
    // Once, and past the harness, which shows nothing of a test that passes.
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        let line = "skipped: MOORING_TEST_POSTGRES is not set, so there is no PostgreSQL to test on
";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    });
    None
}

/// The server's URL with another database: what stands between the host and a query.
fn with_database(server: &str, name: &str) -> String {
    let (base, query) = server
        .split_once('?')
        .map_or((server, None), |(base, query)| (base, Some(query)));
    let host = base
        .strip_prefix("postgres://")
        .expect("MOORING_TEST_POSTGRES begins with postgres://");
    let host = host.split('/').next().unwrap_or(host);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("postgres://{host}/{name}{query}")
}

/// Runs a test in a task of its own, so that its database goes whatever becomes of it; the store must keep its
/// promises at its end.
async fn run<F: Future<Output = ()> + Send + 'static>(
    settings: Settings,
    test: impl FnOnce(Bed) -> F,
) -> Result<(), tokio::task::JoinError> {
    let bed = Bed::open(settings, Faults::default()).await;
    let test = tokio::time::timeout(LONGEST, test(bed));
    tokio::spawn(async { test.await.expect("a test that comes to its end") }).await
}

impl Bed {
    pub(crate) async fn open(settings: Settings, faults: Faults) -> Self {
        let store = Store::open_with(&settings, faults).await.unwrap();
        Self {
            settings,
            store,
            key: InstallationKey::new([7; 32]),
        }
    }

    /// Lets go of the store and opens it again.
    pub(crate) async fn reopen(self, faults: Faults) -> Self {
        let Self {
            settings, store, ..
        } = self;
        drop(store);
        Self::open(settings, faults).await
    }

    /// After a crash: another process opens the store once the dead one's tasks are gone.
    pub(crate) async fn rise(self, faults: Faults) -> Self {
        let Self {
            settings,
            store,
            key,
        } = self;
        drop(store);
        let open = async {
            loop {
                match Store::open_with(&settings, faults.clone()).await {
                    Ok(store) => return store,
                    Err(store::Error::Locked { .. }) => tokio::task::yield_now().await,
                    Err(error) => panic!("{error:?}"),
                }
            }
        };
        let store = tokio::time::timeout(DEADLINE, open).await.unwrap();
        Self {
            settings,
            store,
            key,
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.settings, Settings::Sqlite { .. })
    }

    pub(crate) async fn enter(&self, agent: &str, subject: &str) -> TaskId {
        self.enter_task(new_task(agent, subject)).await
    }

    pub(crate) async fn enter_task(&self, task: NewTask) -> TaskId {
        let entered = self.store.enter(task).await.unwrap();
        assert!(entered.created);
        entered.task
    }

    pub(crate) async fn claim(&self, lane: &Lane) -> Option<AttemptId> {
        self.store
            .claim_next(lane, &self.key, at(10))
            .await
            .unwrap()
            .map(|claimed| claimed.attempt)
    }

    /// Enters a task and claims it.
    pub(crate) async fn claimed(&self, agent: &str, subject: &str) -> AttemptId {
        let task = self.enter(agent, subject).await;
        let attempt = self.claim(&lane(&[(agent, 100)], 100)).await.unwrap();
        assert_eq!(attempt.task, task);
        attempt
    }

    /// Enters a task, claims it, opens and starts it.
    pub(crate) async fn running(&self, agent: &str, subject: &str) -> AttemptId {
        let attempt = self.claimed(agent, subject).await;
        self.start(attempt).await;
        attempt
    }

    pub(crate) async fn start(&self, attempt: AttemptId) {
        assert_eq!(
            self.store
                .open_package(attempt, [1; 32], at(11))
                .await
                .unwrap(),
            Opened::First
        );
        assert!(self.store.started(attempt, at(12)).await.unwrap());
    }

    /// Ends an attempt with this verdict and lets it go.
    pub(crate) async fn finish(&self, attempt: AttemptId, verdict: Verdict) {
        self.store.verdict(attempt, verdict, at(20)).await.unwrap();
        self.store.secret_gone(attempt).await.unwrap();
        assert!(self.store.release(attempt, at(21)).await.unwrap());
    }

    pub(crate) async fn task(&self, task: TaskId) -> TaskRow {
        self.store.task(task).await.unwrap().unwrap()
    }

    pub(crate) async fn attempt(&self, attempt: AttemptId) -> AttemptRow {
        self.store.attempt(attempt).await.unwrap().unwrap()
    }

    pub(crate) async fn session_of(&self, task: TaskId) -> SessionRow {
        self.store
            .session(self.task(task).await.session)
            .await
            .unwrap()
            .unwrap()
    }

    /// The hash of the attempt's token.
    pub(crate) async fn token(&self, attempt: AttemptId) -> [u8; 32] {
        Credential::token_hash(
            &self
                .key
                .task_token(attempt, self.attempt(attempt).await.salt),
        )
    }

    /// A connection beside the store, for what no operator does.
    async fn aside(&self) -> PgConnection {
        let Settings::Postgres { url } = &self.settings else {
            panic!("only asked for with Postgres")
        };
        PgConnection::connect(url.expose_secret()).await.unwrap()
    }

    /// Ends the connections that listen for changes.
    pub(crate) async fn end_listeners(&self) {
        const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()";
        sqlx::query(END)
            .execute(&mut self.aside().await)
            .await
            .unwrap();
    }

    /// Takes away everything, as if the database had just been created.
    pub(crate) async fn drop_schema(&self) {
        let mut aside = self.aside().await;
        sqlx::query("DROP SCHEMA public CASCADE")
            .execute(&mut aside)
            .await
            .unwrap();
        sqlx::query("CREATE SCHEMA public")
            .execute(&mut aside)
            .await
            .unwrap();
    }

    /// Takes away all rows.
    pub(crate) async fn empty(&self) {
        const TABLES: &[&str] = &[
            "DELETE FROM inbox",
            "DELETE FROM approval_entries",
            "DELETE FROM approvals",
            "DELETE FROM stops",
            "DELETE FROM steers",
            "DELETE FROM quick_issues",
            "DELETE FROM chat_tasks",
            "DELETE FROM chat_messages",
            "DELETE FROM chats",
            "DELETE FROM wake_causes",
            "DELETE FROM wakes",
            "DELETE FROM comments",
            "DELETE FROM firings",
            "DELETE FROM schedules",
            "DELETE FROM webhook_issues",
            "DELETE FROM deliveries",
            "DELETE FROM subscriptions",
            "DELETE FROM issue_labels",
            "DELETE FROM attachments",
            "DELETE FROM issues",
            "DELETE FROM projects",
            "DELETE FROM members",
            "DELETE FROM workspaces",
            "DELETE FROM access_tokens",
            "DELETE FROM logins",
            "DELETE FROM commands",
            "DELETE FROM timeline",
            "DELETE FROM usage",
            "DELETE FROM event_texts",
            "DELETE FROM raw_logs",
            "DELETE FROM tokens",
            "DELETE FROM attempts",
            "DELETE FROM tasks",
            "DELETE FROM sessions",
            "DELETE FROM shares",
            "DELETE FROM installation",
        ];
        for table in TABLES {
            self.execute_aside(table).await;
        }
    }

    /// Changes something behind the store's back.
    pub(crate) async fn execute_aside(&self, statement: &'static str) {
        self.try_aside(statement).await.unwrap();
    }

    /// Tries to change something behind the store's back.
    pub(crate) async fn try_aside(&self, statement: &'static str) -> Result<(), sqlx::Error> {
        match &self.settings {
            Settings::Sqlite { path } => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let mut aside = options.connect().await?;
                let done = sqlx::query(statement).execute(&mut aside).await.map(drop);
                // Dropped it would be closed later, while the store is opened again.
                aside.close().await?;
                done
            }
            Settings::Postgres { .. } => {
                let mut aside = self.aside().await;
                sqlx::query(statement).execute(&mut aside).await.map(drop)
            }
        }
    }

    /// The store keeps its promises.
    pub(crate) async fn sound(&self) {
        assert_eq!(self.store.violations().await.unwrap(), []);
    }
}

/// An instant, in seconds after the tests' beginning.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(crate) const NAMESPACE: &str = "6f3f3a0c-1111-4222-8333-444455556666";

pub(crate) fn session_key(agent: &str, subject: &str) -> SessionKey {
    SessionKey {
        namespace_uid: NAMESPACE.to_owned(),
        agent: agent.to_owned(),
        subject: Subject {
            kind: "Key".to_owned(),
            name: subject.to_owned(),
        },
    }
}

/// A task of a new object.
pub(crate) fn new_task(agent: &str, subject: &str) -> NewTask {
    let uid = Uuid::now_v7().to_string();
    NewTask {
        object: TaskObject {
            namespace: "team-a".to_owned(),
            namespace_uid: NAMESPACE.to_owned(),
            name: format!("task-{uid}"),
            uid: Some(uid),
            spec_hash: "abc".to_owned(),
        },
        session: session_key(agent, subject),
        priority: 0,
        policy: SessionPolicy::Resume,
        created_at: at(0),
        deadline_seconds: None,
        suspended: false,
        prompt: None,
        fire_at: None,
    }
}

/// A lane of agents with their limits.
pub(crate) fn lane(agents: &[(&str, u32)], max_pods: u32) -> Lane {
    lane_of("claude", agents, max_pods)
}

pub(crate) fn lane_of(runtime: &str, agents: &[(&str, u32)], max_pods: u32) -> Lane {
    let agent = |(name, max): &(&str, u32)| LaneAgent {
        name: (*name).to_owned(),
        max_concurrent: *max,
    };
    Lane {
        namespace_uid: NAMESPACE.to_owned(),
        runtime: runtime.to_owned(),
        provider: "claude".to_owned(),
        max_pods,
        agents: agents.iter().map(agent).collect(),
        share: store::Share::default(),
    }
}

/// A verdict that the operator gives.
pub(crate) fn failed(class: FailureClass) -> Verdict {
    Verdict {
        outcome: Outcome::failed(class, "it did not work"),
        at: at(20),
        result: None,
    }
}

/// A verdict from a runner's result.
pub(crate) fn told(outcome: Outcome, session: Option<&str>) -> Verdict {
    let result = TaskResult {
        outcome: outcome.clone(),
        output: "done".to_owned(),
        duration_ms: 5,
        provider_session: session.map(provider_session),
        retired_sessions: Vec::new(),
        resumed: Resumed::unknown("first run"),
        usage: Default::default(),
        last_seq: 0,
    };
    Verdict {
        outcome,
        at: at(20),
        result: Some(Box::new(result)),
    }
}

pub(crate) fn provider_session(id: &str) -> ProviderSession {
    ProviderSession {
        provider: "claude".to_owned(),
        id: id.to_owned(),
    }
}

pub(crate) fn text(seq: u64) -> Event {
    Event {
        seq,
        at: at(100),
        body: EventBody::Text {
            content: format!("word {seq}"),
        },
    }
}

pub(crate) fn texts(seqs: std::ops::RangeInclusive<u64>) -> Vec<Event> {
    seqs.map(text).collect()
}
