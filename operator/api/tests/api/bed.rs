//! A server and its store for each test, and short words for what the tests do with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use api::{ApiState, Authority, Definitions, Limits, Mode, Parts, Readiness};
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use protocol::{AttemptId, InstallationKey, SessionPolicy, Subject, TaskId};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use store::{Lane, LaneAgent, NewTask, SessionKey, Settings, Store, TaskObject, TaskRow};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::people::People;

/// Longer than anything here takes; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);
pub(crate) const NAMESPACE: &str = "team-a";
pub(crate) const NAMESPACE_UID: &str = "6f3f3a0c-1111-4222-8333-444455556666";
pub(crate) const NONCE: &str = "0101010101010101010101010101010101010101010101010101010101010101";

/// Defines a test that runs on both databases, as `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($($(#[$attribute:meta])* async fn $name:ident($bed:ident: Bed) $body:block)+) => {
        $(
            async fn $name($bed: crate::bed::Bed) $body

            $(#[$attribute])*
            mod $name {
                #[tokio::test]
                async fn sqlite() {
                    crate::bed::on_sqlite(super::$name).await;
                }

                #[tokio::test]
                async fn postgres() {
                    crate::bed::on_postgres(super::$name).await;
                }
            }
        )+
    };
}
pub(crate) use both;

/// A server with a store of its own.
#[derive(Clone)]
pub(crate) struct Bed {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) key: InstallationKey,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) people: Arc<People>,
    pub(crate) readiness: Readiness,
    pub(crate) shutdown: CancellationToken,
    pub(crate) state: ApiState,
    pub(crate) router: Router,
    micros: Arc<AtomicI64>,
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
    println!("skipped: MOORING_TEST_POSTGRES is not set, so there is no PostgreSQL to test on");
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

/// Runs a test in a task of its own, so that its database goes whatever becomes of it.
async fn run<F: Future<Output = ()> + Send + 'static>(
    settings: Settings,
    test: impl FnOnce(Bed) -> F,
) -> Result<(), tokio::task::JoinError> {
    let store = Store::open(&settings).await.unwrap();
    tokio::spawn(test(Bed::new(settings, store))).await
}

impl Bed {
    fn new(settings: Settings, store: Store) -> Self {
        let micros = Arc::new(AtomicI64::new(1_800_000_000_000_000));
        let key = InstallationKey::new([7; 32]);
        let (cluster, readiness) = (Arc::new(Cluster::default()), Readiness::default());
        let people = Arc::new(People::default());
        let shutdown = CancellationToken::new();
        let parts = parts(
            &store, &key, &cluster, &people, &readiness, &shutdown, &micros,
        );
        let state = ApiState::new(parts);
        let router = api::router(state.clone());
        let bed = Self {
            settings,
            store,
            key,
            cluster,
            people,
            readiness,
            shutdown,
            state,
            router,
            micros,
        };
        bed.define_agent(&json!({
            "displayName": "Reviewer", "instructions": "Be kind.", "runtimeRefs": [{"name": "claude"}],
        }));
        bed.define_runtime(&json!({"provider": "claude", "image": "agent", "command": ["claude"]}));
        bed
    }

