//! The API in the hands of someone who kept a copy of a task's token.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use cluster::command;
use serde_json::Value;

use super::objects::{Objects, text};

/// The API's address as a pod is told it, with what it takes to call it from this machine.
pub(super) struct Api {
    url: String,
    host: String,
    port: String,
    address: String,
    authority: std::path::PathBuf,
}

/// A copy of a task's Secret: a token that is shown to nobody, and the authority that the API is trusted by.
pub(super) struct Copy {
    token: String,
    authority: String,
}

impl Copy {
    /// Copies it, at once: it lives no longer than the task.
    pub(super) fn of(objects: &Objects<'_>, secret: &str) -> Result<Self> {
        const BOTH: &str = "go-template={{index .data \"token\" | base64decode}}\n{{index .data \"ca.crt\" | base64decode}}";
        let both = command::capture(
            objects
                .kubectl()
                .args(["get", "secret", secret, "-o", BOTH]),
        )?;
        let (token, authority) = both
            .split_once('\n')
            .context("the Secret holds a token and an authority")?;
        Ok(Self {
            token: token.to_owned(),
            authority: authority.to_owned(),
        })
    }
}

impl Api {
    /// Learns the address from a task's pod, and the authority from the copy of its Secret.
    pub(super) fn of(objects: &Objects<'_>, pod: &Value, copy: &Copy) -> Result<Self> {
        let environment = pod
            .pointer("/spec/containers/0/env")
            .and_then(Value::as_array)
            .context("a pod has settings")?;
        let url = environment
            .iter()
            .find(|entry| entry["name"] == "MOORING_API")
            .context("the pod lacks MOORING_API")?;
        let url = text(url, "/value").to_owned();
        let (host, port) = url
            .trim_start_matches("https://")
            .split_once(':')
            .context("the API's address has a port")?;
        let mut parts = host.split('.');
        let (service, namespace) = (
            parts.next().unwrap_or_default(),
            parts.next().context("the API is a Service")?,
        );
        let address = command::capture(objects.kubectl().args([
            "get",
            "service",
            service,
            "-o",
            "jsonpath={.spec.clusterIP}",
            "--namespace",
            namespace,
        ]))?;
        let authority =
            std::env::temp_dir().join(format!("mooring-demo-ca-{}.crt", std::process::id()));
        std::fs::write(&authority, &copy.authority)?;
        Ok(Self {
            host: host.to_owned(),
            port: port.trim_end_matches('/').to_owned(),
            url: url.clone(),
            address,
            authority,
        })
    }

    /// Asks who the bearer of the token is: the code of the answer.
    pub(super) fn whoami(&self, copy: &Copy) -> Result<String> {
        let Self {
            url,
            host,
            port,
            address,
            authority,
        } = self;
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--max-time",
            "5",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
        ]);
        curl.arg("--cacert")
            .arg(authority)
            .arg("--noproxy")
            .arg("*");
        curl.arg("--resolve")
            .arg(format!("{host}:{port}:{address}"));
        // On standard input, because everybody on the machine can read arguments.
        curl.args(["--header", "@-"])
            .arg(format!("{}/api/v1/whoami", url.trim_end_matches('/')));
        command::capture_with(
            curl.stdout(Stdio::piped()),
            &format!("Authorization: Bearer {}\n", copy.token),
        )
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}
