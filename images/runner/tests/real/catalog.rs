//! The real programs say what they can be asked for as in a Runtime's pod: without a network, a login and a turn.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use protocol::probe::{Catalog, Report};

use crate::lab::Lab;

/// The test that it says so, of this program.
macro_rules! asked_for {
    ($cli:ident) => {
        #[test]
        fn it_says_what_it_can_be_asked_for() -> anyhow::Result<()> {
            $crate::lab::with_lab($cli, $crate::catalog::it_says_what_it_can_be_asked_for)
        }
    };
}
pub(crate) use asked_for;

/// A model and a level of thinking among those that each names.
const AMONG: &[(&str, &str, Option<&str>)] = &[
    ("claude", "opus", Some("max")),
    ("codebuddy", "glm-5.0", None),
    ("codex", "gpt-6.2-sol", Some("ultra")),
    ("pi", "scripted/scripted-1", Some("high")),
    ("omp", "scripted/scripted-1", Some("high")),
    ("opencode", "scripted/scripted-1", None),
    ("gemini", "gemini-2.5-pro", None),
    ("claude-agent-acp", "opus", Some("max")),
];

pub(crate) fn it_says_what_it_can_be_asked_for(lab: &Lab) -> Result<()> {
    let (version, catalog) = asked(lab)?;
    ensure!(
        version.bytes().any(|byte| byte.is_ascii_digit()),
        "{version}"
    );
    let mut among = AMONG.iter();
    let (_, model, level) = among
        .find(|(id, ..)| *id == lab.cli.id)
        .context("it is known what it names")?;
    let Catalog {
        models,
        thinking_levels,
        ..
    } = &catalog;
    ensure!(models.iter().any(|name| name == model), "{catalog:?}");
    let has_level = |level: &str| thinking_levels.iter().any(|name| name == level);
    ensure!(level.is_none_or(has_level), "{catalog:?}");
    Ok(())
}

/// What it prints of its version, and what it names.
fn asked(lab: &Lab) -> Result<(String, Catalog)> {
    let home = tempfile::tempdir()?;
    for (file, text) in lab.cli.files {
        let path = home.path().join(file);
        std::fs::create_dir_all(path.parent().context("a file in a folder")?)?;
        std::fs::write(path, text)?;
    }
    let report = home.path().join("report");
    let status = Command::new("unshare")
        .args(["--net", "--", env!("CARGO_BIN_EXE_mooring-runner")])
        .args(["probe", "--provider", lab.cli.id, "--report"])
        .arg(&report)
        .arg("--")
        .arg(&lab.program)
        .current_dir("/")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs(lab.used())
        .status()?;
    ensure!(status.success(), "the probe ended with {status}");
    let message = std::fs::read_to_string(report)?;
    match Report::from_message(&message) {
        Some(Report::Ended {
            code: Some(0),
            printed,
            catalog: Some(catalog),
        }) => Ok((printed, catalog)),
        _ => bail!("{message}"),
    }
}
