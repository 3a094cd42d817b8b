//! The recordings, and what has to come of each.

use protocol::FailureClass as C;

use crate::replay::Case;

/// A run that succeeded.
pub(crate) const fn ok(name: &'static str) -> Case {
    Case {
        provider: "claude",
        folder: "claude",
        name,
        resume: None,
        exit: 0,
        interrupt: None,
        class: None,
    }
}

/// A run whose conversation went on.
pub(crate) const fn resumed(name: &'static str, session: &'static str) -> Case {
    Case {
        resume: Some(session),
        ..ok(name)
    }
}

pub(crate) const fn failed(name: &'static str, exit: i32, class: C) -> Case {
    Case {
        exit,
        class: Some(class),
        ..ok(name)
    }
}

pub(crate) const CASES: &[Case] = &[
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
        interrupt: Some("\"still_queued\""),
        ..failed("interrupt-stream", 0, C::Cancelled)
    },
    Case {
        interrupt: Some("\"still_queued\""),
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
        interrupt: Some("\"still_queued\""),
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

pub(crate) fn case(name: &str) -> &'static Case {
    CASES
        .iter()
        .find(|case| case.name == name)
        .expect("the case is in the table")
}
