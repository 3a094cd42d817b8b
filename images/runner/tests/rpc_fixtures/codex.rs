//! The recordings of Codex, and what its adapter does where there is none.

use std::time::Duration;

use protocol::{EventBody, FailureClass as C, Outcome, ToolStatus};
use runner::adapter::{HostCommand, Input, Output, ResumeOutcome};

use crate::made_up::{self, ended, id_of, steer, steered, timer, written};
use crate::replay::{Case, Run, result};

const fn ok(name: &'static str) -> Case {
    crate::of("codex", "codex", name)
}

const fn failed(name: &'static str, class: C) -> Case {
    Case {
        class: Some(class),
        ..ok(name)
    }
}

const fn resumed(name: &'static str, thread: &'static str) -> Case {
    Case {
        resume: Some(thread),
        ..ok(name)
    }
}

const fn interrupted(name: &'static str) -> Case {
    Case {
        interrupt: Some("\"id\": 4"),
        ..failed(name, C::Cancelled)
    }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ok("apply-patch"),
        ok("apply-patch-shell"),
        ok("approval-accept"),
        failed("approval-cancel", C::CliCrashed),
        ok("approval-decline"),
        failed("approval-escalate", C::CliCrashed),
        ok("approval-patch"),
        ok("compact"),
        ok("context-files"),
        failed("drop-before", C::ProviderNetwork),
        failed("drop-mid", C::ProviderNetwork),
        ok("dynamic-tool"),
        // A copy of a conversation, to go on with.
        resumed("fork", "00000000-0000-4000-8000-000000000050"),
        ok("hooks"),
        ok("hooks-untrusted"),
        failed("http-400", C::Unknown),
        failed("http-401", C::ProviderAuth),
        failed("http-403", C::ProviderAuth),
        failed("http-404", C::ModelNotFound),
        failed("http-429", C::ProviderOverloaded),
        failed("http-500", C::ProviderServerError),
        failed("http-529", C::ProviderOverloaded),
        ok("http-529-once"),
        failed("http-quota", C::ProviderQuota),
        interrupted("interrupt-stream"),
        interrupted("interrupt-tool"),
        Case {
            exit: -9,
            ..failed("killed-mid-tool", C::CliCrashed)
        },
        ok("mcp"),
        failed("no-key", C::ConfigMissing),
        failed("overflow", C::ContextOverflow),
        ok("resume-first"),
        resumed("resume-after-kill", "00000000-0000-4000-8000-000000000087"),
        resumed(
            "resume-other-cwd-given",
            "00000000-0000-4000-8000-000000000036",
        ),
        resumed("resume-other-cwd", "00000000-0000-4000-8000-000000000036"),
        resumed("resume-same-cwd", "00000000-0000-4000-8000-000000000036"),
        Case {
            class: Some(C::SessionRejected),
            ..resumed("resume-unknown", "00000000-0000-4000-8000-000000000049")
        },
        ok("sandbox-never"),
        ok("second-turn-while-running"),
        ok("shell"),
        ok("shell-fails"),
        ok("skill-mention"),
        ok("steer"),
        ok("text"),
        ok("thinking"),
        ok("two-shells"),
        ok("write-read"),
    ]
}

/// The tokens of a resumed turn are its own, though those of the turn before are told first, and reasoning is
/// a part of the output.
#[test]
fn usage_is_that_of_the_turn() {
    for (case, wanted) in [
        (ok("text"), (1240, 12, 300)),
        (
            resumed("resume-same-cwd", "00000000-0000-4000-8000-000000000036"),
            (1240, 12, 300),
        ),
        (ok("thinking"), (90, 60, 0)),
        (ok("shell"), (1100, 40, 0)),
        (interrupted("interrupt-tool"), (100, 20, 0)),
    ] {
        let out = case.replay();
        let usage = result(&out).usage["gpt-5.2-codex"];
        assert_eq!(
            (usage.input, usage.output, usage.cache_read),
            wanted,
            "{}",
            case.name
        );
    }
    assert!(
        result(&failed("overflow", C::ContextOverflow).replay())
            .usage
            .is_empty()
    );
}

const INITIALIZED: &str = r#"{"id":1,"result":{"userAgent":"mooring/0.171.0 (x)"}}"#;
const OPENED: &str = r#"{"id":2,"result":{"thread":{"id":"t"},"model":"m"}}"#;
const BEGAN: &str = r#"{"id":3,"result":{"turn":{"id":"u"}}}"#;
const SAID: &str = r#"{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"agentMessage","id":"1","text":"Done."}}}"#;
const IDLE: &str =
    r#"{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"idle"}}}"#;
const FAILED: &str = r#"{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"x","codexErrorInfo":"unauthorized"}}}}"#;

