//! What every answer has: a request id, one shape where it is a failure, a line in the log, a count.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderName, Method, StatusCode, Version};
use uuid::Uuid;

use crate::error::Failure;
use crate::state::Shared;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NO_ROUTE: &str = "none";

/// Extension of an answer that is no failure whatever its status: its body stays.
#[derive(Clone, Copy)]
pub(crate) struct OwnBody;

/// Wraps all routes.
pub(crate) async fn shape(State(state): State<Shared>, request: Request, next: Next) -> Response {
    // Ours, never the caller's: it stands in our log.
    let id = Uuid::now_v7();
    let begun = Instant::now();
    let method = request.method().clone();
    // The pattern, not the path: a caller may put anything into that.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let response = next.run(request).await;
    let took = begun.elapsed();
    state
        .metrics
        .answered(&method, route, response.status(), took);
    let (status, duration_ms) = (response.status().as_u16(), took.as_millis());
    let response = finish(response, id, &method, route);
    tracing::debug!(request.id = %id, %method, route, status, duration_ms, "answered a request");
    response
}

/// Answers every request of a connection that is one too many.
pub(crate) async fn refuse(request: Request) -> Response {
    let id = Uuid::now_v7();
    let mut response = finish(
        Failure::too_many_connections().into_response(),
        id,
        request.method(),
        NO_ROUTE,
    );
    if request.version() < Version::HTTP_2 {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn finish(mut response: Response, id: Uuid, method: &Method, route: &str) -> Response {
    let status = response.status();
    let is_failure = status.is_client_error() || status.is_server_error();
    if is_failure && response.extensions().get::<OwnBody>().is_none() {
        let spoken = response.extensions_mut().remove::<Failure>();
        let failure = spoken.unwrap_or_else(|| Failure::of_status(status));
        log(&failure, id, method, route);
        response = render(&failure, id, &response);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        headers.insert(REQUEST_ID, value);
    }
    // Answers carry credentials, and none of them is true for long.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn render(failure: &Failure, id: Uuid, from: &Response) -> Response {
    let mut response = (failure.status, axum::Json(failure.body(id))).into_response();
    if let Some(allow) = from.headers().get(ALLOW) {
        response.headers_mut().insert(ALLOW, allow.clone());
    }
    if failure.status == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn log(failure: &Failure, id: Uuid, method: &Method, route: &str) {
    let cause = failure
        .cause
        .as_deref()
        .map(|cause| cause as &dyn std::error::Error);
    let (status, code) = (failure.status.as_u16(), failure.code);
    if failure.status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(request.id = %id, %method, route, status, code, cause, "a request failed");
    } else if failure.status.is_server_error() {
        tracing::warn!(request.id = %id, %method, route, status, code, cause, "a request has to be made again");
    } else {
        tracing::debug!(request.id = %id, %method, route, status, code, cause, "a request was refused");
    }
}
