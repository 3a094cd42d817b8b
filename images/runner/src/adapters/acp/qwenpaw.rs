//! `QwenPaw` (2.2.2). A session that it does not know is a new one to it, and nobody can tell but by looking for its file.

use super::dialect::{BASE, Choice, Dialect, Model, Resume, Scope};
use crate::adapters::flags::Takes;
use crate::adapters::frame::flag;
use crate::adapters::stores;

pub(super) const DIALECT: Dialect = Dialect {
    id: "qwenpaw",
    program: "qwenpaw",
    // Without the second it keeps to itself why a turn failed.
    args: &["acp", "--local-diagnostics"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--local-diagnostics", Takes::Nothing),
        ("--workspace", Takes::Value),
    ],
    reads_no_file: true,
    skills: |place| {
        stores::folder(place, "QWENPAW_WORKING_DIR", ".qwenpaw").join("workspaces/default/skills")
    },
    session_files: |place, session| {
        let is_its_own = session.len() == 32 && session.chars().all(|c| c.is_ascii_hexdigit());
        if !is_its_own && !stores::is_uuid(session) {
            return Vec::new();
        }
        let name = format!("acp_{}_{session}.json", &session[..8]);
        let store = stores::folder(place, "QWENPAW_WORKING_DIR", ".qwenpaw").join("workspaces");
        // In a folder of each agent.
        stores::look(&store, 2, &name, |file| file == name)
    },
    // Of a session that is loaded it does not say that there is such a mode, and begins in the one that asks.
    choices: &[Choice {
        id: "mode",
        value: "bypassPermissions",
        needed: true,
    }],
    resume: Resume::Load,
    // Nor of models.
    model: Model::Unasked,
    is_notice: |update| {
        let meta = update.get("_meta");
        meta.is_some_and(|meta| flag(meta, "qwenpaw.error"))
    },
    fails_in_notices: true,
    usage: Scope::Answer,
    ..BASE
};
