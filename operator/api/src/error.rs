//! The one shape of a failure, and how faults of the store become one.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use protocol::{ErrorBody, ErrorDetail, bound, code, limits, redact};
use uuid::Uuid;

/// Bytes of a caller's own word that a message repeats.
const NAMED_BYTES: usize = 200;

use crate::people::AuthorityError;

/// A request that is not answered with what it asked for.
///
/// It travels as an extension of an empty response; [`crate::answer`] gives it its body, since only that
/// knows the request's id, and writes the cause into the log.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
    /// For the log only.
    pub(crate) cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            cause: None,
        }
    }

    fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// The body or the query is not what the route takes.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, message)
    }

    /// Nobody we know. Says nothing about why, since a caller who guesses must not learn.
    pub(crate) fn unauthenticated() -> Self {
        const MESSAGE: &str =
            "the credential is missing, unknown, expired, or of a task that has ended";
        Self::new(StatusCode::UNAUTHORIZED, code::UNAUTHENTICATED, MESSAGE)
    }

    /// Somebody we know, but not for this.
    pub(crate) fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message)
    }

    pub(crate) fn not_found() -> Self {
        const MESSAGE: &str = "there is nothing here, or nothing that this credential may see";
        Self::new(StatusCode::NOT_FOUND, code::NOT_FOUND, MESSAGE)
    }

    /// A cursor that no page of this list gave.
    pub(crate) fn wrong_cursor() -> Self {
        Self::invalid("cursor: no page gave it: leave it out to begin with the first page")
    }

    /// What a write on the board says: which of the things that it names is not there, or what stands against it.
    pub(crate) fn of_write(error: store::Error) -> Self {
        // The words may be the caller's own.
        let repeated = |what: &str| {
            let mut what = redact::patterns(what);
            bound::cut(&mut what, NAMED_BYTES);
            what
        };
        if let store::Error::Missing { what } = &error {
            let message = format!(
                "there is no {}, or none that this credential may see",
                repeated(what)
            );
            return Self::new(StatusCode::NOT_FOUND, code::NOT_FOUND, message).because(error);
        }
        if let store::Error::Conflict { what } = &error {
            return Self::wrong_state(repeated(what)).because(error);
        }
        error.into()
    }

    /// Somebody has changed it since the caller read it.
    fn other_revision(present: u32) -> Self {
        let message = format!(
            "it was changed since you read it: its revision is {present} now; read it again, and write with that one"
        );
        Self::new(StatusCode::CONFLICT, code::REVISION, message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        const MESSAGE: &str =
            "this route does not know the method; the header Allow names those that it knows";
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            code::METHOD_NOT_ALLOWED,
            MESSAGE,
        )
    }

    pub(crate) fn already_open() -> Self {
        const MESSAGE: &str =
            "the package was opened with another nonce: an attempt has one runner";
        Self::new(StatusCode::CONFLICT, code::ALREADY_OPEN, MESSAGE)
    }

    pub(crate) fn wrong_state(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, code::WRONG_STATE, message)
    }

    pub(crate) fn event_gap(expected: u64) -> Self {
        let message = format!("events are missing: the next one to send is number {expected}");
        Self::new(StatusCode::CONFLICT, code::EVENT_GAP, message)
    }

    pub(crate) fn body_too_large(most: usize) -> Self {
        let message = format!("the body is larger than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code::BODY_TOO_LARGE, message)
    }

    pub(crate) fn batch_too_large() -> Self {
        let message = format!("the batch holds more than {} events", limits::BATCH_EVENTS);
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            code::BATCH_TOO_LARGE,
            message,
        )
    }

    pub(crate) fn event_too_large(seq: u64) -> Self {
        let message = format!(
            "event {seq} is larger than {} bytes: cut it into several",
            limits::EVENT_BYTES
        );
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            code::EVENT_TOO_LARGE,
            message,
        )
    }

    pub(crate) fn wire_version(given: u32) -> Self {
        let message = format!(
            "wire version {given} is not spoken here, but 1 to {}: use a runner of the operator's release",
            protocol::WIRE_VERSION
        );
        Self::new(StatusCode::UPGRADE_REQUIRED, code::WIRE_VERSION, message)
    }

    pub(crate) fn too_many_requests(most: usize) -> Self {
        let message =
            format!("{most} such requests are being answered: try again when one of them is done");
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            code::TOO_MANY_REQUESTS,
            message,
        )
    }

    pub(crate) fn too_many_connections() -> Self {
        const MESSAGE: &str = "the server has as many connections as it can take; try again later";
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            code::TOO_MANY_CONNECTIONS,
            MESSAGE,
        )
    }

    /// Says nothing about which of them it is, as [`Failure::unauthenticated`].
    pub(crate) fn login_refused() -> Self {
        const MESSAGE: &str = "the LoginRequest is unknown, older than five minutes or used already, or the nonce is not its own: make a new one (moor login)";
        Self::new(StatusCode::UNAUTHORIZED, code::UNAUTHENTICATED, MESSAGE)
    }

    pub(crate) fn cluster_away() -> Self {
        Self::unavailable("the cluster does not answer; try again later")
    }

    /// Nothing is wrong with the request; the same one may be answered later.
    pub(crate) fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code::UNAVAILABLE, message)
    }

    pub(crate) fn internal() -> Self {
        const MESSAGE: &str =
            "something is wrong here; the operator's log has it under the request id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, code::INTERNAL, MESSAGE)
    }

    /// A response that did not come from a [`Failure`], by its status: what the router or the library says.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::not_found(),
            StatusCode::METHOD_NOT_ALLOWED => Self::method_not_allowed(),
            status if status.is_client_error() => Self {
                status,
                ..Self::invalid("the request is not what the route takes")
            },
            _ => Self::internal(),
        }
    }

    /// The body on the wire.
    pub(crate) fn body(&self, request: Uuid) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail {
                code: self.code.to_owned(),
                message: self.message.to_string(),
                request_id: request.to_string(),
            },
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<AuthorityError> for Failure {
    fn from(error: AuthorityError) -> Self {
        let failure = match &error {
            AuthorityError::Unavailable { .. } => Self::cluster_away(),
            AuthorityError::Closed(why) => Self::unavailable(why.clone()),
        };
        failure.because(error)
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        use store::Error as E;
        let failure = match &error {
            E::Unavailable { .. } | E::Injected { .. } | E::Locked { .. } => {
                Self::unavailable("the store does not answer; try again later")
            }
            // Later, since the caller's work is not lost: somebody may bring the store back.
            E::Lost { .. } | E::ReadOnly => {
                Self::unavailable("the store takes no writes; try again later")
            }
            E::Conflict { .. } => {
                Self::wrong_state("the task is not in a state in which this can be done")
            }
            E::Full { .. } => Self::wrong_state(error.to_string()),
            E::Missing { .. } => Self::not_found(),
            E::Revision { present } => Self::other_revision(*present),
            // The caller sent what no row can hold.
            E::Invalid { what, why } => Self::invalid(format!("{what}: {why}")),
            E::Corrupt { .. }
            | E::NetworkFileSystem { .. }
            | E::File { .. }
            | E::Migrate(_)
            | E::Address(_) => Self::internal(),
        };
        failure.because(error)
    }
}
