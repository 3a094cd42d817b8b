//! Calls and their answers, good and bad.

use std::sync::Arc;

use client::{Client, Error, Settings};
use protocol::limits;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// The name of a Service, which leads nowhere on this machine.
pub(crate) const SERVICE: &str = "mooring.mooring-system.svc";

pub(crate) type Ca = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn ca() -> Ca {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Answers every request with these bytes, and gives back the head of the first one.
pub(crate) async fn serve(
    ca: &Ca,
    answer: Vec<u8>,
) -> (String, tokio::sync::oneshot::Receiver<String>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned(), SERVICE.to_owned()])
        .unwrap()
        .signed_by(&key, ca)
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
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, head) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut seen = Some(seen);
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            if let Some(seen) = seen.take() {
                let _ = seen.send(String::from_utf8_lossy(&request[..count]).into_owned());
            }
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (format!("https://localhost:{port}"), head)
}

pub(crate) fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

pub(crate) fn client(api: &str, ca: &Ca) -> Client {
    let ca = ca.pem().into_bytes();
    Client::new(&Settings {
        api: api.to_owned(),
        ca,
    })
    .unwrap()
}

async fn whoami(status: &str, body: &str) -> Result<String, Error> {
    let ca = ca();
    let (api, _) = serve(&ca, http(status, body)).await;
    let token: SecretString = "mrt_secret".into();
    client(&api, &ca)
        .whoami(&token)
        .await
        .map(|answer| answer.agent)
}

#[tokio::test]
async fn an_answer_is_read_and_the_token_travels_as_bearer() {
    let ca = ca();
    let body = r#"{"agent":"a","displayName":"A","namespace":"n","task":"00000000-0000-0000-0000-000000000007","attempt":1,"subject":{"kind":"Key","name":"k"},"session":"00000000-0000-0000-0000-000000000008","scope":"Issue","verbs":[],"tokenExpires":"1970-01-01T00:00:00Z"}"#;
    let (api, head) = serve(&ca, http("200 OK", body)).await;
    let token: SecretString = "mrt_secret".into();
    let answer = client(&api, &ca).whoami(&token).await.unwrap();
    assert_eq!(answer.agent, "a");
    let head = head.await.unwrap();
    assert!(
        head.starts_with("GET /api/v1/whoami HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("authorization: Bearer mrt_secret\r\n"),
        "{head}"
    );
}

#[tokio::test]
async fn a_refusal_carries_the_words_of_the_api() {
    let body =
        r#"{"error":{"code":"unauthenticated","message":"The task has ended.","requestId":"r1"}}"#;
    let error = whoami("401 Unauthorized", body).await.unwrap_err();
    assert_eq!(error.code(), Some("unauthenticated"));
    assert!(!error.retry());
    assert_eq!(
        error.to_string(),
        "The task has ended. (unauthenticated, request r1)"
    );
}

#[tokio::test]
async fn what_may_be_tried_again() {
    for (status, retry) in [
        ("503 Service Unavailable", true),
        ("429 Too Many Requests", true),
        ("404 Not Found", false),
        ("302 Found", false),
    ] {
        let error = whoami(status, "<html>").await.unwrap_err();
        assert_eq!(error.retry(), retry, "{error:?}");
        let number = &status[..3];
        assert_eq!(error.code(), Some(format!("http{number}").as_str()));
    }
    assert!(matches!(
        whoami("200 OK", "<html>").await,
        Err(Error::Malformed(_))
    ));
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let body = " ".repeat(limits::BODY_BYTES + 1);
    assert!(matches!(
        whoami("200 OK", &body).await,
        Err(Error::TooLong { .. })
    ));
}

#[tokio::test]
async fn another_ca_is_not_trusted() {
    let (api, _) = serve(&ca(), http("200 OK", "{}")).await;
    let error = client(&api, &ca()).whoami(&"x".into()).await.unwrap_err();
    assert!(matches!(error, Error::Connection(_)), "{error:?}");
    assert!(error.retry());
}

#[test]
fn wrong_settings_say_what_is_wrong() {
    let pem = ca().pem().into_bytes();
    let cases = [
        (
            "http://localhost:1",
            pem.clone(),
            "must be https://host:port",
        ),
        ("nonsense", pem, "must be https://host:port"),
        (
            "https://localhost:1",
            b"nonsense".to_vec(),
            "there is none in it",
        ),
    ];
    for (api, ca, wanted) in cases {
        let error = Client::new(&Settings {
            api: api.to_owned(),
            ca,
        })
        .unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
