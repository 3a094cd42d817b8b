//! Where everything lies, built from one root so that tests can have a pod of their own in a directory.

use std::path::{Path, PathBuf};

use protocol::paths;

/// Where containers find their control groups.
const CGROUP: &str = "/sys/fs/cgroup";

/// The paths of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `$HOME` of the agent, on the session's volume.
    pub home: PathBuf,
    /// The agent's working directory, on the session's volume.
    pub work: PathBuf,
    /// Ours on the session's volume.
    pub state: PathBuf,
    /// The mounted Secret's token.
    pub secret_token: PathBuf,
    /// The mounted Secret's CA.
    pub secret_ca: PathBuf,
    /// The mounted Secrets of repositories.
    pub git_secrets: PathBuf,
    /// Where the agent finds its token.
    pub token_file: PathBuf,
    /// Where the agent finds the CA.
    pub ca_file: PathBuf,
    /// For files of the CLI that hold secrets, in memory.
    pub private: PathBuf,
    /// Where the kubelet mounts skills.
    pub skills: PathBuf,
    /// Programs, put on `PATH`.
    pub bin: PathBuf,
    /// Programs of the image that is mounted beside, where there is one, on `PATH` too.
    pub cli_bin: PathBuf,
    /// The container's control groups.
    pub cgroup: PathBuf,
    /// Where the kubelet reads the termination message.
    pub termination_log: PathBuf,
}

impl Layout {
    /// The paths under `root`, which is `/` in a pod.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let at = |path: &str| root.join(path.trim_start_matches('/'));
        Self {
            home: at(paths::HOME),
            work: at(paths::WORK),
            state: at(paths::STATE),
            secret_token: at(paths::SECRET).join(paths::SECRET_TOKEN_KEY),
            secret_ca: at(paths::SECRET).join(paths::SECRET_CA_KEY),
            git_secrets: at(paths::GIT_SECRETS),
            token_file: at(paths::TOKEN_FILE),
            ca_file: at(paths::CA_FILE),
            private: at(paths::PRIVATE),
            skills: at(paths::SKILLS),
            bin: at(paths::BIN),
            cli_bin: at(paths::CLI_BIN),
            cgroup: at(CGROUP),
            termination_log: at(paths::TERMINATION_LOG),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_paths_are_those_of_the_protocol() {
        let layout = Layout::new(Path::new("/"));
        assert_eq!(layout.home, Path::new(paths::HOME));
        assert_eq!(layout.token_file, Path::new(paths::TOKEN_FILE));
        assert_eq!(layout.secret_token, Path::new("/run/secrets/mooring/token"));
        assert_eq!(
            Layout::new(Path::new("/tmp/x")).work,
            Path::new("/tmp/x/workspace/work")
        );
    }
}
