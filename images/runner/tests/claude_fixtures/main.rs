//! Replays what the real Claude Code wrote, frame by frame, and compares every event and the result.

mod cases;
#[path = "../replay/mod.rs"]
mod replay;

use protocol::{EventBody, FailureClass as C, Outcome};
use runner::adapter::{Exit, HostCommand, Input, Output, ResumeOutcome};

use cases::{CASES, case, ok};
use replay::{Case, Run, recorded, result, shown};

#[test]
fn every_recording_has_a_case() {
    let mut listed: Vec<_> = CASES.iter().map(|case| case.name).collect();
    listed.sort_unstable();
    assert_eq!(listed, recorded("claude"));
}

#[test]
fn every_recording_ends_with_its_class() {
    for case in CASES {
        let out = case.replay();
        assert_eq!(result(&out).outcome.class(), case.class, "{}", case.name);
    }
}

#[test]
fn every_recording_gives_the_same_events() {
    for case in CASES {
        insta::assert_snapshot!(case.name, shown(&case.replay()));
    }
}

#[test]
fn a_conversation_goes_on_only_where_the_cli_said_so() {
    for case in CASES {
        let out = case.replay();
        let result = result(&out);
        match (case.resume, case.class) {
            (None, _) => assert_eq!(result.resume, ResumeOutcome::NotAsked, "{}", case.name),
            (Some(id), None) => {
                assert!(
                    matches!(result.resume, ResumeOutcome::Continued(_)),
                    "{}: {:?}",
                    case.name,
                    result.resume
                );
                assert_eq!(result.session.as_deref(), Some(id), "{}", case.name);
            }
            (Some(id), Some(_)) => {
                assert!(
                    matches!(result.resume, ResumeOutcome::Rejected(_)),
                    "{}: {:?}",
                    case.name,
                    result.resume
                );
                assert_eq!(
                    (&result.session, &result.retired[..]),
                    (&None, &[id.to_owned()][..]),
                    "{}",
                    case.name
                );
                assert!(
                    !out.iter()
                        .any(|output| matches!(output, Output::Event(EventBody::Status { .. })))
                );
            }
        }
    }
}

/// The tokens of a resumed turn are its own, though the CLI also reports those of the whole conversation.
#[test]
fn usage_is_that_of_the_run() {
    for name in ["text", "resume-same-cwd"] {
        let out = case(name).replay();
        let usage = result(&out).usage.get("claude-opus-5-5").copied().unwrap();
        assert_eq!(
            (
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write
            ),
            (1200, 12, 300, 40),
            "{name}"
        );
    }
}

#[test]
fn a_cut_recording_never_breaks_and_succeeds_only_with_a_result() {
    for case in CASES {
        let lines = case.stdout();
        for cut in 0..=lines.len() {
            let mut run = Run::of(case);
            for line in &lines[..cut] {
                run.give(Input::Stdout(line.as_bytes()));
            }
            let out = run.end(Exit {
                code: None,
                signal: Some(9),
            });
            if result(&out).outcome == Outcome::Succeeded {
                assert!(
                    lines[..cut].iter().any(|line| line.contains("\"result\"")),
                    "{} cut at {cut}",
                    case.name
                );
            }
        }
    }
}

/// Frames of a later version change nothing but the log, wherever they come.
#[test]
fn unknown_frames_are_kept_and_change_nothing() {
    let odd = [
        r#"{"type":"brand_new","session_id":"x","message":{"content":[{"type":"text","text":"odd"}]}}"#,
        r#"{"type":"system","subtype":"brand_new","odd":1}"#,
        "plain words",
        "\u{fffd}[31m",
    ];
    for name in ["text", "two-shells", "http-401"] {
        let plain = case(name).replay();
        let mut run = Run::of(case(name));
        for line in case(name).stdout() {
            for odd in odd {
                run.give(Input::Stdout(odd.as_bytes()));
            }
            run.give(Input::Stdout(line.as_bytes()));
        }
        let count = case(name).stdout().len();
        let out = run.end(case(name).exit());
        let (logs, rest): (Vec<_>, Vec<_>) = out.into_iter().partition(
            |output| matches!(output, Output::Event(EventBody::Log { content, .. }) if odd.iter().any(|odd| content.ends_with(odd))),
        );
        assert_eq!(logs.len(), odd.len() * count, "{name}");
        assert_eq!(rest, plain, "{name}");
    }
}

