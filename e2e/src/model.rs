//! A model that plays a script, in a pod of its own: real command lines talk to it with no account.

use anyhow::Result;
use serde_json::{Value, json};

use crate::server::{Plan, Server};
use crate::workspace::Workspace;

/// The port on which it listens.
const PORT: u16 = 8080;

/// The scripted model.
#[derive(Clone, Debug)]
pub struct Model(Server);

impl Model {
    /// Starts it with these scenarios (`images/README.md` has their form) and waits until it answers.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start(workspace: &Workspace, image: &str, scenarios: &Value) -> Result<Self> {
        let plan = Plan {
            name: "model",
            image,
            port: PORT,
            args: &["--scenarios", "/files/scenarios.json"],
            env: json!([]),
            files: json!({"scenarios.json": scenarios.to_string()}),
        };
        Ok(Self(Box::pin(Server::start(workspace, &plan)).await?))
    }

    /// Its address for a pod, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.0.authority())
    }

    /// As [`Server::authority`].
    #[must_use]
    pub fn authority(&self) -> String {
        self.0.authority()
    }

    /// As [`Server::address`].
    #[must_use]
    pub fn address(&self) -> String {
        self.0.address()
    }

    /// As [`Server::peers`].
    #[must_use]
    pub fn peers(&self) -> Value {
        self.0.peers()
    }

    /// Every request that was made so far.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn requests(&self) -> Result<Vec<Value>> {
        let url = format!("http://{}/__log", self.0.address());
        Ok(reqwest::get(url).await?.error_for_status()?.json().await?)
    }

    /// As [`Server::stop`].
    ///
    /// # Errors
    /// As [`Server::stop`].
    pub async fn stop(&self, workspace: &Workspace) -> Result<()> {
        self.0.stop(workspace).await
    }
}

/// Whether a word is in one of these requests.
#[must_use]
pub fn holds(requests: &[Value], word: &str) -> bool {
    requests
        .iter()
        .any(|request| request["body"].to_string().contains(word))
}
