//! The held request by which the API tells a runner what to do.

use std::time::Duration;

use backon::BackoffBuilder as _;
use client::Client;
use protocol::runner::{Command, CommandKind, ControlQuery};
use secrecy::SecretString;
use tracing::{info, warn};

use crate::host::HostSender;
use crate::stop::StopCause;
use crate::upload::backoff;

/// How long to wait after a refusal: nothing that we do changes it, but the operator may be mended.
const REFUSED: Duration = Duration::from_secs(30);

/// Asks for ever; the task is dropped when the runner ends. Each request also shows that this runner lives.
pub async fn run(client: Client, credential: SecretString, host: HostSender) {
    let mut after = 0;
    let mut waits = backoff().build();
    loop {
        match client.control(&credential, ControlQuery { after }).await {
            Ok(answer) => {
                waits = backoff().build();
                for Command { number, kind } in answer.commands {
                    if number <= after {
                        continue;
                    }
                    after = number;
                    info!(command.number = number, "the operator has a command");
                    match kind {
                        CommandKind::Stop { reason } => host.stop(StopCause::Commanded(reason)),
                        kind @ (CommandKind::Steer { .. } | CommandKind::Decide { .. }) => {
                            host.command(kind);
                        }
                    }
                }
            }
            Err(error) if error.retry() => {
                let wait = waits.next().unwrap_or(REFUSED);
                info!(%error, "the operator cannot be asked for commands");
                tokio::time::sleep(wait).await;
            }
            Err(error) => {
                warn!(%error, "the operator refuses to tell commands");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}
