//! One adapter per agent command line, and the list of those there are.

mod acp;
mod calls;
mod claude;
mod codebuddy;
mod codex;
mod command;
mod dsh;
mod ending;
mod flags;
mod frame;
mod guard;
mod json_rpc;
mod lines;
mod mcp;
mod names;
mod own;
mod pi;
mod pipes;
mod stores;
mod stream_json;

use std::path::PathBuf;

use crate::adapter::{Adapter, CommandLine, Ladder, Launch, Place, Provider};

/// A CLI with an adapter of its own.
struct Cli {
    id: &'static str,
    context_file: &'static str,
    skills: fn(&Place<'_>) -> PathBuf,
    session_files: fn(&Place<'_>, &str) -> Vec<PathBuf>,
    ladder: Ladder,
    launch: fn(&Launch) -> (CommandLine, Box<dyn Adapter>),
}

impl Provider for Cli {
    fn id(&self) -> &'static str {
        self.id
    }

    fn context_file(&self) -> &'static str {
        self.context_file
    }

    fn skills(&self, place: &Place<'_>) -> PathBuf {
        (self.skills)(place)
    }

    fn session_files(&self, place: &Place<'_>, session: &str) -> Vec<PathBuf> {
        (self.session_files)(place, session)
    }

    fn ladder(&self) -> Ladder {
        self.ladder
    }

    fn launch(&self, launch: &Launch) -> (CommandLine, Box<dyn Adapter>) {
        (self.launch)(launch)
    }
}

/// Every provider that this runner can drive, by id.
const PROVIDERS: &[&dyn Provider] = &[
    &claude::CLAUDE,
    &codebuddy::CODEBUDDY,
    &codex::CODEX,
    &pi::PI,
    &lines::QWEN,
    &lines::OPENCODE,
    &lines::COPILOT,
    &lines::CURSOR,
    &lines::OMP,
    &lines::OPENCLAW,
    &lines::CODEARTS,
    &lines::DEVECO,
    &lines::ANTIGRAVITY,
    &acp::GEMINI,
    &acp::KIMI,
    &acp::VIBE,
    &acp::HERMES,
    &acp::CLAUDE_AGENT,
    &acp::CODEX,
    &acp::REASONIX,
    &acp::KIRO,
    &acp::QODER,
    &acp::QODERCLICN,
    &acp::TRAECLI,
    &acp::GROK,
    &acp::QWENPAW,
    &acp::MCODE,
    &acp::DIM,
    &acp::ZEROCLAW,
    &acp::GENERIC,
    &dsh::DSH,
    // Of those that are known by no name, by their protocol; ACP's is its generic one.
    &claude::STREAM_JSON,
    &codex::APP_SERVER,
    &pi::RPC,
    &lines::JSON_LINES,
];

/// The provider with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Provider> {
    PROVIDERS
        .iter()
        .copied()
        .find(|provider| provider.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_knows_what_can_be_driven() {
        let ids: Vec<_> = PROVIDERS.iter().map(|provider| provider.id()).collect();
        assert_eq!(ids, protocol::providers::ids());
    }

    #[test]
    fn the_operator_looks_for_the_program_that_is_started() {
        for provider in PROVIDERS {
            let (line, _) = provider.launch(&crate::testing::launch());
            let named = protocol::programs::of(provider.id()).name;
            assert_eq!(line.argv[0], named, "{}", provider.id());
        }
    }
}
