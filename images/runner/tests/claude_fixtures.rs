//! Replays what the real Claude Code wrote, frame by frame, and compares every event and the result.

use std::path::PathBuf;

use protocol::{EventBody, FailureClass as C, Outcome};
use runner::adapter::{
    Adapter, AdapterResult, Exit, HostCommand, Input, Launch, Output, ResumeOutcome,
};
use runner::adapters;

/// How a recorded run was started, how its process ended, and what its outcome is.
struct Case {
    name: &'static str,
    resume: Option<&'static str>,
    exit: i32,
    /// Our interrupt is put where the recorded one was, and the replay stops at the result that follows.
    interrupt: bool,
    class: Option<C>,
}

/// A run that succeeded.
const fn ok(name: &'static str) -> Case {
    Case {
        name,
        resume: None,
        exit: 0,
        interrupt: false,
        class: None,
    }
}

/// A run whose conversation went on.
const fn resumed(name: &'static str, session: &'static str) -> Case {
    Case {
        resume: Some(session),
        ..ok(name)
    }
}

const fn failed(name: &'static str, exit: i32, class: C) -> Case {
    Case {
        exit,
        class: Some(class),
        ..ok(name)
    }
}

const CASES: &[Case] = &[
    ok("append-system-prompt"),
    resumed(
        "append-system-prompt-resume",
        "00000000-0000-4000-8000-000000000065",
    ),
    resumed(
        "append-system-prompt-resume-snapshot-off",
        "00000000-0000-4000-8000-000000000065",
    ),
    ok("ask-user-question"),
    failed("bad-stdin", 1, C::CliCrashed),
    ok("compact"),
    ok("context-agents-md-only"),
    ok("context-files"),
    ok("context-files-all-kinds"),
    ok("context-files-bare"),
    ok("context-files-sources-user"),
    failed("control-requests", 0, C::CliCrashed),
    failed("drop-before", 1, C::ProviderNetwork),
    ok("drop-mid"),
    failed("endpoint-down", 1, C::ProviderNetwork),
    failed("hook-continue-false", 0, C::EmptyOutput),
    ok("hook-deny"),
    ok("hook-unanswered"),
    ok("hook-updated-input"),
    ok("hooks-steer"),
    failed("http-400", 1, C::HistoryRejected),
    failed("http-401", 1, C::ProviderAuth),
    failed("http-403", 1, C::ProviderAuth),
    failed("http-404", 1, C::ModelNotFound),
    failed("http-429", 1, C::ProviderOverloaded),
    ok("http-429-once"),
    failed("http-500", 1, C::ProviderServerError),
    failed("http-529", 1, C::ProviderOverloaded),
    ok("http-529-once"),
    failed("http-quota", 1, C::ProviderQuota),
    failed("initialize-only", 0, C::CliCrashed),
    Case {
        interrupt: true,
        ..failed("interrupt-stream", 0, C::Cancelled)
    },
    Case {
        interrupt: true,
        ..failed("interrupt-tool", 0, C::Cancelled)
    },
    failed("killed-mid-tool", -9, C::CliCrashed),
    ok("mcp-sdk"),
    ok("mcp-stdio"),
    ok("model-named"),
    failed("no-key", 1, C::ProviderAuth),
    ok("non-root"),
    failed("overflow", 1, C::ContextOverflow),
    ok("overflow-compacts"),
    ok("permission-allow"),
    ok("permission-deny"),
    failed("permission-deny-interrupt", 1, C::CliCrashed),
    Case {
        interrupt: true,
        ..failed("permission-interrupt", 1, C::Cancelled)
    },
    ok("permission-none"),
    ok("queued-message-cancelled"),
    ok("queued-message-next-turn"),
    resumed("resume-after-kill", "00000000-0000-4000-8000-000000000010"),
    Case {
        resume: Some("00000000-0000-4000-8000-000000000075"),
        ..failed("resume-fork", 0, C::SessionRejected)
    },
    resumed("resume-moved-cwd", "11111111-1111-4111-8111-111111111111"),
    Case {
        resume: Some("nonsense"),
        ..failed("resume-not-uuid", 1, C::SessionRejected)
    },
    resumed("resume-other-cwd", "00000000-0000-4000-8000-000000000013"),
    resumed(
        "resume-other-cwd-again",
        "00000000-0000-4000-8000-000000000013",
    ),
    resumed("resume-same-cwd", "00000000-0000-4000-8000-000000000075"),
    Case {
        resume: Some("11111111-2222-4333-8444-555555555555"),
        ..failed("resume-unknown", 1, C::SessionRejected)
    },
    failed("root-refused", 1, C::CliCrashed),
    ok("session-id-given"),
    failed("session-id-twice", 1, C::CliCrashed),
    ok("settings-hooks"),
    ok("shell"),
    ok("shell-fails"),
    failed("sigint-mid-turn", 0, C::CliCrashed),
    failed("sigterm-mid-turn", 143, C::CliCrashed),
    ok("slash-command"),
    ok("slash-skill"),
    ok("stdin-closed-mid-turn"),
    ok("steer-user-message"),
    ok("steer-user-message-replay"),
    ok("text"),
    ok("text-partial"),
    ok("thinking"),
    ok("thinking-partial"),
    ok("two-prompts"),
    ok("two-shells"),
    ok("write-read"),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude")
}

