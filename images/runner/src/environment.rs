//! The container's environment: what of it the agent's CLI gets, and what of it may be a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;

use protocol::paths;

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
#[derive(Clone)]
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
        self.0
            .iter()
            .filter(|(name, value)| value.len() >= SHORTEST && !is_ordinary(name, value))
            .map(|(_, value)| value.as_str())
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
        let path = format!("{}:{path}", layout.bin.display());
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

    /// Name and value of each.
    #[must_use]
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// What shells look through when nothing is set.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn is_ordinary(name: &str, value: &str) -> bool {
    let of_cluster = name.starts_with("KUBERNETES_") || name.starts_with("MOORING_");
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
                "https://hooks/services/T0/qX5rTz81LmPw0aVb"
            ]
        );
        assert!(!format!("{environment:?}").contains("sk-ant"));
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
            ("NO_COLOR", "0"),
        ]);
        let defaults = [("NO_COLOR", "1"), ("IS_SANDBOX", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let agents = ours.of_agent(&layout, "https://api:8443", &defaults);
        insta::assert_debug_snapshot!(agents.variables());
    }
}
