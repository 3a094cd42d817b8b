//! What `cursor` does with frames as they are described: no recording of it could be had.

use protocol::{EventBody, FailureClass as C, LogLevel, Outcome, ToolStatus};
use runner::adapter::{Activity, HostCommand, Input, Output};

use crate::made_up::{self, ended};
use crate::replay::{Run, result};

const OPENED: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
const DONE: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}"#;

/// A run after these lines.
fn run(lines: &[&str]) -> Run {
    made_up::run("cursor", None, lines)
}

/// The end of a tool, with this result.
fn tool(key: &str, result: &str) -> String {
    format!(
        r#"{{"type":"tool_call","subtype":"completed","call_id":"c1\nfc","tool_call":{{"{key}":{{"args":{{"command":"x"}},"result":{result}}}}}}}"#
    )
}

fn results(out: &[Output]) -> Vec<(&str, Option<ToolStatus>)> {
    let result = |output: &Output| {
        let Output::Event(EventBody::ToolResult {
            call_id, status, ..
        }) = output
        else {
            return None;
        };
        Some((call_id.clone(), *status))
    };
    let found: Vec<_> = out.iter().filter_map(result).collect();
    found
        .into_iter()
        .map(|(id, status)| (if id == "c1" { "c1" } else { "other" }, status))
        .collect()
}

const GOES_ON: &str = r#"{"isBackground":true,"success":{"pid":4242,"stdout":""}}"#;

/// It says that such a tool has completed, while its command runs: its end would be a lie.
#[test]
fn a_command_in_the_background_has_no_end_before_the_run_has() {
    let background = tool("shellToolCall", GOES_ON);
    let run = run(&[OPENED, &background]);
    assert_eq!(results(&run.out), []);
    let warned = |output: &Output| matches!(output, Output::Event(EventBody::Log { level: LogLevel::Warn, content }) if content.contains("4242"));
    assert!(run.out.iter().any(warned));
    let out = ended(made_up::run("cursor", None, &[OPENED, &background, DONE]));
    assert_eq!(results(&out), [("c1", Some(ToolStatus::Failed))]);
    assert_eq!(result(&out).outcome, Outcome::Succeeded);
    assert_eq!(result(&out).output, "Done.");
}

#[test]
fn what_only_speaks_of_the_background_has_ended() {
    for (key, given) in [
        // Another tool, a word, a part of it, and a process that nobody has.
        ("readToolCall", GOES_ON),
        (
            "shellToolCall",
            r#"{"isBackground":"true","success":{"pid":4242}}"#,
        ),
        (
            "shellToolCall",
            r#"{"success":{"isBackground":true,"pid":4242}}"#,
        ),
        (
            "shellToolCall",
            r#"{"isBackground":true,"success":{"stdout":"pid 4242"}}"#,
        ),
        (
            "shellToolCall",
            r#"{"isBackground":true,"success":{"pid":1}}"#,
        ),
    ] {
        let run = run(&[OPENED, &tool(key, given)]);
        let ended = [("c1", Some(ToolStatus::Completed))];
        assert_eq!(results(&run.out), ended, "{key} {given}");
    }
}

/// While it runs the result is kept back: what has run for too long is ended, once.
#[test]
fn what_runs_in_the_background_for_too_long_is_ended() {
    let mut idle = run(&[OPENED]);
    idle.give(Input::Host(HostCommand::InterruptBackgroundTools));
    assert!(
        !idle
            .out
            .iter()
            .any(|output| matches!(output, Output::EndProcesses { .. }))
    );
    let mut run = run(&[OPENED, &tool("shellToolCall", GOES_ON)]);
    for _ in 0..2 {
        run.give(Input::Host(HostCommand::InterruptBackgroundTools));
    }
    let calls: Vec<_> = (run.out.iter())
        .filter_map(|output| match output {
            Output::EndProcesses { pids } => Some(pids),
            Output::Event(_)
            | Output::Run { .. }
            | Output::Write(_)
            | Output::CloseStdin
            | Output::SetTimer { .. }
            | Output::Steered { .. }
            | Output::Ask { .. }
            | Output::Withdrawn { .. }
            | Output::Activity(_)
            | Output::Done(_) => None,
        })
        .collect();
    assert_eq!(calls, [&[4242]]);
    assert!(
        run.out
            .contains(&Output::Activity(Activity::ToolsInterrupted))
    );
}

#[test]
fn ends_that_are_failures() {
    let failed = r#"{"type":"result","subtype":"error","is_error":true,"error":"401 Unauthorized","session_id":"s"}"#;
    let silent = DONE.replace("Done.", "");
    for (lines, class) in [
        (&[][..], C::CliCrashed),
        (&[OPENED], C::CliCrashed),
        (&[OPENED, &silent], C::EmptyOutput),
        (&[OPENED, failed], C::ProviderAuth),
    ] {
        let out = ended(run(lines));
        assert_eq!(result(&out).outcome.class(), Some(class), "{lines:?}");
    }
}

/// Its stream changes: what is not understood is not passed over.
#[test]
fn a_frame_of_a_kind_that_is_not_known_is_a_warning() {
    let run = run(&[OPENED, r#"{"type":"brand_new"}"#]);
    let warned = |output: &Output| matches!(output, Output::Event(EventBody::Log { level: LogLevel::Warn, content }) if content.contains("brand_new"));
    assert!(run.out.iter().any(warned));
}
