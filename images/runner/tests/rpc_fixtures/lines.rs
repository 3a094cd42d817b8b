//! The recordings of programs that run one turn per process, and what their adapters do where there is none.

use std::time::Duration;

use protocol::{EventBody, FailureClass as C, Outcome, TokenUsage};
use runner::adapter::{Activity, Exit, HostCommand, Input, Output, ResumeOutcome, TimerId};

use crate::of;
use crate::replay::{Case, Run, result};

const fn failed(folder: &'static str, name: &'static str, exit: i32, class: C) -> Case {
    Case {
        exit,
        class: Some(class),
        ..of(folder, folder, name)
    }
}

const fn asked(folder: &'static str, name: &'static str, session: &'static str) -> Case {
    Case {
        resume: Some(session),
        ..of(folder, folder, name)
    }
}

const fn lost(folder: &'static str, name: &'static str, session: &'static str) -> Case {
    Case {
        resume: Some(session),
        ..failed(folder, name, 1, C::SessionRejected)
    }
}

fn opencode() -> Vec<Case> {
    const OF: &str = "opencode";
    let ok = |name| of(OF, OF, name);
    vec![
        ok("context-files"),
        failed(OF, "http-401", 1, C::ProviderAuth),
        failed(OF, "http-429", 1, C::ProviderOverloaded),
        ok("http-529-once"),
        failed(OF, "overflow", 1, C::ContextOverflow),
        failed(OF, "permission-ask", 0, C::CliCrashed),
        asked(OF, "resume-same-cwd", "ses_dd642eea5ffeUrSuQscbGAwcE4"),
        lost(OF, "resume-unknown", "ses_00000000000000000000000000"),
        ok("shell"),
        failed(OF, "sigint-mid-turn", -2, C::CliCrashed),
        failed(OF, "sigterm-mid-tool", -15, C::CliCrashed),
        ok("text"),
        ok("thinking"),
        ok("write-read"),
    ]
}

fn copilot() -> Vec<Case> {
    const OF: &str = "copilot";
    const FIRST: &str = "00000000-0000-4000-8000-000000000088";
    let ok = |name| of(OF, OF, name);
    vec![
        ok("context-files"),
        failed(OF, "drop-mid", 1, C::ProviderNetwork),
        failed(OF, "http-401", 1, C::ProviderAuth),
        failed(OF, "http-429", 1, C::ProviderOverloaded),
        failed(OF, "http-500", 1, C::ProviderServerError),
        failed(OF, "overflow", 1, C::ContextOverflow),
        asked(OF, "resume-other-cwd", FIRST),
        asked(OF, "resume-same-cwd", FIRST),
        lost(OF, "resume-unknown", "11111111-2222-4333-8444-555555555555"),
        ok("shell"),
        failed(OF, "sigint-mid-turn", -2, C::CliCrashed),
        ok("text"),
        ok("text-anthropic"),
        ok("text-responses"),
        ok("thinking"),
        ok("write-read"),
    ]
}

fn qwen() -> Vec<Case> {
    const OF: &str = "qwen";
    const FIRST: &str = "00000000-0000-4000-8000-000000000005";
    let ok = |name| of(OF, OF, name);
    vec![
        ok("context-files"),
        failed(OF, "drop-before", -9, C::CliCrashed),
        ok("drop-mid"),
        failed(OF, "http-401", 1, C::ProviderAuth),
        failed(OF, "http-429", -9, C::CliCrashed),
        failed(OF, "http-500", -9, C::CliCrashed),
        failed(OF, "http-quota", -9, C::CliCrashed),
        failed(OF, "overflow", 1, C::ContextOverflow),
        lost(OF, "resume-other-cwd", FIRST),
        asked(OF, "resume-same-cwd", FIRST),
        lost(OF, "resume-unknown", "11111111-2222-4333-8444-555555555555"),
        // It goes on with a next prompt, which it is never given.
        Case {
            interrupt: Some("\"request_id\": \"r2\""),
            ..failed(OF, "interrupt-stream", 0, C::Cancelled)
        },
        ok("permission-allow"),
        ok("permission-deny"),
        ok("shell"),
        failed(OF, "sigint-mid-turn", 130, C::CliCrashed),
        ok("steer-user-message"),
        ok("stream-input"),
        ok("text"),
        ok("text-partial"),
        ok("thinking"),
        ok("write-read"),
    ]
}

fn omp() -> Vec<Case> {
    const OF: &str = "omp";
    const FIRST: &str = "00000000-0000-4000-8000-000000000002";
    let ok = |name| of(OF, OF, name);
    vec![
        ok("context-files"),
        failed(OF, "http-401", 1, C::ProviderAuth),
        failed(OF, "overflow", 1, C::ContextOverflow),
        asked(OF, "resume-other-cwd", FIRST),
        asked(OF, "resume-same-cwd", FIRST),
        lost(OF, "resume-unknown", "11111111-2222-4333-8444-555555555555"),
        ok("shell"),
        failed(OF, "sigint-mid-turn", 130, C::CliCrashed),
        ok("text"),
        ok("thinking"),
        ok("write-read"),
    ]
}

