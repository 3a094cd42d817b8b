//! How CLIs are told of MCP servers.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::adapter::{Launch, LaunchFile};
use crate::mcp::{At, McpServer, McpServers, Values};

/// The file that most read: `{"mcpServers": {NAME: …}}`. In memory, for this user alone, gone after the run.
pub(super) fn file(launch: &Launch) -> Option<LaunchFile> {
    let servers = launch.mcp.as_ref()?;
    Some(LaunchFile {
        path: path(launch),
        content: usual(servers).to_string().into_bytes(),
        secret: true,
    })
}

/// The same for one that tells what a server is by the name of its address.
pub(super) fn file_with_http_url(launch: &Launch) -> Option<LaunchFile> {
    let mut servers = usual(launch.mcp.as_ref()?);
    let entries = servers.get_mut("mcpServers").and_then(Value::as_object_mut);
    for entry in entries.into_iter().flat_map(Map::values_mut) {
        let Some(entry) = entry.as_object_mut() else {
            continue;
        };
        if entry.remove("type").is_some_and(|kind| kind == "http")
            && let Some(url) = entry.remove("url")
        {
            entry.insert("httpUrl".to_owned(), url);
        }
    }
    Some(LaunchFile {
        content: servers.to_string().into_bytes(),
        ..file(launch)?
    })
}

/// Where that file is.
pub(super) fn path(launch: &Launch) -> PathBuf {
    launch.private.join("mcp.json")
}

/// What is in that file.
pub(super) fn usual(servers: &McpServers) -> Value {
    let entries = servers.0.iter().map(|server| {
        let entry = match &server.at {
            At::Program { command, args, env } => {
                json!({"type": "stdio", "command": command, "args": args, "env": object(env)})
            }
            At::Address { sse, url, headers } => {
                json!({"type": if *sse { "sse" } else { "http" }, "url": url, "headers": object(headers)})
            }
        };
        (server.name.clone(), entry)
    });
    json!({"mcpServers": entries.collect::<Map<_, _>>()})
}

/// The entries of `session/new` in ACP.
pub(super) fn acp<'a>(servers: impl Iterator<Item = &'a McpServer>) -> Value {
    let pairs = |values: &Values| {
        let pair = |(name, value): &(String, String)| json!({"name": name, "value": value});
        values.0.iter().map(pair).collect::<Vec<_>>()
    };
    let entries = servers.map(|server| match &server.at {
        At::Program { command, args, env } => {
            json!({"name": server.name, "command": command, "args": args, "env": pairs(env)})
        }
        At::Address { sse, url, headers } => json!({
            "type": if *sse { "sse" } else { "http" },
            "name": server.name, "url": url, "headers": pairs(headers),
        }),
    });
    entries.collect()
}

/// Names with their values.
pub(super) fn object(values: &Values) -> Value {
    let pairs = values.0.iter();
    pairs
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Input, Output};
    use crate::testing::{launch, mcp_servers};

    #[test]
    fn the_usual_file() {
        assert_eq!(file(&launch()), None);
        let given = Launch {
            mcp: Some(mcp_servers()),
            ..launch()
        };
        let file = file(&given).unwrap();
        assert!(file.secret && file.path.starts_with(&given.private));
        let content: Value = serde_json::from_slice(&file.content).unwrap();
        assert_eq!(
            content,
            json!({"mcpServers": {
                "files": {"type": "stdio", "command": "files", "args": ["--root", "/w"], "env": {"TOKEN": "s3cret-value"}},
                "old": {"type": "sse", "url": "https://old/sse", "headers": {}},
                "web": {"type": "http", "url": "https://web/mcp", "headers": {"Authorization": "Bearer s3cret-value"}},
            }})
        );
        assert_eq!(usual(&McpServers::default()), json!({"mcpServers": {}}));

        let file = file_with_http_url(&given).unwrap();
        let content: Value = serde_json::from_slice(&file.content).unwrap();
        assert_eq!(
            content,
            json!({"mcpServers": {
                "files": {"command": "files", "args": ["--root", "/w"], "env": {"TOKEN": "s3cret-value"}},
                "old": {"url": "https://old/sse", "headers": {}},
                "web": {"httpUrl": "https://web/mcp", "headers": {"Authorization": "Bearer s3cret-value"}},
            }})
        );
    }

    /// Facts and adapters are about the same: who is said to take servers is told of them, and of none else is it said.
    #[test]
    fn every_provider_is_told_of_servers_as_its_facts_say() {
        let mut servers = mcp_servers();
        for server in &mut servers.0 {
            // One that is required and cannot be had would end the run.
            server.required = false;
        }
        let given = Launch {
            mcp: Some(servers),
            ..launch()
        };
        for provider in super::super::PROVIDERS {
            let facts = provider.facts();
            let (line, mut adapter) = provider.launch(&given);
            let mut told = format!("{:?} {}", line.argv, String::from_utf8_lossy(&line.stdin));
            for file in &line.files {
                told.push_str(&String::from_utf8_lossy(&file.content));
            }
            told.extend(line.env_json.map(|json| json.value.to_string()));
            told.push_str(&conversation(adapter.as_mut()));
            let takes = facts.mcp.stdio || facts.mcp.http || facts.mcp.sse;
            assert_eq!(told.contains("web/mcp"), takes, "{}: {told}", provider.id());
            let argv = line.argv.join(" ");
            assert!(!argv.contains("s3cret"), "{argv}");
        }
    }

    /// What an adapter writes when the first questions of all of them are answered.
    fn conversation(adapter: &mut dyn crate::adapter::Adapter) -> String {
        let mut told = String::new();
        let answers = [
            r#"{"v":1,"type":"ready","runtime":"dsh"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"userAgent":"x/1","agentInfo":{"version":"999.0.0"},"agentCapabilities":{"mcpCapabilities":{"http":true,"sse":true}},"authMethods":[{"id":"xai.api_key"}]}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"config":{}}}"#,
            r#"{"v":1,"type":"ready","runtime":"dsh"}"#,
        ];
        let answers = answers.iter().map(|line| Input::Stdout(line.as_bytes()));
        for input in [Input::Started].into_iter().chain(answers) {
            let mut out = Vec::new();
            adapter.handle(input, &mut out);
            for output in out {
                if let Output::Write(bytes) = output {
                    told.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
        }
        told
    }

    #[test]
    fn the_entries_of_acp() {
        assert_eq!(
            acp(mcp_servers().0.iter()),
            json!([
                {"name": "files", "command": "files", "args": ["--root", "/w"], "env": [{"name": "TOKEN", "value": "s3cret-value"}]},
                {"type": "sse", "name": "old", "url": "https://old/sse", "headers": []},
                {"type": "http", "name": "web", "url": "https://web/mcp", "headers": [{"name": "Authorization", "value": "Bearer s3cret-value"}]},
            ])
        );
    }
}
