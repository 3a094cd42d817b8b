//! What each agent does in its own way, as its protocol is described.

/// One agent.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The arguments that make it speak ACP, before all others.
    pub(crate) first: &'static [&'static str],
    /// And after all others.
    pub(crate) last: &'static [&'static str],
    /// The one method by which a session goes on.
    pub(crate) goes_on: &'static str,
    /// The refusal of a session that it does not know; none when it takes any.
    pub(crate) unknown: Option<(i64, &'static str)>,
    /// Updates are called `session/notification`, and their kinds are in CamelCase.
    pub(crate) camel: bool,
    /// It refuses sessions before `authenticate` with this method.
    pub(crate) login: Option<&'static str>,
    /// Models are offered, and can be set.
    pub(crate) models: bool,
    /// Options that have to be set before the prompt, with their values.
    pub(crate) needs: &'static [(&'static str, &'static str)],
    /// It asks before it runs a command.
    pub(crate) asks: bool,
    /// How it tells its tokens.
    pub(crate) usage: Usage,
    /// It reads the prompt under `content`, as older builds do.
    pub(crate) reads_content: bool,
    /// It ends when its input ends.
    pub(crate) ends: bool,
    /// It wants a session closed before it lets go of it.
    pub(crate) closes: bool,
    /// How a remark is taken while it works.
    pub(crate) steer: Steer,
}

/// How tokens are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// Not at all.
    None,
    /// In the answer to the prompt.
    Answer,
    /// In the `_meta` of that answer, with the model.
    Meta,
    /// In a notice of its own.
    Notice,
    /// In the `_meta` of words without any, with the model.
    Words,
}

/// How a remark is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steer {
    /// Not.
    No,
    /// As a second prompt.
    Slash,
    /// By a method, and a notice once the model has it.
    Interject,
    /// By a method that is named at the start.
    Named,
}

const USUAL: Agent = Agent {
    name: "",
    version: "1.0.0",
    first: &["acp"],
    last: &[],
    goes_on: "session/load",
    unknown: Some((-32602, "session not found: ")),
    camel: false,
    login: None,
    models: true,
    needs: &[],
    asks: false,
    usage: Usage::Answer,
    reads_content: false,
    ends: true,
    closes: false,
    steer: Steer::No,
};

/// All of them.
pub(crate) const AGENTS: &[Agent] = &[
    // Any other.
    Agent {
        name: "acp",
        first: &[],
        ..USUAL
    },
    Agent {
        name: "hermes",
        version: "0.19.0",
        goes_on: "session/resume",
        unknown: None,
        steer: Steer::Slash,
        ..USUAL
    },
    Agent {
        name: "reasonix",
        version: "1.38.11",
        first: &[
            "acp",
            "--planner",
            "auto",
            "--sandbox-network",
            "auto",
            "--sandbox-bash",
            "auto",
            "--workspace-only",
        ],
        goes_on: "session/resume",
        unknown: Some((-32602, "session/resume: unknown session ")),
        needs: &[("tool_approval", "danger-full-access")],
        asks: true,
        usage: Usage::Notice,
        steer: Steer::Named,
        ..USUAL
    },
    Agent {
        name: "kiro",
        first: &["acp", "--trust-all-tools"],
        camel: true,
        reads_content: true,
        ..USUAL
    },
    Agent {
        name: "qoder",
        version: "1.1.52",
        first: &["--yolo", "--acp"],
        goes_on: "session/resume",
        unknown: Some((-32602, "Invalid session identifier ")),
        camel: true,
        ends: false,
        ..USUAL
    },
    Agent {
        name: "qoderclicn",
        first: &["--yolo", "--acp"],
        goes_on: "session/resume",
        unknown: Some((-32602, "Invalid session identifier ")),
        camel: true,
        ends: false,
        ..USUAL
    },
    Agent {
        name: "traecli",
        first: &["acp", "serve", "--yolo"],
        ..USUAL
    },
    Agent {
        name: "grok",
        version: "1.0.14",
        first: &["--no-auto-update", "agent", "--always-approve"],
        last: &["stdio"],
        login: Some("cached_token"),
        usage: Usage::Meta,
        steer: Steer::Interject,
        ..USUAL
    },
    Agent {
        name: "qwenpaw",
        version: "2.2.2",
        first: &["acp", "--local-diagnostics"],
        unknown: None,
        needs: &[("mode", "bypassPermissions")],
        usage: Usage::Words,
        ends: false,
        ..USUAL
    },
    Agent {
        name: "mcode",
        version: "0.1.2",
        models: false,
        asks: true,
        ends: false,
        ..USUAL
    },
    Agent {
        name: "dim",
        version: "0.3.10",
        needs: &[("permission", "full-access"), ("mode", "agent")],
        ends: false,
        closes: true,
        ..USUAL
    },
    Agent {
        name: "zeroclaw",
        version: "0.8.0",
        goes_on: "session/resume",
        unknown: Some((-32000, "session not found: ")),
        models: false,
        asks: true,
        usage: Usage::None,
        ..USUAL
    },
];
