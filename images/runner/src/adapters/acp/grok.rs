//! Grok CLI, from the description of its protocol.

use serde_json::json;

use super::dialect::{BASE, Dialect, Resume, Steers};
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "grok",
    program: "grok",
    args: &["--no-auto-update", "agent", "--always-approve"],
    last: &["stdio"],
    reserved: &[
        ("agent", Takes::Nothing),
        ("stdio", Takes::Nothing),
        ("headless", Takes::Nothing),
        ("serve", Takes::Nothing),
        ("leader", Takes::Nothing),
        ("--always-approve", Takes::Nothing),
        ("--yolo", Takes::Nothing),
        ("--no-auto-update", Takes::Nothing),
        ("--no-alt-screen", Takes::Nothing),
        ("-p", Takes::Nothing),
        ("--print", Takes::Nothing),
        ("-c", Takes::Nothing),
        ("--continue", Takes::Nothing),
        ("--fork-session", Takes::Nothing),
        ("--single", Takes::Value),
        ("--output-format", Takes::Value),
        ("--permission-mode", Takes::Value),
        ("-m", Takes::Value),
        ("--model", Takes::Value),
        ("--reasoning-effort", Takes::Value),
        ("--effort", Takes::Value),
        ("-r", Takes::Value),
        ("--resume", Takes::Value),
        ("-s", Takes::Value),
        ("--session-id", Takes::Value),
        ("--system-prompt-override", Takes::Value),
        ("--cwd", Takes::Value),
        ("--ref", Takes::Value),
        ("-w", Takes::MaybeValue),
        ("--worktree", Takes::MaybeValue),
    ],
    skills: |place| place.home.join(".grok/skills"),
    lowest: Some([0, 2, 89]),
    // Without a login it refuses every session.
    logins: &["xai.api_key", "cached_token", "grok.com"],
    // Nobody is there to be asked.
    opening: |_, params| params["_meta"] = json!({"askUserQuestion": false}),
    resume: Resume::Load,
    steers: Steers::Interject,
    thinking: Some("--effort"),
    ..BASE
};
