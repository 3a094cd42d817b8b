//! MCP servers of a thread. They go in with the thread, over stdin: so their secrets lie in no file, and what else Codex
//! finds in its home is switched off for the thread.

use std::collections::BTreeSet;

use protocol::FailureClass;
use serde_json::{Map, Value, json};

use super::gate::SERVER;
use super::{Run, SERVERS_TIMER};
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::text;
use crate::adapters::mcp;
use crate::adapters::pipes::wait;
use crate::mcp::{At, McpServers, WAIT};

/// The table of servers for a thread's settings; `found` is the one that Codex would use by itself, and `gate` the server
/// of ours that asks about tools.
pub(super) fn table(servers: &McpServers, found: &Value, gate: Option<&Value>) -> Value {
    let found = found.as_object().into_iter().flat_map(Map::keys);
    let mut table: Map<_, _> = found
        .map(|name| (name.clone(), json!({"enabled": false})))
        .collect();
    for server in &servers.0 {
        let entry = match &server.at {
            At::Program { command, args, env } => {
                json!({"command": command, "args": args, "env": mcp::object(env), "enabled": true})
            }
            At::Address { url, headers, .. } => {
                json!({"url": url, "http_headers": mcp::object(headers), "enabled": true})
            }
        };
        table.insert(server.name.clone(), entry);
    }
    if let Some(gate) = gate {
        table.insert(SERVER.to_owned(), gate.clone());
    }
    Value::Object(table)
}

/// The required servers that are not there yet.
#[derive(Debug, Default)]
pub(super) struct Awaited(BTreeSet<String>);

impl Awaited {
    pub(super) fn new(servers: Option<&McpServers>) -> Self {
        let required = servers.into_iter().flat_map(McpServers::required);
        Self(required.map(str::to_owned).collect())
    }

    /// True while the turn must not begin.
    pub(super) fn some(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Run {
    /// The turn, or the wait for its servers.
    pub(super) fn begin_with_servers(&mut self, out: &mut Vec<Output>) {
        if self.awaited.some() {
            wait(SERVERS_TIMER, WAIT, out);
        } else {
            self.start_turn(out);
        }
    }

    /// A server tells how far it is.
    pub(super) fn server_told(&mut self, params: &Value, out: &mut Vec<Output>) {
        let name = text(params, "name");
        if !self.awaited.0.contains(name) {
            return;
        }
        match text(params, "status") {
            "ready" => {
                self.awaited.0.remove(name);
                if !self.awaited.some() && self.thread.is_some() {
                    self.start_turn(out);
                }
            }
            "failed" | "cancelled" => {
                let words = format!(
                    "the MCP server {name}, which is required, cannot be used: {}",
                    text(params, "error")
                );
                self.fail(Fault::new(FailureClass::PrepareFailed, words), out);
            }
            _ => {}
        }
    }

    /// They were waited for long enough.
    pub(super) fn servers_late(&mut self, out: &mut Vec<Output>) {
        let Some(name) = self.awaited.0.first() else {
            return;
        };
        let words = format!(
            "the MCP server {name}, which is required, was not there within {} s",
            WAIT.as_secs()
        );
        self.fail(Fault::new(FailureClass::PrepareFailed, words), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mcp_servers;

    #[test]
    fn what_codex_finds_by_itself_is_switched_off() {
        let found = json!({"own": {"command": "x"}, "files": {"command": "y"}});
        assert_eq!(
            table(&mcp_servers(), &found, None),
            json!({
                "own": {"enabled": false},
                "files": {"command": "files", "args": ["--root", "/w"], "env": {"TOKEN": "s3cret-value"}, "enabled": true},
                "old": {"url": "https://old/sse", "http_headers": {}, "enabled": true},
                "web": {"url": "https://web/mcp", "http_headers": {"Authorization": "Bearer s3cret-value"}, "enabled": true},
            })
        );
        assert_eq!(table(&McpServers::default(), &Value::Null, None), json!({}));
        let gated = table(
            &McpServers::default(),
            &found,
            Some(&json!({"command": "x"})),
        );
        assert_eq!(gated[SERVER], json!({"command": "x"}));
    }
}
