//! An API for one attempt, over TLS, that keeps what it is told and can go away.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use protocol::board::ApprovalState;
use protocol::runner::Settled;
use protocol::runner::{
    AskRequest, AskResponse, Command, CommandKind, ControlQuery, ControlResponse, EventsRequest,
    EventsResponse, FinishRequest, FinishResponse, OpenRequest, OpenResponse, RawPart,
    SettleRequest, SettleResponse, SteeredRequest, TextRequest, TextResponse,
};
use protocol::{
    ApprovalId, EndReason, ErrorBody, ErrorDetail, Event, EventBody, Package, TaskResult,
    WIRE_VERSION, code,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

pub(crate) const TOKEN: &str = "mrt_token-of-the-task";
pub(crate) const CREDENTIAL: &str = "mrr_credential-of-the-runner";
/// 32 zero bytes, in the form of the wire.
pub(crate) const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was told so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) nonces: Vec<String>,
    pub(crate) started: usize,
    pub(crate) events: Vec<Event>,
    /// Whole texts by the number of their event, and the last event that was there before each.
    pub(crate) texts: Vec<(u64, u64, String)>,
    /// What the program wrote.
    pub(crate) raw: String,
    pub(crate) results: Vec<TaskResult>,
    /// What became of remarks.
    pub(crate) steered: Vec<SteeredRequest>,
    /// What people are asked.
    pub(crate) asked: Vec<AskRequest>,
    /// What is not asked any more.
    pub(crate) settled: Vec<SettleRequest>,
    /// Connections that were turned away.
    pub(crate) turned_away: usize,
    commands: Vec<Command>,
    away: bool,
    /// Takes nothing that became of remarks.
    no_remarks: bool,
}

/// The server; ends with its runtime.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) url: String,
    pub(crate) ca: String,
    told: watch::Sender<Told>,
}

#[derive(Clone)]
struct Shared {
    package: Package,
    told: watch::Sender<Told>,
}

type Refusal = (StatusCode, Json<ErrorBody>);

impl Api {
    pub(crate) async fn serve(package: Package) -> Self {
        let (certificates, key, ca) = certificates();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap();
        let told = watch::Sender::new(Told::default());
        let shared = Shared {
            package,
            told: told.clone(),
        };
        let router = Router::new()
            .route("/api/v1/runner/open", post(open))
            .route("/api/v1/runner/started", post(started))
            .route("/api/v1/runner/events", post(events))
            .route("/api/v1/runner/texts", post(texts))
            .route("/api/v1/runner/raw", post(raw))
            .route("/api/v1/runner/control", get(control))
            .route("/api/v1/runner/steered", post(steered))
            .route("/api/v1/runner/approvals", post(ask))
            .route("/api/v1/runner/approvals/settle", post(settle))
            .route("/api/v1/runner/finish", post(finish))
            .with_state(shared);
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", tcp.local_addr().unwrap().port());
        let listener = Listener {
            tcp,
            tls: TlsAcceptor::from(Arc::new(config)),
            told: told.clone(),
        };
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, ca, told }
    }

    /// Waits until what was told is as wanted.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Told) -> bool) -> Told {
        let mut told = self.told.subscribe();
        let waited = tokio::time::timeout(PATIENCE, told.wait_for(|told| wanted(told))).await;
        match waited {
            Ok(told) => told.unwrap().clone(),
            Err(_) => panic!("waited in vain for {what}: {:?}", self.told()),
        }
    }

    /// Waits until the agent has said something.
    pub(crate) async fn until_said(&self, words: &str) -> Told {
        self.until(words, |told| said(&told.events).contains(words))
            .await
    }

    pub(crate) fn told(&self) -> Told {
        self.told.borrow().clone()
    }

    /// Is away, or back. Connections break when it goes.
    pub(crate) fn set_away(&self, away: bool) {
        self.told.send_modify(|told| told.away = away);
    }

    /// From now on it takes nothing that became of remarks.
    pub(crate) fn take_no_remarks(&self) {
        self.told.send_modify(|told| told.no_remarks = true);
    }

    /// Tells the runner to stop.
    pub(crate) fn stop(&self, reason: EndReason) {
        self.command(CommandKind::Stop { reason });
    }

    /// Tells the runner what a person decided on the question with this number, from 1.
    pub(crate) fn decide(&self, number: u128, allow: bool, reason: Option<&str>) {
        self.command(CommandKind::Decide {
            approval: ApprovalId(uuid::Uuid::from_u128(number)),
            allow,
            by: "ada".to_owned(),
            reason: reason.map(str::to_owned),
        });
    }

    /// Tells the runner something.
    pub(crate) fn command(&self, kind: CommandKind) {
        self.told.send_modify(|told| {
            let number = told.commands.len() as u64 + 1;
            told.commands.push(Command { number, kind });
        });
    }
}

/// All that agent and runner said, in order.
pub(crate) fn said(events: &[Event]) -> String {
    let words = |event: &Event| match &event.body {
        EventBody::Text { content }
        | EventBody::Thinking { content }
        | EventBody::Error { content }
        | EventBody::Log { content, .. } => content.clone(),
        EventBody::ToolResult { output, .. } => output.clone(),
        EventBody::ToolUse { input, .. } => input.to_string(),
        EventBody::Status { .. } => String::new(),
    };
    events.iter().map(|event| words(event) + "\n").collect()
}

fn certificates() -> (
    Vec<tokio_rustls::rustls::pki_types::CertificateDer<'static>>,
    PrivateKeyDer<'static>,
    String,
) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &ca)
        .unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    (vec![certificate.der().clone()], key, ca.pem())
}

