//! MCP servers: tools that an agent is given beside its own.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{ConfigMapKeyRef, EnvValueSource, EnvVar, SecretKeyRef};

/// What every variable begins with in which a value of an MCP server reaches the runner.
pub const MCP_VARIABLE: &str = "MOORING_MCP_";

/// An MCP server: a program that runs beside the agent, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.command) != has(self.url)")
    .message("an MCP server is a program or an address: give it either command or url"))]
#[x_kube(validation = Rule::new("has(self.command) || (self.args.size() == 0 && self.env.size() == 0)")
    .message("args and env are of a program: remove them, or give command instead of url"))]
#[x_kube(validation = Rule::new("has(self.url) || (!has(self.type) && self.headers.size() == 0)")
    .message("type and headers are of an address: remove them, or give url instead of command"))]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// name of the server. One of the Agent takes the place of the Runtime's of the same name.
    #[schemars(
        length(min = 1, max = 40),
        regex(pattern = "^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$")
    )]
    pub name: String,
    /// required makes a task fail that cannot have the server within 30 seconds, instead of working without it.
    #[serde(default)]
    pub required: bool,
    /// command is the program, which speaks over its stdin and stdout.
    #[schemars(length(min = 1, max = 1024))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// args of the program, for everyone to read.
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub args: Vec<String>,
    /// env are variables of the program. Secrets come by reference; the kubelet reads them.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// type is how the address is spoken to; Http unless it says otherwise.
    #[schemars(with = "McpType")]
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<McpType>,
    /// url is the address, for everyone to read. The Runtime's network.allow must let the agent reach it.
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^https?://[^@]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// headers of each request. Secrets come by reference; the kubelet reads them.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub headers: Vec<McpHeader>,
}

/// How the address of an MCP server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum McpType {
    /// Streamable HTTP.
    #[default]
    Http,
    /// The older way: events on one connection, requests on another.
    Sse,
}

/// A header of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("a header has either value or valueFrom: remove one, or add one"))]
#[x_kube(validation = Rule::new("!has(self.prefix) || has(self.valueFrom)")
    .message("prefix stands before what valueFrom gives: remove it, or write all into value"))]
#[serde(rename_all = "camelCase")]
pub struct McpHeader {
    /// name of the header.
    #[schemars(
        length(min = 1, max = 128),
        regex(pattern = "^[-!#$%&'*+.^_`|~A-Za-z0-9]+$")
    )]
    pub name: String,
    /// value of the header, for everyone to read. Secrets belong into valueFrom.
    #[schemars(length(max = 4096), regex(pattern = "^[^\\x00-\\x1f\\x7f]*$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// prefix stands before what valueFrom gives, for example "Bearer ".
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[^\\x00-\\x1f\\x7f]*$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// valueFrom says where the kubelet takes the value from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvValueSource>,
}

/// The servers of a run: those of the Runtime, and those of the Agent in the place of each of the same name. None where
/// neither says anything: then the agent's program has those that it finds by itself.
#[must_use]
pub fn mcp_servers(
    runtime: Option<&[McpServer]>,
    agent: Option<&[McpServer]>,
) -> Option<Vec<McpServer>> {
    if runtime.is_none() && agent.is_none() {
        return None;
    }
    let agent = agent.unwrap_or_default();
    let is_replaced = |server: &&McpServer| agent.iter().any(|other| other.name == server.name);
    let runtime = runtime.unwrap_or_default().iter();
    let mut all: Vec<_> = runtime.filter(|server| !is_replaced(server)).collect();
    all.extend(agent);
    all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Some(all.into_iter().cloned().collect())
}

/// The variable in which what a reference names reaches the runner. It follows from the reference alone, so that who
/// makes the pod and who makes the package need not ask each other.
#[must_use]
pub fn mcp_variable(source: &EnvValueSource) -> String {
    let (kind, name, key) = match (&source.secret_key_ref, &source.config_map_key_ref) {
        (Some(SecretKeyRef { name, key }), _) => ("secret", name.as_str(), key.as_str()),
        (None, Some(ConfigMapKeyRef { name, key })) => ("configMap", name.as_str(), key.as_str()),
        (None, None) => ("", "", ""),
    };
    let digest = Sha256::digest(format!("{kind}/{name}/{key}"));
    let digits = digest.iter().take(10).map(|byte| format!("{byte:02X}"));
    format!("{MCP_VARIABLE}{}", digits.collect::<String>())
}

/// Every reference of the servers, once, with its variable.
#[must_use]
pub fn mcp_references(servers: &[McpServer]) -> Vec<(String, EnvValueSource)> {
    let of_server = |server: &McpServer| {
        let env = server.env.iter().map(|variable| &variable.value_from);
        let headers = server.headers.iter().map(|header| &header.value_from);
        env.chain(headers).flatten().cloned().collect::<Vec<_>>()
    };
    let sources = servers.iter().flat_map(of_server);
    let mut all: Vec<_> = sources
        .map(|source| (mcp_variable(&source), source))
        .collect();
    all.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    all.dedup_by(|one, other| one.0 == other.0);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn servers(list: serde_json::Value) -> Vec<McpServer> {
        serde_json::from_value(list).unwrap()
    }

    #[test]
    fn the_agents_server_takes_the_place_of_the_runtimes() {
        let runtime =
            servers(json!([{"name": "b", "command": "of-runtime"}, {"name": "c", "command": "c"}]));
        let agent = servers(
            json!([{"name": "b", "command": "of-agent"}, {"name": "a", "url": "http://a"}]),
        );
        let merged = mcp_servers(Some(&runtime), Some(&agent)).unwrap();
        let commands: Vec<_> = (merged.iter())
            .map(|server| (server.name.as_str(), server.command.as_deref()))
            .collect();
        assert_eq!(
            commands,
            [("a", None), ("b", Some("of-agent")), ("c", Some("c"))]
        );
        assert_eq!(mcp_servers(None, None), None);
        // To say that there are none is to say something.
        assert_eq!(mcp_servers(Some(&[]), None), Some(Vec::new()));
        assert_eq!(mcp_servers(None, Some(&[])), Some(Vec::new()));
    }

    #[test]
    fn a_reference_has_one_variable_whoever_asks() {
        let secret = |key: &str| json!({"secretKeyRef": {"name": "s", "key": key}});
        let list = servers(json!([
            {"name": "a", "command": "a", "env": [{"name": "T", "valueFrom": secret("k")}, {"name": "P", "value": "plain"}]},
            {"name": "b", "url": "http://b", "headers": [
                {"name": "X", "valueFrom": secret("k")}, {"name": "Y", "valueFrom": secret("l")},
                {"name": "Z", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}},
            ]},
        ]));
        let references = mcp_references(&list);
        assert_eq!(references.len(), 3);
        for (variable, source) in references {
            assert_eq!(variable, mcp_variable(&source));
            assert!(
                variable.starts_with(MCP_VARIABLE) && variable.len() == MCP_VARIABLE.len() + 20
            );
        }
    }
}
