//! Over TLS with a CA of its own, from outside.

use std::sync::Arc;
use std::time::Duration;

use api::Limits;
use protocol::runner::{ControlQuery, EventsRequest, FinishRequest, OpenRequest};
use protocol::{Event, EventBody, Outcome, Resumed, TaskResult};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use reqwest::{Certificate, Client, Version};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::bed::{Bed, DEADLINE, NONCE, on_sqlite};

/// A CA and what it signs.
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    pub(crate) fn server(&self, name: &str) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Arc::new(api::server_config(vec![certificate.der().clone()], key).unwrap())
    }
}

/// A server on a port of its own.
pub(crate) struct Server {
    pub(crate) authority: Authority,
    pub(crate) tls: watch::Sender<Arc<ServerConfig>>,
    pub(crate) port: u16,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(bed: &Bed) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Authority::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tls, current) = watch::channel(authority.server("localhost"));
        let task = tokio::spawn(api::serve(listener, current, bed.state.clone()));
        Self {
            authority,
            tls,
            port,
            task,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    pub(crate) fn client(
        &self,
        change: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Client {
        let ca = Certificate::from_pem(self.authority.pem.as_bytes()).unwrap();
        let builder = Client::builder()
            .tls_certs_only([ca])
            .timeout(DEADLINE)
            .no_proxy();
        change(builder).build().unwrap()
    }

    pub(crate) fn http1(&self) -> Client {
        self.client(|builder| builder.http1_only())
    }

    pub(crate) fn http2(&self) -> Client {
        self.client(|builder| builder)
    }

    /// Ends within the time that it gives its connections.
    pub(crate) async fn stop(self, bed: &Bed) {
        bed.shutdown.cancel();
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("an end in time")
            .unwrap()
            .unwrap();
    }
}

#[tokio::test]
async fn a_whole_life_over_both_versions() {
    on_sqlite(async |bed: Bed| {
        let server = Server::start(&bed).await;
        for (client, version) in [(server.http1(), Version::HTTP_11), (server.http2(), Version::HTTP_2)] {
            let attempt = bed.claimed(&format!("{version:?}")).await;
            let token = bed.token(attempt).await;
            let post = async |route: &str, credential: &str, body: Value| {
                let request = client.post(server.url(&format!("/api/v1/runner/{route}")));
                let answer = request.bearer_auth(credential).json(&body).send().await.unwrap();
                assert_eq!((answer.status().as_u16(), answer.version()), (200, version), "{route}");
                answer.json::<Value>().await.unwrap()
            };
            let opened = post("open", &token, json!({"nonce": NONCE, "wireVersion": 1})).await;
            let credential = opened["credential"].as_str().unwrap();
            post("started", credential, json!({})).await;
            let event = json!({"seq": 1, "at": "2027-01-15T08:00:00Z", "type": "text", "content": "x"});
            post("events", credential, json!({"events": [event]})).await;
            let whoami = async || client.get(server.url("/api/v1/whoami")).bearer_auth(&token).send().await.unwrap();
            assert_eq!(whoami().await.status(), 200);
            let resumed = serde_json::to_value(protocol::Resumed::unknown("first run")).unwrap();
            let result = json!({"outcome": {"outcome": "succeeded"}, "durationMs": 1, "resumed": resumed, "lastSeq": 1});
            post("finish", credential, json!({"result": result})).await;
            assert_eq!(whoami().await.status(), 401);
        }
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn the_typed_client_lives_a_whole_life() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with(|parts| parts.limits.control_hold = Duration::ZERO);
        let server = Server::start(&bed).await;
        let settings = client::Settings {
            api: server.url(""),
            ca: server.authority.pem.clone().into_bytes(),
        };
        let client = client::Client::new(&settings).unwrap();
        let attempt = bed.claimed("hello").await;
        let token = bed.token(attempt).await.into();
        let request = OpenRequest {
            nonce: NONCE.to_owned(),
            wire_version: protocol::WIRE_VERSION,
        };
        let opened = client.open(&token, &request).await.unwrap();
        assert_eq!(
            (opened.package.attempt, opened.package.prompt.as_str()),
            (attempt, "Do it.")
        );
        let credential = opened.credential.into();
        client.started(&credential).await.unwrap();
        assert_eq!(
            client.whoami(&token).await.unwrap().display_name,
            "Reviewer"
        );
        assert_eq!(
            client.task(&token, attempt.task).await.unwrap().prompt,
            "Do it."
        );
        let body = EventBody::Text {
            content: "x".to_owned(),
        };
        let events = vec![Event {
            seq: 1,
            at: bed.now(),
            body,
        }];
        let taken = client
            .events(
                &credential,
                &EventsRequest {
                    events: events.clone(),
                },
            )
            .await
            .unwrap();
        assert_eq!((taken.acknowledged, taken.left_out), (1, 0));
        assert_eq!(
            bed.store.timeline(attempt.task, 0, 9).await.unwrap()[0].event,
            events[0]
        );
        let commands = client
            .control(&credential, ControlQuery { after: 0 })
            .await
            .unwrap()
            .commands;
        assert_eq!(commands, []);
        let result = TaskResult {
            outcome: Outcome::Succeeded,
            output: "done".to_owned(),
            duration_ms: 1,
            provider_session: None,
            retired_sessions: Vec::new(),
            resumed: Resumed::unknown("first run"),
            usage: std::collections::BTreeMap::new(),
            last_seq: 1,
        };
        assert!(
            client
                .finish(
                    &credential,
                    &FinishRequest {
                        result: result.clone()
                    }
                )
                .await
                .unwrap()
                .decided
        );
        assert_eq!(
            bed.task(attempt.task)
                .await
                .verdict
                .unwrap()
                .result
                .as_deref(),
            Some(&result)
        );
        let refused = client.whoami(&token).await.unwrap_err();
        assert!(refused.to_string().contains("unauthenticated"), "{refused}");
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_with_another_ca_does_not_speak_to_it() {
    on_sqlite(async |bed: Bed| {
        let server = Server::start(&bed).await;
        let other = Certificate::from_pem(Authority::new().pem.as_bytes()).unwrap();
        let client = Client::builder()
            .tls_certs_only([other])
            .timeout(DEADLINE)
            .no_proxy()
            .build()
            .unwrap();
        assert!(
            client
                .get(server.url("/healthz"))
                .send()
                .await
                .unwrap_err()
                .is_connect()
        );
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn a_renewed_certificate_counts_for_new_connections() {
    on_sqlite(async |bed: Bed| {
        let server = Server::start(&bed).await;
        let (before, after) = (server.http2(), server.http2());
        let status = async |client: &Client| {
            client
                .get(server.url("/healthz"))
                .send()
                .await
                .map(|answer| answer.status().as_u16())
        };
        assert_eq!(status(&before).await.unwrap(), 200);
        // For another name, so that it shows which one is used.
        server
            .tls
            .send(server.authority.server("elsewhere"))
            .unwrap();
        assert!(status(&after).await.is_err());
        assert_eq!(
            status(&before).await.unwrap(),
            200,
            "a connection that stands goes on"
        );
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with_limits(Limits {
            connections: 2,
            refusals: 8,
            ..Limits::default()
        });
        let server = Server::start(&bed).await;
        let status = async |client: &Client| {
            client
                .get(server.url("/healthz"))
                .send()
                .await
                .unwrap()
                .status()
                .as_u16()
        };
        let (first, second) = (server.http1(), server.http2());
        assert_eq!((status(&first).await, status(&second).await), (200, 200));
        for client in [server.http1(), server.http2()] {
            let answer = client
                .get(server.url("/api/v1/whoami"))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 503);
            let mut body: Value = answer.json().await.unwrap();
            body["error"]["requestId"] = "[id]".into();
            insta::assert_json_snapshot!("too_many_connections", body);
        }
        // Those that are served notice nothing, and a place that is given back is taken again.
        assert_eq!((status(&first).await, status(&second).await), (200, 200));
        drop(first);
        let deadline = std::time::Instant::now() + DEADLINE;
        while status(&server.http1()).await != 200 {
            assert!(
                std::time::Instant::now() < deadline,
                "the place never came back"
            );
            tokio::task::yield_now().await;
        }
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn one_address_cannot_take_every_place() {
    on_sqlite(async |bed: Bed| {
        let bed = bed.with_limits(Limits {
            connections_per_address: 2,
            ..Limits::default()
        });
        let server = Server::start(&bed).await;
        let status = async |client: &Client| {
            let answer = client.get(server.url("/healthz")).send().await.unwrap();
            answer.status().as_u16()
        };
        let (first, second) = (server.http1(), server.http2());
        assert_eq!((status(&first).await, status(&second).await), (200, 200));
        assert_eq!(status(&server.http1()).await, 503);
        let address = std::net::IpAddr::from([127, 0, 0, 2]);
        let other = server.client(|builder| builder.local_address(address));
        assert_eq!(status(&other).await, 200);
        drop(first);
        let deadline = std::time::Instant::now() + DEADLINE;
        while status(&server.http1()).await != 200 {
            assert!(
                std::time::Instant::now() < deadline,
                "the place never came back"
            );
            tokio::task::yield_now().await;
        }
        server.stop(&bed).await;
    })
    .await;
}

#[tokio::test]
async fn it_stops_orderly_and_soon() {
    on_sqlite(async |bed: Bed| {
        let limits = Limits {
            control_hold: Duration::from_secs(3600),
            goodbye: DEADLINE,
            ..Limits::default()
        };
        let bed = bed.with_limits(limits);
        let server = Server::start(&bed).await;
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let held: Vec<_> = [server.http1(), server.http2()]
            .into_iter()
            .map(|client| {
                let request = client
                    .get(server.url("/api/v1/runner/control?after=0"))
                    .bearer_auth(&credential);
                tokio::spawn(
                    async move { request.send().await.unwrap().json::<Value>().await.unwrap() },
                )
            })
            .collect();
        let deadline = std::time::Instant::now() + DEADLINE;
        while !bed
            .get("/metrics", "")
            .await
            .text
            .contains("mooring_api_held_requests 2\n")
        {
            assert!(std::time::Instant::now() < deadline, "never held");
            tokio::task::yield_now().await;
        }
        let port = server.port;
        let begun = std::time::Instant::now();
        server.stop(&bed).await;
        assert!(
            begun.elapsed() < limits.goodbye,
            "connections had to be cut"
        );
        for request in held {
            assert_eq!(request.await.unwrap(), json!({"commands": []}));
        }
        assert!(
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_err()
        );
    })
    .await;
}
