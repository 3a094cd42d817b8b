//! The variables of the agent's container: those of the Runtime, those of the Agent in their place, what MCP servers
//! need, and ours.

use crds::{AgentSpec, EnvVar, RuntimeSpec, mcp_references, mcp_servers};
use k8s_openapi::api::core::v1 as core;
use protocol::paths;

use super::Install;

/// Each variable once.
pub(super) fn env(
    runtime: &RuntimeSpec,
    agent: Option<&AgentSpec>,
    install: &Install,
) -> Vec<core::EnvVar> {
    let of_agent = agent.map_or(&[] as &[EnvVar], |agent| &agent.env);
    let is_replaced = |variable: &&EnvVar| of_agent.iter().any(|other| other.name == variable.name);
    let of_runtime = runtime.pod.env.iter();
    let of_runtime = of_runtime.filter(|variable| !is_replaced(variable));
    let mut env: Vec<_> = of_runtime.chain(of_agent).map(core::EnvVar::from).collect();
    env.extend(of_servers(runtime, agent));
    // Ours come last: the last one of a name wins.
    env.extend([
        variable(paths::ENV_API, &install.api_url),
        variable(paths::ENV_TOKEN_FILE, paths::TOKEN_FILE),
        variable(paths::ENV_CA_FILE, paths::CA_FILE),
    ]);
    env
}

/// Those of the Agent come later, so they win.
pub(super) fn env_from(
    runtime: &RuntimeSpec,
    agent: Option<&AgentSpec>,
) -> Vec<core::EnvFromSource> {
    let of_agent = agent.into_iter().flat_map(|agent| &agent.env_from);
    let all = runtime.pod.env_from.iter().chain(of_agent);
    all.map(core::EnvFromSource::from).collect()
}

/// What the MCP servers are given by reference. The kubelet fills it in, the runner passes it on, and it stands in no
/// package and on no command line.
fn of_servers(
    runtime: &RuntimeSpec,
    agent: Option<&AgentSpec>,
) -> impl Iterator<Item = core::EnvVar> {
    let of_agent = agent.and_then(|agent| agent.mcp_servers.as_deref());
    let servers = mcp_servers(runtime.mcp_servers.as_deref(), of_agent).unwrap_or_default();
    mcp_references(&servers).into_iter().map(|(name, source)| {
        core::EnvVar::from(&EnvVar {
            name,
            value: None,
            value_from: Some(source),
        })
    })
}

fn variable(name: &str, value: &str) -> core::EnvVar {
    core::EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}
