//! The cluster that stories run on: a client as its administrator, and what lies beside it on the machine.

use std::path::PathBuf;
use std::process::Command;

use ::cluster::{Home, Status};
use anyhow::{Context as _, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::audit::AuditLog;
use crate::settings::{Settings, checkout};

/// A connection to the running cluster.
#[derive(Clone)]
pub struct Cluster {
    /// As the administrator.
    pub client: Client,
    /// What the tests were given.
    pub settings: Settings,
    state: PathBuf,
    programs: PathBuf,
    kubeconfig: PathBuf,
}

impl Cluster {
    /// Connects to the cluster of this user.
    ///
    /// # Errors
    /// When none is up, or no images are known: the message says what brings it.
    pub async fn connect() -> Result<Self> {
        // Several crates link rustls; without a choice it panics. Another test of this process may have chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = Home::of_user()?;
        let local = ::cluster::Cluster::new(home.clone(), checkout());
        match local.status()? {
            Status::Up { .. } => {}
            Status::Down => bail!("no cluster is up: cargo cluster up"),
            Status::Broken { faults, .. } => {
                bail!("the cluster is not whole ({})", faults.join("; "))
            }
        }
        let settings = Settings::read(home.root())?;
        let kubeconfig = local.kubeconfig();
        let config = Kubeconfig::read_from(&kubeconfig)?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        Ok(Self {
            client: Client::try_from(config)?,
            settings,
            state: local.state().to_owned(),
            programs: local.programs().to_owned(),
            kubeconfig,
        })
    }

    /// The kubeconfig of a person without any right; made at the first call.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn person(&self, name: &str) -> Result<PathBuf> {
        ::cluster::Cluster::new(Home::of_user()?, checkout()).person(name, &[])
    }

    /// What everybody asked the apiserver.
    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(self.state.join("log/audit.jsonl"))
    }

    /// kubectl as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        self.program("kubectl")
    }

    /// helm as the administrator.
    #[must_use]
    pub fn helm(&self) -> Command {
        self.program("helm")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }
}

/// Runs a command to its end without blocking other tasks, and gives back what it said.
///
/// # Errors
/// When it cannot be started or fails; the message holds its words.
pub async fn run(command: Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("start {shown}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} ended with {}:\n{said}{error}", output.status);
    }
    Ok(said)
}
