//! What went wrong, in words for whoever typed the command and as an exit code for whoever scripted it.

use std::error::Error as _;

use protocol::code;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "{0}. moor works in the pod of a task, where MOORING_API and MOORING_TOKEN_FILE are set."
    )]
    NotInPod(String),
    #[error(transparent)]
    Api(#[from] client::Error),
    #[error("the answer cannot be shown")]
    Show(#[source] serde_json::Error),
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
}

impl Failure {
    /// One sentence, with its causes.
    pub(crate) fn words(&self) -> String {
        let mut words = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        words
    }

    /// The codes of `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotInPod(_) | Self::Api(client::Error::Settings(_)) => 3,
            Self::Api(error) => match error.code() {
                Some(code::UNAUTHENTICATED | code::FORBIDDEN) => 4,
                Some(code::NOT_FOUND) => 5,
                _ if error.retry() => 6,
                _ => 1,
            },
            Self::Show(_) | Self::Runtime(_) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str) -> Failure {
        Failure::Api(client::Error::Refused {
            status,
            code: code.to_owned(),
            message: "no".to_owned(),
            request_id: "r".to_owned(),
        })
    }

    #[test]
    fn exit_codes() {
        let cases = [
            (Failure::NotInPod("x".to_owned()), 3),
            (Failure::Api(client::Error::Settings("x".to_owned())), 3),
            (refused(401, code::UNAUTHENTICATED), 4),
            (refused(403, code::FORBIDDEN), 4),
            (refused(404, code::NOT_FOUND), 5),
            (refused(503, code::UNAVAILABLE), 6),
            (refused(400, code::INVALID_REQUEST), 1),
        ];
        for (failure, wanted) in cases {
            assert_eq!(failure.exit_code(), wanted, "{failure:?}");
        }
        assert_eq!(
            refused(401, "unauthenticated").words(),
            "no (unauthenticated, request r)"
        );
    }
}
