//! A TLS server with canned answers, and the program run against it.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// The name of a Service, which leads nowhere on this machine.
pub(crate) const SERVICE: &str = "mooring.mooring-system.svc";
/// Longer than any command here takes.
const DEADLINE: Duration = Duration::from_secs(30);
const BODY: usize = 1 << 20;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method, path and query.
    pub(crate) line: String,
    /// The token.
    pub(crate) token: String,
    pub(crate) body: String,
}

/// Answers by method and path, each in its order; the last one stays.
type Answers = Arc<Mutex<HashMap<String, Vec<(u16, Value)>>>>;

/// What is told on one live connection after the other; each breaks off then.
type Lives = Arc<Mutex<VecDeque<Vec<Value>>>>;

/// A server and a home for the program.
pub(crate) struct Bed {
    pub(crate) home: TempDir,
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) ca: String,
    answers: Answers,
    asked: Arc<Mutex<Vec<Asked>>>,
    lives: Lives,
}

/// What the program did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Its answer, when it went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let (acceptor, ca) = tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answers, asked) = (Answers::default(), Arc::default());
        let lives = Lives::default();
        let live = get(tell).with_state((Arc::clone(&lives), Arc::clone(&asked)));
        let router = router(Arc::clone(&answers), Arc::clone(&asked))
            .route("/api/v1/workspaces/team-a/live", live);
        let listener = Tls { listener, acceptor };
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("ca.crt"), &ca).unwrap();
        Self {
            home,
            url: format!("https://localhost:{port}"),
            port,
            ca,
            answers,
            asked,
            lives,
        }
    }

    /// A further live connection, on which this is told and which then breaks off.
    pub(crate) fn tells(&self, bodies: &[Value]) -> &Self {
        self.lives.lock().unwrap().push_back(bodies.to_vec());
        self
    }

    pub(crate) fn answer(&self, line: &str, answer: Value) -> &Self {
        self.refuse(line, 200, answer)
    }

    /// A further answer to the same question, for the time after the one before.
    pub(crate) fn refuse(&self, line: &str, status: u16, answer: Value) -> &Self {
        let mut answers = self.answers.lock().unwrap();
        answers
            .entry(line.to_owned())
            .or_default()
            .push((status, answer));
        self
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("mooring/config.toml")
    }

    /// The program with an empty environment but for its home.
    pub(crate) fn moor(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_moor"));
        command
            .env_clear()
            .env("XDG_CONFIG_HOME", self.home.path())
            .env("HOME", self.home.path())
            .args(words);
        command
    }

    /// The program as it is in a pod, with this token.
    pub(crate) fn with_token(&self, token: &str, words: &[&str]) -> Command {
        let file = self.home.path().join("token");
        std::fs::write(&file, format!("{token}\n")).unwrap();
        let mut command = self.moor(words);
        command
            .env("MOORING_API", &self.url)
            .env("MOORING_TOKEN_FILE", file)
            .env("MOORING_CA_FILE", self.home.path().join("ca.crt"));
        command
    }

    pub(crate) async fn pod(&self, words: &[&str]) -> Ran {
        run(self.with_token("mrt_task", words), "").await
    }

    pub(crate) async fn pod_with_input(&self, words: &[&str], input: &str) -> Ran {
        run(self.with_token("mrt_task", words), input).await
    }
}

/// Runs a command to its end.
pub(crate) async fn run(mut command: Command, input: &str) -> Ran {
    let input = input.to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that reads nothing has closed it already.
        let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        drop(stdin);
        child.wait_with_output().unwrap()
    });
    let output = tokio::time::timeout(DEADLINE, work)
        .await
        .expect("an end in time")
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The shape of a failure.
pub(crate) fn failure(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "requestId": "r1"}})
}

/// A page of one part.
pub(crate) fn page(items: &[Value]) -> Value {
    json!({"items": items})
}

pub(crate) fn router(answers: Answers, asked: Arc<Mutex<Vec<Asked>>>) -> Router {
    Router::new().fallback(async move |request: Request| {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, BODY).await.unwrap();
        let (method, path) = (&parts.method, parts.uri.path());
        let target = parts.uri.path_and_query().map_or(path, |all| all.as_str());
        let token = parts.headers.get("authorization");
        asked.lock().unwrap().push(Asked {
            line: format!("{method} {target}").replace("/api/v1/", ""),
            token: token.map_or("", |token| token.to_str().unwrap()).to_owned(),
            body: String::from_utf8(body.to_vec()).unwrap(),
        });
        let line = format!("{method} {path}").replace("/api/v1/", "");
        let mut answers = answers.lock().unwrap();
        let (status, answer) = match answers.get_mut(&line) {
            Some(queue) if queue.len() > 1 => queue.remove(0),
            Some(queue) => queue[0].clone(),
            None => (404, failure("notFound", &format!("no answer to {line}"))),
        };
        Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(Body::from(answer.to_string()))
            .unwrap()
    })
}

/// A live connection: waits for what is asked, tells what is to be told, and breaks off. Without anything to tell it is a
/// server that knows no such thing.
async fn tell(
    State((lives, asked)): State<(Lives, Arc<Mutex<Vec<Asked>>>)>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(bodies) = lives.lock().unwrap().pop_front() else {
        return (
            StatusCode::NOT_FOUND,
            failure("notFound", "Nothing.").to_string(),
        )
            .into_response();
    };
    upgrade.on_upgrade(async move |mut socket: WebSocket| {
        let Some(Ok(Message::Text(request))) = socket.recv().await else {
            return;
        };
        asked.lock().unwrap().push(Asked {
            line: "GET workspaces/team-a/live".to_owned(),
            token: String::new(),
            body: request.to_string(),
        });
        for (number, mut body) in (1..).zip(bodies) {
            body["number"] = json!(number);
            socket.send(Message::text(body.to_string())).await.unwrap();
        }
    })
}

struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

fn tls() -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned(), SERVICE.to_owned()])
        .unwrap()
        .signed_by(&key, &ca)
        .unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), ca.pem())
}
