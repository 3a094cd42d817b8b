//! Settings of `mooring-runner run`, from flags and the pod's environment.

use std::path::PathBuf;
use std::time::Duration;

use protocol::paths;

/// Settings of a run.
#[derive(Clone, Debug, clap::Args)]
pub struct Settings {
    /// Base URL of the API, https://host:port.
    #[arg(long, env = paths::ENV_API, hide_env_values = true)]
    pub api: String,
    /// Directory under which all paths of the pod lie.
    #[arg(long, default_value = "/")]
    pub root: PathBuf,
    /// How long to wait for the API at the end before the result is left in the termination message alone.
    #[arg(long, env = "MOORING_DELIVERY_SECONDS", default_value_t = 600)]
    pub delivery_seconds: u32,
}

impl Settings {
    /// How long the API is waited for at the end.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.delivery_seconds.into())
    }
}
