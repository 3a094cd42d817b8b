//! As much of an apiserver as a login needs: it answers what it is told, and forwards a port.

use std::sync::{Arc, Mutex};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::Message;

/// The port on which the operator's pod listens.
pub(crate) const POD_PORT: u16 = 8443;
const HEAD: usize = 16 * 1024;

/// An apiserver.
pub(crate) struct Apiserver {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    ca: String,
    /// Where the API really is.
    api_port: u16,
    /// Whether ports may be forwarded.
    forwards: bool,
    asked: Mutex<Vec<(String, String)>>,
}

impl Apiserver {
    pub(crate) async fn new(ca: &str, api_port: u16, forwards: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            ca: ca.to_owned(),
            api_port,
            forwards,
            asked: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { url, shared }
    }

    /// Request lines without the version, and bodies.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub(crate) fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "kube-secret"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}],
        })
        .to_string()
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut head = vec![0; HEAD];
    let count = stream.peek(&mut head).await.unwrap();
    let head = String::from_utf8_lossy(&head[..count]).into_owned();
    if head.contains("/portforward?") && shared.forwards {
        forward(stream, &shared).await;
    } else {
        answer(stream, &shared).await;
    }
}

async fn answer(mut stream: TcpStream, shared: &Shared) {
    let mut request = Vec::new();
    let (head, body) = loop {
        let mut part = vec![0; HEAD];
        let count = stream.read(&mut part).await.unwrap();
        if count == 0 {
            return;
        }
        request.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= length(head)
        {
            break (head.to_owned(), body.to_owned());
        }
    };
    assert!(head.contains("authorization: Bearer kube-secret"), "{head}");
    let line = head.split(" HTTP/").next().unwrap().to_owned();
    let (status, answer) = canned(&line, &body, shared);
    shared.asked.lock().unwrap().push((line, body));
    let answer = answer.to_string();
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
}

fn length(head: &str) -> usize {
    let lines = head.lines().map(str::to_ascii_lowercase);
    lines
        .filter_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
        .next()
        .unwrap_or(0)
}

fn canned(line: &str, body: &str, shared: &Shared) -> (u16, Value) {
    let system = "/api/v1/namespaces/mooring-system";
    if line.starts_with(&format!("GET {system}/configmaps/mooring-api")) {
        let data = json!({"service": "mooring", "port": POD_PORT.to_string(), "selector": "app=mooring", "ca.crt": shared.ca});
        return (
            200,
            json!({"metadata": {"name": "mooring-api"}, "data": data}),
        );
    }
    if line.starts_with(&format!("GET {system}/pods?")) && line.contains("app%3Dmooring") {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let pod = json!({"metadata": {"name": "mooring-0"}, "spec": {"containers": []}, "status": {"conditions": ready}});
        return (200, json!({"metadata": {}, "items": [pod]}));
    }
    if line.starts_with("POST /apis/authentication.k8s.io/v1/selfsubjectreviews") {
        let user = json!({"username": "ada", "groups": ["dev", "system:authenticated"]});
        return (201, json!({"metadata": {}, "status": {"userInfo": user}}));
    }
    if line.starts_with("POST /apis/mooring.dev/v1alpha1/namespaces/mooring-system/loginrequests") {
        let mut made: Value = serde_json::from_str(body).unwrap();
        made["metadata"]["name"] = json!("login-x");
        return (201, made);
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "you may not",
        "reason": "Forbidden", "code": 403,
    });
    (403, status)
}

/// Two channels: data, and what went wrong. The first frame of each names the port.
#[expect(
    clippy::result_large_err,
    reason = "the type of the callback is that of the library"
)]
async fn forward(stream: TcpStream, shared: &Shared) {
    let accept = |request: &Request, mut response: Response| {
        shared
            .asked
            .lock()
            .unwrap()
            .push((format!("GET {}", request.uri()), String::new()));
        let protocol = HeaderValue::from_static("v4.channel.k8s.io");
        response
            .headers_mut()
            .insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let socket = accept_hdr_async(stream, accept).await.unwrap();
    let (mut out, mut frames) = socket.split();
    let port = POD_PORT.to_le_bytes();
    for channel in [0, 1] {
        let first = Message::binary(vec![channel, port[0], port[1]]);
        out.send(first).await.unwrap();
    }
    let api = TcpStream::connect(("127.0.0.1", shared.api_port))
        .await
        .unwrap();
    let (mut from_api, mut to_api) = api.into_split();
    let there = async move {
        while let Some(Ok(frame)) = frames.next().await {
            if let Message::Binary(bytes) = frame {
                assert_eq!(bytes[0], 0);
                to_api.write_all(&bytes[1..]).await.unwrap();
            }
        }
    };
    let back = async move {
        let mut bytes = vec![0; HEAD];
        while let Ok(count) = from_api.read(&mut bytes[1..]).await
            && count > 0
        {
            bytes[0] = 0;
            if out
                .send(Message::binary(bytes[..=count].to_vec()))
                .await
                .is_err()
            {
                break;
            }
        }
    };
    tokio::join!(there, back);
}
