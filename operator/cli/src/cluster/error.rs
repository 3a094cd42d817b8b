//! What can go wrong on the way through the cluster.

use std::io;

use kube::client::UpgradeConnectionError;

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    #[error("the kubeconfig has no current context: name one with --context")]
    NoContext,
    #[error(
        "there is no ConfigMap mooring-api in the namespace {namespace}: is Mooring installed there? \
         `moor login --operator-namespace` names another one"
    )]
    NotInstalled { namespace: String },
    #[error("the ConfigMap mooring-api is not as it should be: {0}")]
    Point(String),
    #[error("the operator has not started yet: it has not published its CA; try again")]
    NotStarted,
    #[error("no pod of the operator is ready; try again")]
    NoReadyPod,
    #[error("cannot {what}")]
    Asked {
        what: &'static str,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("the cluster does not say who you are")]
    Nobody,
    #[error("no port can be forwarded")]
    Bind(#[source] io::Error),
}

impl Error {
    /// An error of a question, named by what was wanted.
    pub(super) fn asked(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |cause| Self::Asked {
            what,
            cause: Box::new(cause),
        }
    }

    /// The codes of `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Kubeconfig(_) | Self::NoContext | Self::NotInstalled { .. } => 3,
            Self::Point(_) | Self::Bind(_) => 1,
            Self::Nobody => 4,
            Self::NotStarted | Self::NoReadyPod => 6,
            Self::Asked { cause, .. } => match status(cause) {
                Some(401 | 403) => 4,
                Some(code) if code < 500 && code != 429 => 1,
                Some(_) | None => 6,
            },
        }
    }
}

/// What the apiserver answered, if it did.
fn status(error: &kube::Error) -> Option<u16> {
    if let kube::Error::Api(status) = error {
        return Some(status.code);
    }
    if let kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)) = error {
        return Some(status.as_u16());
    }
    None
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn exit_codes() {
        let answered = |code: u16| {
            let status = Status::failure("no", "Because").with_code(code);
            Error::asked("try")(kube::Error::Api(status.boxed()))
        };
        for (error, wanted) in [
            (Error::NoContext, 3),
            (answered(401), 4),
            (answered(403), 4),
            (answered(422), 1),
            (answered(429), 6),
            (answered(503), 6),
            (Error::NoReadyPod, 6),
        ] {
            assert_eq!(error.exit_code(), wanted, "{error:?}");
        }
    }
}
