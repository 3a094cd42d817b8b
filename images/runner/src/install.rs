//! `mooring-runner install`: puts the programs where the agent's container sees them, in any image.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use protocol::paths;

use crate::files;

/// What to install where.
#[derive(Clone, Debug, clap::Args)]
pub struct Install {
    /// Directory that is filled: programs under `bin`, user names under `etc`.
    dir: PathBuf,
    /// User that the agent's container runs as; gets a name, which some programs ask for.
    #[arg(long, default_value_t = 10001)]
    uid: u32,
    /// Group that the agent's container runs as.
    #[arg(long, default_value_t = 10001)]
    gid: u32,
}

/// Programs beside the running one that are installed with it.
const PROGRAMS: [&str; 2] = ["mooring-runner", "moor"];

/// Installs. Doing it again gives the same.
///
/// # Errors
/// When a file cannot be read or written.
pub fn install(install: &Install) -> io::Result<()> {
    let own = std::env::current_exe()?;
    let beside = own.parent().unwrap_or(Path::new("/"));
    let bin = install.dir.join("bin");
    let etc = install.dir.join("etc");
    fs::create_dir_all(&bin)?;
    fs::create_dir_all(&etc)?;
    for program in PROGRAMS {
        let from = beside.join(program);
        let bytes = fs::read(&from).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", from.display()))
        })?;
        files::replace(&bin.join(program), &bytes, 0o755)?;
    }
    let passwd = passwd(install.uid, install.gid);
    files::replace(&install.dir.join(paths::PASSWD), passwd.as_bytes(), 0o644)?;
    files::replace(
        &install.dir.join(paths::PROFILE),
        profile().as_bytes(),
        0o644,
    )?;
    files::replace(&etc.join("group"), group(install.gid).as_bytes(), 0o644)
}

/// Some agents run their commands in login shells, which forget the `PATH` that they were given.
fn profile() -> String {
    format!("export PATH=\"{}:{}:$PATH\"\n", paths::BIN, paths::CLI_BIN)
}

fn passwd(uid: u32, gid: u32) -> String {
    let home = paths::HOME;
    let agent = if uid == 0 {
        String::new()
    } else {
        format!("agent:x:{uid}:{gid}:agent:{home}:/bin/sh\n")
    };
    format!(
        "root:x:0:0:root:/root:/bin/sh\n{agent}nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    )
}

fn group(gid: u32) -> String {
    let agent = if gid == 0 {
        String::new()
    } else {
        format!("agent:x:{gid}:\n")
    };
    format!("root:x:0:\n{agent}nogroup:x:65534:\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_a_name_and_a_home() {
        insta::assert_snapshot!(format!(
            "{}---\n{}---\n{}",
            passwd(10001, 10002),
            group(10002),
            profile()
        ));
        assert!(!passwd(0, 0).contains("agent"));
    }
}
