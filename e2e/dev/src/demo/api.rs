//! The API in the hands of someone who kept a copy of a task's token.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use cluster::command;
use serde_json::Value;

use super::install;
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
        Self::at(objects, &url, &copy.authority)
    }

    /// Learns both from what is published for people.
    pub(super) fn published(objects: &Objects<'_>) -> Result<Self> {
        let mut kubectl = objects.kubectl();
        kubectl.args(["get", "configmap", "mooring-api", "-o", "json"]);
        kubectl.args(["--namespace", install::NAMESPACE]);
        let map: Value = serde_json::from_str(&command::capture(&mut kubectl)?)?;
        let (service, port) = (text(&map, "/data/service"), text(&map, "/data/port"));
        let url = format!("https://{service}.{}.svc:{port}", install::NAMESPACE);
        Self::at(objects, &url, text(&map, "/data/ca.crt"))
    }

    fn at(objects: &Objects<'_>, url: &str, authority: &str) -> Result<Self> {
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
        let file = std::env::temp_dir().join(format!("mooring-demo-ca-{}.crt", std::process::id()));
        std::fs::write(&file, authority)?;
        Ok(Self {
            host: host.to_owned(),
            port: port.trim_end_matches('/').to_owned(),
            url: url.to_owned(),
            address,
            authority: file,
        })
    }

    /// Asks who the bearer of the token is: the code of the answer.
    pub(super) fn whoami(&self, copy: &Copy) -> Result<String> {
        let mut curl = self.curl();
        curl.args(["--output", "/dev/null", "--write-out", "%{http_code}"]);
        // On standard input, because everybody on the machine can read arguments.
        curl.args(["--header", "@-"])
            .arg(format!("{}/api/v1/whoami", self.url.trim_end_matches('/')));
        command::capture_with(
            curl.stdout(Stdio::piped()),
            &format!("Authorization: Bearer {}\n", copy.token),
        )
    }
}

impl Api {
    /// Sends JSON with these headers, none of which is a secret, and gives back the answer.
    pub(super) fn post(&self, path: &str, headers: &[String], body: &str) -> Result<String> {
        let mut curl = self.curl();
        for header in headers {
            curl.args(["--header", header]);
        }
        curl.args([
            "--header",
            "Content-Type: application/json",
            "--fail-with-body",
        ])
        .args(["--data-binary", "@-"])
        .arg(format!("{}{path}", self.url.trim_end_matches('/')));
        command::capture_with(curl.stdout(Stdio::piped()), body)
    }

    fn curl(&self) -> Command {
        let Self {
            host,
            port,
            address,
            authority,
            ..
        } = self;
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--max-time",
            "5",
            "--noproxy",
            "*",
        ]);
        curl.arg("--cacert").arg(authority);
        curl.arg("--resolve")
            .arg(format!("{host}:{port}:{address}"));
        curl
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}
