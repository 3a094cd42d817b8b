//! Flags and environment variables; `--help` shows both.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use secrecy::{ExposeSecret as _, SecretString};

/// Runs coding agents as pods.
#[derive(Parser)]
#[command(name = "mooring-operator", version)]
pub(crate) struct Arguments {
    /// Form of the log on standard error. `RUST_LOG` chooses what is in it; the default is `info`.
    #[arg(long, env = "MOORING_LOG", default_value = "text", global = true)]
    pub(crate) log: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Form of the log.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For collectors: one JSON object a line.
    Json,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve the API and reconcile, until TERM.
    Run(Box<RunSettings>),
    /// Read store and cluster, and print each promise that is broken. Exits 1 when there is one.
    Check(StoreSettings),
}

/// Where the store is.
#[derive(Args)]
pub(crate) struct StoreSettings {
    /// Path of the SQLite database, or a `postgres://` URL.
    #[arg(long, env = "MOORING_STORE", hide_env_values = true)]
    store: Address,
}

impl StoreSettings {
    /// What the address says.
    pub(crate) fn read(&self) -> Result<store::Settings, store::Error> {
        self.store.0.expose_secret().parse()
    }
}

/// The address as it was given. It is read later: the parser of arguments would repeat one that is wrong, with
/// the password in it.
#[derive(Clone)]
struct Address(SecretString);

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// Settings of `run`.
#[derive(Args)]
pub(crate) struct RunSettings {
    #[command(flatten)]
    pub(crate) store: StoreSettings,
    /// Address on which the API listens.
    #[arg(long, env = "MOORING_API_ADDRESS", default_value = "0.0.0.0:8443")]
    pub(crate) api_address: SocketAddr,
    /// Base URL of the API as pods reach it, `https://HOST:PORT`. The certificate is made for this host.
    #[arg(long, env = "MOORING_API_URL", value_parser = https_url)]
    pub(crate) api_url: http::Uri,
    /// The operator's own namespace, where the Secret `mooring-installation` is.
    #[arg(long, env = "MOORING_NAMESPACE")]
    pub(crate) namespace: String,
    /// Name of the `ValidatingAdmissionPolicy` on which logins stand, and of its binding.
    #[arg(long, env = "MOORING_LOGIN_POLICY", default_value = crds::login_policy::NAME)]
    pub(crate) login_policy: String,
    /// Image with the runner and `moor`.
    #[arg(long, env = "MOORING_RUNNER_IMAGE")]
    pub(crate) runner_image: String,
    /// When the kubelet pulls that image. Kubernetes decides where it is absent.
    #[arg(long, env = "MOORING_RUNNER_IMAGE_PULL_POLICY", value_parser = ["Always", "IfNotPresent", "Never"])]
    pub(crate) runner_image_pull_policy: Option<String>,
    /// Pods of tasks that all workspaces may have together, which they share by weight. With 0 as many as their own
    /// limits allow.
    #[arg(long, env = "MOORING_MAX_PODS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    max_pods: u32,
    /// Whether the program of each Runtime is asked for its version, by a short pod without token and network.
    #[arg(long, env = "MOORING_PROBE_RUNTIMES", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) probe_runtimes: bool,
    #[command(flatten)]
    pub(crate) guards: Guards,
    #[command(flatten)]
    pub(crate) attachments: Attachments,
}

impl RunSettings {
    /// Pods that all workspaces may have together, where that is limited.
    pub(crate) fn max_pods(&self) -> Option<u32> {
        (self.max_pods > 0).then_some(self.max_pods)
    }
}

/// How far agents may wake each other before a person has to say something. A comment of a person begins anew.
#[derive(Args)]
pub(crate) struct Guards {
    /// Length of a chain of agents that wake each other.
    #[arg(long, env = "MOORING_AGENT_CHAIN", default_value_t = wake::Limits::default().depth, value_parser = guard())]
    agent_chain: u32,
    /// Runs that agents may cause on one issue in an hour.
    #[arg(long, env = "MOORING_AGENT_RUNS_PER_HOUR", default_value_t = wake::Limits::default().runs, value_parser = guard())]
    agent_runs_per_hour: u32,
    /// How often the same two agents may wake each other, there and back.
    #[arg(long, env = "MOORING_AGENT_ROUNDS", default_value_t = wake::Limits::default().rounds, value_parser = guard())]
    agent_rounds: u32,
    /// Runs that agents may cause in all, on whichever issues, after one thing that a person did.
    #[arg(long, env = "MOORING_AGENT_RUNS_PER_ROOT", default_value_t = wake::Limits::default().root, value_parser = guard())]
    agent_runs_per_root: u32,
}

