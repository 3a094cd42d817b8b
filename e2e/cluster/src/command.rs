//! Running other programs so that a failure says which one, with what, and what it answered.

use std::io::Write;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const POLL: Duration = Duration::from_millis(50);
const SHOWN_LINES: usize = 40;

/// Runs the command to its end and returns what it printed.
///
/// # Errors
/// When it cannot be started or fails; the error holds the end of its output.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("start {}", describe(command)))?;
    finish(command, &output)
}

/// Like [`capture`], with `input` on its standard input.
///
/// # Errors
/// As [`capture`].
pub fn capture_with(command: &mut Command, input: &str) -> Result<String> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("start {}", describe(command)))?;
    let mut pipe = child.stdin.take().context("standard input was piped")?;
    let text = input.to_owned();
    // From a thread of its own: a child that answers before it has read everything would block us otherwise.
    let writer = thread::spawn(move || pipe.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    finish(command, &output)
}

/// Runs the command for its effect; its output is shown only when it fails.
///
/// # Errors
/// As [`capture`].
pub fn run(command: &mut Command) -> Result<()> {
    capture(command).map(drop)
}

/// Whether the command could be run and succeeded; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Asks `ready` again and again until it is true.
///
/// # Errors
/// When `limit` has passed, with `what` in the message; or when `ready` fails.
pub fn wait_until(
    what: &str,
    limit: Duration,
    mut ready: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !ready()? {
        if Instant::now() > deadline {
            bail!("gave up after {} s waiting until {what}", limit.as_secs());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// The command as one would type it.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last lines of a text, for messages.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn finish(command: &Command, output: &Output) -> Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = tail(&format!("{stdout}{stderr}"), SHOWN_LINES);
        bail!("{} {}:\n{said}", describe(command), ended(output.status));
    }
    Ok(stdout.into_owned())
}

fn ended(status: ExitStatus) -> String {
    status.code().map_or_else(
        || "was killed".to_owned(),
        |code| format!("failed with exit code {code}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_shows_its_output() {
        let error = capture(Command::new("sh").args(["-c", "echo before; echo wrong >&2; exit 3"]))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "sh -c echo before; echo wrong >&2; exit 3 failed with exit code 3:\nbefore\nwrong"
        );
    }

    #[test]
    fn input_larger_than_a_pipe_arrives_whole() {
        let input = "x".repeat(1 << 20);
        assert_eq!(
            capture_with(&mut Command::new("cat"), &input).unwrap(),
            input
        );
    }

    #[test]
    fn waiting_ends_with_what_was_waited_for() {
        let error = wait_until("pigs fly", Duration::ZERO, || Ok(false)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gave up after 0 s waiting until pigs fly"
        );
    }
}