fn openclaw() -> Vec<Case> {
    const OF: &str = "openclaw";
    let ok = |name| of(OF, OF, name);
    vec![
        failed(OF, "http-401", 1, C::ProviderAuth),
        failed(OF, "overflow", 1, C::ContextOverflow),
        ok("recall"),
        ok("shell"),
        ok("text"),
    ]
}

pub(crate) fn folders() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("opencode", opencode()),
        ("copilot", copilot()),
        ("qwen", qwen()),
        ("omp", omp()),
        ("openclaw", openclaw()),
    ]
}

fn run(provider: &'static str, resume: Option<&'static str>) -> Run {
    Run::of(&Case {
        resume,
        ..of(provider, provider, "text")
    })
}

const WELL: Exit = Exit {
    code: Some(0),
    signal: None,
};

/// The prompt is all of stdin: a program that reads to its end would wait for ever.
#[test]
fn stdin_is_closed_at_once() {
    for (provider, _) in folders() {
        let run = run(provider, None);
        assert!(run.out.contains(&Output::CloseStdin), "{provider}");
    }
}

#[test]
fn an_interrupted_run_is_cancelled_and_goes_on_later() {
    for (folder, cases) in folders() {
        let Some(case) = cases.iter().find(|case| case.name == "sigint-mid-turn") else {
            // It tells nothing before its end.
            assert_eq!(folder, "openclaw");
            continue;
        };
        let mut run = Run::of(case);
        for line in case.stdout() {
            run.line(&line);
        }
        run.give(Input::Host(HostCommand::Interrupt));
        let out = run.end(Exit {
            code: None,
            signal: Some(15),
        });
        assert_eq!(result(&out).outcome.class(), Some(C::Cancelled), "{folder}");
        // copilot names at the end only a conversation that it was given no name for.
        assert_eq!(
            result(&out).session.is_some(),
            folder != "copilot",
            "{folder}"
        );
    }
}

