//! What the tests are given: see `e2e/README.md`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// Names the file that replaces the usual one.
const ENV_FILE: &str = "MOORING_E2E";
const FILE: &str = "e2e.json";

/// The content of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// References of the images as they were loaded into the node.
    pub images: Images,
    /// Release binaries on this machine, for measuring.
    #[serde(default)]
    pub programs: Programs,
}

/// References of images. They change when the content does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Images {
    /// The operator.
    pub operator: String,
    /// Holds the runner and `moor`.
    pub runner: String,
    /// The scripted stand-in for an agent.
    pub agent_fake: String,
    /// The real Claude Code.
    #[serde(default)]
    pub agent_claude: Option<String>,
    /// The real Codex.
    #[serde(default)]
    pub agent_codex: Option<String>,
    /// The real pi.
    #[serde(default)]
    pub agent_pi: Option<String>,
    /// Claude Code and Codex behind ACP.
    #[serde(default)]
    pub agent_acp: Option<String>,
    /// Claude Code alone, to be mounted beside another image.
    #[serde(default)]
    pub cli_claude: Option<String>,
    /// A git server with one repository.
    #[serde(default)]
    pub git_server: Option<String>,
    /// The model that plays a script.
    #[serde(default)]
    pub scripted_model: Option<String>,
}

/// Paths of programs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Programs {
    /// `mooring-runner`.
    #[serde(default)]
    pub runner: Option<PathBuf>,
    /// `moor`.
    #[serde(default)]
    pub moor: Option<PathBuf>,
    /// `mooring-operator`.
    #[serde(default)]
    pub operator: Option<PathBuf>,
}

impl Settings {
    /// Reads the file; `home` is where it is unless the environment says otherwise.
    ///
    /// # Errors
    /// When it is not there or not of the form.
    pub fn read(home: &Path) -> Result<Self> {
        let path = std::env::var_os(ENV_FILE).map_or_else(|| home.join(FILE), PathBuf::from);
        let text = std::fs::read(&path)
            .with_context(|| format!("no images are known: {} is missing", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("read {}", path.display()))
    }
}

/// True where a missing service is a failure and not a reason to skip.
#[must_use]
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// The checkout that these tests were built from.
#[must_use]
pub fn checkout() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}
