//! Whether the operator lives, whether it can work, and its numbers. For the kubelet and for Prometheus, which
//! have no credential: what these tell is about the operator only.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::answer::OwnBody;
use crate::error::Failure;
use crate::state::Shared;

/// As what Prometheus knows the text.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    /// One sentence for each thing that stands in the way.
    reasons: Vec<String>,
}

/// `GET /healthz`: this process answers. What it needs of others is no reason to restart it.
pub(super) async fn show_life() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200 when work can be done, else 503; why not stands in the body.
pub(super) async fn show_readiness(State(state): State<Shared>) -> Response {
    let mut hindrances = state.readiness.hindrances();
    if let Err(error) = state.store.check().await {
        hindrances.insert("store", error.to_string());
    }
    if state.shutdown.is_cancelled() {
        hindrances.insert("operator", "is stopping".to_owned());
    }
    let reasons: Vec<_> = hindrances
        .into_iter()
        .map(|(part, reason)| format!("{part}: {reason}"))
        .collect();
    let ready = reasons.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut response = (status, Answer(Readiness { ready, reasons })).into_response();
    response.extensions_mut().insert(OwnBody);
    response
}

/// `GET /metrics`.
pub(super) async fn show_metrics(State(state): State<Shared>) -> Result<Response, Failure> {
    // Without an answer of the store the numbers of the server are still worth having.
    match state.store.summary().await {
        Ok(summary) => state.metrics.stands(summary),
        Err(error) => tracing::warn!(
            error = &error as &dyn std::error::Error,
            "tasks could not be counted"
        ),
    }
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &state.registry)
        .map_err(|_| Failure::internal())?;
    Ok(([(CONTENT_TYPE, OPENMETRICS)], text).into_response())
}
