//! Test binaries: compiled once for all layers, run one after another, their output kept.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cluster::progress::{say, step};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::outcome::Outcome;

const POLL: Duration = Duration::from_millis(50);

/// One compiled file of tests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Binary {
    /// Folder of its crate, from the checkout's root.
    pub(super) package: String,
    pub(super) target: String,
    /// Whether it is a file in `tests/`, not the tests beside the code.
    pub(super) integration: bool,
    executable: PathBuf,
}

/// How binaries are run.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) one_at_a_time: bool,
    pub(super) limit: Duration,
}

/// Compiles all tests of the workspace.
pub(super) fn compile(checkout: &Path, locked: Option<&str>) -> Result<Vec<Binary>> {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(checkout)
        .args(["test", "--quiet", "--workspace", "--no-run"])
        .args(locked);
    cargo
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = step("compiling all tests", || cargo.output()).context("start cargo")?;
    if !output.status.success() {
        bail!("the tests do not compile");
    }
    let messages = String::from_utf8(output.stdout)?;
    let mut found: Vec<Binary> = messages
        .lines()
        .filter_map(|line| parse(line, checkout))
        .collect();
    found.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    Ok(found)
}

/// Runs binaries one after another; what a failed one printed is shown whole.
pub(super) fn run(
    binaries: &[&Binary],
    checkout: &Path,
    logs: &Path,
    settings: &Settings,
) -> Result<Outcome> {
    fs::create_dir_all(logs)?;
    let mut sum = Outcome::default();
    for binary in binaries {
        let log = logs.join(format!(
            "{}-{}.log",
            binary.package.replace('/', "-"),
            binary.target
        ));
        let name = format!("{} {}", binary.package, binary.target);
        let success = step(&name, || run_one(binary, checkout, &log, settings))?;
        let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let outcome = Outcome::parse(&output, success);
        if outcome.failed > 0 {
            say(&format!("{name} failed ({}):\n{output}", log.display()));
        }
        sum.add(&outcome);
    }
    Ok(sum)
}

fn run_one(binary: &Binary, checkout: &Path, log: &Path, settings: &Settings) -> Result<bool> {
    let output = File::create(log).with_context(|| format!("create {}", log.display()))?;
    let mut test = Command::new(&binary.executable);
    // As cargo does: tests find their files from the folder of their crate.
    test.current_dir(checkout.join(&binary.package))
        .arg("--show-output")
        .process_group(0);
    test.env("CARGO_MANIFEST_DIR", checkout.join(&binary.package));
    test.envs(
        settings
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    if settings.one_at_a_time {
        test.arg("--test-threads=1");
    }
    test.stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let mut child = test
        .spawn()
        .with_context(|| format!("start {}", binary.executable.display()))?;
    let deadline = Instant::now() + settings.limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > deadline {
            say(&format!(
                "{} took longer than {} s and is ended",
                binary.target,
                settings.limit.as_secs()
            ));
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                kill_process_group(group, Signal::KILL)?;
            }
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
}

/// Reads one message of cargo; only executables of tests are of interest.
fn parse(line: &str, checkout: &Path) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Binary {
        package: folder.strip_prefix(checkout).ok()?.to_str()?.to_owned(),
        target: message["target"]["name"].as_str()?.to_owned(),
        integration: message["target"]["kind"]
            .as_array()?
            .iter()
            .any(|kind| kind == "test"),
        executable: PathBuf::from(message["executable"].as_str()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_cargo_are_read() {
        let artifact = |test: bool, kind: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/c/operator/store/Cargo.toml","target":{{"kind":["{kind}"],"name":"claims"}},"profile":{{"test":{test}}},"executable":"/t/claims-1"}}"#
            )
        };
        let found = parse(&artifact(true, "test"), Path::new("/c")).unwrap();
        let expected = Binary {
            package: "operator/store".to_owned(),
            target: "claims".to_owned(),
            integration: true,
            executable: PathBuf::from("/t/claims-1"),
        };
        assert_eq!(found, expected);
        assert!(
            !parse(&artifact(true, "lib"), Path::new("/c"))
                .unwrap()
                .integration
        );
        assert_eq!(parse(&artifact(false, "lib"), Path::new("/c")), None);
        assert_eq!(parse("noise", Path::new("/c")), None);
    }

    #[test]
    fn a_binary_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("hang");
        // A child writes it: had this process it open for writing, a program that another test starts at that
        // moment could hold it open, and a file that is open for writing cannot be run.
        let mut write = Command::new("sh");
        write.args([
            "-c",
            r#"printf '#!/bin/sh\nsleep 600\n' >"$0" && chmod 755 "$0""#,
        ]);
        assert!(write.arg(&executable).status().unwrap().success());
        let binary = Binary {
            package: String::new(),
            target: "hang".to_owned(),
            integration: true,
            executable,
        };
        let settings = Settings {
            limit: Duration::from_millis(100),
            ..Settings::default()
        };
        let outcome = run(
            &[&binary],
            folder.path(),
            &folder.path().join("logs"),
            &settings,
        )
        .unwrap();
        assert_eq!((outcome.passed, outcome.failed), (0, 1));
    }
}
