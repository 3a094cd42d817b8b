//! The routes. Under `/api/v1` only handlers that begin with a [`Caller`] are taken: the compiler says so.

mod again;
mod agent;
mod agents;
mod approvals;
mod attachments;
mod board;
mod chats;
mod comments;
mod defined;
mod explain;
mod health;
mod hooks;
mod inbox;
mod issues;
mod login;
mod look;
mod projects;
mod quick;
mod runner;
mod runs;
mod search;
mod skills;
mod subscribers;
mod teams;
mod tokens;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};

use crate::auth::Caller;
use crate::error::Failure;
use crate::state::Shared;

pub(crate) use runs::{item, run_for as run_of};

/// The one route whose requests are held.
pub(crate) const CONTROL: &str = "/api/v1/runner/control";

/// All routes, without what wraps them.
pub(crate) fn all() -> Router<Shared> {
    let known = Router::new()
        .route("/api/v1/runner/open", post(runner::open_package))
        .route("/api/v1/runner/started", post(runner::report_started))
        .route("/api/v1/runner/events", post(runner::append_events))
        .route("/api/v1/runner/texts", post(runner::keep_text))
        .route("/api/v1/runner/raw", post(runner::keep_raw))
        .route("/api/v1/runner/steered", post(runner::report_steered))
        .route("/api/v1/runner/approvals", post(approvals::ask))
        .route("/api/v1/runner/approvals/settle", post(approvals::settle))
        .route(CONTROL, get(runner::await_commands))
        .route("/api/v1/runner/finish", post(runner::finish_attempt))
        .route("/api/v1/login", post(login::log_in))
        .route("/api/v1/tokens", get(tokens::list_tokens))
        .route("/api/v1/tokens", post(tokens::mint_token))
        .route("/api/v1/tokens/{id}", delete(tokens::revoke_token))
        .route("/api/v1/whoami", get(tokens::show_caller))
        .route("/api/v1/tasks/{id}", get(agent::get_task))
        // Outside of /api/v1: who calls has no credential, but has signed what it sends.
        .route(
            "/hooks/{namespace}/{name}",
            routing::post(hooks::take_delivery),
        )
        .route("/healthz", routing::get(health::show_life))
        .route("/readyz", routing::get(health::show_readiness))
        .route("/metrics", routing::get(health::show_metrics));
    known
        .merge(board::all())
        .fallback(async || Failure::not_found())
        .method_not_allowed_fallback(async || Failure::method_not_allowed())
}

/// The arguments of a handler, of which the first says who calls.
trait Authorised {}

impl<M, C: Caller> Authorised for (M, C) {}
impl<M, C: Caller, A> Authorised for (M, C, A) {}
impl<M, C: Caller, A, B> Authorised for (M, C, A, B) {}
impl<M, C: Caller, A, B, D> Authorised for (M, C, A, B, D) {}

fn get<H, A>(handler: H) -> MethodRouter<Shared>
where
    H: Handler<A, Shared>,
    A: Authorised + 'static,
{
    routing::get(handler)
}

fn post<H, A>(handler: H) -> MethodRouter<Shared>
where
    H: Handler<A, Shared>,
    A: Authorised + 'static,
{
    routing::post(handler)
}

fn patch<H, A>(handler: H) -> MethodRouter<Shared>
where
    H: Handler<A, Shared>,
    A: Authorised + 'static,
{
    routing::patch(handler)
}

fn delete<H, A>(handler: H) -> MethodRouter<Shared>
where
    H: Handler<A, Shared>,
    A: Authorised + 'static,
{
    routing::delete(handler)
}
