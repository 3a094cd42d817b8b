//! Options of a run: what the task says goes before what the Agent says, and that before the Runtime.

use crds::{Agent, AgentTask, EnvValueSource, McpHeader, McpServer, McpType, Runtime};
use protocol::{McpPlace, McpSource, McpValue, RunOptions};

/// The model asked for.
pub(super) fn model(task: &AgentTask, agent: &Agent, runtime: &Runtime) -> Option<String> {
    let asked = [
        &task.spec.model,
        &agent.spec.model,
        &runtime.spec.defaults.model,
    ];
    asked.into_iter().find_map(Clone::clone)
}

/// All else.
pub(super) fn options(task: &AgentTask, agent: &Agent, runtime: &Runtime) -> RunOptions {
    let (agent, runtime) = (&agent.spec, &runtime.spec);
    let servers = crds::mcp_servers(runtime.mcp_servers.as_deref(), agent.mcp_servers.as_deref());
    let turns = task.spec.max_turns.or(agent.max_turns);
    RunOptions {
        thinking_level: (agent.thinking_level.clone())
            .or_else(|| runtime.defaults.thinking_level.clone()),
        service_tier: agent.service_tier.clone(),
        // The schema keeps it above zero.
        max_turns: turns.map(|turns| u32::try_from(turns).unwrap_or(1)),
        args: agent.args.clone(),
        mcp_servers: servers.map(|servers| servers.into_iter().map(server).collect()),
    }
}

fn server(server: McpServer) -> protocol::McpServer {
    let headers = server.headers.into_iter().map(header).collect();
    let at = match (server.command, server.url, server.kind.unwrap_or_default()) {
        (Some(command), ..) => McpPlace::Stdio {
            command,
            args: server.args,
            env: server
                .env
                .into_iter()
                .map(|variable| McpValue {
                    value: source(variable.value, None, variable.value_from.as_ref()),
                    name: variable.name,
                })
                .collect(),
        },
        (None, url, McpType::Http) => McpPlace::Http {
            url: url.unwrap_or_default(),
            headers,
        },
        (None, url, McpType::Sse) => McpPlace::Sse {
            url: url.unwrap_or_default(),
            headers,
        },
    };
    protocol::McpServer {
        name: server.name,
        required: server.required,
        at,
    }
}

fn header(header: McpHeader) -> McpValue {
    McpValue {
        value: source(header.value, header.prefix, header.value_from.as_ref()),
        name: header.name,
    }
}

/// A secret is none of the package's: it says in which variable the kubelet has put it.
fn source(
    value: Option<String>,
    prefix: Option<String>,
    from: Option<&EnvValueSource>,
) -> McpSource {
    match from {
        Some(from) => McpSource::Variable {
            name: crds::mcp_variable(from),
            prefix: prefix.unwrap_or_default(),
        },
        None => McpSource::Plain(value.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn object<T: DeserializeOwned>(kind: &str, spec: Value) -> T {
        let object = json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": kind,
            "metadata": {"name": "x", "namespace": "team-a", "uid": "u"}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn task(more: Value) -> AgentTask {
        let mut spec = json!({"agentRef": {"name": "x"}, "subject": {"kind": "Key", "name": "s"}, "prompt": "Do."});
        merge(&mut spec, more);
        object("AgentTask", spec)
    }

    fn agent(more: Value) -> Agent {
        let mut spec = json!({"runtimeRefs": [{"name": "x"}]});
        merge(&mut spec, more);
        object("Agent", spec)
    }

    fn runtime(more: Value) -> Runtime {
        let mut spec = json!({"provider": "claude", "image": "i"});
        merge(&mut spec, more);
        object("Runtime", spec)
    }

    fn merge(spec: &mut Value, more: Value) {
        let Value::Object(more) = more else { return };
        spec.as_object_mut().unwrap().extend(more);
    }

    #[test]
    fn the_task_goes_before_the_agent_and_that_before_the_runtime() {
        let of = |who: &str| json!({"model": who});
        let defaults = |who: &str| json!({"defaults": {"model": who}});
        for (task_says, agent_says, runtime_says, wanted) in [
            (of("t"), of("a"), defaults("r"), Some("t")),
            (json!({}), of("a"), defaults("r"), Some("a")),
            (json!({}), json!({}), defaults("r"), Some("r")),
            (of("t"), json!({}), json!({}), Some("t")),
            (json!({}), json!({}), json!({}), None),
        ] {
            let asked = model(&task(task_says), &agent(agent_says), &runtime(runtime_says));
            assert_eq!(asked.as_deref(), wanted);
        }
        let level = |level: &str| json!({"defaults": {"thinkingLevel": level}});
        for (agent_says, wanted) in [
            (json!({"thinkingLevel": "high"}), "high"),
            (json!({}), "low"),
        ] {
            let options = options(&task(json!({})), &agent(agent_says), &runtime(level("low")));
            assert_eq!(options.thinking_level.as_deref(), Some(wanted));
        }
        for (task_says, agent_says, wanted) in [
            (json!({"maxTurns": 3}), json!({"maxTurns": 9}), Some(3)),
            (json!({}), json!({"maxTurns": 9}), Some(9)),
            (json!({}), json!({}), None),
        ] {
            let options = options(&task(task_says), &agent(agent_says), &runtime(json!({})));
            assert_eq!(options.max_turns, wanted);
        }
    }

    #[test]
    fn a_servers_secret_is_named_by_its_variable() {
        let secret = json!({"secretKeyRef": {"name": "tools", "key": "token"}});
        let servers = json!({"mcpServers": [
            {"name": "files", "command": "files", "args": ["--stdio"], "required": true,
                "env": [{"name": "TOKEN", "valueFrom": secret}, {"name": "TEAM", "value": "core"}]},
            {"name": "web", "url": "https://web/mcp",
                "headers": [{"name": "Authorization", "prefix": "Bearer ", "valueFrom": secret}]},
            {"name": "old", "url": "https://old/sse", "type": "Sse"},
        ]});
        let options = options(&task(json!({})), &agent(servers), &runtime(json!({})));
        insta::assert_json_snapshot!(options);
    }

    #[test]
    fn who_says_nothing_of_servers_leaves_them_to_the_program() {
        let none = options(&task(json!({})), &agent(json!({})), &runtime(json!({})));
        assert_eq!(none, RunOptions::default());
        let empty = runtime(json!({"mcpServers": []}));
        let empty = options(&task(json!({})), &agent(json!({})), &empty);
        assert_eq!(empty.mcp_servers, Some(Vec::new()));
    }
}