/// Lines of a recording's stdout or stderr; none where it wrote nothing.
fn lines(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn case(name: &str) -> &'static Case {
    CASES
        .iter()
        .find(|case| case.name == name)
        .expect("the case is in the table")
}

impl Case {
    fn adapter(&self) -> Box<dyn Adapter> {
        let launch = Launch {
            command: Vec::new(),
            launch_prefix: Vec::new(),
            args: Vec::new(),
            model: None,
            cwd: "/workdir".into(),
            home: "/home/user".into(),
            root: false,
            resume: self.resume.map(str::to_owned),
            message: "hi".to_owned(),
        };
        adapters::find("claude")
            .expect("there is an adapter for claude")
            .launch(&launch)
            .1
    }

    fn exit(&self) -> Exit {
        match self.exit {
            code @ 0.. => Exit {
                code: Some(code),
                signal: None,
            },
            signal => Exit {
                code: None,
                signal: Some(-signal),
            },
        }
    }

    fn stdout(&self) -> Vec<String> {
        lines(&format!("{}.jsonl", self.name))
    }

    /// Everything that the adapter asked for.
    fn replay(&self) -> Vec<Output> {
        let mut run = Run::of(self);
        for line in self.stdout() {
            if self.interrupt && line.contains("\"still_queued\"") {
                run.give(Input::Host(HostCommand::Interrupt));
            }
            run.give(Input::Stdout(line.as_bytes()));
            if self.interrupt && run.out.contains(&Output::CloseStdin) {
                break;
            }
        }
        for line in lines(&format!("{}.stderr.txt", self.name)) {
            run.give(Input::Stderr(line.as_bytes()));
        }
        run.end(self.exit())
    }
}

/// A replay under way, which checks what must hold for any input.
struct Run {
    adapter: Box<dyn Adapter>,
    out: Vec<Output>,
}

