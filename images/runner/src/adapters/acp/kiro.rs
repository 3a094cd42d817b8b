//! Kiro CLI, from the description of its protocol.

use serde_json::Value;

use super::dialect::{BASE, Dialect, Resume};
use crate::adapters::flags::Takes;
use crate::adapters::frame::text;

pub(super) const DIALECT: Dialect = Dialect {
    id: "kiro",
    program: "kiro-cli",
    args: &["acp", "--trust-all-tools"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("-a", Takes::Nothing),
        ("--trust-all-tools", Takes::Nothing),
        ("--trust-tools", Takes::Value),
    ],
    skills: |place| place.home.join(".kiro/skills"),
    resume: Resume::Load,
    prompt_twice: true,
    // After the work was done the last words often fail.
    is_goal,
    refuses_when_done: &["Kiro failed to generate a response"],
    leaves_tools_open: true,
    ..BASE
};

/// The tool that says so, or the command by which the answer was given.
fn is_goal(title: &str, input: &Value) -> bool {
    title.to_lowercase().replace(' ', "_") == "goal_complete"
        || text(input, "command").contains("moor comment add")
}
