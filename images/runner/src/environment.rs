//! The container's environment: what of it the agent's CLI gets, and what of it may be a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;

use protocol::paths;

use serde_json::{Map, Value};

use crate::adapter::{CommandLine, JsonVariable};
use crate::layout::Layout;
use crate::redact::SHORTEST;

/// Marks by which a CLI would believe that it runs inside another one.
const NESTED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
];

/// What the variables begin with in which values for MCP servers come.
const MCP: &str = "MOORING_MCP_";

/// How many settings of `git` come in variables. They stand above those of a repository.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";

/// Names whose values are never secret, and too ordinary to be taken out of texts.
const ORDINARY: &[&str] = &[
    "COLORTERM",
    "DEBIAN_FRONTEND",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_VERSION",
    "OLDPWD",
    "PATH",
    "PWD",
    "PYTHONPATH",
    "PYTHON_VERSION",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "YARN_VERSION",
];

/// The variables of a container.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// Takes what the process was given. Names and values that are no UTF-8 no CLI could use.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |(name, value): (OsString, OsString)| {
            Some((
                name.into_string().ok()?,
                value.to_string_lossy().into_owned(),
            ))
        };
        Self(variables.into_iter().filter_map(text).collect())
    }

    /// The values that may be secrets: what came by a reference to a Secret cannot be told from the rest.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        // Without the end of a line, as people leave it in Secrets: programs say the value without it.
        self.0
            .iter()
            .map(|(name, value)| (name, value.trim_end_matches(['\r', '\n'])))
            .filter(|(name, value)| value.len() >= SHORTEST && !is_ordinary(name, value))
            .map(|(_, value)| value)
    }

    /// The environment of the CLI: ours without what must not leak, and with the paths of the pod.
    #[must_use]
    pub fn of_agent(&self, layout: &Layout, api: &str, defaults: &[(String, String)]) -> Self {
        let is_kept = |name: &str| {
            !name.starts_with("MOORING_")
                && !name.starts_with("CLAUDECODE_")
                && !NESTED.contains(&name)
        };
        let mut variables: BTreeMap<_, _> = defaults.iter().cloned().collect();
        let kept = self.0.iter().filter(|(name, _)| is_kept(name));
        variables.extend(kept.map(|(name, value)| (name.clone(), value.clone())));

        let path = self.0.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        // Programs of an image that is mounted beside come before those of the pod's own.
        let path = format!(
            "{}:{}:{path}",
            layout.bin.display(),
            layout.cli_bin.display()
        );
        for (name, value) in [
            ("PATH", path),
            ("HOME", layout.home.display().to_string()),
            ("PWD", layout.work.display().to_string()),
            (paths::ENV_API, api.to_owned()),
            (
                paths::ENV_TOKEN_FILE,
                layout.token_file.display().to_string(),
            ),
            (paths::ENV_CA_FILE, layout.ca_file.display().to_string()),
        ] {
            variables.insert(name.to_owned(), value);
        }
        Self(variables)
    }

    /// The same with one variable more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with what a command line asks for beside its defaults.
    ///
    /// # Errors
    /// When JSON is to be put into a variable that holds something else.
    pub fn for_line(mut self, line: &CommandLine) -> Result<Self, String> {
        self.0.extend(line.env.0.iter().cloned());
        if let Some(JsonVariable { name, value }) = &line.env_json {
            let mut json = match self.0.get(name) {
                Some(given) => serde_json::from_str(given)
                    .ok()
                    .filter(Value::is_object)
                    .ok_or_else(|| format!("the variable {name} of the Runtime or the Agent holds no JSON object: what the runner sets there cannot be put into it"))?,
                None => Value::Object(Map::new()),
            };
            merge(&mut json, value);
            self.0.insert(name.clone(), json.to_string());
        }
        Ok(self)
    }

    /// The same for a program that is held to its tools: Python takes no modules from the home, and `git`, which some programs
    /// run by themselves, asks no monitor that a repository names.
    #[must_use]
    pub fn with_no_start_files(self) -> Self {
        let given = self.0.get(GIT_COUNT).and_then(|count| count.parse().ok());
        let number: u32 = given.unwrap_or_default();
        self.with(&format!("GIT_CONFIG_KEY_{number}"), "core.fsmonitor")
            .with(&format!("GIT_CONFIG_VALUE_{number}"), "false")
            .with(GIT_COUNT, &number.saturating_add(1).to_string())
            .with("PYTHONNOUSERSITE", "1")
    }

    /// Name and value of each.
    #[must_use]
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Puts one object into another; what is in both and no object is the second one's.
fn merge(one: &mut Value, other: &Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in other {
                merge(one.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (one, other) => one.clone_from(other),
    }
}

/// What shells look through when nothing is set.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn is_ordinary(name: &str, value: &str) -> bool {
    // What MCP servers are given comes under names of ours, and is as secret as all else.
    let ours = name.starts_with("MOORING_") && !name.starts_with(MCP);
    let of_cluster = name.starts_with("KUBERNETES_") || ours;
    let names_model = name.ends_with("_MODEL");
    // An address is no secret unless it carries one: a login, a query, or a path that nobody would guess.
    let is_short = |part: &str| part.len() < 16;
    let path = value.split_once("://").map_or(value, |(_, rest)| rest);
    let is_address = name.ends_with("_URL")
        && !value.contains(['@', '?'])
        && path.split('/').skip(1).all(is_short);
    of_cluster || names_model || is_address || name.starts_with("LC_") || ORDINARY.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(
            variables
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn every_value_that_is_not_known_to_be_ordinary_may_be_a_secret() {
        let environment = environment(&[
            ("PATH", "/usr/bin:/bin"),
            ("ANTHROPIC_API_KEY", "sk-ant-12345"),
            ("SHORT", "1234567"),
            ("ANTHROPIC_BASE_URL", "http://model:8080"),
            ("DATABASE_URL", "postgres://me:pass@db/x"),
            ("HOOK_URL", "https://hooks/services/T0/qX5rTz81LmPw0aVb"),
            ("ANTHROPIC_MODEL", "claude-opus-5-5"),
            ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
            ("MOORING_API", "https://api:8443"),
            ("MOORING_MCP_0A1B", "token-of-a-server\r\n"),
            ("LC_ALL", "en_GB.UTF-8"),
            ("GREETING", "hello world"),
        ]);
        let secrets: Vec<_> = environment.secrets().collect();
        assert_eq!(
            secrets,
            [
                "sk-ant-12345",
                "postgres://me:pass@db/x",
                "hello world",
                "https://hooks/services/T0/qX5rTz81LmPw0aVb",
                "token-of-a-server"
            ]
        );
        assert!(!format!("{environment:?}").contains("sk-ant"));
    }

    #[test]
    fn settings_of_git_are_added_to_those_that_are_given() {
        let given = environment(&[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "ada"),
        ]);
        for (before, first) in [(Environment::default(), 0), (given, 1)] {
            let held = before.with_no_start_files();
            let at = |name: String| held.variables().get(&name).map(String::as_str);
            let count = (first + 1).to_string();
            assert_eq!(at("GIT_CONFIG_COUNT".into()), Some(&*count));
            assert_eq!(
                at(format!("GIT_CONFIG_KEY_{first}")),
                Some("core.fsmonitor")
            );
            assert_eq!(at(format!("GIT_CONFIG_VALUE_{first}")), Some("false"));
            assert_eq!(at("PYTHONNOUSERSITE".into()), Some("1"));
        }
    }

    #[test]
    fn a_command_line_puts_its_own_over_what_is_there() {
        let line = CommandLine {
            env: crate::mcp::Values(vec![("TOKEN".to_owned(), "ours".to_owned())]),
            env_json: Some(JsonVariable {
                name: "CONFIG".to_owned(),
                value: serde_json::json!({"mcp": {"a": 1}}),
            }),
            ..CommandLine::default()
        };
        let given = environment(&[
            ("TOKEN", "theirs"),
            ("CONFIG", r#"{"x": 1, "mcp": {"a": 0, "b": 2}}"#),
        ]);
        let put = given.for_line(&line).unwrap();
        assert_eq!(put.variables()["TOKEN"], "ours");
        let config: Value = serde_json::from_str(&put.variables()["CONFIG"]).unwrap();
        assert_eq!(config, serde_json::json!({"x": 1, "mcp": {"a": 1, "b": 2}}));

        let put = environment(&[]).for_line(&line).unwrap();
        assert_eq!(put.variables()["CONFIG"], r#"{"mcp":{"a":1}}"#);
        let error = environment(&[("CONFIG", "// no")])
            .for_line(&line)
            .unwrap_err();
        assert!(error.starts_with("the variable CONFIG"), "{error}");
    }

    #[test]
    fn the_agents_environment_is_ours_without_what_must_not_leak() {
        let layout = Layout::new(Path::new("/"));
        let ours = environment(&[
            ("PATH", "/usr/bin"),
            ("HOME", "/root"),
            ("CLAUDECODE", "1"),
            ("CLAUDECODE_X", "1"),
            ("CLAUDE_CODE_ENTRYPOINT", "cli"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("MOORING_API", "https://other"),
            ("MOORING_LOG", "debug"),
            ("MOORING_MCP_0A1B", "token-of-a-server"),
            ("NO_COLOR", "0"),
        ]);
        let defaults = [("NO_COLOR", "1"), ("IS_SANDBOX", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let agents = ours.of_agent(&layout, "https://api:8443", &defaults);
        insta::assert_debug_snapshot!(agents.variables());
    }
}
