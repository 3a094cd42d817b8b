//! The agents that a runner can drive: those for which it has an adapter, and what is fixed about each.
//!
//! The operator takes Runtimes of these and says of all others that they are not supported yet. The runner's adapters
//! read their own facts here too, so that both sides cannot disagree; a test of the runner holds the ids together.

use std::time::Duration;

use crate::programs::Version;
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
    /// In versions before this one it cannot.
    pub steers_from: Option<Version>,
    /// What it can do about a list of tools.
    pub tools: ToolSupport,
    /// How it takes a list of MCP servers.
    pub mcp: McpSupport,
    /// From this version on it takes none.
    pub mcp_until: Option<Version>,
    /// It takes them also where it is held to a list of tools.
    pub mcp_held: bool,
    /// It can be told how much the model is to think; of those that speak ACP: where it offers that.
    pub thinks: bool,
    /// It knows tiers of the provider's service.
    pub tiers: bool,
    /// In versions before this one it does not.
    pub tiers_from: Option<Version>,
    /// It counts how often it asks the model, and can be told when to stop.
    pub counts_turns: bool,
}

/// To how much of a list of tools a command line can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// To nothing.
    No,
    /// To the names of tools as they stand: no `*`, and nothing in brackets.
    Names,
    /// To all of it: each use of a tool is looked at before it happens.
    Uses,
}

impl Held {
    fn to(self, pattern: &str) -> bool {
        match self {
            Self::No => false,
            Self::Names => !pattern.contains(['*', '(']),
            Self::Uses => true,
        }
    }
}

/// What a command line can do about a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSupport {
    /// It can be held to a list of tools that it may use.
    pub allow: Held,
    /// Tools can be taken from it.
    pub deny: Held,
    /// It can wait for a person's decision before it uses a tool.
    pub approve: Held,
}

impl ToolSupport {
    /// Nothing.
    pub const NONE: Self = Self {
        allow: Held::No,
        deny: Held::No,
        approve: Held::No,
    };
    /// Everything: each use of a tool is shown before it happens, and waits for the answer.
    pub const ALL: Self = Self {
        allow: Held::Uses,
        deny: Held::Uses,
        approve: Held::Uses,
    };
    /// Tools can be taken from it, and left to it alone, by their names.
    pub const NAMES: Self = Self {
        allow: Held::Names,
        deny: Held::Names,
        approve: Held::No,
    };
    /// Tools can be taken from it by their names.
    pub const DENIED: Self = Self {
        allow: Held::No,
        deny: Held::Names,
        approve: Held::No,
    };