    /// The same bed with another server: other limits, or one that serves no tasks.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Parts)) -> Self {
        let Self {
            store,
            key,
            cluster,
            people,
            readiness,
            shutdown,
            micros,
            ..
        } = self;
        let mut parts = parts(store, key, cluster, people, readiness, shutdown, micros);
        change(&mut parts);
        let state = ApiState::new(parts);
        Self {
            router: api::router(state.clone()),
            state,
            ..self.clone()
        }
    }

    /// With a folder for attachments, which goes with the second value.
    pub(crate) fn with_files(&self) -> (Self, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let files = store::Files::open(folder.path()).unwrap();
        (self.with(|parts| parts.files = Some(files)), folder)
    }

    pub(crate) fn with_limits(&self, limits: Limits) -> Self {
        self.with(|parts| parts.limits = limits)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.micros.load(Ordering::SeqCst)).unwrap()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.micros
            .fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn define_agent(&self, spec: &Value) {
        self.cluster.agents.lock().unwrap().insert(
            "reviewer".to_owned(),
            object("Agent", "reviewer", "a", spec),
        );
    }

    pub(crate) fn define_runtime(&self, spec: &Value) {
        self.define_runtime_called("claude", spec);
    }

    pub(crate) fn define_runtime_called(&self, name: &str, spec: &Value) {
        let runtime = object("Runtime", name, "r", spec);
        self.cluster
            .runtimes
            .lock()
            .unwrap()
            .insert(name.to_owned(), runtime);
    }

    /// An agent of another name than `reviewer`.
    pub(crate) fn define_another(&self, name: &str, spec: &Value) {
        let agent = object("Agent", name, name, spec);
        self.cluster
            .agents
            .lock()
            .unwrap()
            .insert(name.to_owned(), agent);
    }

    pub(crate) fn define_team(&self, name: &str, spec: &Value) {
        let team = object("AgentTeam", name, "t", spec);
        self.cluster
            .teams
            .lock()
            .unwrap()
            .insert(name.to_owned(), team);
    }

    pub(crate) fn define_skill(&self, name: &str) {
        let spec = json!({"description": "d", "files": [{"configMap": {"name": name}}]});
        let skill = object("Skill", name, "s", &spec);
        self.cluster
            .skills
            .lock()
            .unwrap()
            .insert(name.to_owned(), skill);
    }

    pub(crate) fn define_schedule(&self, name: &str, spec: &Value) {
        let schedule = object("AgentSchedule", name, "c", spec);
        self.cluster
            .schedules
            .lock()
            .unwrap()
            .insert(name.to_owned(), schedule);
    }

    pub(crate) fn define_webhook(&self, name: &str, spec: &Value) {
        let webhook = object("AgentWebhook", name, "w", spec);
        self.cluster
            .webhooks
            .lock()
            .unwrap()
            .insert(name.to_owned(), webhook);
    }

    pub(crate) fn define_task(&self, name: &str, uid: &str) {
        let spec = json!({
            "agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": "hello"}, "prompt": "Do it.",
        });
        self.cluster
            .tasks
            .lock()
            .unwrap()
            .insert(name.to_owned(), object("AgentTask", name, uid, &spec));
    }

    /// Enters a task on a subject, with its object.
    pub(crate) async fn enter(&self, subject: &str) -> TaskId {
        let uid = Uuid::now_v7().to_string();
        let name = format!("task-{uid}");
        self.define_task(&name, &uid);
        let object = TaskObject {
            namespace: NAMESPACE.to_owned(),
            namespace_uid: NAMESPACE_UID.to_owned(),
            name,
            uid: Some(uid),
            spec_hash: "abc".to_owned(),
        };
        let subject = Subject {
            kind: "Key".to_owned(),
            name: subject.to_owned(),
        };
        let session = SessionKey {
            namespace_uid: NAMESPACE_UID.to_owned(),
            agent: "reviewer".to_owned(),
            subject,
        };
        let task = NewTask {
            object,
            session,
            priority: 0,
            policy: SessionPolicy::Resume,
            created_at: self.now(),
            deadline_seconds: None,
            suspended: false,
            prompt: None,
            fire_at: None,
        };
        self.store.enter(task).await.unwrap().task
    }

    pub(crate) async fn claim(&self) -> AttemptId {
        let lane = Lane {
            namespace_uid: NAMESPACE_UID.to_owned(),
            runtime: "claude".to_owned(),
            provider: "claude".to_owned(),
            max_pods: 100,
            agents: vec![LaneAgent {
                name: "reviewer".to_owned(),
                max_concurrent: 100,
            }],
            share: store::Share::default(),
        };
        self.store
            .claim_next(&lane, &self.key, self.now())
            .await
            .unwrap()
            .unwrap()
            .attempt
    }

    /// A claimed task on a subject, its volume claim recorded.
    pub(crate) async fn claimed(&self, subject: &str) -> AttemptId {
        let task = self.enter(subject).await;
        let attempt = self.claim().await;
        assert_eq!(attempt.task, task);
        let session = self
            .store
            .session(self.task(task).await.session)
            .await
            .unwrap()
            .unwrap();
        if session.claim_generation == 0 {
            let generation = self.store.next_generation(session.id).await.unwrap();
            self.store
                .record_claim(session.id, generation, "claim-1")
                .await
                .unwrap();
        }
        attempt
    }

    /// A task whose agent runs.
    pub(crate) async fn running(&self, subject: &str) -> AttemptId {
        let attempt = self.claimed(subject).await;
        self.post(
            "open",
            &self.token(attempt).await,
            &json!({"nonce": NONCE, "wireVersion": 1}),
        )
        .await
        .ok();
        self.post("started", &self.credential(attempt).await, &json!({}))
            .await
            .ok();
        attempt
    }

    /// What is left of a run is cleared away, so that the session's next one can be claimed.
    pub(crate) async fn release(&self, attempt: AttemptId) {
        self.store.secret_gone(attempt).await.unwrap();
        assert!(self.store.release(attempt, self.now()).await.unwrap());
    }

    pub(crate) async fn task(&self, task: TaskId) -> TaskRow {
        self.store.task(task).await.unwrap().unwrap()
    }

    pub(crate) async fn attempt(&self, attempt: AttemptId) -> store::AttemptRow {
        self.store.attempt(attempt).await.unwrap().unwrap()
    }

    pub(crate) async fn token(&self, attempt: AttemptId) -> String {
        self.key
            .task_token(attempt, self.attempt(attempt).await.salt)
            .expose_secret()
            .to_owned()
    }

    pub(crate) async fn credential(&self, attempt: AttemptId) -> String {
        self.key
            .runner_credential(attempt, self.attempt(attempt).await.salt)
            .expose_secret()
            .to_owned()
    }

    /// The token of a person who has just logged in.
    pub(crate) async fn person(&self, user: &str) -> String {
        let (uid, groups) = (Uuid::now_v7().to_string(), ["dev".to_owned()]);
        let minted = self
            .store
            .exchange_login(&uid, user, &groups, self.now())
            .await;
        minted.unwrap().unwrap().token
    }

    /// A call of a runner's route.
    pub(crate) async fn post(&self, route: &str, credential: &str, body: &Value) -> Answer {
        let request = Request::post(format!("/api/v1/runner/{route}"))
            .header("authorization", format!("Bearer {credential}"));
        self.send(request.body(body.to_string().into()).unwrap())
            .await
    }

    pub(crate) async fn get(&self, path: &str, credential: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("Bearer {credential}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// A call with this credential or with none.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        credential: Option<&str>,
        body: Body,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(credential) = credential {
            request = request.header("authorization", format!("Bearer {credential}"));
        }
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request);
        let response = tokio::time::timeout(DEADLINE, answer)
            .await
            .expect("an answer in time")
            .unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }
}

fn parts(
    store: &Store,
    key: &InstallationKey,
    cluster: &Arc<Cluster>,
    people: &Arc<People>,
    readiness: &Readiness,
    shutdown: &CancellationToken,
    micros: &Arc<AtomicI64>,
) -> Parts {
    let micros = Arc::clone(micros);
    Parts {
        store: store.clone(),
        mode: Mode::Serving(key.clone()),
        definitions: Arc::clone(cluster) as Arc<dyn Definitions>,
        authority: Arc::clone(people) as Arc<dyn Authority>,
        now: Arc::new(move || Timestamp::from_microsecond(micros.load(Ordering::SeqCst)).unwrap()),
        readiness: readiness.clone(),
        registry: Registry::with_prefix("mooring"),
        files: None,
        limits: Limits::default(),
        shutdown: shutdown.clone(),
    }
}

fn object<T: serde::de::DeserializeOwned>(
    kind: &str,
    name: &str,
    uid: &str,
    spec: &Value,
) -> Arc<T> {
    let object = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid}, "spec": spec,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The body of a success.
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// Status and code of a failure.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let code = self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (self.status.as_u16(), code)
    }
}
