//! Where the API and the token are.

use std::path::{Path, PathBuf};

use protocol::paths;
use secrecy::SecretString;

use crate::failure::Failure;

/// A token is shorter than this; a larger file is something else.
const FILE_BYTES: u64 = 64 * 1024;

/// Set in every task's pod.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Settings {
    /// Base URL of the API.
    #[arg(long, env = paths::ENV_API, hide_env_values = true, global = true)]
    api: Option<String>,
    /// File that holds the token.
    #[arg(long, env = paths::ENV_TOKEN_FILE, hide_env_values = true, global = true)]
    token_file: Option<PathBuf>,
    /// File that holds the CA of the API.
    #[arg(long, env = paths::ENV_CA_FILE, hide_env_values = true, global = true, default_value = paths::CA_FILE)]
    ca_file: PathBuf,
}

/// What a question is asked with.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) api: client::Settings,
    pub(crate) token: SecretString,
}

impl Settings {
    /// Reads what the settings name.
    pub(crate) fn read(&self) -> Result<Connection, Failure> {
        let missing = |name| Failure::NotInPod(format!("{name} is not set"));
        let api = self.api.clone().ok_or_else(|| missing(paths::ENV_API))?;
        let token_file = self
            .token_file
            .as_deref()
            .ok_or_else(|| missing(paths::ENV_TOKEN_FILE))?;
        let token = read(token_file, paths::ENV_TOKEN_FILE)?;
        let token = String::from_utf8(token)
            .ok()
            .map(|token| token.trim().to_owned())
            .filter(|token| !token.is_empty())
            .ok_or_else(|| Failure::NotInPod(format!("{} holds no token", token_file.display())))?;
        let ca = read(&self.ca_file, paths::ENV_CA_FILE)?;
        Ok(Connection {
            api: client::Settings { api, ca },
            token: token.into(),
        })
    }
}

fn read(path: &Path, variable: &str) -> Result<Vec<u8>, Failure> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::NotInPod(format!(
            "{} of {variable} cannot be read: {error}",
            path.display()
        ))
    };
    let length = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
    if length > FILE_BYTES {
        return Err(fail(&format!("it is larger than {FILE_BYTES} bytes")));
    }
    std::fs::read(path).map_err(|error| fail(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(api: Option<&str>, token_file: Option<&str>) -> Settings {
        Settings {
            api: api.map(str::to_owned),
            token_file: token_file.map(PathBuf::from),
            ca_file: "/nowhere/ca.crt".into(),
        }
    }

    #[test]
    fn what_lacks_is_named() {
        let cases = [
            (settings(None, Some("/x")), "MOORING_API is not set"),
            (
                settings(Some("https://x"), None),
                "MOORING_TOKEN_FILE is not set",
            ),
            (
                settings(Some("https://x"), Some("/nowhere/token")),
                "/nowhere/token of MOORING_TOKEN_FILE",
            ),
        ];
        for (settings, wanted) in cases {
            let failure = settings.read().unwrap_err();
            assert!(failure.words().contains(wanted), "{}", failure.words());
            assert_eq!(failure.exit_code(), 3);
        }
    }
}