fn refuse(status: StatusCode, code: &str) -> Refusal {
    let error = ErrorDetail {
        code: code.to_owned(),
        message: format!("refused as {code}"),
        request_id: "r".to_owned(),
    };
    (status, Json(ErrorBody { error }))
}

fn check(headers: &HeaderMap, credential: &str) -> Result<(), Refusal> {
    let given = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    if given == Some(format!("Bearer {credential}").as_str()) {
        Ok(())
    } else {
        Err(refuse(StatusCode::UNAUTHORIZED, code::UNAUTHENTICATED))
    }
}

async fn open(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<OpenRequest>,
) -> Result<Json<OpenResponse>, Refusal> {
    check(&headers, TOKEN)?;
    shared
        .told
        .send_modify(|told| told.nonces.push(request.nonce.clone()));
    if shared.told.borrow().nonces[0] != request.nonce {
        return Err(refuse(StatusCode::CONFLICT, code::ALREADY_OPEN));
    }
    Ok(Json(OpenResponse {
        wire_version: WIRE_VERSION,
        credential: CREDENTIAL.to_owned(),
        mac_key: KEY.to_owned(),
        package: shared.package,
    }))
}

async fn ask(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<AskRequest>,
) -> Result<Json<AskResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    let milliseconds = u64::from(request.seconds) * 1000;
    let mut number = 0;
    shared.told.send_modify(|told| {
        let known = |asked: &AskRequest| asked.call_id == request.call_id;
        number = match told.asked.iter().position(known) {
            Some(at) => at + 1,
            None => {
                told.asked.push(request);
                told.asked.len()
            }
        };
    });
    let approval = ApprovalId(uuid::Uuid::from_u128(number as u128));
    Ok(Json(AskResponse {
        approval,
        milliseconds,
    }))
}

/// Nobody has decided.
async fn settle(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<SettleRequest>,
) -> Result<Json<SettleResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    shared.told.send_modify(|told| told.settled.push(request));
    let state = match request.how {
        Settled::Expired => ApprovalState::Expired,
        Settled::Withdrawn => ApprovalState::Withdrawn,
    };
    Ok(Json(SettleResponse {
        state,
        by: None,
        reason: None,
    }))
}

async fn steered(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<SteeredRequest>,
) -> Result<Json<serde_json::Value>, Refusal> {
    check(&headers, CREDENTIAL)?;
    if shared.told.borrow().no_remarks {
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, code::UNAVAILABLE));
    }
    shared.told.send_modify(|told| told.steered.push(request));
    Ok(Json(serde_json::json!({})))
}

async fn started(
    State(shared): State<Shared>,
    headers: HeaderMap,
) -> Result<Json<serde_json::Value>, Refusal> {
    check(&headers, CREDENTIAL)?;
    shared.told.send_modify(|told| told.started += 1);
    Ok(Json(serde_json::json!({})))
}

async fn events(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<EventsRequest>,
) -> Result<Json<EventsResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    let mut last = shared
        .told
        .borrow()
        .events
        .last()
        .map_or(0, |event| event.seq);
    if request
        .events
        .first()
        .is_some_and(|event| event.seq > last + 1)
    {
        return Err(refuse(StatusCode::CONFLICT, code::EVENT_GAP));
    }
    shared.told.send_modify(|told| {
        for event in request.events {
            if event.seq == last + 1 {
                last += 1;
                told.events.push(event);
            }
        }
    });
    Ok(Json(EventsResponse {
        acknowledged: last,
        left_out: 0,
    }))
}

async fn texts(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<TextRequest>,
) -> Result<Json<TextResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    shared.told.send_modify(|told| {
        let last = told.events.last().map_or(0, |event| event.seq);
        told.texts.push((request.seq, last, request.text));
    });
    Ok(Json(TextResponse { kept: true }))
}

async fn raw(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(part): Json<RawPart>,
) -> Result<Json<serde_json::Value>, Refusal> {
    check(&headers, CREDENTIAL)?;
    shared
        .told
        .send_modify(|told| told.raw.push_str(&part.text));
    Ok(Json(serde_json::json!({})))
}

async fn control(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<ControlQuery>,
) -> Result<Json<ControlResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    let mut told = shared.told.subscribe();
    let new = |told: &Told| -> Vec<Command> {
        let new = |command: &&Command| command.number > query.after;
        told.commands.iter().filter(new).cloned().collect()
    };
    let told = told
        .wait_for(|told| told.away || !new(told).is_empty())
        .await
        .map_err(|_| refuse(StatusCode::SERVICE_UNAVAILABLE, code::UNAVAILABLE))?;
    if told.away {
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, code::UNAVAILABLE));
    }
    Ok(Json(ControlResponse {
        commands: new(&told),
    }))
}

async fn finish(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<FinishRequest>,
) -> Result<Json<FinishResponse>, Refusal> {
    check(&headers, CREDENTIAL)?;
    shared
        .told
        .send_modify(|told| told.results.push(request.result));
    Ok(Json(FinishResponse { decided: true }))
}

struct Listener {
    tcp: TcpListener,
    tls: TlsAcceptor,
    told: watch::Sender<Told>,
}

impl axum::serve::Listener for Listener {
    type Io = Breakable;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.tcp.accept().await.unwrap();
            if self.told.borrow().away {
                self.told.send_modify(|told| told.turned_away += 1);
                continue;
            }
            if let Ok(stream) = self.tls.accept(stream).await {
                let told = self.told.subscribe();
                return (Breakable { stream, told }, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// A connection that breaks as soon as it is used while the API is away.
struct Breakable {
    stream: TlsStream<TcpStream>,
    told: watch::Receiver<Told>,
}

impl Breakable {
    fn check(&self) -> io::Result<()> {
        if self.told.borrow().away {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Breakable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