/// Files on issues.
#[derive(Args)]
pub(crate) struct Attachments {
    /// Folder for the contents of attachments, on a volume that stays. Without it none are taken.
    #[arg(long, env = "MOORING_ATTACHMENTS")]
    pub(crate) attachments: Option<PathBuf>,
    /// Bytes of an attachment.
    #[arg(long, env = "MOORING_ATTACHMENT_BYTES", default_value_t = protocol::limits::ATTACHMENT_BYTES,
        value_parser = clap::value_parser!(u64).range(1..=protocol::limits::ATTACHMENT_BYTES_MOST))]
    attachment_bytes: u64,
    /// Bytes of all attachments of an issue.
    #[arg(long, env = "MOORING_ATTACHMENTS_PER_ISSUE_BYTES", default_value_t = api::Limits::default().room.issue,
        value_parser = room())]
    attachments_per_issue_bytes: u64,
    /// Bytes of all attachments of a workspace.
    #[arg(long, env = "MOORING_ATTACHMENTS_PER_WORKSPACE_BYTES", default_value_t = api::Limits::default().room.workspace,
        value_parser = room())]
    attachments_per_workspace_bytes: u64,
}

/// What a volume can hold.
fn room() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=1 << 50)
}

impl Attachments {
    /// As the API takes them.
    pub(crate) fn limits(&self) -> api::Limits {
        api::Limits {
            attachment_bytes: self.attachment_bytes,
            room: store::Room {
                issue: self.attachments_per_issue_bytes,
                workspace: self.attachments_per_workspace_bytes,
            },
            ..api::Limits::default()
        }
    }
}

/// A guard stops agents some time: it cannot be switched off.
fn guard() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1000)
}

impl Guards {
    /// As the store takes them.
    pub(crate) fn limits(&self) -> wake::Limits {
        wake::Limits {
            depth: self.agent_chain,
            runs: self.agent_runs_per_hour,
            rounds: self.agent_rounds,
            root: self.agent_runs_per_root,
        }
    }
}

fn https_url(text: &str) -> Result<http::Uri, String> {
    let uri: http::Uri = text
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let is_base = uri.scheme() == Some(&http::uri::Scheme::HTTPS)
        && uri.host().is_some_and(|host| !host.is_empty())
        && matches!(uri.path(), "" | "/")
        && uri.query().is_none();
    is_base
        .then_some(uri)
        .ok_or_else(|| "has to be https://HOST:PORT and nothing more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_the_api_is_a_base() {
        for good in [
            "https://mooring.mooring-system.svc:8443",
            "https://10.0.0.1:8443/",
        ] {
            assert!(https_url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "http://mooring:8443",
            "mooring:8443",
            "https://mooring/api",
            "https://mooring/?x=1",
        ] {
            assert!(https_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_password() {
        let given = [
            "mooring-operator",
            "check",
            "--store",
            "mysql://u:hunter2@db/x",
        ];
        let Ok(Arguments {
            command: Command::Check(settings),
            ..
        }) = Arguments::try_parse_from(given)
        else {
            panic!("not read");
        };
        let error = settings.read().unwrap_err().to_string();
        assert!(
            error.contains("mysql") && !error.contains("hunter2"),
            "{error}"
        );
        let given = [
            "mooring-operator",
            "check",
            "--store",
            "/var/lib/mooring/mooring.db",
        ];
        let Ok(Arguments {
            command: Command::Check(settings),
            ..
        }) = Arguments::try_parse_from(given)
        else {
            panic!("not read");
        };
        assert!(matches!(
            settings.read(),
            Ok(store::Settings::Sqlite { .. })
        ));
    }

    #[test]
    fn arguments_are_well_formed() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
