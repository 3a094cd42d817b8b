//! An apiserver without objects, which keeps one Secret and one ConfigMap.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

/// A clone is the same.
#[derive(Clone)]
pub(crate) struct Apiserver {
    pub(crate) port: u16,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    secret: Mutex<Option<Secret>>,
    map: Mutex<Option<ConfigMap>>,
    writes: Mutex<Vec<String>>,
    is_away: AtomicBool,
    refusals: AtomicUsize,
}

impl Apiserver {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let cluster = Self {
            port: listener.local_addr().unwrap().port(),
            inner: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(cluster.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        cluster
    }

    /// Whether it answers, or is away.
    pub(crate) fn answer(&self, answers: bool) {
        self.inner.is_away.store(!answers, Ordering::SeqCst);
    }

    /// Requests while it was away.
    pub(crate) fn refusals(&self) -> usize {
        self.inner.refusals.load(Ordering::SeqCst)
    }

    /// Every request that was to change something.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.inner.writes.lock().unwrap().clone()
    }

    /// A text of the Secret, once it is there.
    pub(crate) fn secret(&self, key: &str) -> Option<String> {
        let secret = self.inner.secret.lock().unwrap();
        let value = secret.as_ref()?.data.as_ref()?[key].0.clone();
        Some(String::from_utf8(value).unwrap())
    }

    /// A text of the ConfigMap, once it is there.
    pub(crate) fn published(&self, key: &str) -> Option<String> {
        let map = self.inner.map.lock().unwrap();
        map.as_ref()?.data.as_ref()?.get(key).cloned()
    }

    /// Bytes of the Secret as they travel.
    pub(crate) fn secret_base64(&self, key: &str) -> Option<String> {
        let secret = self.inner.secret.lock().unwrap();
        let value = serde_json::to_value(&secret.as_ref()?.data.as_ref()?[key]).unwrap();
        value.as_str().map(str::to_owned)
    }
}

async fn answer(State(cluster): State<Apiserver>, request: Request) -> Response {
    let inner = &cluster.inner;
    if inner.is_away.load(Ordering::SeqCst) {
        inner.refusals.fetch_add(1, Ordering::SeqCst);
        return status(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable");
    }
    let path = request.uri().path().to_owned();
    if request.method() != Method::GET {
        inner
            .writes
            .lock()
            .unwrap()
            .push(format!("{} {path}", request.method()));
        let is_patch = request.method() == Method::PATCH;
        let body = to_bytes(request.into_body(), 1 << 20).await.unwrap();
        if is_patch {
            let map: ConfigMap = serde_json::from_slice(&body).unwrap();
            *inner.map.lock().unwrap() = Some(map.clone());
            return axum::Json(map).into_response();
        }
        let secret: Secret = serde_json::from_slice(&body).unwrap();
        *inner.secret.lock().unwrap() = Some(secret.clone());
        return (StatusCode::CREATED, axum::Json(secret)).into_response();
    }
    if path.ends_with("/secrets/mooring-installation") {
        let secret = inner.secret.lock().unwrap().clone();
        return secret.map_or_else(
            || status(StatusCode::NOT_FOUND, "NotFound"),
            |secret| axum::Json(secret).into_response(),
        );
    }
    if request
        .uri()
        .query()
        .is_some_and(|query| query.contains("watch=true"))
    {
        return Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>())
            .into_response();
    }
    // The chart has made the ConfigMap; of everything else there is nothing.
    let items: Vec<ConfigMap> = match path.ends_with("/configmaps") {
        true => vec![inner.map.lock().unwrap().clone().unwrap_or_default()],
        false => Vec::new(),
    };
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items});
    axum::Json(list).into_response()
}

fn status(code: StatusCode, reason: &str) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code.as_u16(), "reason": reason, "message": "x",
    });
    (code, axum::Json(status)).into_response()
}