#[test]
fn a_process_that_lingers_after_its_result_does_not_hold_the_run() {
    let mut run = Run::of(case("text"));
    for line in case("text").stdout() {
        run.give(Input::Stdout(line.as_bytes()));
    }
    let timer = run.out.iter().find_map(|output| {
        if let Output::SetTimer { id, .. } = output {
            Some(*id)
        } else {
            None
        }
    });
    assert!(!run.is_done());
    run.give(Input::Timer(timer.expect("a timer is set with the result")));
    assert!(run.is_done());
    assert_eq!(result(&run.out).outcome, Outcome::Succeeded);
}

#[test]
fn a_line_beyond_the_limit_ends_the_run() {
    let mut run = Run::of(case("text"));
    run.give(Input::Stdout(case("text").stdout()[0].as_bytes()));
    run.give(Input::StdoutTooLong(50_000_000));
    assert_eq!(result(&run.out).outcome.class(), Some(C::CliCrashed));
    assert!(
        result(&run.out).session.is_some(),
        "the conversation is kept"
    );
}

/// What a run of these lines, made up for the test, comes to.
fn told(resume: Option<&'static str>, lines: &[&str]) -> Vec<Output> {
    let case = Case {
        resume,
        ..ok("told")
    };
    let mut run = Run::of(&case);
    for line in lines {
        run.give(Input::Stdout(line.as_bytes()));
    }
    run.end(case.exit())
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"Done.","session_id":"s1"}"#;

#[test]
fn stdin_stays_open_while_messages_wait() {
    let queued = DONE.replace("\"Done.\"", "\"Done.\",\"queued_turn_count\":1");
    assert!(!told(None, &[INIT, &queued]).contains(&Output::CloseStdin));
    let both = told(None, &[INIT, &queued, DONE]);
    assert_eq!(
        both.iter()
            .filter(|output| **output == Output::CloseStdin)
            .count(),
        1
    );
}

#[test]
fn nothing_is_written_after_stdin_was_closed() {
    let question =
        r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool"}}"#;
    let mut run = Run::of(case("text"));
    for line in [INIT, question, DONE, question] {
        run.give(Input::Stdout(line.as_bytes()));
    }
    run.give(Input::Host(HostCommand::Interrupt));
    let out = run.end(Exit {
        code: Some(0),
        signal: None,
    });
    assert_eq!(
        out.iter()
            .filter(|output| matches!(output, Output::Write(_)))
            .count(),
        1
    );
    assert_eq!(
        result(&out).outcome,
        Outcome::Succeeded,
        "what was answered before the interrupt stands"
    );
}

#[test]
fn an_empty_turn_of_the_cli_does_not_undo_an_answer() {
    let empty = DONE.replace("Done.", "");
    let out = told(None, &[INIT, DONE, INIT, &empty]);
    assert_eq!(
        (&result(&out).outcome, &result(&out).output[..]),
        (&Outcome::Succeeded, "Done.")
    );
}

#[test]
fn a_turn_that_moves_to_a_new_conversation_leaves_that_one_to_resume() {
    let moved = INIT.replace("s1", "s2");
    let out = told(Some("s1"), &[INIT, &moved, DONE]);
    assert_eq!(result(&out).session.as_deref(), Some("s2"));
    assert!(matches!(result(&out).resume, ResumeOutcome::Continued(_)));
}

#[test]
fn a_history_that_the_provider_refuses_is_evidence_against_the_session() {
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":400,"result":"API Error: 400 messages.3: thinking blocks cannot be modified"}"#;
    let out = told(Some("s1"), &[INIT, refused]);
    assert_eq!(result(&out).outcome.class(), Some(C::HistoryRejected));
    assert!(matches!(result(&out).resume, ResumeOutcome::Rejected(_)));
    assert_eq!(result(&out).retired, ["s1"]);
    // A fresh conversation is spent all the same, but there was nothing to resume.
    assert_eq!(
        result(&told(None, &[INIT, refused])).resume,
        ResumeOutcome::NotAsked
    );
}

#[test]
fn a_missing_login_does_not_cost_the_conversation() {
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"Could not resolve authentication method."}"#;
    let out = told(Some("s1"), &[INIT, refused]);
    assert_eq!(result(&out).outcome.class(), Some(C::ProviderAuth));
    // Good enough to try without it, and not to give it up for one that fails as well.
    assert!(matches!(result(&out).resume, ResumeOutcome::Doubtful(_)));
    assert_eq!(
        (result(&out).session.as_deref(), &result(&out).retired[..]),
        (Some("s1"), &[][..])
    );
}