#[test]
fn a_turn_that_ended_before_its_interrupt_counts() {
    let mut run = run("opencode", None);
    run.line(r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#);
    run.line(r#"{"type":"text","sessionID":"ses_1","part":{"text":"Done."}}"#);
    run.line(r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":1,"output":1}}}"#);
    run.give(Input::Host(HostCommand::Interrupt));
    let out = run.end(WELL);
    assert_eq!(result(&out).outcome, Outcome::Succeeded);
    assert_eq!(result(&out).output, "Done.");
}

/// What such a program says last, one line each.
const RESULTS: [(&str, &[&str]); 3] = [
    (
        "qwen",
        &[
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#,
        ],
    ),
    (
        "copilot",
        &[
            r#"{"type":"assistant.message","data":{"messageId":"m","content":"Done."}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ],
    ),
    (
        "opencode",
        &[
            r#"{"type":"text","sessionID":"s","part":{"text":"Done."}}"#,
            r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop","tokens":{"input":1}}}"#,
        ],
    ),
];

#[test]
fn a_result_counts_of_one_that_has_closed_its_output_and_does_not_end() {
    for (id, lines) in RESULTS {
        let mut run = run(id, None);
        let (last, before) = lines.split_last().unwrap();
        for line in before {
            run.line(line);
        }
        // Without a result it has to be ended.
        run.give(Input::Timer(TimerId::CLOSED));
        assert!(!run.is_done(), "{id}");
        run.line(last);
        run.give(Input::Timer(TimerId::CLOSED));
        assert!(run.is_done(), "{id}");
        let out = run.end(WELL);
        let result = result(&out);
        assert_eq!(result.outcome, Outcome::Succeeded, "{id}");
        assert_eq!(result.output, "Done.", "{id}");
        assert_eq!(result.session.as_deref(), Some("s"), "{id}");
    }
}

/// Copilot calls it a success that it was ended in the midst of a tool.
#[test]
fn an_end_without_an_answer_is_no_success_of_a_turn_that_was_stopped() {
    let ended = r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"error":{"message":"aborted"}}}"#;
    for of_the_tool in [None, Some(ended)] {
        let mut run = run("copilot", None);
        run.line(r#"{"type":"assistant.message","data":{"messageId":"m","content":"","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{}}]}}"#);
        run.give(Input::Host(HostCommand::Interrupt));
        if let Some(line) = of_the_tool {
            run.line(line);
        }
        run.line(r#"{"type":"result","sessionId":"s","exitCode":0}"#);
        let out = run.end(WELL);
        assert_eq!(result(&out).outcome.class(), Some(C::Cancelled));
        assert_eq!(result(&out).session.as_deref(), Some("s"));
    }
}

#[test]
fn another_conversation_than_the_one_asked_for_is_a_refusal() {
    let mut run = run("qwen", Some("a"));
    run.line(r#"{"type":"system","subtype":"init","session_id":"b","model":"m"}"#);
    let told = result(&run.out);
    assert_eq!(told.outcome.class(), Some(C::SessionRejected));
    assert!(matches!(told.resume, ResumeOutcome::Rejected(_)));
}

/// opencode would try again for ever, without a frame.
#[test]
fn a_provider_that_keeps_failing_is_given_up() {
    let mut run = run("opencode", None);
    let failed = r#"level=ERROR message="stream error" small=false error.error="AI_APICallError: Cannot connect to API: connect ECONNREFUSED""#;
    let title = failed.replace("small=false", "small=true");
    for _ in 0..5 {
        run.give(Input::Stderr(failed.as_bytes()));
        run.give(Input::Stderr(title.as_bytes()));
    }
    // It got on: the count begins anew.
    run.line(r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#);
    for _ in 0..5 {
        run.give(Input::Stderr(failed.as_bytes()));
    }
    assert!(!run.out.iter().any(|out| matches!(out, Output::Done(_))));
    run.give(Input::Stderr(failed.as_bytes()));
    let told = result(&run.out);
    assert_eq!(told.outcome.class(), Some(C::ProviderNetwork));
    assert_eq!(told.session.as_deref(), Some("ses_1"));
}

/// The line that it then writes, of this conversation.
fn attempt(session: &str) -> String {
    format!(
        r#"timestamp=1 level=ERROR run=1 message="stream error" providerID=p modelID=m session.id={session} small=false agent=build mode=primary error.error="AI_APICallError: 429 Too Many Requests""#
    )
}

/// Its log names the conversation before any frame does, and each failure is told to the watchdogs.
#[test]
fn a_first_turn_that_only_fails_leaves_its_conversation() {
    let mut run = run("opencode", None);
    for _ in 0..6 {
        // A sub-agent has a conversation of its own.
        run.give(Input::Stderr(attempt("ses_1").as_bytes()));
        run.give(Input::Stderr(attempt("ses_2").as_bytes()));
    }
    let is = |wanted: &Output| run.out.iter().filter(|output| *output == wanted).count();
    let named = EventBody::Status {
        status: "running".to_owned(),
        session_id: Some("ses_1".to_owned()),
    };
    assert_eq!(is(&Output::Event(named)), 1);
    let again = Activity::Retrying(C::ProviderOverloaded);
    assert_eq!(is(&Output::Activity(again)), 6);
    let told = result(&run.out);
    assert_eq!(told.outcome.class(), Some(C::ProviderOverloaded));
    assert_eq!(told.session.as_deref(), Some("ses_1"));
}

/// Three minutes after the first failure without a frame it is given up, however often it has failed.
#[test]
fn a_request_that_is_tried_again_has_its_time() {
    const RETRIES: TimerId = TimerId(1);
    let timers = |run: &Run| {
        let set = |out: &&Output| matches!(out, Output::SetTimer { id: RETRIES, .. });
        run.out.iter().filter(set).count()
    };
    let mut run = run("opencode", Some("ses_1"));
    run.give(Input::Timer(RETRIES));
    run.give(Input::Stderr(attempt("ses_1").as_bytes()));
    run.give(Input::Stderr(attempt("ses_1").as_bytes()));
    let after = Duration::from_secs(180);
    assert!(run.out.contains(&Output::SetTimer { id: RETRIES, after }));
    assert_eq!(timers(&run), 1);
    // It got on, and it may take its time.
    run.line(r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#);
    run.give(Input::Timer(RETRIES));
    assert!(!run.is_done());
    run.give(Input::Stderr(attempt("ses_1").as_bytes()));
    assert_eq!(timers(&run), 2);
    run.give(Input::Timer(RETRIES));
    let told = result(&run.out);
    assert_eq!(told.outcome.class(), Some(C::ProviderOverloaded));
}

/// How often the model is asked is known of these, so none of its answers is guessed.
#[test]
fn each_answer_of_the_model_is_told() {
    for (folder, name, answers) in [
        ("opencode", "write-read", 3),
        ("qwen", "write-read", 3),
        ("qwen", "shell", 2),
        ("copilot", "shell", 2),
        ("omp", "shell", 2),
    ] {
        let out = of(folder, folder, name).replay();
        let count = |activity| {
            let is_it = |output: &&Output| **output == Output::Activity(activity);
            out.iter().filter(is_it).count()
        };
        assert_eq!(count(Activity::TellsTurns), 1, "{folder}");
        assert_eq!(count(Activity::ModelTurn), answers, "{folder}/{name}");
    }
}

/// Words speak of many things; a field of the failure says what it is.
#[test]
fn what_a_field_says_comes_before_words() {
    for (id, line, class) in [
        (
            "copilot",
            r#"{"type":"session.error","data":{"errorType":"authentication","message":"no credits service; internal error"}}"#,
            C::ProviderAuth,
        ),
        (
            "copilot",
            r#"{"type":"session.error","data":{"errorType":"query","statusCode":400,"message":"prompt is too long"}}"#,
            C::ContextOverflow,
        ),
        (
            "opencode",
            r#"{"type":"error","sessionID":"s","error":{"name":"ProviderAuthError","data":{"providerID":"p","message":"The quota file is odd"}}}"#,
            C::ProviderAuth,
        ),
        (
            "opencode",
            r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"statusCode":401,"message":"no credits for this key"}}}"#,
            C::ProviderAuth,
        ),
        (
            "opencode",
            r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"statusCode":429,"message":"You exceeded your current quota"}}}"#,
            C::ProviderQuota,
        ),
        (
            "qwen",
            r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 503 the login service: unauthorized]"}}"#,
            C::ProviderServerError,
        ),
    ] {
        let mut run = run(id, None);
        run.line(line);
        let out = run.end(WELL);
        assert_eq!(result(&out).outcome.class(), Some(class), "{id} {line}");
    }
}

