//! One adapter per agent command line, and the list of those there are.

mod acp;
mod calls;
mod claude;
mod codex;
mod command;
mod ending;
mod flags;
mod frame;
mod json_rpc;
mod pi;
mod pipes;
mod stores;
mod stream_json;

use crate::adapter::Provider;

/// Every provider that this runner can drive, by id.
const PROVIDERS: &[&dyn Provider] = &[
    &claude::Claude,
    &codex::Codex,
    &pi::Pi,
    &acp::GEMINI,
    &acp::KIMI,
    &acp::VIBE,
    &acp::HERMES,
    &acp::CLAUDE_AGENT,
    &acp::CODEX,
    &acp::GENERIC,
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
        assert_eq!(ids, protocol::providers::DRIVEN);
    }
}
