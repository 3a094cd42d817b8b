//! `mooring-operator`: reads its settings and starts what they ask for.

mod authority;
mod certificate;
mod check;
mod cluster;
mod definitions;
mod door;
mod installation;
mod run;
#[cfg(test)]
mod scripted;
mod settings;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use settings::{Arguments, Command, LogFormat};

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    start_log(arguments.log);
    // First of all: with no provider chosen rustls panics at its first use.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a cryptography provider was installed before main"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match arguments.command {
            Command::Run(settings) => run::run(*settings).await.map(|()| ExitCode::SUCCESS),
            Command::Check(settings) => check::check(settings).await,
        }
    })
}

/// The log goes to standard error, so that what `check` prints stands alone.
fn start_log(format: LogFormat) {
    let filter = EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .from_env_lossy();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
