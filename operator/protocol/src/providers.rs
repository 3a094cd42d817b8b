//! The agents that a runner can drive: those for which it has an adapter.
//!
//! The operator takes Runtimes of these and says of all others that they are not supported yet. A test of the
//! runner holds both together.

/// Their ids, as Runtimes name them.
pub const DRIVEN: &[&str] = &[
    "claude",
    "codex",
    "pi",
    "qwen",
    "opencode",
    "copilot",
    "gemini",
    "kimi",
    "vibe",
    "hermes",
    "claude-agent-acp",
    "codex-acp",
    "acp",
];
