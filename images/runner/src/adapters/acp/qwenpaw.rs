//! `QwenPaw` (2.2.2). A session that it does not know is a new one to it, and nobody can tell.

use serde_json::json;

use super::dialect::{BASE, Choice, Dialect, Resume};
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "qwenpaw",
    program: "qwenpaw",
    args: &["acp"],
    reserved: &[("acp", Takes::Nothing), ("--workspace", Takes::Value)],
    reads_no_file: true,
    opening: |launch, params| {
        params["_meta"] = json!({"qwenpaw.coding_project_dir": launch.cwd});
    },
    choices: &[Choice {
        id: "mode",
        value: "bypassPermissions",
        needed: false,
    }],
    resume: Resume::Load,
    ..BASE
};
