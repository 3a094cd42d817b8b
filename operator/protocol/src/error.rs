//! The one shape of a failure on the wire.

use serde::{Deserialize, Serialize};

/// `{"error": {"code", "message", "requestId"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The failure.
    pub error: ErrorDetail,
}

/// What went wrong, for the caller. The cause is in the operator's log, under the request id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDetail {
    /// A constant of [`code`].
    pub code: String,
    /// What was wrong and what to do.
    pub message: String,
    /// Finds the request in the log.
    pub request_id: String,
}

/// The codes of failures. They are part of the protocol and never change their meaning.
pub mod code {
    /// 400: the body is not what the route takes.
    pub const INVALID_REQUEST: &str = "invalidRequest";
    /// 401: no credential, or one that is unknown, expired or of a task that has ended.
    pub const UNAUTHENTICATED: &str = "unauthenticated";
    /// 403: the credential is good, but not for this.
    pub const FORBIDDEN: &str = "forbidden";
    /// 404: there is no such thing, or none that the caller may see.
    pub const NOT_FOUND: &str = "notFound";
    /// 405: the route knows other methods.
    pub const METHOD_NOT_ALLOWED: &str = "methodNotAllowed";
    /// 409: the package is open with another nonce.
    pub const ALREADY_OPEN: &str = "alreadyOpen";
    /// 409: the task is not in a state in which this can be done.
    pub const WRONG_STATE: &str = "wrongState";
    /// 409: the thing has changed since it was read; the message names the present revision.
    pub const REVISION: &str = "revision";
    /// 409: events are missing between the last one stored and the first one sent.
    pub const EVENT_GAP: &str = "eventGap";
    /// 413: see [`crate::limits::BODY_BYTES`].
    pub const BODY_TOO_LARGE: &str = "bodyTooLarge";
    /// 413: see [`crate::limits::BATCH_EVENTS`].
    pub const BATCH_TOO_LARGE: &str = "batchTooLarge";
    /// 413: see [`crate::limits::EVENT_BYTES`].
    pub const EVENT_TOO_LARGE: &str = "eventTooLarge";
    /// 426: the runner speaks a wire version that this API does not.
    pub const WIRE_VERSION: &str = "wireVersion";
    /// 429: see [`crate::limits::REQUESTS_PER_TASK`].
    pub const TOO_MANY_REQUESTS: &str = "tooManyRequests";
    /// 500: a fault of the operator.
    pub const INTERNAL: &str = "internal";
    /// 503: the store is away or was lost; try again later.
    pub const UNAVAILABLE: &str = "unavailable";
    /// 503: see [`crate::limits::CONNECTIONS`].
    pub const TOO_MANY_CONNECTIONS: &str = "tooManyConnections";
}
