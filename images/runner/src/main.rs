//! `mooring-runner`: the first process of an agent's container, and the installer that puts it there.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use runner::desk;
use runner::environment::Environment;
use runner::install::{Install, install};
use runner::life::{leave_failure, live};
use runner::probe::{Probe, probe};
use runner::settings::Settings;
use runner::signals;
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use tracing::level_filters::LevelFilter;

/// Runs one attempt of a task in its pod, or installs itself for that.
///
/// Ends with 0 when the result was delivered or left in the termination message, else with 1.
#[derive(Debug, Parser)]
#[command(name = "mooring-runner", version)]
struct Arguments {
    /// What to log to stderr: off, error, warn, info, debug or trace.
    #[arg(long, env = "MOORING_LOG", default_value = "info", global = true)]
    log: LevelFilter,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the attempt whose Secret is mounted in this pod.
    Run(Settings),
    /// Copies this program and moor to where the agent's container sees them.
    Install(Install),
    /// Finds out whether the program of a Runtime can be run, and which version it is.
    Probe(Probe),
    /// Asks the runner, as an MCP server of an agent's program, whether a tool may be used.
    Desk,
}

/// Longer than any pod lives, and short enough to be added to a point in time.
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

fn main() -> ExitCode {
    // First of all: the agent runs as the same user. It must read neither memory nor environment, and neither read nor write
    // what the others of this program have open, as the desk's answers.
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_max_level(arguments.log)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    match hidden
        .map_err(anyhow::Error::from)
        .and_then(|()| obey(&arguments.command))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "mooring-runner: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Run(settings) => run(settings),
        Command::Install(arguments) => install(arguments).map_err(anyhow::Error::from),
        Command::Probe(arguments) => probe(arguments).map_err(anyhow::Error::from),
        Command::Desk => desk::serve(std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(anyhow::Error::from),
    }
}

fn run(settings: &Settings) -> anyhow::Result<()> {
    // Orphans are ours also where we are not the first process.
    set_child_subreaper(Some(getpid()))?;
    let blocked = signals::block()?;
    let environment = Environment::new(std::env::vars_os());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The thread that looks up names stays: where an agent has taken all process ids of its pod no other one
        // could be started, which would be our end.
        .thread_keep_alive(FOR_EVER)
        .build()?;
    let lived = runtime.block_on(live(settings, environment, blocked));
    // A volume that hangs must not keep the pod.
    runtime.shutdown_background();
    lived.inspect_err(|failure| leave_failure(settings, failure))?;
    Ok(())
}