/// A run made up for the test, after these lines.
fn run(resume: Option<&'static str>, lines: &[&str]) -> Run {
    made_up::run("codex", resume, lines)
}

#[test]
fn a_program_that_does_not_answer_is_not_waited_for() {
    for lines in [&[][..], &[INITIALIZED], &[INITIALIZED, OPENED]] {
        let mut run = run(None, lines);
        let (id, after) = timer(&run);
        assert!(after <= Duration::from_secs(60), "{lines:?}");
        run.give(Input::Timer(id));
        assert!(run.is_done(), "{lines:?}");
        let result = result(&run.out);
        assert_eq!(
            (result.outcome.class(), &result.session),
            (Some(C::CliCrashed), &None)
        );
    }
    let mut run = run(None, &[INITIALIZED, OPENED, BEGAN]);
    let (id, _) = timer(&run);
    run.give(Input::Timer(id));
    assert!(!run.is_done(), "a turn takes what it takes");
}

/// The answer would be as long every time, so a thread that cannot be read is given up, and nothing else is.
#[test]
fn a_thread_whose_answer_is_too_long_is_given_up() {
    for (resume, lines, rejected) in [
        (Some("t"), &[INITIALIZED][..], true),
        (None, &[INITIALIZED], false),
        (Some("t"), &[], false),
        (Some("t"), &[INITIALIZED, OPENED, BEGAN], false),
    ] {
        let mut run = run(resume, lines);
        run.give(Input::StdoutTooLong(50_000_000));
        let told = result(&run.out);
        let is_it = matches!(told.resume, ResumeOutcome::Rejected(_));
        assert_eq!(is_it, rejected, "{resume:?} {lines:?}");
        let class = if rejected {
            C::SessionRejected
        } else {
            C::CliCrashed
        };
        assert_eq!(told.outcome.class(), Some(class), "{resume:?} {lines:?}");
    }
}

#[test]
fn rest_ends_a_turn_whose_end_was_not_told() {
    let lines = [INITIALIZED, OPENED, BEGAN, SAID, IDLE];
    let mut quiet = run(None, &lines);
    let (id, after) = timer(&quiet);
    assert_eq!(after, Duration::from_secs(1));
    quiet.give(Input::Timer(id));
    assert!(quiet.out.contains(&Output::CloseStdin));
    let out = ended(quiet);
    assert_eq!(
        (&result(&out).outcome, &result(&out).output[..]),
        (&Outcome::Succeeded, "Done.")
    );

    // It is told late: what it says counts.
    let mut late = run(None, &lines);
    let (id, _) = timer(&late);
    late.give(Input::Timer(id));
    late.give(Input::Stdout(FAILED.as_bytes()));
    let out = ended(late);
    assert_eq!(result(&out).outcome.class(), Some(C::ProviderAuth));
    assert_eq!(
        out.iter()
            .filter(|output| **output == Output::CloseStdin)
            .count(),
        1
    );
}

#[test]
fn a_process_that_lingers_after_its_turn_does_not_hold_the_run() {
    let mut run = run(None, &[INITIALIZED, OPENED, BEGAN, SAID, FAILED]);
    let (id, _) = timer(&run);
    assert!(!run.is_done());
    run.give(Input::Timer(id));
    assert!(run.is_done());
}

/// What nested agents do in threads of their own, and what is told of turns of the past.
#[test]
fn only_our_turn_counts() {
    let other_thread = SAID.replace("\"t\"", "\"t2\"").replace("Done.", "nested");
    let other_turn = SAID.replace("\"u\"", "\"u0\"").replace("Done.", "past");
    let done_elsewhere = FAILED.replace("\"t\"", "\"t2\"");
    let lines = [
        INITIALIZED,
        OPENED,
        &other_turn,
        BEGAN,
        &other_thread,
        &other_turn,
        SAID,
        &done_elsewhere,
    ];
    let mut run = run(None, &lines);
    assert!(!run.out.contains(&Output::CloseStdin));
    let completed = r#"{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}"#;
    run.give(Input::Stdout(completed.as_bytes()));
    let out = ended(run);
    assert_eq!(result(&out).output, "Done.");
    let texts = out
        .iter()
        .filter(|output| matches!(output, Output::Event(EventBody::Text { .. })));
    assert_eq!(texts.count(), 1);
}

#[test]
fn an_interrupt_waits_for_the_name_of_the_turn() {
    for (lines, sent) in [
        (&[INITIALIZED, OPENED][..], 0),
        (&[INITIALIZED, OPENED, BEGAN], 1),
    ] {
        let mut run = run(None, lines);
        run.give(Input::Host(HostCommand::Interrupt));
        assert_eq!(written(&run, "turn/interrupt"), sent);
        run.give(Input::Stdout(BEGAN.as_bytes()));
        assert_eq!(written(&run, "turn/interrupt"), 1);
        assert_eq!(result(&ended(run)).outcome.class(), Some(C::Cancelled));
    }
    let mut early = run(None, &[INITIALIZED]);
    early.give(Input::Host(HostCommand::Interrupt));
    assert!(early.is_done(), "no turn is begun any more");
    assert_eq!(result(&early.out).outcome.class(), Some(C::Cancelled));
}

