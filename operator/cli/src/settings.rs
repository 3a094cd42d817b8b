//! Where the API is, and as whom to ask.

use std::path::{Path, PathBuf};

use client::Workspace;
use protocol::{Credential, paths};
use secrecy::{ExposeSecret as _, SecretString};

use crate::EVERYWHERE;
use crate::config;
use crate::failure::Failure;

/// A token is shorter than this; a larger file is something else.
const FILE_BYTES: u64 = 64 * 1024;

/// Set in every task's pod. People log in instead.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Settings {
    /// Name of the workspace. In a task's pod it is the task's own; elsewhere that of the login.
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub(crate) workspace: Option<Workspace>,
    /// Base URL of the API.
    #[arg(long, env = paths::ENV_API, hide_env_values = true, global = true, help_heading = EVERYWHERE)]
    pub(crate) server: Option<String>,
    /// File that holds the CA of the API. In a task's pod it need not be named.
    #[arg(long, env = paths::ENV_CA_FILE, hide_env_values = true, global = true, help_heading = EVERYWHERE)]
    pub(crate) ca: Option<PathBuf>,
    /// The name in the API's certificate, where the server is reached under another one.
    #[arg(long, global = true, help_heading = EVERYWHERE, requires = "server")]
    pub(crate) tls_name: Option<String>,
    /// File that holds the token. With it no login is looked at.
    #[arg(long, env = paths::ENV_TOKEN_FILE, hide_env_values = true, global = true, help_heading = EVERYWHERE)]
    pub(crate) token_file: Option<PathBuf>,
    /// Where the folder `mooring` with the login is, `~/.config` if not set.
    #[arg(long, env = config::ENV_HOME, hide_env_values = true, global = true, help_heading = EVERYWHERE)]
    pub(crate) config_home: Option<PathBuf>,
}

/// The API at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// `https://host:port`.
    pub(crate) url: String,
    /// The name in its certificate, where it is not the host.
    pub(crate) tls_name: Option<String>,
    /// PEM.
    pub(crate) ca: String,
}

impl Settings {
    /// The token of the file that is named, if one is.
    pub(crate) fn token(&self) -> Result<Option<SecretString>, Failure> {
        let Some(path) = &self.token_file else {
            return Ok(None);
        };
        let bad = |problem: &str| {
            Failure::NoIdentity(format!(
                "{} of {} {problem}",
                path.display(),
                paths::ENV_TOKEN_FILE
            ))
        };
        let token = read(path).map_err(|problem| bad(&problem))?;
        let token = token.trim();
        if token.is_empty() {
            return Err(bad("holds no token"));
        }
        Ok(Some(token.to_owned().into()))
    }

    /// The server that is named.
    pub(crate) fn server(&self) -> Result<Server, Failure> {
        let missing = || {
            Failure::NoIdentity(format!(
                "there is a token, but {} (or --server) does not say where the API is",
                paths::ENV_API
            ))
        };
        let url = self.server.clone().ok_or_else(missing)?;
        let path = self.ca.as_deref().unwrap_or(Path::new(paths::CA_FILE));
        let ca = read(path).map_err(|problem| {
            Failure::NoIdentity(format!(
                "{} of {} {problem}",
                path.display(),
                paths::ENV_CA_FILE
            ))
        })?;
        Ok(Server {
            url,
            tls_name: self.tls_name.clone(),
            ca,
        })
    }
}

/// True when a token is that of a task, or cannot be read although it is the one to use: then nothing more is
/// promised than a task may do.
pub(crate) fn is_of_task(token_file: &Path) -> bool {
    read(token_file).map_or(true, |token| is_task_token(&token.trim().to_owned().into()))
}

/// True when it is the token of a task.
pub(crate) fn is_task_token(token: &SecretString) -> bool {
    matches!(
        Credential::parse(token.expose_secret()),
        Some(Credential::Task(_))
    )
}

fn read(path: &Path) -> Result<String, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
    let length = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
    if length > FILE_BYTES {
        return Err(fail(&format!("it is larger than {FILE_BYTES} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| fail(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_named() {
        let settings = |server: Option<&str>| Settings {
            server: server.map(str::to_owned),
            token_file: Some("/nowhere/token".into()),
            ca: Some("/nowhere/ca".into()),
            ..Settings::default()
        };
        let cases = [
            (
                settings(None).token().unwrap_err(),
                "/nowhere/token of MOORING_TOKEN_FILE cannot be read",
            ),
            (settings(None).server().unwrap_err(), "MOORING_API"),
            (
                settings(Some("https://x")).server().unwrap_err(),
                "/nowhere/ca of MOORING_CA_FILE",
            ),
        ];
        for (failure, wanted) in cases {
            assert!(failure.words().contains(wanted), "{}", failure.words());
            assert_eq!(failure.exit_code(), 3);
        }
    }

    #[test]
    fn an_empty_token_is_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), " \n").unwrap();
        let settings = Settings {
            token_file: Some(file.path().into()),
            ..Settings::default()
        };
        let failure = settings.token().unwrap_err();
        assert!(failure.words().contains("holds no token"));
    }

    #[test]
    fn a_tasks_token_is_known_by_its_form() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (token, of_task) in [("mrt_x\n", true), ("mrp_x", false), ("eyJhbGciOi", false)] {
            std::fs::write(file.path(), token).unwrap();
            assert_eq!(is_of_task(file.path()), of_task, "{token}");
        }
        assert!(is_of_task(Path::new("/nowhere")));
    }
}
