//! Connections: how many, how long each part may take, and how they end.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::limits::{HEADER_BYTES, HEADERS, Limits, Party, Peer, STREAMS, Slot};
use crate::metrics::Refusal;
use crate::state::{ApiState, Shared};

const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// After a failure to accept, for example because there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Between two signs of life of an idle HTTP/2 connection, and how long one may be missing.
const PING: Duration = Duration::from_secs(20);
/// Bytes of a body that an HTTP/2 client may send ahead.
const WINDOW: u32 = 256 * 1024;
/// How long a connection that is one too many may take to hear so.
const REFUSAL: Duration = Duration::from_secs(5);

/// What connections are secured with. The last value counts for new connections, so a certificate can be
/// renewed while the server runs.
pub type Tls = watch::Receiver<Arc<ServerConfig>>;

/// TLS as this server speaks it: TLS 1.3 with this certificate, for HTTP/2 and HTTP/1.1.
///
/// # Errors
/// When the key does not fit the certificate.
pub fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    Ok(config)
}

/// Serves until the state's shutdown, then says goodbye to every connection and waits a moment for each.
///
/// # Errors
/// None at present: a connection that cannot be accepted is logged, and the next one is tried.
pub async fn serve(listener: TcpListener, tls: Tls, state: ApiState) -> io::Result<()> {
    let server = Server {
        served: crate::router(state.clone()),
        refused: Router::new().fallback(answer::refuse),
        places: Arc::new(Semaphore::new(state.0.limits.connections)),
        refusals: Arc::new(Semaphore::new(state.0.limits.refusals)),
        tls,
        state: state.0,
    };
    let shutdown = server.state.shutdown.clone();
    // Bounded by the two semaphores: a connection without a place in either is closed at once.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => server.admit(stream, from.ip(), &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    let last = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(server.state.limits.goodbye, last)
        .await
        .is_err()
    {
        tracing::warn!(
            connections = connections.len(),
            "connections did not end in time and are cut"
        );
    }
    Ok(())
}

struct Server {
    served: Router,
    refused: Router,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    tls: Tls,
    state: Shared,
}

impl Server {
    fn admit(&self, stream: TcpStream, from: IpAddr, connections: &mut JoinSet<()>) {
        let place = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned().ok();
        let address = self.state.slots.take(
            Party::Address(from.to_canonical()),
            self.state.limits.connections_per_address,
        );
        let (place, address, router, refused) = match (address, place(&self.places)) {
            (Ok(slot), Some(place)) => (Some(place), Some(slot), self.served.clone(), false),
            (Err(_), _) | (_, None) => {
                self.state.metrics.refused(Refusal::TooMany);
                (place(&self.refusals), None, self.refused.clone(), true)
            }
        };
        let Some(place) = place else { return };
        let connection = Connection {
            router,
            peer: Peer(from.to_canonical()),
            acceptor: TlsAcceptor::from(Arc::clone(&self.tls.borrow())),
            limits: self.state.limits,
            shutdown: self.state.shutdown.clone(),
            state: self.state.clone(),
            _place: place,
            _address: address,
        };
        connections.spawn(async move {
            if refused {
                // Ends by itself in most cases; this is for who neither asks nor goes.
                let _ = tokio::time::timeout(REFUSAL, connection.run(stream)).await;
            } else {
                connection.run(stream).await;
            }
        });
    }
}

struct Connection {
    router: Router,
    peer: Peer,
    acceptor: TlsAcceptor,
    limits: Limits,
    shutdown: CancellationToken,
    state: Shared,
    _place: OwnedSemaphorePermit,
    /// None for one that is only told that it is one too many.
    _address: Option<Slot>,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        self.state.metrics.connections.inc();
        // Answers are small and awaited.
        let _ = stream.set_nodelay(true);
        match tokio::time::timeout(self.limits.handshake, self.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(error)) => {
                self.state.metrics.refused(Refusal::Handshake);
                tracing::debug!(%error, "a handshake failed");
            }
            Err(_) => self.state.metrics.refused(Refusal::Handshake),
        }
        self.state.metrics.connections.dec();
    }

    async fn speak(&self, stream: TlsStream<TcpStream>) {
        // What was agreed on decides, not the first bytes: waiting for those would have no limit of time.
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        let io = TokioIo::new(stream);
        let peer = self.peer;
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.call(request)
        });
        let ended = if is_http2 {
            let connection = self.http2().serve_connection(io, service);
            until(connection, &self.shutdown, |connection| {
                connection.graceful_shutdown()
            })
            .await
        } else {
            let connection = self.http1().serve_connection(io, service).with_upgrades();
            until(connection, &self.shutdown, |connection| {
                connection.graceful_shutdown()
            })
            .await
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }

    fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.headers)
            .max_headers(HEADERS)
            .max_header_size(HEADER_BYTES)
            // A body is read in pieces of at most this size.
            .max_buf_size(4 * HEADER_BYTES);
        builder
    }

    fn http2(&self) -> http2::Builder<TokioExecutor> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(HEADER_BYTES).unwrap_or(u32::MAX))
            .max_concurrent_streams(STREAMS)
            // What may arrive before it is asked for, also from who is then refused.
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(2 * WINDOW)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING);
        builder
    }
}

/// Drives a connection to its end; at the shutdown it takes no further request and ends with the last one.
async fn until<C, E>(
    connection: C,
    shutdown: &CancellationToken,
    goodbye: impl FnOnce(std::pin::Pin<&mut C>),
) -> Result<(), E>
where
    C: Future<Output = Result<(), E>>,
{
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = shutdown.cancelled() => goodbye(connection.as_mut()),
    }
    connection.await
}
