//! An apiserver that knows the objects a test gives it, and writes down what it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// Status and body by method and path.
type Answers = HashMap<(Method, String), (u16, Value)>;

/// A clone is the same.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    answers: Arc<Mutex<Answers>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Scripted {
    /// Answers a method on a path with its query.
    pub(crate) fn answer(&self, method: Method, path: &str, status: u16, body: Value) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert((method, path.to_owned()), (status, body));
    }

    /// Forgets what is at a path.
    pub(crate) fn remove(&self, path: &str) {
        self.answers
            .lock()
            .unwrap()
            .remove(&(Method::GET, path.to_owned()));
    }

    /// Method and path of each request so far, with its body.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> Client {
        let scripted = self.clone();
        let service = tower::service_fn(move |request| scripted.clone().handle(request));
        Client::new(service, "mooring-system")
    }

    async fn handle(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let method = request.method().clone();
        let path = request.uri().to_string();
        let body = request.into_body().collect_bytes().await.unwrap();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        self.asked
            .lock()
            .unwrap()
            .push((format!("{method} {path}"), body));
        let answers = self.answers.lock().unwrap();
        let (status, body) = answers
            .get(&(method, path))
            .cloned()
            .unwrap_or_else(|| (404, failure(404, "NotFound")));
        let status = StatusCode::from_u16(status).unwrap();
        let body = body.to_string().into_bytes();
        Ok(Response::builder()
            .status(status)
            .body(body.into())
            .unwrap())
    }
}

/// A failure in the apiserver's form.
pub(crate) fn failure(code: u16, reason: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": "x",
    })
}
