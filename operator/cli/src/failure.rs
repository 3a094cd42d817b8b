//! What went wrong, in words for whoever typed the command and as an exit code for whoever scripted it.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use protocol::code;

use crate::cluster;
use crate::text;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It does not know where the API is, or as whom to ask.
    #[error("{0}")]
    NoIdentity(String),
    /// The configuration is there and cannot be used.
    #[error("{path}: {problem}", path = path.display())]
    Config { path: PathBuf, problem: String },
    #[error("{0}")]
    Usage(String),
    #[error(
        "`moor {0}` is for people: the token of a task does not allow it. `moor --help` lists what it allows"
    )]
    NotForTask(String),
    #[error("{path} cannot be read", path = path.display())]
    Input {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{path} cannot be written", path = path.display())]
    Output {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A program of the image did not do it.
    #[error("{0}")]
    Git(String),
    #[error(transparent)]
    Api(#[from] client::Error),
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("the answer cannot be shown")]
    Show(#[source] serde_json::Error),
    #[error("the answer cannot be shown")]
    ShowYaml(#[source] serde_yaml::Error),
    /// It was said already.
    #[error("the task did not succeed")]
    DidNotSucceed,
    #[error("the answer cannot be written")]
    Print(#[source] io::Error),
    #[error("cannot start")]
    Runtime(#[source] io::Error),
}

impl Failure {
    /// One sentence, with its causes and with what to do where that is known.
    pub(crate) fn words(&self) -> String {
        let mut words = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        if matches!(self, Self::Api(client::Error::TooLong { .. })) {
            words.push_str("; ask for fewer with --limit");
        }
        if matches!(self, Self::Api(client::Error::NotLive)) {
            words.push_str(". `moor task logs` and `moor task get` do without one");
        }
        text::line(&words)
    }

    /// True when the token is good for nothing, any more.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Api(error) if error.code() == Some(code::UNAUTHENTICATED))
    }

    /// True when there is nobody to tell, since whoever read the answer has seen enough, or nothing to tell that
    /// the answer has not told.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::DidNotSucceed)
            || matches!(self, Self::Print(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The codes of `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Input { .. } | Self::Output { .. } => 2,
            Self::NoIdentity(_) | Self::Config { .. } | Self::Api(client::Error::Settings(_)) => 3,
            Self::NotForTask(_) => 4,
            Self::Api(error) => match error.code() {
                Some(code::UNAUTHENTICATED | code::FORBIDDEN) => 4,
                Some(code::NOT_FOUND) => 5,
                Some(code::REVISION | code::WRONG_STATE) => 7,
                _ if matches!(error, client::Error::TooLong { .. }) => 1,
                _ if error.retry() => 6,
                _ => 1,
            },
            Self::Cluster(error) => error.exit_code(),
            Self::Git(_)
            | Self::Show(_)
            | Self::ShowYaml(_)
            | Self::Print(_)
            | Self::Runtime(_) => 1,
            Self::DidNotSucceed => 8,
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
            (Failure::Usage("x".to_owned()), 2),
            (Failure::NoIdentity("x".to_owned()), 3),
            (Failure::Api(client::Error::Settings("x".to_owned())), 3),
            (Failure::NotForTask("login".to_owned()), 4),
            (refused(401, code::UNAUTHENTICATED), 4),
            (refused(403, code::FORBIDDEN), 4),
            (refused(404, code::NOT_FOUND), 5),
            (refused(503, code::UNAVAILABLE), 6),
            (refused(409, code::REVISION), 7),
            (refused(409, code::WRONG_STATE), 7),
            (refused(400, code::INVALID_REQUEST), 1),
            (Failure::DidNotSucceed, 8),
            (Failure::Api(client::Error::TooLong { limit: 1 }), 1),
        ];
        for (failure, wanted) in cases {
            assert_eq!(failure.exit_code(), wanted, "{failure:?}");
        }
        assert_eq!(
            refused(401, "unauthenticated").words(),
            "no (unauthenticated, request r)"
        );
    }

    #[test]
    fn the_words_of_a_server_move_no_cursor() {
        let failure = Failure::Api(client::Error::Refused {
            status: 400,
            code: "x".to_owned(),
            message: "a\u{1b}[2J\nb".to_owned(),
            request_id: "r".to_owned(),
        });
        assert_eq!(failure.words(), "a␛[2J b (x, request r)");
    }
}
