//! Callers who do not keep to the protocols below ours.

use std::sync::Arc;
use std::time::Duration;

use api::Limits;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::bed::{Bed, DEADLINE, on_sqlite};
use crate::tls::Server;

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port))
        .await
        .unwrap()
}

/// A connection past its handshake, which spoke of this protocol.
async fn secured(server: &Server, protocol: &[u8]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(server.authority.der.clone()).unwrap();
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = "localhost".try_into().unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, connect(server).await)
        .await
        .unwrap()
}

/// Everything that comes until the other side ends it, be it by breaking off.
async fn rest(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes))
        .await
        .expect("an end in time");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn is_well(server: &Server) {
    assert_eq!(
        server
            .http2()
            .get(server.url("/healthz"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}

/// Soon, but later than a busy machine takes to shake hands.
fn short() -> Limits {
    let soon = Duration::from_secs(2);
    Limits {
        handshake: soon,
        headers: soon,
        ..Limits::default()
    }
}

#[tokio::test]
async fn who_is_silent_is_not_waited_for() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with_limits(short());
        let server = Server::start(&bed).await;
        // Before the handshake, in its midst, after it, and in the midst of the headers.
        assert_eq!(rest(&mut connect(&server).await).await, "");
        let mut stream = connect(&server).await;
        stream
            .write_all(&[0x16, 0x03, 0x01, 0x02, 0x00])
            .await
            .unwrap();
        rest(&mut stream).await;
        assert_eq!(rest(&mut secured(&server, b"http/1.1").await).await, "");
        let mut stream = secured(&server, b"http/1.1").await;
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n")
            .await
            .unwrap();
        let told = rest(&mut stream).await;
        assert!(
            told.is_empty() || told.starts_with("HTTP/1.1 408"),
            "{told}"
        );
        is_well(&server).await;
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn who_writes_a_byte_at_a_time_is_not_waited_for() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with_limits(short());
        let server = Server::start(&bed).await;
        let (mut reader, mut writer) = tokio::io::split(secured(&server, b"http/1.1").await);
        let drip = tokio::spawn(async move {
            writer
                .write_all(b"GET /healthz HTTP/1.1\r\nx: ")
                .await
                .unwrap();
            let mut tick = tokio::time::interval(Duration::from_millis(10));
            while writer.write_all(b"x").await.is_ok() && writer.flush().await.is_ok() {
                tick.tick().await;
            }
        });
        rest(&mut reader).await;
        drip.abort();
        is_well(&server).await;
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with_limits(Limits {
            body: Duration::from_millis(150),
            ..Limits::default()
        });
        let server = Server::start(&bed).await;
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let mut stream = secured(&server, b"http/1.1").await;
        let request = format!(
            "POST /api/v1/runner/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {credential}\r\ncontent-length: 9\r\n\r\n{{"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let told = rest(&mut stream).await;
        assert!(told.starts_with("HTTP/1.1 400") && told.contains("did not arrive in time"), "{told}");
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn headers_have_a_size() {
    on_sqlite(async |bed: Bed| {
        let server = Server::start(&bed).await;
        let large = format!("x: {}\r\n", "x".repeat(32 * 1024));
        let many = "x: y\r\n".repeat(100);
        for headers in [large, many] {
            let mut stream = secured(&server, b"http/1.1").await;
            // The other side may end the connection before everything is written.
            let _ = stream
                .write_all(format!("GET /healthz HTTP/1.1\r\n{headers}\r\n").as_bytes())
                .await;
            let told = rest(&mut stream).await;
            assert!(told.starts_with("HTTP/1.1 431"), "{told}");
        }
        let client = server.http2();
        let large = client
            .get(server.url("/healthz"))
            .header("x-large", "x".repeat(32 * 1024))
            .send()
            .await;
        assert!(
            large.as_ref().map_or(true, |answer| answer.status() == 431),
            "{large:?}"
        );
        is_well(&server).await;
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn garbage_harms_nobody() {
    on_sqlite(async |bed: Bed| {
        let server = Server::start(&bed).await;
        let mut stream = connect(&server).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(!rest(&mut stream).await.contains("200"));
        let mut stream = secured(&server, b"http/1.1").await;
        stream.write_all(b"\0\x01\xff garbage\r\n\r\n").await.unwrap();
        let told = rest(&mut stream).await;
        assert!(told.starts_with("HTTP/1.1 400"), "{told}");
        let mut stream = secured(&server, b"h2").await;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff").await.unwrap();
        rest(&mut stream).await;
        // Two lengths that contradict each other smuggle nothing.
        let mut stream = secured(&server, b"http/1.1").await;
        let smuggled = b"POST /api/v1/runner/events HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx";
        stream.write_all(smuggled).await.unwrap();
        assert!(rest(&mut stream).await.starts_with("HTTP/1.1 400"));
        is_well(&server).await;
        server.stop(&bed).await;
    })
    .await;
}
