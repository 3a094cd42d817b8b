//! `cargo cluster`: start, look at and end the local cluster.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Subcommand;
use cluster::progress::say;
use cluster::{Cluster, Home, Status};

/// What to do with the cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Start it; a running one is left alone, a broken one is cleaned first.
    Up,
    /// Add a second node, with a network of its own.
    Node2,
    /// Import OCI archives into every node.
    Load {
        /// Archives, as `buildah push … oci-archive:FILE:NAME` writes them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the path of the administrator's kubeconfig.
    Kubeconfig,
    /// Print the path of a person's kubeconfig, with a client certificate made for it.
    Person {
        /// The user name that Kubernetes will know.
        name: String,
        /// A group of the person.
        #[arg(long = "group")]
        groups: Vec<String>,
    },
    /// Show what runs. Exit code 0: up; 1: not up.
    Status,
    /// End it and remove all traces; its logs are kept.
    Down,
}

pub(crate) fn run(action: Action, home: Home, checkout: PathBuf) -> Result<ExitCode> {
    let last_logs = home.last_logs();
    let cluster = Cluster::new(home, checkout);
    let started = Instant::now();
    let seconds = || started.elapsed().as_secs_f64();
    match action {
        Action::Up => {
            cluster.up()?;
            say(&format!(
                "the cluster is up ({:.1} s); kubectl, helm and ctr are in {}",
                seconds(),
                cluster.programs().display()
            ));
            print_line(&cluster.kubeconfig().display().to_string())?;
        }
        Action::Node2 => {
            cluster.node2()?;
            say(&format!("node-2 is ready ({:.1} s)", seconds()));
        }
        Action::Load { files } => cluster.load(&files)?,
        Action::Kubeconfig => print_line(&cluster.kubeconfig().display().to_string())?,
        Action::Person { name, groups } => {
            print_line(&cluster.person(&name, &groups)?.display().to_string())?;
        }
        Action::Status => return status(&cluster),
        Action::Down => {
            cluster.down()?;
            say(&format!(
                "the cluster is down ({:.1} s); its logs: {}",
                seconds(),
                last_logs.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn status(cluster: &Cluster) -> Result<ExitCode> {
    match cluster.status()? {
        Status::Down => {
            print_line("down")?;
            Ok(ExitCode::FAILURE)
        }
        Status::Broken { checkout, faults } => {
            let whose = checkout
                .map(|path| format!(" (of {})", path.display()))
                .unwrap_or_default();
            print_line(&format!(
                "not whole{whose}; cargo cluster up starts it afresh"
            ))?;
            faults
                .iter()
                .try_for_each(|fault| print_line(&format!("  {fault}")))?;
            Ok(ExitCode::FAILURE)
        }
        Status::Up { checkout, daemons } => {
            print_line(&format!("up, started by {}", checkout.display()))?;
            for daemon in daemons {
                let id = daemon
                    .process_id()
                    .map(|id| id.to_string())
                    .unwrap_or_default();
                print_line(&format!("  {:<26} {id}", daemon.name))?;
            }
            print_line(&format!(
                "  logs and audit log: {}/log",
                cluster.state().display()
            ))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_line(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
