//! Codex behind codex-acp (2.6.0).

use serde_json::json;

use super::dialect::{BASE, Dialect};
use crate::adapters::codex::{self, bridge};
use crate::adapters::frame::text;

pub(super) const DIALECT: Dialect = Dialect {
    id: "codex-acp",
    program: "codex-acp",
    skills: codex::skills,
    session_files: codex::session_files,
    lost: &["no rollout found"],
    hooked: true,
    held: bridge::hold,
    // It says of the folder that it names that it is a trusted one, whose settings count. So that is named in another way, of
    // which Codex knows which folder it is, and not that anybody trusts it.
    opening: |launch, params| {
        if !launch.tools.is_empty() {
            params["cwd"] = json!(launch.cwd.join("."));
        }
    },
    // The pod is the sandbox.
    modes: &[bridge::MODE, "agent-full-access"],
    // The agent's own words name their message. A failure of the provider is told as a notice, and the turn
    // then ends as if all were well.
    is_notice: |update| text(update, "messageId").is_empty(),
    ..BASE
};
