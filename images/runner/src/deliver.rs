//! The one result on its way: first into the termination message, which needs nobody else, then to the API
//! after everything that came before it.

use std::path::Path;
use std::time::Duration;

use backon::BackoffBuilder as _;
use client::Client;
use protocol::runner::FinishRequest;
use protocol::{MacKey, TaskResult, TerminationMessage};
use secrecy::SecretString;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::host::Host;
use crate::journal::Journal;
use crate::remarks::Remarks;
use crate::upload::backoff;

/// How long the API is waited for to take what became of remarks: what it does not take is said to the agent again.
const REMARKS: Duration = Duration::from_secs(10);

/// How a result was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The API has it.
    ToApi,
    /// The kubelet has it, and the leader finds it there.
    InTerminationMessage,
    /// Nobody has it.
    Lost,
}

/// What a result is delivered with.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The API.
    pub client: &'a Client,
    /// The runner's credential.
    pub credential: &'a SecretString,
    /// Signs the termination message.
    pub key: &'a MacKey,
    /// Where the kubelet reads it.
    pub termination_log: &'a Path,
    /// How long the API is waited for.
    pub patience: Duration,
    /// How long it is waited for once the pod has to end.
    pub hurry: Duration,
}

impl Delivery<'_> {
    /// Delivers. Everything recorded goes before it.
    pub async fn deliver(
        &self,
        message: TerminationMessage,
        remarks: Remarks,
        journal: &mut Journal,
        host: &mut Host,
    ) -> Delivered {
        let left = self.leave(&message);
        let hurry = self.first_remarks(remarks, host).await;
        let until = Instant::now() + self.patience;
        let sent = tokio::select! {
            sent = self.send(&message.result, journal, until) => sent,
            () = hurried(host, hurry) => false,
        };
        match (sent, left) {
            (true, _) => Delivered::ToApi,
            (false, true) => Delivered::InTerminationMessage,
            (false, false) => Delivered::Lost,
        }
    }

    /// Leaves the result where the kubelet reads it. False when that failed.
    fn leave(&self, message: &TerminationMessage) -> bool {
        let sealed = match message.seal(self.key) {
            Ok(sealed) => sealed,
            Err(error) => {
                error!(%error, "the result cannot be sealed");
                return false;
            }
        };
        // The kubelet mounts one file: it can be written, not replaced.
        let left = std::fs::write(self.termination_log, sealed);
        if let Err(error) = &left {
            error!(%error, path = %self.termination_log.display(), "the result cannot be left");
        }
        left.is_ok()
    }

    async fn send(&self, result: &TaskResult, journal: &mut Journal, until: Instant) -> bool {
        if !journal.drain(until - Instant::now()).await {
            warn!("the API did not take every event; what is missing lies on the volume");
        }
        let request = FinishRequest {
            result: result.clone(),
        };
        let mut waits = backoff().build();
        loop {
            match self.client.finish(self.credential, &request).await {
                Ok(answer) => {
                    info!(decided = answer.decided, "the API has the result");
                    return true;
                }
                Err(error) if error.retry() && Instant::now() < until => {
                    let wait = waits.next().unwrap_or(Duration::from_secs(2));
                    info!(%error, "the result waits for the API");
                    tokio::time::sleep(wait).await;
                }
                Err(error) => {
                    warn!(%error, "the API did not take the result");
                    return false;
                }
            }
        }
    }

    /// Gives what became of remarks a while, since the API takes none after the result. Says how long that may take
    /// once the pod has to end.
    async fn first_remarks(&self, remarks: Remarks, host: &mut Host) -> Duration {
        if host.stopped().is_some() {
            let half = self.hurry / 2;
            remarks.drain(half).await;
            return self.hurry - half;
        }
        tokio::select! {
            () = remarks.drain(REMARKS) => {}
            _ = host.stop() => {}
        }
        self.hurry
    }
}

async fn hurried(host: &mut Host, hurry: Duration) {
    host.stop().await;
    tokio::time::sleep(hurry).await;
}
