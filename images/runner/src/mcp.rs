//! The MCP servers of a run: as the package names them, with the values that the kubelet put into the container.

mod probe;

use std::fmt;

use protocol::providers::{McpKind, McpSupport};
use protocol::{McpPlace, McpSource, McpValue};

pub use probe::{Room, WAIT, await_required};

use crate::environment::Environment;

/// The servers that an agent is given, sorted by name. Even an empty list means: these and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers(pub Vec<McpServer>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Without it the agent is not started.
    pub required: bool,
    /// What it is.
    pub at: At,
}

/// What an MCP server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A program that is started beside the agent.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: Values,
    },
    /// An address.
    Address {
        /// True for server-sent events, else it is streamable HTTP.
        sse: bool,
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Values,
    },
}

/// Names with values that may be secret, so they are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Values(pub Vec<(String, String)>);

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl McpServer {
    /// What kind of a server it is.
    #[must_use]
    pub fn kind(&self) -> McpKind {
        match &self.at {
            At::Program { .. } => McpKind::Stdio,
            At::Address { sse: true, .. } => McpKind::Sse,
            At::Address { sse: false, .. } => McpKind::Http,
        }
    }
}

impl McpServers {
    /// Fills in what the container was given.
    ///
    /// # Errors
    /// A sentence that names the server of which a value is missing.
    pub fn resolve(
        servers: &[protocol::McpServer],
        environment: &Environment,
    ) -> Result<Self, String> {
        let resolve = |server: &protocol::McpServer| {
            let values = |list: &[McpValue]| values(&server.name, list, environment);
            let address = |sse, url: &String, headers| {
                Ok::<_, String>(At::Address {
                    sse,
                    url: url.clone(),
                    headers: values(headers)?,
                })
            };
            let at = match &server.at {
                McpPlace::Stdio { command, args, env } => At::Program {
                    command: command.clone(),
                    args: args.clone(),
                    env: values(env)?,
                },
                McpPlace::Http { url, headers } => address(false, url, headers)?,
                McpPlace::Sse { url, headers } => address(true, url, headers)?,
            };
            Ok(McpServer {
                name: server.name.clone(),
                required: server.required,
                at,
            })
        };
        servers
            .iter()
            .map(resolve)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Why a provider cannot have them, if it cannot.
    #[must_use]
    pub fn refused_by(&self, provider: &str, support: McpSupport) -> Option<String> {
        let refused = self.0.iter().find(|server| !support.takes(server.kind()))?;
        Some(format!(
            "{provider} cannot be given the MCP server {}, which is {}: take it out of mcpServers, or choose another Runtime",
            refused.name,
            refused.kind().as_str()
        ))
    }

    /// The names of those without which the agent is not started.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.0.iter().filter(|server| server.required);
        required.map(|server| server.name.as_str())
    }
}

fn values(server: &str, list: &[McpValue], environment: &Environment) -> Result<Values, String> {
    let resolve = |value: &McpValue| {
        let text = match &value.value {
            McpSource::Plain(text) => text.clone(),
            McpSource::Variable { name, prefix } => {
                let found = environment.variables().get(name).ok_or_else(|| {
                    format!(
                        "the MCP server {server} was changed after the pod was made: {} is not in the pod; run the task again",
                        value.name
                    )
                })?;
                // As people put them into Secrets, with the end of a line behind them.
                format!("{prefix}{}", found.trim_end_matches(['\r', '\n']))
            }
        };
        Ok((value.name.clone(), text))
    };
    list.iter()
        .map(resolve)
        .collect::<Result<_, _>>()
        .map(Values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given() -> Vec<protocol::McpServer> {
        let list = json!([
            {"name": "files", "required": true, "at": {"stdio": {"command": "files", "args": ["-x"],
                "env": [{"name": "TOKEN", "value": {"variable": {"name": "MOORING_MCP_1"}}}]}}},
            {"name": "web", "at": {"sse": {"url": "https://web", "headers": [
                {"name": "Authorization", "value": {"variable": {"name": "MOORING_MCP_1", "prefix": "Bearer "}}},
                {"name": "X-Team", "value": {"plain": "core"}}]}}},
        ]);
        serde_json::from_value(list).unwrap()
    }

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        Environment::new(variables)
    }

    #[test]
    fn values_come_from_the_container_and_are_not_shown() {
        let servers =
            McpServers::resolve(&given(), &environment(&[("MOORING_MCP_1", "s3cret\n")])).unwrap();
        assert_eq!(servers.required().collect::<Vec<_>>(), ["files"]);
        let At::Address { sse, headers, .. } = &servers.0[1].at else {
            panic!("{servers:?}");
        };
        assert!(*sse);
        let wanted = [("Authorization", "Bearer s3cret"), ("X-Team", "core")];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers.0, wanted);
        let shown = format!("{servers:?}");
        assert!(
            shown.contains("TOKEN") && !shown.contains("s3cret"),
            "{shown}"
        );
    }

    #[test]
    fn a_value_that_is_missing_names_its_server() {
        let error = McpServers::resolve(&given(), &environment(&[])).unwrap_err();
        assert!(
            error.starts_with("the MCP server files was changed"),
            "{error}"
        );
    }

    #[test]
    fn who_cannot_have_a_server_says_which() {
        let servers =
            McpServers::resolve(&given(), &environment(&[("MOORING_MCP_1", "x")])).unwrap();
        let mut support = McpSupport {
            stdio: true,
            ..McpSupport::NONE
        };
        let words = servers.refused_by("codex", support).unwrap();
        assert!(
            words.contains("server web, which is an address of type Sse"),
            "{words}"
        );
        support.sse = true;
        assert_eq!(servers.refused_by("codex", support), None);
    }
}
