//! The agents that a runner can drive: those for which it has an adapter, and what is fixed about each.
//!
//! The operator takes Runtimes of these and says of all others that they are not supported yet. The runner's adapters
//! read their own facts here too, so that both sides cannot disagree; a test of the runner holds the ids together.

use std::time::Duration;

/// What is fixed about one agent's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its id, as Runtimes name it.
    pub id: &'static str,
    /// The first line on stdout comes within this many seconds of the start. None for those that say nothing before
    /// the model has answered.
    pub first_frame_seconds: Option<u16>,
    /// A person's remark can be handed to it while it works.
    pub steers: bool,
    /// What it can do about a list of tools.
    pub tools: ToolSupport,
    /// How it takes a list of MCP servers.
    pub mcp: McpSupport,
}

/// What a command line can do about a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSupport {
    /// It can be held to a list of tools that it may use.
    pub allow: bool,
    /// Tools can be taken from it.
    pub deny: bool,
    /// It can wait for a person's decision before it uses a tool.
    pub approve: bool,
}

impl ToolSupport {
    /// Nothing.
    pub const NONE: Self = Self {
        allow: false,
        deny: false,
        approve: false,
    };
}

/// How a command line takes a list of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSupport {
    /// Programs that it starts.
    pub stdio: bool,
    /// Servers over streamable HTTP.
    pub http: bool,
    /// Servers over server-sent events.
    pub sse: bool,
    /// It uses those of the list alone, and not what else it finds.
    pub strict: bool,
}

impl McpSupport {
    /// Not at all.
    pub const NONE: Self = Self {
        stdio: false,
        http: false,
        sse: false,
        strict: false,
    };
}

/// One of which nothing is known beyond that it tells soon that it lives.
const PLAIN: Facts = Facts {
    id: "",
    first_frame_seconds: Some(60),
    steers: false,
    tools: ToolSupport::NONE,
    mcp: McpSupport::NONE,
};

/// All of them.
pub const DRIVEN: &[Facts] = &[
    Facts {
        id: "claude",
        ..PLAIN
    },
    Facts {
        id: "codex",
        first_frame_seconds: Some(30),
        ..PLAIN
    },
    Facts { id: "pi", ..PLAIN },
    Facts {
        id: "qwen",
        ..PLAIN
    },
    Facts {
        id: "opencode",
        // Its first line is the model's first step.
        first_frame_seconds: None,
        ..PLAIN
    },
    Facts {
        id: "copilot",
        ..PLAIN
    },
    Facts {
        id: "gemini",
        ..PLAIN
    },
    Facts {
        id: "kimi",
        ..PLAIN
    },
    Facts {
        id: "vibe",
        ..PLAIN
    },
    Facts {
        id: "hermes",
        ..PLAIN
    },
    Facts {
        id: "claude-agent-acp",
        ..PLAIN
    },
    Facts {
        id: "codex-acp",
        ..PLAIN
    },
    Facts { id: "acp", ..PLAIN },
];

/// The facts about this provider.
#[must_use]
pub fn facts(id: &str) -> Option<&'static Facts> {
    DRIVEN.iter().find(|facts| facts.id == id)
}

/// The ids of all of them.
#[must_use]
pub fn ids() -> Vec<&'static str> {
    DRIVEN.iter().map(|facts| facts.id).collect()
}

impl Facts {
    /// Within which the first line on stdout comes, where that can be said.
    #[must_use]
    pub fn first_frame(&self) -> Option<Duration> {
        self.first_frame_seconds
            .map(|seconds| Duration::from_secs(seconds.into()))
    }
}
