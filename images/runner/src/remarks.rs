//! What became of the remarks that people made while the agent worked, on its way to the API.
//!
//! Until the API knows that a remark was taken in, another task waits with it. So what is lost here is said to the agent
//! once more, and never not at all.

use std::time::Duration;

use backon::BackoffBuilder as _;
use client::Client;
use protocol::runner::SteeredRequest;
use protocol::{CommentId, limits};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::upload::backoff;

/// Answers that may wait. The API offers no more remarks than this in one attempt.
const WAITING: usize = limits::REMARKS_PER_ATTEMPT as usize;

/// Where a run leaves what became of remarks.
#[derive(Clone, Debug)]
pub struct Told(mpsc::Sender<SteeredRequest>);

/// Sends it to the API.
#[derive(Debug)]
pub struct Remarks {
    told: Told,
    sends: JoinHandle<()>,
}

impl Told {
    /// Leaves what became of one; why, where it was not taken in.
    pub fn settle(&self, remark: CommentId, taken: Result<(), String>) {
        let mut why = taken.err();
        if let Some(why) = &mut why {
            why.truncate(why.floor_char_boundary(limits::MESSAGE_BYTES));
        }
        if self.0.try_send(SteeredRequest { remark, why }).is_err() {
            warn!(%remark, "what became of a remark was dropped: it is said to the agent again");
        }
    }
}

#[cfg(test)]
impl Told {
    /// For runs that nobody says anything to.
    pub(crate) fn to_nobody() -> Self {
        Self(mpsc::channel(1).0)
    }
}

impl Remarks {
    /// Begins.
    #[must_use]
    pub fn new(client: Client, credential: SecretString) -> Self {
        let (told, answers) = mpsc::channel(WAITING);
        Self {
            told: Told(told),
            sends: tokio::spawn(send(client, credential, answers)),
        }
    }

    /// Where a run leaves them.
    #[must_use]
    pub fn told(&self) -> Told {
        self.told.clone()
    }

    /// Waits until the API has all of them. Every [`Told`] is dropped by now.
    pub async fn drain(self, patience: Duration) {
        let Self { told, mut sends } = self;
        drop(told);
        if tokio::time::timeout(patience, &mut sends).await.is_err() {
            warn!("the API did not take what became of remarks: they are said to the agent again");
            sends.abort();
        }
    }
}

async fn send(
    client: Client,
    credential: SecretString,
    mut answers: mpsc::Receiver<SteeredRequest>,
) {
    while let Some(answer) = answers.recv().await {
        let mut waits = backoff().build();
        loop {
            match client.steered(&credential, &answer).await {
                Ok(()) => break,
                Err(error) if error.retry() => {
                    info!(%error, "what became of a remark waits for the API");
                    tokio::time::sleep(waits.next().unwrap_or(Duration::from_secs(2))).await;
                }
                Err(error) => {
                    warn!(%error, remark = %answer.remark, "what became of a remark was refused");
                    break;
                }
            }
        }
    }
}
