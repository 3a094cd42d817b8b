//! The recordings of agents that speak ACP, and what has to come of each.

use protocol::FailureClass as C;

use crate::of;
use crate::replay::{Case, recorded};

/// The cases that every agent has.
fn common(provider: &'static str, overflow: C) -> Vec<Case> {
    let ok = |name| of(provider, provider, name);
    let failed = |name, class| Case {
        class: Some(class),
        ..ok(name)
    };
    let cancelled = |name| Case {
        interrupt: Some("\"stopReason\": \"cancelled\""),
        ..failed(name, C::Cancelled)
    };
    vec![
        ok("text"),
        ok("shell"),
        ok("write-read"),
        ok("thinking"),
        failed("http-401", C::ProviderAuth),
        failed("overflow", overflow),
        cancelled("cancel"),
        cancelled("cancel-tool"),
    ]
}

fn resumed(provider: &'static str, name: &'static str, session: &'static str) -> Case {
    Case {
        resume: Some(session),
        ..of(provider, provider, name)
    }
}

/// A run in which the session was not known.
fn lost(provider: &'static str, name: &'static str, session: &'static str) -> Case {
    Case {
        class: Some(C::SessionRejected),
        ..resumed(provider, name, session)
    }
}

const UNKNOWN: &str = "11111111-2222-4333-8444-555555555555";
const FIRST: &str = "00000000-0000-4000-8000-000000000002";
const TOLD: &str = "00000000-0000-4000-8000-000000000001";

fn gemini() -> Vec<Case> {
    let mut cases = common("gemini", C::ContextOverflow);
    // Within the minute in which a conversation began, it writes over what it is to load.
    cases.extend([
        of("gemini", "gemini", "shell-yolo"),
        resumed("gemini", "load-after-a-minute", FIRST),
        lost("gemini", "load-same-cwd", FIRST),
        lost("gemini", "load-unknown", UNKNOWN),
        lost("gemini", "load-other-cwd", FIRST),
    ]);
    cases
}

fn kimi() -> Vec<Case> {
    let mut cases = common("kimi", C::ContextOverflow);
    cases.extend([
        resumed(
            "kimi",
            "resume-same-cwd",
            "session_00000000-0000-4000-8000-000000000011",
        ),
        lost("kimi", "resume-unknown", UNKNOWN),
        of("kimi", "kimi", "write-read-yolo"),
        resumed(
            "kimi",
            "resume-yolo",
            "session_00000000-0000-4000-8000-0000000000a1",
        ),
    ]);
    cases
}

fn vibe() -> Vec<Case> {
    let mut cases = common("vibe", C::ContextOverflow);
    cases.extend([
        resumed(
            "vibe",
            "load-same-cwd",
            "00000000-0000-4000-8000-000000000028",
        ),
        lost("vibe", "load-unknown", UNKNOWN),
    ]);
    cases
}

fn hermes() -> Vec<Case> {
    let ok = |name| of("hermes", "hermes", name);
    let failed = |name, class| Case {
        class: Some(class),
        ..ok(name)
    };
    vec![
        ok("text"),
        ok("thinking"),
        ok("shell"),
        ok("mcp"),
        ok("steer"),
        failed("http-401", C::ProviderAuth),
        failed("http-404", C::ModelNotFound),
        failed("http-429", C::ProviderOverloaded),
        failed("http-500", C::ProviderServerError),
        failed("http-529", C::ProviderOverloaded),
        resumed("hermes", "resume", "00000000-0000-4000-8000-000000000002"),
        lost("hermes", "resume-unknown", UNKNOWN),
    ]
}

fn reasonix() -> Vec<Case> {
    let ok = |name| of("reasonix", "reasonix", name);
    let failed = |name, class| Case {
        class: Some(class),
        ..ok(name)
    };
    let mut cases = common("reasonix", C::ContextOverflow);
    cases.extend([
        ok("mcp"),
        ok("shell-fails"),
        ok("steer"),
        failed("http-404", C::ModelNotFound),
        failed("http-quota", C::ProviderQuota),
        resumed("reasonix", "resume-same-cwd", TOLD),
        lost("reasonix", "resume-unknown", UNKNOWN),
    ]);
    cases
}

