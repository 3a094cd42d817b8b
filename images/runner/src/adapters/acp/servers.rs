//! MCP servers of a session: those that the agent says it can speak to.

use protocol::{FailureClass, LogLevel, providers};
use serde_json::Value;

use super::run::Run;
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::{flag, log};
use crate::adapters::mcp;
use crate::mcp::{At, McpServer};

impl Run {
    /// What is given when a session is opened or gone on with.
    pub(super) fn servers(&self) -> Value {
        let all = self.launch.mcp.iter().flat_map(|servers| &servers.0);
        mcp::acp(all.filter(|server| self.takes(server)))
    }

    /// Says which servers the agent cannot have. Without one that is required the turn does not begin: true then.
    pub(super) fn lacks_servers(&mut self, out: &mut Vec<Output>) -> bool {
        let all = self.launch.mcp.iter().flat_map(|servers| &servers.0);
        let lacking: Vec<_> = all.filter(|server| !self.takes(server)).cloned().collect();
        for McpServer { name, required, .. } in lacking {
            let id = self.dialect.id;
            let words =
                format!("{id} does not say that it can speak to servers of the type of {name}");
            if required {
                let message =
                    format!("the MCP server {name}, which is required, cannot be used: {words}");
                self.fail(Fault::new(FailureClass::PrepareFailed, message), out);
                return true;
            }
            let words = format!("{words}: it works without that MCP server");
            out.push(Output::Event(log(LogLevel::Warn, words)));
        }
        false
    }

    /// A program can be given to all of them, an address to those that announce it.
    fn takes(&self, server: &McpServer) -> bool {
        // Some take none, or no programs, and say nothing of it.
        let facts = providers::facts(self.dialect.id);
        if facts.is_some_and(|facts| !facts.mcp.takes(server.kind())) {
            return false;
        }
        let kind = match &server.at {
            At::Program { .. } => return true,
            At::Address { sse: true, .. } => "sse",
            At::Address { sse: false, .. } => "http",
        };
        let capabilities = self.agent.get("agentCapabilities");
        let announced = capabilities.and_then(|all| all.get("mcpCapabilities"));
        self.dialect.announces_no_servers
            || announced.is_some_and(|announced| flag(announced, kind))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::dialect::{BASE, Dialect};
    use super::*;
    use crate::adapter::Launch;
    use crate::testing::{launch, mcp_servers};

    const SILENT: Dialect = Dialect {
        announces_no_servers: true,
        ..BASE
    };

    fn run(dialect: &'static Dialect, announced: Value) -> Run {
        let given = Launch {
            mcp: Some(mcp_servers()),
            ..launch()
        };
        let mut run = Run::new(dialect, &given);
        run.agent = json!({"agentCapabilities": {"mcpCapabilities": announced}});
        run
    }

    fn names(run: &Run) -> Vec<String> {
        let servers = run.servers();
        let servers = servers.as_array().unwrap().iter();
        servers
            .map(|server| server["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn an_address_is_for_those_that_announce_it() {
        for (dialect, announced, wanted, warnings) in [
            (&BASE, json!(null), vec!["files"], 2),
            (
                &BASE,
                json!({"http": true, "sse": false}),
                vec!["files", "web"],
                1,
            ),
            (
                &BASE,
                json!({"http": true, "sse": true}),
                vec!["files", "old", "web"],
                0,
            ),
            (&SILENT, json!(null), vec!["files", "old", "web"], 0),
        ] {
            let mut run = run(dialect, announced);
            assert_eq!(names(&run), wanted);
            let mut out = Vec::new();
            assert!(!run.lacks_servers(&mut out));
            assert_eq!(out.len(), warnings);
        }
    }

    #[test]
    fn one_that_is_required_ends_the_run() {
        let mut run = run(&BASE, json!(null));
        if let Some(servers) = &mut run.launch.mcp {
            servers.0[1].required = true;
        }
        let mut out = Vec::new();
        assert!(run.lacks_servers(&mut out));
        let Some(Output::Done(result)) = out.last() else {
            panic!("{out:?}");
        };
        assert_eq!(result.outcome.class(), Some(FailureClass::PrepareFailed));
    }
}
