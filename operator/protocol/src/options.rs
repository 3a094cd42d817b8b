//! What a run is started with beside its model: how much it thinks, how far it goes, and the MCP servers it is given.

use serde::{Deserialize, Serialize};

/// Options of a run, as Agent, Runtime and task come to together. Holds no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunOptions {
    /// How much the model thinks, in the words of the CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// The tier of the provider's service, in the words of the CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// How often the model is asked at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The Agent's arguments, after those of the Runtime.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The MCP servers, sorted by name. None for those that the CLI finds by itself, a list, even an empty one, for these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<McpServer>>,
}

impl RunOptions {
    /// True when nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Without it the agent is not started.
    #[serde(default)]
    pub required: bool,
    /// What it is.
    pub at: McpPlace,
}

/// What an MCP server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpPlace {
    /// A program that the CLI starts.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: Vec<McpValue>,
    },
    /// An address that speaks streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Vec<McpValue>,
    },
    /// An address that speaks server-sent events.
    Sse {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Vec<McpValue>,
    },
}

/// A variable or a header of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpValue {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: McpSource,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpSource {
    /// It stands here, for everyone to read.
    Plain(String),
    /// The kubelet put it into this variable of the container, from a Secret or a ConfigMap.
    Variable {
        /// Which.
        name: String,
        /// Stands before it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
    },
}
