//! Getting the package: read the Secret, ask with a nonce that only this process knows, until the API answers.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backon::BackoffBuilder as _;
use client::Client;
use protocol::runner::OpenRequest;
use protocol::{MacKey, Package, WIRE_VERSION};
use secrecy::SecretString;
use tracing::info;

use crate::files;
use crate::layout::Layout;
use crate::upload::backoff;

/// Credentials and certificates are shorter.
const FILE_BYTES: u64 = 64 * 1024;

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The Secret.
    #[error("{path} cannot be read: {source}")]
    Secret {
        /// Which file of it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The API refuses for good.
    #[error("the package cannot be opened: {0}")]
    Refused(#[from] client::Error),
    /// The answer is none that this runner understands.
    #[error("the package cannot be used: {0}")]
    Unusable(String),
}

/// What the pod was given.
#[derive(Debug)]
pub struct Given {
    /// The task's token, which opens the package and then is the agent's.
    pub token: SecretString,
    /// The CA of the API, as PEM.
    pub ca: Vec<u8>,
}

/// An open package. Credential and key are nowhere but in this process.
#[derive(Debug)]
pub struct Opened {
    /// The work.
    pub package: Package,
    /// The runner's credential.
    pub credential: SecretString,
    /// The attempt's key.
    pub key: MacKey,
}

/// Reads the Secret.
///
/// # Errors
/// [`OpenError::Secret`].
pub fn read_secret(layout: &Layout) -> Result<Given, OpenError> {
    let token = read(&layout.secret_token)?;
    let token = String::from_utf8_lossy(&token).trim().to_owned();
    if token.is_empty() {
        return Err(OpenError::Secret {
            path: layout.secret_token.clone(),
            source: io::ErrorKind::InvalidData.into(),
        });
    }
    Ok(Given {
        token: token.into(),
        ca: read(&layout.secret_ca)?,
    })
}

/// A mounted Secret consists of links, so they are followed here, where no agent can write.
fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    let fail = |source| OpenError::Secret {
        path: path.to_path_buf(),
        source,
    };
    let real = path.canonicalize().map_err(fail)?;
    files::read(&real, FILE_BYTES)
        .map_err(fail)?
        .ok_or_else(|| fail(io::ErrorKind::NotFound.into()))
}

/// Opens the package, however long the API is away.
///
/// # Errors
/// [`OpenError`] when the API refuses, or the answer cannot be used.
pub async fn open(client: &Client, token: &SecretString) -> Result<Opened, OpenError> {
    let request = OpenRequest {
        nonce: hex::encode(rand::random::<[u8; 32]>()),
        wire_version: WIRE_VERSION,
    };
    let mut waits = backoff().build();
    let answer = loop {
        match client.open(token, &request).await {
            Ok(answer) => break answer,
            Err(error) if error.retry() => {
                let wait = waits.next().unwrap_or(Duration::from_secs(2));
                info!(error = %causes(&error), "the package cannot be opened yet");
                tokio::time::sleep(wait).await;
            }
            Err(error) => return Err(error.into()),
        }
    };
    if answer.wire_version > WIRE_VERSION {
        return Err(OpenError::Unusable(format!(
            "it is of wire version {}, and this runner speaks {WIRE_VERSION}",
            answer.wire_version
        )));
    }
    let key = MacKey::from_wire(&answer.mac_key)
        .ok_or_else(|| OpenError::Unusable("its key is malformed".to_owned()))?;
    Ok(Opened {
        package: answer.package,
        credential: answer.credential.into(),
        key,
    })
}

/// An error with what lies behind it: "cannot be reached" alone helps nobody.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        next = cause.source();
    }
    words
}