    /// What of these lists it cannot be held to, in words for people; nothing when it can be held to all of them.
    #[must_use]
    pub fn lacks(
        &self,
        allow: &[String],
        deny: &[String],
        require_approval: &[String],
    ) -> Vec<String> {
        let lists = [
            ("allow", self.allow, allow),
            ("deny", self.deny, deny),
            ("requireApproval", self.approve, require_approval),
        ];
        let lacks = lists.into_iter().filter_map(|(name, held, patterns)| {
            let loose: Vec<_> = patterns
                .iter()
                .filter(|pattern| !held.to(pattern))
                .map(String::as_str)
                .collect();
            let (first, more) = loose.split_first()?;
            Some(match held {
                Held::No => name.to_owned(),
                Held::Names | Held::Uses => {
                    let more = match more.len() {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    format!("{name} of more than a tool's name ({first}{more})")
                }
            })
        });
        lacks.collect()
    }

    /// The same for a policy.
    #[must_use]
    pub fn lacks_of(&self, policy: &ToolPolicy) -> Vec<String> {
        self.lacks(&policy.allow, &policy.deny, &policy.require_approval)
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
pub const PLAIN: Facts = Facts {
    id: "",
    first_frame_seconds: Some(60),
    idle_seconds: None,
    progress_seconds: None,
    first_progress_seconds: None,
    steers: false,
    steers_from: None,
    tools: ToolSupport::NONE,
    mcp: McpSupport::NONE,
    mcp_until: None,
    mcp_held: true,
    thinks: false,
    tiers: false,
    tiers_from: None,
    counts_turns: false,
};

/// All of them.
pub const DRIVEN: &[Facts] = &[
    Facts {
        id: "claude",
        steers: true,
        steers_from: Some(Version(2, 1, 110)),
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
        tools: ToolSupport::ALL,
        thinks: true,
        counts_turns: true,
        ..PLAIN
    },
    Facts {
        id: "codex",
        steers: true,
        tools: ToolSupport::ALL,
        first_frame_seconds: Some(30),
        progress_seconds: Some(600),
        first_progress_seconds: Some(60),
        mcp: McpSupport {
            strict: true,
            ..McpSupport::NO_SSE
        },
        thinks: true,
        tiers: true,
        tiers_from: Some(Version(0, 133, 0)),
        ..PLAIN
    },
    Facts {
        id: "pi",
        steers: true,
        tools: ToolSupport::ALL,
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
        // Its second version reads no configuration from variables.
        mcp_until: Some(Version(2, 0, 0)),
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "copilot",
        tools: ToolSupport::NAMES,
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
        // It tries again without end and without a word, and has no log that would tell.
        idle_seconds: Some(600),
        first_frame_seconds: None,
        mcp: McpSupport::MERGED,
        ..PLAIN
    },
    Facts {
        id: "deveco",
        idle_seconds: Some(600),
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
        tools: ToolSupport::NAMES,
        mcp: McpSupport::MERGED,
        // The working directory is no trusted one then, and servers are not started in others.
        mcp_held: false,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "kimi",
        tools: ToolSupport::NAMES,
        idle_seconds: Some(1800),
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "vibe",
        mcp: McpSupport::NO_SSE,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "hermes",
        steers: true,
        tools: ToolSupport::ALL,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "claude-agent-acp",
        tools: ToolSupport::DENIED,
        mcp: McpSupport::MERGED,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "codex-acp",
        tools: ToolSupport::ALL,
        mcp: McpSupport::NO_SSE,
        thinks: true,
        ..PLAIN
    },
    Facts {
        id: "reasonix",
        steers: true,
        mcp: McpSupport::NO_SSE,
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
        steers_from: Some(Version(1, 0, 14)),
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
    // Of those that are known by no name, by their protocol (`acp` is the fifth): what all of them have. Frames of JSON.
    Facts {
        id: "custom-stream-json",
        mcp: McpSupport {
            strict: true,
            ..McpSupport::MERGED
        },
        thinks: true,
        ..PLAIN
    },
    // JSON-RPC, as of an app-server. One that knows no remarks says so, and the remark waits.
    Facts {
        id: "custom-app-server",
        steers: true,
        // With the thread. What it finds by itself stays: by which words that is asked for nobody knows.
        mcp: McpSupport::NO_SSE,
        thinks: true,
        ..PLAIN
    },
    // Commands and events in lines; none of them is about servers.
    Facts {
        id: "custom-rpc",
        steers: true,
        thinks: true,
        ..PLAIN
    },
    // A process for each turn.
    Facts {
        id: "custom-json-lines",
        idle_seconds: Some(1800),
        first_frame_seconds: None,
        mcp: McpSupport::MERGED,
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
    /// How it takes a list of MCP servers in this version, in one that is not known as in those that are driven first; and
    /// where it is held to a list of tools or not.
    #[must_use]
    pub fn servers(&self, version: Option<Version>, held: bool) -> McpSupport {
        let is_past = self.mcp_until.is_some() && version >= self.mcp_until;
        let takes_none = is_past || held && !self.mcp_held;
        if takes_none {
            McpSupport::NONE
        } else {
            self.mcp
        }
    }

    /// Whether a person's remark can be handed to it while it works, in this version; in one that is not known as in those
    /// that are driven.
    #[must_use]
    pub fn takes_remarks(&self, version: Option<Version>) -> bool {
        self.steers && reaches(version, self.steers_from)
    }

    /// Whether it knows tiers of the provider's service, as [`Facts::takes_remarks`].
    #[must_use]
    pub fn knows_tiers(&self, version: Option<Version>) -> bool {
        self.tiers && reaches(version, self.tiers_from)
    }

    /// Within which the first line on stdout comes, where that can be said.
    #[must_use]
    pub fn first_frame(&self) -> Option<Duration> {
        self.first_frame_seconds
            .map(|seconds| Duration::from_secs(seconds.into()))
    }
}

fn reaches(version: Option<Version>, from: Option<Version>) -> bool {
    version.is_none() || version >= from
}

#[cfg(test)]
mod tests;
