//! Codex behind codex-acp (2.6.0).

use super::dialect::{BASE, Dialect};
use crate::adapters::codex;
use crate::adapters::frame::text;

pub(super) const DIALECT: Dialect = Dialect {
    id: "codex-acp",
    program: "codex-acp",
    skills: codex::skills,
    session_files: codex::session_files,
    lost: &["no rollout found"],
    // The pod is the sandbox.
    modes: &["agent-full-access"],
    // The agent's own words name their message. A failure of the provider is told as a notice, and the turn
    // then ends as if all were well.
    is_notice: |update| text(update, "messageId").is_empty(),
    ..BASE
};
