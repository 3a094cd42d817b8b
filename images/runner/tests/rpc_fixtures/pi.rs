//! The recordings of pi, and what its adapter does where there is none.

use std::time::Duration;

use protocol::{EventBody, FailureClass as C, Outcome};
use runner::adapter::{HostCommand, Input, Output, ResumeOutcome};

use crate::made_up::{self, ended, id_of, steer, steered, timer, written};
use crate::of;
use crate::replay::{Case, Run, result};

const NEW: &str = "pi";
const OLD: &str = "pi-0.73";

const fn failed(folder: &'static str, name: &'static str, class: C) -> Case {
    Case {
        class: Some(class),
        ..of("pi", folder, name)
    }
}

fn new() -> Vec<Case> {
    let ok = |name| of("pi", NEW, name);
    let asked = |name, session| Case {
        resume: Some(session),
        ..ok(name)
    };
    let lost = |name, exit| Case {
        exit,
        class: Some(C::SessionRejected),
        ..asked(name, "11111111-2222-4333-8444-555555555555")
    };
    let aborted = |name, before| Case {
        interrupt: Some(before),
        ..failed(NEW, name, C::Cancelled)
    };
    vec![
        ok("text"),
        ok("text-anthropic"),
        ok("thinking"),
        ok("shell"),
        ok("write-read"),
        failed(NEW, "http-401", C::ProviderAuth),
        ok("http-529-once"),
        failed(NEW, "overflow", C::ContextOverflow),
        asked("resume-same-cwd", "00000000-0000-4000-8000-000000000002"),
        lost("resume-unknown", 1),
        lost("resume-other-cwd", 0),
        aborted("rpc-abort", "Command aborted"),
        aborted("rpc-abort-stream", "\"stopReason\": \"aborted\""),
        ok("rpc-steer"),
        ok("context-files"),
        Case {
            exit: -2,
            ..failed(NEW, "sigint-mid-turn", C::CliCrashed)
        },
        Case {
            exit: 143,
            ..failed(NEW, "sigterm-mid-tool", C::CliCrashed)
        },
    ]
}

fn old() -> Vec<Case> {
    let ok = |name| of("pi", OLD, name);
    let lost = |name, session, exit| Case {
        resume: Some(session),
        exit,
        ..failed(OLD, name, C::SessionRejected)
    };
    vec![
        ok("text"),
        ok("text-anthropic"),
        ok("thinking"),
        ok("shell"),
        ok("write-read"),
        ok("context-files"),
        ok("rpc-steer"),
        failed(OLD, "http-401", C::ProviderAuth),
        failed(OLD, "http-429", C::ProviderOverloaded),
        failed(OLD, "http-500", C::ProviderServerError),
        failed(OLD, "http-529", C::ProviderOverloaded),
        Case {
            exit: -2,
            ..failed(OLD, "sigint-mid-turn", C::CliCrashed)
        },
        Case {
            interrupt: Some("\"stopReason\": \"aborted\""),
            ..failed(OLD, "rpc-abort-stream", C::Cancelled)
        },
        failed(OLD, "http-quota", C::ProviderQuota),
        failed(OLD, "drop-before", C::ProviderNetwork),
        failed(OLD, "drop-mid", C::ProviderNetwork),
        ok("http-529-once"),
        failed(OLD, "overflow", C::ContextOverflow),
        Case {
            interrupt: Some("Command aborted"),
            ..failed(OLD, "rpc-abort", C::Cancelled)
        },
        Case {
            resume: Some("00000000-0000-4000-8000-000000000002"),
            ..ok("resume-same-cwd")
        },
        lost(
            "resume-other-cwd",
            "00000000-0000-4000-8000-000000000002",
            0,
        ),
        lost("resume-unknown", "11111111-2222-4333-8444-555555555555", 1),
    ]
}

pub(crate) fn folders() -> Vec<(&'static str, Vec<Case>)> {
    vec![(NEW, new()), (OLD, old())]
}

#[test]
fn usage_is_that_of_the_run() {
    for (folder, name, wanted) in [
        (NEW, "text", (1240, 12, 300)),
        (NEW, "resume-same-cwd", (1240, 12, 300)),
        (NEW, "shell", (1100, 40, 0)),
        (OLD, "text", (1240, 12, 300)),
        (OLD, "resume-same-cwd", (1240, 12, 300)),
    ] {
        let all = folders().into_iter().flat_map(|(_, cases)| cases);
        let found = all
            .into_iter()
            .find(|case| (case.folder, case.name) == (folder, name));
        let out = found.expect("the case is in the table").replay();
        let usage = result(&out).usage["scripted-1"];
        assert_eq!(
            (usage.input, usage.output, usage.cache_read),
            wanted,
            "{folder}/{name}"
        );
    }
}

