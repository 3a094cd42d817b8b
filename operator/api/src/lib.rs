//! The server for runners and agents: HTTP/1.1 and HTTP/2 over TLS.
//!
//! [`router`] holds the routes and can be called directly; [`serve`] gives it connections. Who may do what is
//! decided by the first argument of a handler, every failure has one shape, and a request is held by changes
//! of the store, never by asking again and again.

mod answer;
mod auth;
mod board;
mod body;
mod conversation;
mod error;
mod held;
mod limits;
mod live;
mod metrics;
mod once;
mod package;
mod people;
mod readiness;
mod recent;
mod reviews;
mod rights;
mod routes;
mod serve;
mod signed;
mod state;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use protocol::{bound, redact};

pub use limits::Limits;
pub use people::{Action, Authority, AuthorityError, PendingLogin, Person};
pub use readiness::Readiness;
pub use serve::{Tls, serve, server_config};
pub use state::{ApiState, Definitions, Mode, Now, Parts};

/// The routes.
pub fn router(state: ApiState) -> Router {
    let ApiState(state) = state;
    routes::all()
        .layer(from_fn_with_state(Arc::clone(&state), answer::shape))
        .with_state(state)
}
