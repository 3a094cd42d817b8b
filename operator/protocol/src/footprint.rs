//! How much memory the programs of agents take, as it was measured, and what a container asks for and may use where its
//! Runtime says nothing of that.

/// What the process tree of one program took, in MiB: shared pages were counted more than once, so it is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// In the middle of many turns.
    pub usual: u32,
    /// At most in any of them.
    pub most: u32,
}

/// The memory of a container, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What it asks for.
    pub request: u32,
    /// What it may use.
    pub limit: u32,
}

/// Turns with the scripted model on two slow cores, beside which nothing large was built or read.
const MEASURED: &[(&str, Footprint)] = &[
    ("claude", took(190, 370)),
    ("codex", took(190, 340)),
    ("pi", took(115, 135)),
    ("omp", took(300, 310)),
    ("qwen", took(430, 2040)),
    ("opencode", took(570, 1190)),
    ("copilot", took(300, 435)),
    ("gemini", took(240, 370)),
    ("kimi", took(390, 540)),
    ("vibe", took(155, 315)),
    ("hermes", took(150, 310)),
    ("claude-agent-acp", took(415, 490)),
    ("codex-acp", took(265, 420)),
    ("openclaw", took(1060, 1385)),
    ("qoder", took(740, 745)),
    ("reasonix", took(100, 130)),
    ("qwenpaw", took(420, 425)),
];

/// Beside the program: the runner, a shell, git.
const BESIDE: u32 = 128;
/// What the agent itself starts, compilers and tests among it, can take so much.
const TOOLS: u32 = 3584;
/// Requests are multiples of this.
const REQUEST_STEP: u32 = 64;
/// Limits are multiples of this.
const LIMIT_STEP: u32 = 512;
/// Of programs that nobody has measured.
const UNKNOWN: Memory = Memory {
    request: 512,
    limit: 4096,
};

const fn took(usual: u32, most: u32) -> Footprint {
    Footprint { usual, most }
}

/// What the program of this provider takes, where that was measured.
#[must_use]
pub fn of(provider: &str) -> Option<Footprint> {
    let known = MEASURED.iter().find(|(id, _)| *id == provider);
    known.map(|(_, footprint)| *footprint)
}

/// What a container with the program of this provider is given.
#[must_use]
pub fn memory(provider: &str) -> Memory {
    of(provider).map_or(UNKNOWN, |Footprint { usual, most }| Memory {
        request: (usual + BESIDE).next_multiple_of(REQUEST_STEP),
        limit: (most + TOOLS).next_multiple_of(LIMIT_STEP),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers;

    #[test]
    fn what_takes_more_is_given_more() {
        let given = |provider| {
            let Memory { request, limit } = memory(provider);
            (request, limit)
        };
        for (provider, wanted) in [
            ("claude", (320, 4096)),
            ("pi", (256, 4096)),
            ("opencode", (704, 5120)),
            ("qwen", (576, 5632)),
            ("openclaw", (1216, 5120)),
            ("cursor", (512, 4096)),
            ("nobody", (512, 4096)),
        ] {
            assert_eq!(given(provider), wanted, "{provider}");
        }
    }

    #[test]
    fn only_programs_that_are_driven_were_measured() {
        for (id, footprint) in MEASURED {
            assert!(providers::facts(id).is_some(), "{id}");
            assert!(footprint.usual <= footprint.most, "{id}");
            let Memory { request, limit } = memory(id);
            assert!(request > footprint.usual && limit > request + footprint.most);
        }
    }
}
