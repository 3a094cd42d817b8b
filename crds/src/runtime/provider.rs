//! The coding agents that are known by name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! providers {
    ($($(#[$doc:meta])+ $name:ident => $word:literal;)+) => {
        /// A coding agent whose protocol is known. The words are those of the CLIs themselves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum Provider {
            $($(#[$doc])+ #[serde(rename = $word)] $name,)+
        }

        impl Provider {
            /// Every known provider.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word used in the package, in the store and in metrics.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

providers! {
    /// Claude Code.
    Claude => "claude";
    /// `CodeBuddy`.
    Codebuddy => "codebuddy";
    /// Qwen Code.
    Qwen => "qwen";
    /// Codex.
    Codex => "codex";
    /// OpenCode.
    Opencode => "opencode";
    /// `CodeArts`.
    Codearts => "codearts";
    /// `DevEco`.
    Deveco => "deveco";
    /// GitHub Copilot.
    Copilot => "copilot";
    /// Cursor.
    Cursor => "cursor";
    /// pi.
    Pi => "pi";
    /// omp, of the family of pi.
    Omp => "omp";
    /// `OpenClaw`.
    Openclaw => "openclaw";
    /// Antigravity.
    Antigravity => "antigravity";
    /// Hermes.
    Hermes => "hermes";
    /// Kimi Code.
    Kimi => "kimi";
    /// Reasonix.
    Reasonix => "reasonix";
    /// Kiro.
    Kiro => "kiro";
    /// Qoder.
    Qoder => "qoder";
    /// Qoder, the edition of `qoderclicn`.
    Qoderclicn => "qoderclicn";
    /// Trae.
    Traecli => "traecli";
    /// Grok.
    Grok => "grok";
    /// `QwenPaw`.
    Qwenpaw => "qwenpaw";
    /// mcode.
    Mcode => "mcode";
    /// dim.
    Dim => "dim";
    /// `ZeroClaw`.
    Zeroclaw => "zeroclaw";
    /// dsh.
    Dsh => "dsh";
    /// Gemini CLI.
    Gemini => "gemini";
    /// Mistral Vibe.
    Vibe => "vibe";
    /// Claude Code behind its ACP bridge.
    ClaudeAgentAcp => "claude-agent-acp";
    /// Codex behind its ACP bridge.
    CodexAcp => "codex-acp";
    /// Any other agent that speaks ACP: short for `custom` of that family.
    Acp => "acp";
    /// An agent that is known by no name: its family says how it is spoken to.
    Custom => "custom";
}

/// A protocol that coding agents share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Family {
    /// Frames of JSON both ways, as of Claude Code's stream-JSON.
    StreamJson,
    /// JSON-RPC, as of Codex's app-server.
    AppServer,
    /// Commands and events in lines of JSON, as of pi's mode rpc.
    Rpc,
    /// One process for each turn that tells of it in lines of JSON, as of opencode's run.
    JsonLines,
    /// The Agent Client Protocol.
    Acp,
}

impl Family {
    /// The word for what drives programs of this family that are known by no name.
    #[must_use]
    pub fn driver(self) -> &'static str {
        match self {
            Self::StreamJson => "custom-stream-json",
            Self::AppServer => "custom-app-server",
            Self::Rpc => "custom-rpc",
            Self::JsonLines => "custom-json-lines",
            Self::Acp => Provider::Acp.as_str(),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_schema() {
        assert_eq!(Provider::ALL.len(), 32);
        for provider in Provider::ALL {
            assert_eq!(
                serde_json::to_value(provider).unwrap(),
                serde_json::Value::from(provider.as_str())
            );
        }
    }
}
