//! Where things lie in a task's pod. The pod builder mounts them, the runner and `moor` read them.

/// The session's volume.
pub const WORKSPACE: &str = "/workspace";
/// `$HOME` of the agent, on the volume, so that the CLI's own session store lives on it.
pub const HOME: &str = "/workspace/home";
/// Working directory of the agent, the same path in every pod: CLIs key sessions by it.
pub const WORK: &str = "/workspace/work";
/// Ours on the volume: outbox, marks. An agent can write here, so nothing in it is believed without a MAC.
pub const STATE: &str = "/workspace/.mooring";
/// The mounted Secret: `token` and `ca.crt`.
pub const SECRET: &str = "/run/secrets/mooring";
/// A directory in memory where the runner gives the agent its token and the CA.
pub const RUN: &str = "/run/mooring";
/// The agent's token; also in `MOORING_TOKEN_FILE`.
pub const TOKEN_FILE: &str = "/run/mooring/token";
/// The CA that signed the API's certificate.
pub const CA_FILE: &str = "/run/mooring/ca.crt";
/// A folder there for files of the CLI that hold secrets.
pub const PRIVATE: &str = "/run/mooring/cli";
/// What the init container fills, mounted read-only in the agent's container.
pub const OPT: &str = "/opt/mooring";
/// Where the image of a Runtime's `cliImage` is mounted, read-only.
pub const CLI: &str = "/opt/mooring-cli";
/// Its programs, on `PATH` after ours.
pub const CLI_BIN: &str = "/opt/mooring-cli/bin";
/// Where the kubelet mounts the agent's skills: `SKILL/@FOLDER`, with nothing after the `@` for the skill's own
/// folder.
pub const SKILLS: &str = "/opt/mooring-skills";
/// Programs, on `PATH`.
pub const BIN: &str = "/opt/mooring/bin";
/// The runner inside the agent's container.
pub const RUNNER: &str = "/opt/mooring/bin/mooring-runner";
/// The passwd file that `mooring-runner install` writes under [`OPT`], mounted over `/etc/passwd` by subPath.
pub const PASSWD: &str = "etc/passwd";
/// What `mooring-runner install` writes under [`OPT`] for login shells, which set `PATH` anew.
pub const PROFILE: &str = "etc/profile.sh";
/// Where that is mounted by subPath: shells of most images read what lies there.
pub const PROFILE_MOUNT: &str = "/etc/profile.d/mooring.sh";
/// Where the kubelet reads the termination message.
pub const TERMINATION_LOG: &str = "/dev/termination-log";

/// Environment variable with the API's base URL, `https://host:port`.
pub const ENV_API: &str = "MOORING_API";
/// Environment variable with the path of the agent's token.
pub const ENV_TOKEN_FILE: &str = "MOORING_TOKEN_FILE";
/// Environment variable with the path of the CA.
pub const ENV_CA_FILE: &str = "MOORING_CA_FILE";

/// Key of the token in the task's Secret.
pub const SECRET_TOKEN_KEY: &str = "token";
/// Key of the CA in the task's Secret.
pub const SECRET_CA_KEY: &str = "ca.crt";

/// Environment variable with how far the agent's token reaches, a word of [`crate::TokenScope`].
pub const ENV_SCOPE: &str = "MOORING_TOKEN_SCOPE";
/// Where the Secrets of repositories are mounted, each in a folder of its name.
pub const GIT_SECRETS: &str = "/run/secrets/git";

/// Container that runs the agent; its status decides what happened to an attempt.
pub const AGENT_CONTAINER: &str = "agent";
/// Init container that installs the programs.
pub const INSTALL_CONTAINER: &str = "install";