const STATE: &str = r#"{"id":"1","type":"response","command":"get_state","success":true,"data":{"sessionId":"s","model":{"id":"m"}}}"#;
const STARTED: &str = r#"{"type":"agent_start"}"#;
const FAILED: &str = r#"{"type":"turn_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"529 overloaded"}}"#;
const SAID: &str = r#"{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#;
const END: &str = r#"{"type":"agent_end","messages":[]}"#;
const RETRY: &str = r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"529"}"#;

fn run(resume: Option<&'static str>, lines: &[&str]) -> Run {
    made_up::run("pi", resume, lines)
}

/// In another conversation than the one that is meant it would do harm.
#[test]
fn the_prompt_waits_for_the_name_of_the_conversation() {
    assert_eq!(written(&run(None, &[]), "prompt"), 0);
    assert_eq!(written(&run(Some("s"), &[STATE]), "prompt"), 1);
    let other = run(Some("s0"), &[STATE]);
    assert_eq!(written(&other, "prompt"), 0);
    assert!(matches!(
        result(&other.out).resume,
        ResumeOutcome::Rejected(_)
    ));
    assert_eq!(result(&other.out).retired, ["s0"]);
}

#[test]
fn an_end_that_is_tried_again_is_none() {
    let mut again = run(None, &[STATE, STARTED, FAILED, END]);
    let (id, after) = timer(&again);
    assert_eq!(after, Duration::from_secs(1));
    again.give(Input::Stdout(RETRY.as_bytes()));
    again.give(Input::Timer(id));
    assert!(!again.out.contains(&Output::CloseStdin));
    for line in [STARTED, SAID, END] {
        again.give(Input::Stdout(line.as_bytes()));
    }
    again.give(Input::Timer(id));
    assert!(again.out.contains(&Output::CloseStdin));
    let out = ended(again);
    assert_eq!(
        (&result(&out).outcome, &result(&out).output[..]),
        (&Outcome::Succeeded, "Done.")
    );
    let told = out
        .iter()
        .filter(|output| matches!(output, Output::Event(EventBody::Status { .. })));
    assert_eq!(told.count(), 1);
}

#[test]
fn a_program_that_does_not_answer_or_does_not_leave_is_not_waited_for() {
    let mut silent = run(None, &[]);
    let (id, _) = timer(&silent);
    silent.give(Input::Timer(id));
    assert_eq!(result(&silent.out).outcome.class(), Some(C::CliCrashed));
    let mut lingers = run(None, &[STATE, STARTED, SAID, r#"{"type":"agent_settled"}"#]);
    let (id, _) = timer(&lingers);
    lingers.give(Input::Timer(id));
    assert_eq!(result(&lingers.out).outcome, Outcome::Succeeded);
}

#[test]
fn an_interrupt_aborts_once() {
    let mut run = run(None, &[STATE, STARTED]);
    for _ in 0..2 {
        run.give(Input::Host(HostCommand::Interrupt));
    }
    let aborts = run.out.iter().filter(
        |output| matches!(output, Output::Write(line) if line.starts_with(br#"{"id":"3""#)),
    );
    assert_eq!(aborts.count(), 1);
    assert_eq!(result(&ended(run)).outcome.class(), Some(C::Cancelled));
}

#[test]
fn a_prompt_that_is_refused_ends_the_run() {
    let refused = r#"{"id":"2","type":"response","command":"prompt","success":false,"error":"Not logged in"}"#;
    let run = run(Some("s"), &[STATE, refused]);
    assert_eq!(result(&run.out).outcome.class(), Some(C::ProviderAuth));
    assert_eq!(result(&run.out).session.as_deref(), Some("s"));
}

#[test]
fn a_remark_is_taken_in_once_the_conversation_shows_it() {
    let mut run = run(None, &[STATE]);
    steer(&mut run, "r1");
    assert_eq!(written(&run, "\"steer\""), 0, "nobody works yet");
    run.give(Input::Stdout(STARTED.as_bytes()));
    assert_eq!(written(&run, "words of r1"), 1);
    let accepted = format!(
        r#"{{"id":{},"type":"response","command":"steer","success":true}}"#,
        id_of(&run, "r1")
    );
    run.give(Input::Stdout(accepted.as_bytes()));
    assert!(steered(&run).is_empty(), "to accept it is not to read it");
    let shown = r#"{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"words of r1"}]}}"#;
    for _ in 0..2 {
        run.give(Input::Stdout(shown.as_bytes()));
    }
    assert_eq!(steered(&run), [("r1".to_owned(), true)]);
    steer(&mut run, "r2");
    let refused = format!(
        r#"{{"id":{},"type":"response","command":"steer","success":false,"error":"no"}}"#,
        id_of(&run, "r2")
    );
    run.give(Input::Stdout(refused.as_bytes()));
    assert_eq!(steered(&run)[1..], [("r2".to_owned(), false)]);
    assert!(!run.is_done());
}
