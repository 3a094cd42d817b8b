//! Claude Code behind claude-agent-acp (0.101.0).

use super::dialect::{BASE, Dialect};
use crate::adapters::claude;
use crate::adapters::frame::text;

pub(super) const DIALECT: Dialect = Dialect {
    id: "claude-agent-acp",
    program: "claude-agent-acp",
    env: &[
        ("NO_COLOR", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Behind an allow-list telemetry would only run into its time-outs.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ],
    // Without it permissions are not bypassed as root; the pod is the sandbox.
    root_env: &[("IS_SANDBOX", "1")],
    context_file: "CLAUDE.md",
    skills: claude::skills,
    session_files: claude::session_files,
    modes: &["bypassPermissions"],
    is_notice: |update| {
        let of_claude = update.get("_meta").and_then(|meta| meta.get("claudeCode"));
        of_claude.is_some_and(|meta| text(meta, "kind") == "informational")
    },
    ..BASE
};
