//! The agents that a runner can drive: those for which it has an adapter, and what is fixed about each.
//!
//! The operator takes Runtimes of these and says of all others that they are not supported yet. The runner's adapters
//! read their own facts here too, so that both sides cannot disagree; a test of the runner holds the ids together.

use std::time::Duration;

use crate::tools::ToolPolicy;

/// What is fixed about one agent's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its id, as Runtimes name it.
    pub id: &'static str,
    /// The first line on stdout comes within this many seconds of the start. None for those that say nothing before
    /// the model has answered.
    pub first_frame_seconds: Option<u16>,
    /// It is ended after so many seconds without a line while no tool runs, where the Runtime allows more: of those that
    /// try a failed request again for very long without a word.
    pub idle_seconds: Option<u32>,
    /// It is ended after so many seconds without progress in its turn, whatever else it says.
    pub progress_seconds: Option<u32>,
    /// The same from the start of the turn to its first progress.
    pub first_progress_seconds: Option<u32>,
    /// A person's remark can be handed to it while it works.
    pub steers: bool,
    /// What it can do about a list of tools.
    pub tools: ToolSupport,
    /// How it takes a list of MCP servers.
    pub mcp: McpSupport,
    /// It can be told how much the model is to think; of those that speak ACP: where it offers that.
    pub thinks: bool,
    /// It knows tiers of the provider's service.
    pub tiers: bool,
    /// It counts how often it asks the model, and can be told when to stop.
    pub counts_turns: bool,
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
    /// Everything: each use of a tool is shown before it happens, and waits for the answer.
    pub const ALL: Self = Self {
        allow: true,
        deny: true,
        approve: true,
    };

    /// True when it can be held to all that is said.
    #[must_use]
    pub fn holds(&self, policy: &ToolPolicy) -> bool {
        (policy.allow.is_empty() || self.allow)
            && (policy.deny.is_empty() || self.deny)
            && (policy.require_approval.is_empty() || self.approve)
    }
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

/// What an MCP server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpKind {
    /// A program.
    Stdio,
    /// An address, over streamable HTTP.
    Http,
    /// An address, over server-sent events.
    Sse,
}

impl McpKind {
    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "a program",
            Self::Http => "an address of type Http",
            Self::Sse => "an address of type Sse",
        }
    }
}

impl McpSupport {
    /// True when it can be given such a server.
    #[must_use]
    pub fn takes(self, kind: McpKind) -> bool {
        match kind {
            McpKind::Stdio => self.stdio,
            McpKind::Http => self.http,
            McpKind::Sse => self.sse,
        }
    }

    /// Not at all.
    pub const NONE: Self = Self {
        stdio: false,
        http: false,
        sse: false,
        strict: false,
    };

    /// Every kind, beside those that it finds by itself.
    pub const MERGED: Self = Self {
        stdio: true,
        http: true,
        sse: true,
        strict: false,
    };

    /// Programs and streamable HTTP, beside those that it finds by itself.
    pub const NO_SSE: Self = Self {
        sse: false,
        ..Self::MERGED
    };
}

/// One of which nothing is known beyond that it tells soon that it lives.
const PLAIN: Facts = Facts {
    id: "",
    first_frame_seconds: Some(60),
    idle_seconds: None,
    progress_seconds: None,
    first_progress_seconds: None,
    steers: false,
    tools: ToolSupport::NONE,
    mcp: McpSupport::NONE,
    thinks: false,
    tiers: false,
    counts_turns: false,
};

/// All of them.
pub const DRIVEN: &[Facts] = &[
    Facts {
        id: "claude",
        steers: true,
        tools: ToolSupport::ALL,
        mcp: McpSupport {
            strict: true,
            ..McpSupport::MERGED
        },
        thinks: true,
        tiers: true,
        counts_turns: true,
        ..PLAIN
    },
    Facts {
        id: "codebuddy",
        thinks: true,
        counts_turns: true,
        ..PLAIN
    },
    Facts {
        id: "codex",
        steers: true,
        first_frame_seconds: Some(30),
        progress_seconds: Some(600),
        first_progress_seconds: Some(60),
        mcp: McpSupport {
            strict: true,
            ..McpSupport::NO_SSE
        },
        thinks: true,
        tiers: true,
        ..PLAIN
    },
    Facts {
        id: "pi",
        steers: true,
        mcp: McpSupport {
            strict: true,
            ..McpSupport::NO_SSE
        },
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "qwen",
        idle_seconds: Some(1800),
        mcp: McpSupport::MERGED,
        ..PLAIN
    },
    Facts {
        id: "opencode",
        idle_seconds: Some(1800),
        // Its first line is the model's first step.
        first_frame_seconds: None,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "copilot",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "cursor",
        ..PLAIN
    },
    Facts {
        id: "omp",
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "openclaw",
        // It says nothing before its end.
        first_frame_seconds: None,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "codearts",
        idle_seconds: Some(1800),
        first_frame_seconds: None,
        mcp: McpSupport::MERGED,
        ..PLAIN
    },
    Facts {
        id: "deveco",
        idle_seconds: Some(1800),
        first_frame_seconds: None,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "antigravity",
        ..PLAIN
    },
    Facts {
        id: "gemini",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "kimi",
        idle_seconds: Some(1800),
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "vibe",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "hermes",
        steers: true,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "claude-agent-acp",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "codex-acp",
        mcp: McpSupport::NO_SSE,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "reasonix",
        steers: true,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "kiro",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "qoder",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "qoderclicn",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "traecli",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "grok",
        steers: true,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "qwenpaw",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "mcode",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "dim",
        // It ignores programs.
        mcp: McpSupport {
            stdio: false,
            ..McpSupport::MERGED
        },
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "zeroclaw",
        ..PLAIN
    },
    Facts {
        id: "acp",
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "dsh",
        mcp: McpSupport {
            stdio: true,
            http: true,
            sse: false,
            strict: true,
        },
        thinks: true,
        ..PLAIN
    },
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
