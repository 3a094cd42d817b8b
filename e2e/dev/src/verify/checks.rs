//! Layers that are not tests.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use cluster::command;
use cluster::progress::{say, step};

use super::limits as sizes;
use super::outcome::Outcome;
use super::session::Session;

/// The checker of dependencies, built once.
const DENY_VERSION: &str = "0.20.2";

pub(super) fn format(session: &mut Session) -> Result<Outcome> {
    check(
        session,
        "formatting",
        &["fmt", "--all", "--check", "--", "--files-with-diff"],
    )
}

pub(super) fn clippy(session: &mut Session) -> Result<Outcome> {
    let mut arguments = vec!["clippy", "--quiet", "--workspace", "--all-targets"];
    arguments.extend(session.locked());
    arguments.extend(["--", "-D", "warnings"]);
    check(session, "clippy", &arguments)
}

pub(super) fn limits(session: &mut Session) -> Result<Outcome> {
    let found = sizes::violations(session.checkout())?;
    found.iter().for_each(|violation| say(violation));
    match found.len() {
        0 => Ok(Outcome::passed()),
        count => Ok(Outcome {
            failed: count,
            ..Outcome::failed("see above")
        }),
    }
}

pub(super) fn dependencies(session: &mut Session) -> Result<Outcome> {
    let tools = session.home().root().join("tools");
    let program = tools.join("bin/cargo-deny");
    let version = command::capture(Command::new(&program).arg("--version")).unwrap_or_default();
    if !version.contains(DENY_VERSION) {
        let mut install = Command::new("cargo");
        install
            .args(["install", "--quiet", "--locked", "--force", "--root"])
            .arg(&tools);
        install.arg(format!("cargo-deny@{DENY_VERSION}"));
        if let Err(error) = step("building cargo-deny (once)", || command::run(&mut install)) {
            return Ok(Outcome::skipped(&format!(
                "cargo-deny is not obtainable: {error}"
            )));
        }
    }
    let deny = || {
        let mut deny = Command::new(&program);
        deny.current_dir(session.checkout()).args([
            "--log-level=error",
            "--workspace",
            "--all-features",
        ]);
        deny
    };
    let passed = shown(deny().args([
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))?;
    let reachable = step("fetching advisories", || {
        command::succeeds(deny().args(["fetch", "db"]))
    });
    if !reachable {
        return Ok(Outcome {
            note: "advisories not reachable from here".to_owned(),
            ..Outcome::of(passed)
        });
    }
    let safe = shown(deny().args([
        "check",
        "--hide-inclusion-graph",
        "--disable-fetch",
        "advisories",
    ]))?;
    Ok(Outcome::of(passed && safe))
}

fn check(session: &Session, name: &str, arguments: &[&str]) -> Result<Outcome> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(session.checkout()).args(arguments);
    Ok(Outcome::of(step(name, || shown(&mut cargo))?))
}

/// Runs a command whose output people should see; its standard output goes where progress goes.
fn shown(command: &mut Command) -> Result<bool> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.with_context(|| format!("start {}", command::describe(command)))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.trim().is_empty() {
        say(text.trim_end());
    }
    Ok(output.status.success())
}
