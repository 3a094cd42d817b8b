//! What can go wrong between a caller and the API.

use protocol::code;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client cannot be made of these settings.
    #[error("{0}")]
    Settings(String),
    /// The API cannot be reached, does not answer in time, or breaks off.
    #[error("the API cannot be reached")]
    Connection(#[source] reqwest::Error),
    /// The API refused.
    #[error("{message} ({code}, request {request_id})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// A constant of [`protocol::code`], or `http…` where the answer was not the API's own.
        code: String,
        /// The API's words.
        message: String,
        /// Finds the request in the operator's log.
        request_id: String,
    },
    /// The answer is longer than any that the API gives.
    #[error("the answer of the API is longer than {limit} bytes")]
    TooLong {
        /// The most that is read.
        limit: usize,
    },
    /// The answer is not of the form that this client knows.
    #[error("the answer of the API cannot be read")]
    Malformed(#[source] serde_json::Error),
    /// A live connection broke off, or was closed.
    #[error("the live connection ended: {0}")]
    Live(String),
    /// There is an API, and no live connection to it.
    #[error(
        "the API is reached, but no live connection to it: it is of an earlier release, or something on the way lets no \
         WebSocket through"
    )]
    NotLive,
    /// The API does not tell what was to be followed, or not any more.
    #[error("{message} ({code})")]
    Ended {
        /// A constant of [`protocol::code`].
        code: String,
        /// The API's words.
        message: String,
    },
}

impl Error {
    /// The code of a refusal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } | Self::Ended { code, .. } => Some(code),
            Self::Settings(_)
            | Self::Connection(_)
            | Self::TooLong { .. }
            | Self::Malformed(_)
            | Self::Live(_)
            | Self::NotLive => None,
        }
    }

    /// True when the same request may be answered later.
    #[must_use]
    pub fn retry(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Live(_) => true,
            // Something between us and the API answers with its own pages while the API is away.
            Self::Malformed(_) | Self::TooLong { .. } => true,
            Self::Refused { status, code, .. } => {
                *status >= 500 || *status == 429 || code == code::TOO_MANY_REQUESTS
            }
            Self::Ended { code, .. } => {
                [code::TOO_MANY_REQUESTS, code::UNAVAILABLE, code::INTERNAL]
                    .contains(&code.as_str())
            }
            Self::Settings(_) | Self::NotLive => false,
        }
    }
}
