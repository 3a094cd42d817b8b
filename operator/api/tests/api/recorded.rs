//! What a pod is sent, byte for byte: a proxy that ends TLS stands between the server and the client that runner and
//! agent use.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Client, Settings, Workspace};
use protocol::board::{CommentQuery, IssueKey};
use protocol::runner::{ControlQuery, EventsRequest, OpenRequest};
use protocol::{Event, EventBody, WIRE_VERSION};
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::bed::{NONCE, both};
use crate::board::{Voice, text};
use crate::tls::Server;
use crate::woken::{DESCRIPTION, woken};

const HISTORY: &str = "what was said in another thread";

/// All that was sent to whoever is behind it.
struct Recorder {
    port: u16,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(server.authority.server("localhost"));
        let mut roots = RootCertStore::empty();
        roots.add(server.authority.der.clone()).unwrap();
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let sent = Arc::<Mutex<Vec<u8>>>::default();
        let (record, api) = (Arc::clone(&sent), server.port);
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                let here = acceptor.accept(here).await.unwrap();
                let there = TcpStream::connect(("127.0.0.1", api)).await.unwrap();
                let name = "localhost".try_into().unwrap();
                let there = connector.connect(name, there).await.unwrap();
                let (up, to_pod) = tokio::io::split(here);
                let (down, to_api) = tokio::io::split(there);
                tokio::spawn(carry(up, to_api, Arc::default()));
                tokio::spawn(carry(down, to_pod, Arc::clone(&record)));
            }
        });
        Self { port, sent }
    }

    fn has_sent(&self, words: &str) -> bool {
        let sent = self.sent.lock().unwrap();
        sent.windows(words.len())
            .any(|part| part == words.as_bytes())
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    record: Arc<Mutex<Vec<u8>>>,
) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut part).await {
        record.lock().unwrap().extend_from_slice(&part[..count]);
        if to.write_all(&part[..count]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

both! {
    async fn a_description_is_sent_to_no_pod_before_it_is_asked_for(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.control_hold = Duration::ZERO);
        let ada = Voice::person(&bed, "ada").await;
        let (issue, comment, attempt) = woken(&bed, &ada).await;
        ada.comment(&issue, HISTORY).await;
        let server = Server::start(&bed).await;
        let proxy = Recorder::start(&server).await;
        let settings = Settings {
            api: format!("https://localhost:{}", proxy.port),
            ca: server.authority.pem.clone().into_bytes(),
        };
        let client = Client::new(&settings).unwrap();
        let token = SecretString::from(bed.token(attempt).await);
        // As the runner does.
        let asking = OpenRequest { nonce: NONCE.to_owned(), wire_version: WIRE_VERSION };
        let opened = client.open(&token, &asking).await.unwrap();
        assert_eq!(opened.package.attempt, attempt);
        let credential = opened.credential.into();
        client.started(&credential).await.unwrap();
        let body = EventBody::Text { content: "I look around.".to_owned() };
        let events = EventsRequest { events: vec![Event { seq: 1, at: bed.now(), body }] };
        client.events(&credential, &events).await.unwrap();
        client.control(&credential, ControlQuery { after: 0 }).await.unwrap();
        // As `moor` does that looks who it is.
        client.whoami(&token).await.unwrap();
        client.task(&token, attempt.task).await.unwrap();
        assert!(proxy.has_sent(&text(&comment["id"])), "nothing went through it");
        assert!(!proxy.has_sent(DESCRIPTION) && !proxy.has_sent(HISTORY));
        // `moor issue get`, and then `moor comment list`.
        let workspace = Workspace::own();
        let board = client.board(&token, &workspace);
        let key: IssueKey = issue.parse().unwrap();
        assert_eq!(board.issue(&key).await.unwrap().description, DESCRIPTION);
        assert!(proxy.has_sent(DESCRIPTION) && !proxy.has_sent(HISTORY));
        board.comments(&key, &CommentQuery::default()).await.unwrap();
        assert!(proxy.has_sent(HISTORY));
        server.stop(&bed).await;
    }
}
