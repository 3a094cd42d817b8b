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

/// A run that failed and says nothing of the session that was to go on.
fn failed_to_go_on(
    provider: &'static str,
    name: &'static str,
    session: &'static str,
    class: C,
) -> Case {
    Case {
        class: Some(class),
        ..resumed(provider, name, session)
    }
}

/// A second prompt came while the first was answered: what is said to it is not of our turn, and neither is its refusal.
/// Some end the first for it.
fn second_prompt(provider: &'static str, class: Option<C>) -> Case {
    Case {
        class,
        ..of(provider, provider, "second-prompt-while-busy")
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
    // It still tried again when the client ended the turn.
    let retrying = |name| Case {
        interrupt: Some("\"stopReason\": \"cancelled\""),
        class: Some(C::Cancelled),
        ..of("gemini", "gemini", name)
    };
    let not_offered = |name, session| failed_to_go_on("gemini", name, session, C::CliCrashed);
    cases.extend([
        of("gemini", "gemini", "permission-reject"),
        retrying("http-429"),
        retrying("http-500"),
        // They ask for what it does not offer, and it says no more.
        not_offered("resume-other-cwd", FIRST),
        not_offered("resume-same-cwd", FIRST),
        not_offered("resume-unknown", UNKNOWN),
        second_prompt("gemini", Some(C::CliCrashed)),
        of("gemini", "gemini", "shell-yolo"),
        resumed("gemini", "load-after-a-minute", FIRST),
        lost("gemini", "load-same-cwd", FIRST),
        lost("gemini", "load-unknown", UNKNOWN),
        lost("gemini", "load-other-cwd", FIRST),
    ]);
    cases
}

fn kimi() -> Vec<Case> {
    const FIRST: &str = "session_00000000-0000-4000-8000-000000000011";
    let mut cases = common("kimi", C::ContextOverflow);
    cases.extend([
        of("kimi", "kimi", "permission-reject"),
        second_prompt("kimi", None),
        resumed("kimi", "load-other-cwd", FIRST),
        resumed("kimi", "load-same-cwd", FIRST),
        lost("kimi", "load-unknown", UNKNOWN),
        resumed("kimi", "resume-other-cwd", FIRST),
        resumed("kimi", "resume-same-cwd", FIRST),
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
    const FIRST: &str = "00000000-0000-4000-8000-000000000028";
    let mut cases = common("vibe", C::ContextOverflow);
    cases.extend([
        of("vibe", "vibe", "permission-reject"),
        second_prompt("vibe", None),
        resumed("vibe", "load-other-cwd", FIRST),
        resumed("vibe", "load-same-cwd", FIRST),
        resumed("vibe", "resume-other-cwd", FIRST),
        resumed("vibe", "resume-same-cwd", FIRST),
        lost("vibe", "resume-unknown", UNKNOWN),
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
        of(provider, provider, "permission-reject"),
        second_prompt(provider, None),
        resumed(provider, "load-other-cwd", FIRST),
        resumed(provider, "load-same-cwd", FIRST),
        lost(provider, "load-unknown", UNKNOWN),
        resumed(provider, "resume-other-cwd", FIRST),
        resumed(provider, "resume-same-cwd", FIRST),
        lost(provider, "resume-unknown", UNKNOWN),
    ]);
    cases
}

fn codex_acp() -> Vec<Case> {
    const OF: &str = "codex-acp";
    const FIRST: &str = "00000000-0000-4000-8000-000000000007";
    let mut cases = common(OF, C::ContextOverflow);
    cases.extend([
        of(OF, OF, "permission-reject"),
        second_prompt(OF, None),
        resumed(OF, "load-other-cwd", FIRST),
        resumed(OF, "load-same-cwd", FIRST),
        lost(OF, "load-unknown", UNKNOWN),
        resumed(OF, "resume-other-cwd", FIRST),
        resumed(OF, "resume-same-cwd", FIRST),
        lost(OF, "resume-unknown", UNKNOWN),
    ]);
    cases
}

/// The recordings of a program that is none of the providers, read without any of its differences. `session` is that of
/// the recordings that go on with one. `others`: what comes of those in which it does otherwise than most.
fn plain(folder: &'static str, session: &'static str, others: &[(&str, Option<C>)]) -> Vec<Case> {
    let mut cases = common("acp", C::ContextOverflow);
    let case = |name, resume, class| Case {
        resume,
        class,
        ..of("acp", folder, name)
    };
    cases.extend([
        case("http-429", None, Some(C::ProviderOverloaded)),
        case("http-500", None, Some(C::ProviderServerError)),
        case("permission-reject", None, None),
        case("second-prompt-while-busy", None, None),
        case("load-other-cwd", Some(session), None),
        case("load-same-cwd", Some(session), None),
        case("load-unknown", Some(UNKNOWN), Some(C::SessionRejected)),
        case("resume-other-cwd", Some(session), None),
        case("resume-same-cwd", Some(session), None),
        case("resume-unknown", Some(UNKNOWN), Some(C::SessionRejected)),
    ]);
    let recorded = recorded(folder);
    cases.retain(|case| recorded.iter().any(|name| name == case.name));
    for case in &mut cases {
        case.folder = folder;
        if let Some((_, class)) = others.iter().find(|(name, _)| *name == case.name) {
            case.class = *class;
        }
    }
    cases
}

/// Where it says no more than that something went wrong, nobody can tell that the session is lost.
const SAYS_NOTHING: Option<C> = Some(C::ProviderServerError);
const LOST: Option<C> = Some(C::SessionRejected);

fn plain_folders() -> Vec<(&'static str, Vec<Case>)> {
    let opencode = [
        ("load-unknown", SAYS_NOTHING),
        ("resume-unknown", SAYS_NOTHING),
    ];
    let qwen = [("load-other-cwd", LOST), ("resume-other-cwd", LOST)];
    // It does not offer to go on without the history, and ends a turn for the next prompt.
    let copilot = [
        ("resume-other-cwd", Some(C::CliCrashed)),
        ("resume-same-cwd", Some(C::CliCrashed)),
        ("resume-unknown", Some(C::CliCrashed)),
        ("second-prompt-while-busy", Some(C::CliCrashed)),
    ];
    // Of two prompts it answers the second only.
    let claude_code = [
        ("second-prompt-while-busy", Some(C::CliCrashed)),
        ("load-other-cwd", SAYS_NOTHING),
        ("resume-other-cwd", SAYS_NOTHING),
        ("resume-unknown", SAYS_NOTHING),
    ];
    // Without the sandbox that it wants its tool fails at once, and the turn is over before it is cancelled.
    let codex = [("cancel-tool", None)];
    [
        (
            "acp-opencode",
            "ses_dd63305c5ffedYVVnrmRBeVx02",
            &opencode[..],
        ),
        ("acp-qwen", "00000000-0000-4000-8000-000000000004", &qwen),
        ("acp-copilot", FIRST, &copilot),
        ("acp-claude-code", FIRST, &claude_code),
        ("acp-codex", FIRST, &[]),
        ("acp-codex-as-it-starts", FIRST, &codex),
    ]
    .into_iter()
    .map(|(folder, session, others)| (folder, plain(folder, session, others)))
    .collect()
}

pub(crate) fn folders() -> Vec<(&'static str, Vec<Case>)> {
    let mut folders = plain_folders();
    folders.extend([
        ("gemini", gemini()),
        ("kimi", kimi()),
        ("vibe", vibe()),
        ("hermes", hermes()),
        ("qwenpaw", qwenpaw()),
        ("reasonix", reasonix()),
        ("claude-agent-acp", claude_agent()),
        ("codex-acp", codex_acp()),
    ]);
    folders
}
