//! Whether the coding agents of an Agent can be given its MCP servers.

use std::sync::Arc;

use crds::{AgentSpec, McpServer, McpType, Runtime};
use kube::ResourceExt as _;
use protocol::programs;
use protocol::providers::{self, McpKind};

/// Says which server which Runtime cannot have, and what to do. Nothing where all can be given.
pub(super) fn not_taken(agent: &AgentSpec, runtimes: &[Arc<Runtime>]) -> Option<String> {
    runtimes.iter().find_map(|runtime| {
        let provider = runtime.spec.driver();
        // One that is not driven at all says so itself.
        let version = runtime.cli_version().and_then(programs::version_in);
        let tools = agent.tools.as_ref();
        let held = tools.is_some_and(|tools| {
            let lists = [&tools.allow, &tools.deny, &tools.require_approval];
            lists.iter().any(|list| !list.is_empty())
        });
        let facts = providers::facts(provider)?;
        let support = facts.servers(version, held);
        let of_runtime = runtime.spec.mcp_servers.as_deref();
        let servers = crds::mcp_servers(of_runtime, agent.mcp_servers.as_deref())?;
        let refused = servers.iter().find(|server| !support.takes(kind(server)))?;
        let while_held = if held && !facts.mcp_held {
            " while it is held to the Agent's tools"
        } else {
            ""
        };
        Some(format!(
            "Runtime {}: {provider} cannot be given the MCP server {}, which is {}{while_held}. Take it out of mcpServers, or \
             choose another Runtime; until then its tasks there fail.",
            runtime.name_any(),
            refused.name,
            kind(refused).as_str(),
        ))
    })
}

fn kind(server: &McpServer) -> McpKind {
    match (&server.command, server.kind.unwrap_or_default()) {
        (Some(_), _) => McpKind::Stdio,
        (None, McpType::Http) => McpKind::Http,
        (None, McpType::Sse) => McpKind::Sse,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixtures;

    fn agent(servers: Value) -> AgentSpec {
        let spec = json!({"runtimeRefs": [{"name": "claude"}], "mcpServers": servers});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn the_server_that_a_runtime_cannot_have_is_named() {
        let servers = json!([{"name": "web", "url": "https://web", "type": "Sse"}, {"name": "files", "command": "f"}]);
        let takes_all = Arc::new(fixtures::runtime("claude"));
        assert_eq!(
            not_taken(&agent(servers.clone()), &[Arc::clone(&takes_all)]),
            None
        );

        let mut other = fixtures::runtime("other");
        other.spec.provider = crds::Provider::Codex;
        let message = not_taken(
            &agent(servers),
            &[Arc::clone(&takes_all), Arc::new(other.clone())],
        );
        let message = message.unwrap();
        assert!(
            message.starts_with("Runtime other: codex cannot be given the MCP server web, which is an address of type Sse."),
            "{message}"
        );

        // What is known of a version counts once it is known to be that one.
        let mut second = fixtures::runtime("second");
        second.spec.provider = crds::Provider::Opencode;
        let files = agent(json!([{"name": "files", "command": "f"}]));
        for (version, taken) in [("1.18.33", true), ("2.0.18", false)] {
            let cli = json!({"probed": "p", "finding": "Usable", "version": version, "probedTime": "2026-11-30T03:00:00Z"});
            let status = json!({"observedGeneration": 1, "cli": cli});
            second.status = serde_json::from_value(status).unwrap();
            let told = not_taken(&files, &[Arc::new(second.clone())]);
            assert_eq!(told.is_none(), taken, "{version}");
        }
        second.metadata.generation = Some(2);
        assert_eq!(not_taken(&files, &[Arc::new(second)]), None);

        // Some take none where they are held to a list of tools.
        let mut held = fixtures::runtime("held");
        held.spec.provider = crds::Provider::Gemini;
        let held = [Arc::new(held)];
        let mut agent_of = files;
        assert_eq!(not_taken(&agent_of, &held), None);
        agent_of.tools = serde_json::from_value(json!({"deny": ["glob"]})).unwrap();
        let message = not_taken(&agent_of, &held).unwrap();
        assert!(message.contains("held to the Agent's tools"), "{message}");

        // Those of a Runtime are looked at as well.
        other.spec.mcp_servers =
            serde_json::from_value(json!([{"name": "old", "url": "http://o", "type": "Sse"}]))
                .unwrap();
        assert!(
            not_taken(&agent(json!(null)), &[Arc::new(other)])
                .unwrap()
                .contains("old")
        );
    }
}
