//! A person of a story: a kubeconfig with a client certificate, and `moor` as a person has it on a laptop.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::PostParams;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Workspace;
use crate::cluster::run;

/// Someone with rights in a workspace, logged in.
#[derive(Clone, Debug)]
pub struct Person {
    workspace: String,
    moor: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Person {
    /// A person with this `ClusterRole` of Kubernetes' own (`view`, `edit`, `admin`) in the workspace, not logged in yet.
    ///
    /// # Errors
    /// When the certificate or the binding cannot be made.
    pub async fn with_role(workspace: &Workspace, name: &str, role: &str) -> Result<Self> {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": binding(name)},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
        }))?;
        workspace
            .api::<RoleBinding>()
            .create(&PostParams::default(), &binding)
            .await?;
        Self::known_as(workspace, name)
    }

    fn known_as(workspace: &Workspace, name: &str) -> Result<Self> {
        let cluster = &workspace.cluster;
        let home = crate::settings::checkout()
            .join("target/e2e")
            .join(&workspace.namespace)
            .join(name);
        std::fs::create_dir_all(&home)?;
        Ok(Self {
            workspace: workspace.namespace.clone(),
            moor: cluster
                .settings
                .programs
                .moor
                .clone()
                .context("no moor for this machine is known: cargo verify images")?,
            kubeconfig: cluster.person(name)?,
            home,
        })
    }

    /// `moor login`, then works in the workspace.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn login(&self) -> Result<()> {
        self.moor(&["login"]).await.map(drop)
    }

    /// Runs `moor` and gives back what it printed.
    ///
    /// # Errors
    /// When it fails; the message holds its words.
    pub async fn moor(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.moor);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .env("KUBECONFIG", &self.kubeconfig)
            .args(["--workspace", &self.workspace])
            .args(arguments);
        run(command).await
    }

    /// Runs `moor` and reads its JSON.
    ///
    /// # Errors
    /// As [`Person::moor`], and when the answer is none of the kind.
    pub async fn ask<A: DeserializeOwned>(&self, arguments: &[&str]) -> Result<A> {
        let said = self
            .moor(&[&["--output", "json"], arguments].concat())
            .await?;
        serde_json::from_str(&said).with_context(|| format!("read the answer of moor: {said}"))
    }
}

fn binding(name: &str) -> String {
    format!("person-{name}")
}
