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
}

impl Error {
    /// The code of a refusal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            Self::Settings(_) | Self::Connection(_) | Self::TooLong { .. } | Self::Malformed(_) => {
                None
            }
        }
    }

    /// True when the same request may be answered later.
    #[must_use]
    pub fn retry(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            // Something between us and the API answers with its own pages while the API is away.
            Self::Malformed(_) | Self::TooLong { .. } => true,
            Self::Refused { status, code, .. } => {
                *status >= 500 || *status == 429 || code == code::TOO_MANY_REQUESTS
            }
            Self::Settings(_) => false,
        }
    }
}
