//! A PostgreSQL of our own for tests: from its binaries, in a folder of its own, on a free port of this machine.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cluster::command::{self, tail, wait_until};
use cluster::packages;
use cluster::progress::step;

const PREFIX: &str = "mooring-postgres-";
const START_LIMIT: Duration = Duration::from_secs(30);
/// PostgreSQL refuses to run as root; Debian's package makes this user.
const USER: &str = "postgres";

/// A running server; dropped, it is gone with its data.
#[derive(Debug)]
pub(super) struct Postgres {
    server: Child,
    folder: PathBuf,
    port: u16,
}

impl Postgres {
    /// Starts one, after installing it where that is possible.
    pub(super) fn start() -> Result<Self> {
        packages::ensure(packages::POSTGRES)?;
        remove_forgotten();
        let initdb = packages::matching("/usr/lib/postgresql/*/bin/initdb")
            .pop()
            .context("PostgreSQL has no initdb")?;
        let folder = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        step("starting PostgreSQL", || {
            Self::start_in(folder, initdb.parent().unwrap_or(Path::new("/")))
        })
    }

    /// Where tests connect: an administrator, since they make databases of their own.
    pub(super) fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres", self.port)
    }

    fn start_in(folder: PathBuf, programs: &Path) -> Result<Self> {
        fs::create_dir(&folder).with_context(|| format!("create {}", folder.display()))?;
        command::run(Command::new("chown").arg(USER).arg(&folder))?;
        let data = folder.join("data");
        let mut initdb = as_user(&programs.join("initdb"));
        initdb
            .args([
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "-U",
                USER,
                "-D",
            ])
            .arg(&data);
        command::run(initdb.current_dir(&folder))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let log = folder.join("log");
        let mut server = as_user(&programs.join("postgres"));
        server
            .current_dir(&folder)
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&folder)
            .args(["-p", &port.to_string()]);
        // Nobody needs the data after a crash, and tests open many connections.
        for setting in [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "max_connections=300",
        ] {
            server.args(["-c", setting]);
        }
        let output = fs::File::create(&log)?;
        let server = server
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn();
        let mut started = Self {
            server: server.context("start PostgreSQL")?,
            folder,
            port,
        };
        wait_until("PostgreSQL answers", START_LIMIT, || {
            if let Some(status) = started.server.try_wait()? {
                bail!(
                    "PostgreSQL ended ({status}):\n{}",
                    tail(&fs::read_to_string(&log)?, 15)
                );
            }
            // It listens before it lets anybody in.
            let mut asks = Command::new(programs.join("pg_isready"));
            asks.args(["--quiet", "-h", "127.0.0.1", "-p", &port.to_string()]);
            Ok(command::succeeds(&mut asks))
        })?;
        Ok(started)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its other processes notice that the first is gone and end by themselves.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A program that runs as PostgreSQL's user and ends when we do, however we end.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={USER}"))
        .arg(format!("--regid={USER}"))
        .args(["--init-groups", "--pdeathsig=INT"]);
    command.arg(program);
    command
}

/// Removes data of servers whose starter was killed.
fn remove_forgotten() {
    for entry in fs::read_dir(std::env::temp_dir())
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(starter) = name.strip_prefix(PREFIX) else {
            continue;
        };
        if !Path::new("/proc").join(starter).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_server_starts_and_leaves_nothing() {
        if packages::matching("/usr/lib/postgresql/*/bin/initdb").is_empty()
            || !rustix::process::geteuid().is_root()
        {
            println!("skipped: no PostgreSQL to start as root");
            return;
        }
        let server = Postgres::start().unwrap();
        let (id, folder, port) = (server.server.id(), server.folder.clone(), server.port);
        assert_eq!(
            server.url(),
            format!("postgres://postgres@127.0.0.1:{port}/postgres")
        );
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        assert!(
            status.contains("\nName:\tpostgres") || status.starts_with("Name:\tpostgres"),
            "{status}"
        );
        drop(server);
        assert!(!folder.exists());
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
