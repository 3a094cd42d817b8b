//! The commands of a checkout: `cargo cluster`, `cargo verify`, `cargo demo`.

mod cluster_command;
mod demo;
mod images;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use cluster::Home;
use cluster::progress::say;

/// Commands for people who work on Mooring.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A local Kubernetes cluster out of plain processes.
    #[command(subcommand)]
    Cluster(cluster_command::Action),
    /// Mooring on a local cluster, from nothing to a conversation that goes on in a new pod.
    Demo(demo::Arguments),
    /// All that must be green, or the layers that are named.
    Verify(verify::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    let home = Home::of_user()?;
    let checkout = checkout()?;
    match arguments.command {
        Command::Cluster(action) => cluster_command::run(action, home, checkout),
        Command::Demo(arguments) => demo::run(&arguments, home, checkout),
        Command::Verify(arguments) => verify::run(&arguments, home, checkout),
    }
}

/// The workspace that this program was built from, two folders above this crate.
fn checkout() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize()
        .context("find the checkout that this command was built from")
}