#[test]
fn opencode_has_to_come_to_an_end() {
    let start = r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#;
    let tool = r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x"}}}"#;
    let finish = |reason: &str| {
        format!(
            r#"{{"type":"step_finish","sessionID":"ses_1","part":{{"reason":"{reason}","tokens":{{"output":0}}}}}}"#
        )
    };
    for (lines, class) in [
        (vec![], C::CliCrashed),
        (vec![start.to_owned()], C::ProviderNetwork),
        (vec![start.to_owned(), finish("stop")], C::EmptyOutput),
        (vec![start.to_owned(), finish("length")], C::EmptyOutput),
        (
            vec![start.to_owned(), tool.to_owned(), finish("tool-calls")],
            C::CliCrashed,
        ),
        (
            vec![start.to_owned(), tool.to_owned(), finish("unknown")],
            C::CliCrashed,
        ),
    ] {
        let mut run = run("opencode", None);
        for line in &lines {
            run.line(line);
        }
        let out = run.end(WELL);
        assert_eq!(result(&out).outcome.class(), Some(class), "{lines:?}");
    }
}

#[test]
fn an_end_without_a_word_is_explained_by_stderr() {
    for (words, class) in [
        ("Error: Incorrect API key provided", C::ProviderAuth),
        ("Segmentation fault", C::CliCrashed),
    ] {
        let mut run = run("copilot", None);
        run.give(Input::Stderr(words.as_bytes()));
        let out = run.end(Exit {
            code: Some(1),
            signal: None,
        });
        let Outcome::Failed {
            class: told,
            message,
            ..
        } = &result(&out).outcome
        else {
            panic!("it failed");
        };
        assert_eq!(*told, class);
        assert_eq!(*message, format!("copilot ended with exit code 1: {words}"));
    }
}

#[test]
fn usage_is_that_of_the_turn() {
    let usage = |case: &Case| {
        let out = case.replay();
        let usage: Vec<_> = result(&out).usage.clone().into_iter().collect();
        usage
    };
    let tokens = |input, output, cache_read| TokenUsage {
        input,
        output,
        cache_read,
        cache_write: 0,
    };
    let of_one = |model: &str, tokens| vec![(model.to_owned(), tokens)];
    assert_eq!(
        usage(&of("opencode", "opencode", "shell")),
        of_one("unknown", tokens(1100, 40, 0))
    );
    assert_eq!(
        usage(&of("qwen", "qwen", "text")),
        of_one("scripted-1", tokens(2480, 24, 600))
    );
    for folder in ["omp", "openclaw"] {
        assert_eq!(
            usage(&of(folder, folder, "text")),
            of_one("scripted-1", tokens(1240, 12, 300))
        );
        assert_eq!(
            usage(&of(folder, folder, "shell")),
            of_one("scripted-1", tokens(1100, 40, 0))
        );
    }
}

/// The provider's failure is no answer of the agent, whoever says it.
#[test]
fn a_failure_is_no_text_of_the_agent() {
    let out = failed("qwen", "http-401", 1, C::ProviderAuth).replay();
    let said = |out: &Output| matches!(out, Output::Event(EventBody::Text { .. }));
    assert!(!out.iter().any(said));
    assert_eq!(result(&out).output, "");
}
