//! Reasonix (1.38.11).

use serde_json::Value;

use super::dialect::{Asks, BASE, Choice, Dialect, Scope, Steers};
use crate::adapters::flags::Takes;
use crate::adapters::frame::{flag, list, text};

/// What it keeps under its own name in `_meta`.
const META: &str = "reasonix.io";
/// Tools that would change more than the task is about.
const FORBIDDEN: &[&str] = &[
    "exit_plan_mode",
    "remember",
    "forget",
    "sandbox_escape",
    "config_write",
    "plan_mode_read_only_command",
];

pub(super) const DIALECT: Dialect = Dialect {
    id: "reasonix",
    program: "reasonix",
    args: &[
        "acp",
        "--planner",
        "auto",
        "--sandbox-network",
        "auto",
        "--sandbox-bash",
        "auto",
        "--workspace-only",
    ],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--model", Takes::Value),
        ("--profile", Takes::Value),
        ("--planner", Takes::Value),
        ("--sandbox-network", Takes::Value),
        ("--sandbox-bash", Takes::Value),
        ("--workspace-only", Takes::Nothing),
    ],
    skills: |place| place.home.join(".reasonix/skills"),
    // Otherwise it runs a command only in a sandbox of its own, and none where it has no program for that.
    choices: &[Choice {
        id: "tool_approval",
        value: "danger-full-access",
        needed: false,
    }],
    unset: &["not configured", "no default_model configured"],
    is_held: |refusal| {
        let words = refusal.words.to_lowercase();
        words.contains(" in use") && words.contains("close the other reasonix")
    },
    asks,
    steers: Steers::Named(META),
    only_known_ends: true,
    usage: Scope::Notice,
    ..BASE
};

fn asks(params: &Value) -> Asks {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let cancels = |option: &Value| text(option, "optionId").ends_with(":cancel");
    if text(call, "toolCallId").starts_with("ask-") || list(params, "options").iter().any(cancels) {
        return Asks::Person;
    }
    let meta = call.get("_meta").and_then(|meta| meta.get(META));
    let meta = meta.unwrap_or(&Value::Null);
    if flag(meta, "fresh") || FORBIDDEN.contains(&text(meta, "tool")) {
        Asks::Forbidden
    } else {
        Asks::Permission
    }
}