#[test]
fn another_thread_than_the_one_asked_for_is_a_refusal() {
    let run = run(Some("t0"), &[INITIALIZED, OPENED]);
    assert!(run.is_done());
    assert!(matches!(
        result(&run.out).resume,
        ResumeOutcome::Rejected(_)
    ));
    assert_eq!(result(&run.out).retired, ["t0"]);
}

/// As of a run that died before it had written anything.
#[test]
fn a_thread_of_which_nothing_was_kept_is_lost() {
    let refused = r#"{"id":2,"error":{"code":-32603,"message":"failed to read thread: failed to read session metadata /x: rollout at /x is empty"}}"#;
    let run = run(Some("t"), &[INITIALIZED, refused]);
    assert_eq!(result(&run.out).outcome.class(), Some(C::SessionRejected));
    assert!(matches!(
        result(&run.out).resume,
        ResumeOutcome::Rejected(_)
    ));
}

#[test]
fn a_failure_that_is_not_about_the_thread_keeps_it() {
    let refused =
        r#"{"id":2,"error":{"code":-32603,"message":"error sending request: connection refused"}}"#;
    let run = run(Some("t"), &[INITIALIZED, refused]);
    let result = result(&run.out);
    assert_eq!(result.outcome.class(), Some(C::ProviderNetwork));
    assert!(matches!(result.resume, ResumeOutcome::Unknown(_)) && result.retired.is_empty());
}

#[test]
fn a_history_that_the_provider_refuses_is_evidence_against_the_thread() {
    let refused = FAILED.replace(
        "\"x\"",
        "\"messages.3: thinking blocks cannot be modified\"",
    );
    let out = ended(run(Some("t"), &[INITIALIZED, OPENED, BEGAN, &refused]));
    assert_eq!(result(&out).outcome.class(), Some(C::HistoryRejected));
    assert!(matches!(result(&out).resume, ResumeOutcome::Rejected(_)));
    assert_eq!(result(&out).retired, ["t"]);
}

#[test]
fn a_request_that_is_not_known_is_refused_and_a_tool_that_did_not_end_is_closed() {
    let request = r#"{"id":"r1","method":"brand/new","params":{}}"#;
    let started = r#"{"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"webSearch","id":"w"}}}"#;
    let out = ended(run(None, &[INITIALIZED, OPENED, BEGAN, request, started]));
    let refusal = |output: &Output| matches!(output, Output::Write(line) if String::from_utf8_lossy(line).contains("-32601"));
    assert!(out.iter().any(refusal));
    let closed = |output: &Output| {
        matches!(
            output,
            Output::Event(EventBody::ToolResult {
                status: Some(ToolStatus::Failed),
                ..
            })
        )
    };
    assert!(out.iter().any(closed));
}

#[test]
fn a_remark_is_taken_in_once_the_turn_shows_it() {
    let mut run = run(None, &[INITIALIZED, OPENED]);
    steer(&mut run, "r1");
    assert_eq!(written(&run, "turn/steer"), 0, "the turn has no name yet");
    run.give(Input::Stdout(BEGAN.as_bytes()));
    assert_eq!(written(&run, "turn/steer"), 1);
    assert_eq!(written(&run, "words of r1"), 1);
    let accepted = format!(
        r#"{{"id":{},"result":{{"turnId":"u"}}}}"#,
        id_of(&run, "r1")
    );
    run.give(Input::Stdout(accepted.as_bytes()));
    assert!(steered(&run).is_empty(), "to accept it is not to read it");
    let shown = r#"{"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"userMessage","id":"i","clientId":"r1"}}}"#;
    for _ in 0..2 {
        run.give(Input::Stdout(shown.as_bytes()));
    }
    assert_eq!(steered(&run), [("r1".to_owned(), true)]);
    steer(&mut run, "r2");
    let refused = format!(
        r#"{{"id":{},"error":{{"code":-32600,"message":"no active turn to steer"}}}}"#,
        id_of(&run, "r2")
    );
    run.give(Input::Stdout(refused.as_bytes()));
    assert_eq!(steered(&run)[1..], [("r2".to_owned(), false)]);
    run.give(Input::Host(HostCommand::Interrupt));
    steer(&mut run, "r3");
    assert_eq!(steered(&run)[2..], [("r3".to_owned(), false)]);
}