fn qwenpaw() -> Vec<Case> {
    let ok = |name| of("qwenpaw", "qwenpaw", name);
    let failed = |name, class| Case {
        class: Some(class),
        ..ok(name)
    };
    let mut cases = common("qwenpaw", C::ContextOverflow);
    cases.extend([
        ok("mcp"),
        ok("shell-fails"),
        failed("http-404", C::ModelNotFound),
        failed("http-quota", C::ProviderQuota),
        resumed("qwenpaw", "resume-same-cwd", TOLD),
    ]);
    cases
}

fn claude_agent() -> Vec<Case> {
    let provider = "claude-agent-acp";
    let mut cases = common(provider, C::ContextOverflow);
    for case in &mut cases {
        if case.name == "cancel-tool" {
            // In its own mode it refused the tool, and the turn ended before it was cancelled.
            (case.class, case.interrupt) = (None, None);
        }
    }
    let failed = |name, class| Case {
        class: Some(class),
        ..of(provider, provider, name)
    };
    cases.extend([
        failed("http-429", C::ProviderOverloaded),
        failed("http-500", C::ProviderServerError),
        resumed(provider, "resume-same-cwd", FIRST),
        lost(provider, "resume-unknown", UNKNOWN),
    ]);
    cases
}

fn codex_acp() -> Vec<Case> {
    let mut cases = common("codex-acp", C::ContextOverflow);
    cases.extend([
        resumed(
            "codex-acp",
            "resume-same-cwd",
            "00000000-0000-4000-8000-000000000007",
        ),
        lost("codex-acp", "resume-unknown", UNKNOWN),
    ]);
    cases
}

/// The recordings of a program that is none of the providers, read without any of its differences. `session` is that of
/// the recordings that go on with one. Those in which it does not keep to the protocol are not there.
fn plain(folder: &'static str, session: &'static str) -> Vec<Case> {
    let mut cases = common("acp", C::ContextOverflow);
    for case in &mut cases {
        case.folder = folder;
    }
    let of = |name, resume, class| Case {
        resume: Some(resume),
        class,
        ..of("acp", folder, name)
    };
    cases.extend([
        of("load-same-cwd", session, None),
        of("load-unknown", UNKNOWN, Some(C::SessionRejected)),
        of("resume-same-cwd", session, None),
        of("resume-unknown", UNKNOWN, Some(C::SessionRejected)),
    ]);
    let recorded = recorded(folder);
    cases.retain(|case| recorded.iter().any(|name| name == case.name));
    cases
}

/// Failures of the provider, of those that were recorded with them.
fn failing(mut cases: Vec<Case>) -> Vec<Case> {
    let folder = cases[0].folder;
    for (name, class) in [
        ("http-429", C::ProviderOverloaded),
        ("http-500", C::ProviderServerError),
    ] {
        cases.push(Case {
            class: Some(class),
            ..of("acp", folder, name)
        });
    }
    cases
}

pub(crate) fn folders() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        (
            "acp-opencode",
            plain("acp-opencode", "ses_dd63305c5ffedYVVnrmRBeVx02"),
        ),
        (
            "acp-qwen",
            plain("acp-qwen", "00000000-0000-4000-8000-000000000004"),
        ),
        ("acp-copilot", plain("acp-copilot", FIRST)),
        ("acp-claude-code", failing(plain("acp-claude-code", FIRST))),
        ("acp-codex", plain("acp-codex", FIRST)),
        ("gemini", gemini()),
        ("kimi", kimi()),
        ("vibe", vibe()),
        ("hermes", hermes()),
        ("qwenpaw", qwenpaw()),
        ("reasonix", reasonix()),
        ("claude-agent-acp", claude_agent()),
        ("codex-acp", codex_acp()),
    ]
}
