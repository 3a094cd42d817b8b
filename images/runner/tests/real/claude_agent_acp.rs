//! Claude Code behind ACP.

use crate::catalog::asked_for;
use crate::claude;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CLAUDE_AGENT: Cli = Cli {
    id: "claude-agent-acp",
    args: &[],
    env: claude::ENV,
    files: &[],
    uses: Some(("CLAUDE_CODE_EXECUTABLE", "claude")),
    model: None,
    tokens: Some((1200, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: true,
};

scenarios!(CLAUDE_AGENT);
through_the_runner!(CLAUDE_AGENT);
asked_for!(CLAUDE_AGENT);