impl Run {
    fn of(case: &Case) -> Self {
        Self {
            adapter: case.adapter(),
            out: Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.out
            .iter()
            .any(|output| matches!(output, Output::Done(_)))
    }

    fn give(&mut self, input: Input<'_>) {
        if !self.is_done() {
            self.adapter.handle(input, &mut self.out);
        }
    }

    fn end(mut self, exit: Exit) -> Vec<Output> {
        self.give(Input::Exited(exit));
        let done = self
            .out
            .iter()
            .filter(|output| matches!(output, Output::Done(_)))
            .count();
        assert_eq!(done, 1, "exactly one Done");
        assert!(
            matches!(self.out.last(), Some(Output::Done(_))),
            "nothing after Done"
        );
        check_pairs(&self.out);
        self.out
    }
}

/// Each tool call has one start and, after it, one result; the session is told once.
fn check_pairs(out: &[Output]) {
    let mut open = std::collections::BTreeMap::new();
    let mut told = 0;
    for output in out {
        let Output::Event(event) = output else {
            continue;
        };
        if let EventBody::ToolUse { call_id, .. } = event {
            assert_eq!(open.insert(call_id, true), None, "{call_id} started twice");
        } else if let EventBody::ToolResult { call_id, .. } = event {
            assert_eq!(
                open.insert(call_id, false),
                Some(true),
                "{call_id} ended twice or before its start"
            );
        } else if matches!(event, EventBody::Status { .. }) {
            told += 1;
        }
    }
    assert!(open.values().all(|open| !open), "left open: {open:?}");
    assert!(told <= 1);
}

fn result(out: &[Output]) -> &AdapterResult {
    let result = out.iter().find_map(|output| match output {
        Output::Done(result) => Some(result),
        Output::Event(_) | Output::Write(_) | Output::CloseStdin | Output::SetTimer { .. } => None,
    });
    result.expect("there is a result")
}

/// The outputs as a reader likes to see them, one a line.
fn shown(out: &[Output]) -> String {
    out.iter().map(|output| line_of(output) + "\n").collect()
}

fn line_of(output: &Output) -> String {
    match output {
        Output::Event(event) => {
            format!(
                "event {}",
                serde_json::to_string(event).expect("an event is JSON")
            )
        }
        Output::Write(bytes) => format!("write {}", String::from_utf8_lossy(bytes).trim_end()),
        Output::CloseStdin => "close stdin".to_owned(),
        Output::SetTimer { id, after } => format!("timer {} in {after:?}", id.0),
        Output::Done(result) => format!("done {result:#?}"),
    }
}

#[test]
fn every_recording_has_a_case() {
    let mut recorded: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let name = name
                .strip_suffix(".jsonl")
                .or_else(|| name.strip_suffix(".stderr.txt"))?;
            Some(name.to_owned())
        })
        .collect();
    recorded.sort();
    recorded.dedup();
    let mut listed: Vec<_> = CASES.iter().map(|case| case.name).collect();
    listed.sort_unstable();
    assert_eq!(listed, recorded);
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
    assert!(matches!(result(&out).resume, ResumeOutcome::Rejected(_)));
    assert_eq!(
        (result(&out).session.as_deref(), &result(&out).retired[..]),
        (Some("s1"), &[][..])
    );
}

mod any_input {
    use proptest::prelude::*;

    use super::*;

    /// A recording's line with bytes of it replaced, or nothing of a recording at all.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let all: Vec<String> = [
            "shell",
            "hooks-steer",
            "interrupt-tool",
            "resume-unknown",
            "thinking-partial",
        ]
        .iter()
        .flat_map(|name| case(name).stdout())
        .collect();
        let recorded = (
            prop::sample::select(all),
            prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        )
            .prop_map(|(line, changes)| {
                let mut bytes = line.into_bytes();
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            });
        prop_oneof![4 => recorded, 1 => prop::collection::vec(any::<u8>(), 0..200)]
    }

    proptest! {
        /// Frames in any order, with bytes broken: one result, nothing after it, tools paired.
        #[test]
        fn there_is_exactly_one_result(
            lines in prop::collection::vec(line(), 0..20),
            interrupt_at in 0..20_usize,
            resume in any::<bool>(),
        ) {
            let case = Case { resume: resume.then_some("00000000-0000-4000-8000-000000000005"), ..ok("any") };
            let mut run = Run::of(&case);
            for (at, line) in lines.iter().enumerate() {
                if at == interrupt_at {
                    run.give(Input::Host(HostCommand::Interrupt));
                }
                if line.len() % 7 == 0 {
                    run.give(Input::Stderr(line));
                } else {
                    run.give(Input::Stdout(line));
                }
            }
            run.end(Exit { code: Some(0), signal: None });
        }
    }
}
