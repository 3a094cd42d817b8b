//! What reaches a run from outside of it: reasons to stop, and remarks for the timeline.

use std::sync::Arc;

use protocol::runner::CommandKind;
use protocol::{EventBody, LogLevel};
use tokio::sync::{mpsc, watch};
use tracing::{error, warn};

use crate::processes::Reaper;
use crate::signals::{Received, Sender, Signals};
use crate::stop::StopCause;

/// Remarks that may wait; an agent that sends signals without end fills no more than this.
const REMARKS: usize = 8;
/// Commands that may wait; the API gives no more than some hundreds in one attempt.
const COMMANDS: usize = 256;

/// The run's side.
#[derive(Debug)]
pub struct Host {
    stop: watch::Receiver<Option<StopCause>>,
    remarks: mpsc::Receiver<EventBody>,
    commands: mpsc::Receiver<CommandKind>,
    /// The stop was given by [`Host::next`] already.
    told: bool,
}

/// What came from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Stop. Comes once.
    Stop(StopCause),
    /// For the timeline.
    Remark(EventBody),
    /// Something else that the API tells.
    Command(CommandKind),
}

/// The side of those who have something to say to the run.
#[derive(Clone, Debug)]
pub struct HostSender {
    stop: Arc<watch::Sender<Option<StopCause>>>,
    remarks: mpsc::Sender<EventBody>,
    commands: mpsc::Sender<CommandKind>,
}

/// Both sides.
#[must_use]
pub fn channel() -> (HostSender, Host) {
    let (send_stop, stop) = watch::channel(None);
    let (send_remark, remarks) = mpsc::channel(REMARKS);
    let (send_command, commands) = mpsc::channel(COMMANDS);
    let sender = HostSender {
        stop: Arc::new(send_stop),
        remarks: send_remark,
        commands: send_command,
    };
    let host = Host {
        stop,
        remarks,
        commands,
        told: false,
    };
    (sender, host)
}

impl HostSender {
    /// Stops the run. The first cause stands.
    pub fn stop(&self, cause: StopCause) {
        self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            stop.get_or_insert(cause);
            first
        });
    }

    /// Hands a command on. When too many wait it is dropped: what it asks for is nobody's only chance.
    pub fn command(&self, kind: CommandKind) {
        if self.commands.try_send(kind).is_err() {
            warn!("a command was dropped: too many wait");
        }
    }

    /// Leaves a remark; when too many wait, it is dropped.
    pub fn remark(&self, content: String) {
        let level = LogLevel::Warn;
        if self
            .remarks
            .try_send(EventBody::Log { level, content })
            .is_err()
        {
            warn!("a remark for the timeline was dropped: too many wait");
        }
    }
}

impl Host {
    /// Why the run is stopped, if it is.
    #[must_use]
    pub fn stopped(&self) -> Option<StopCause> {
        self.stop.borrow().clone()
    }

    /// Waits for a reason to stop. Dropping the future loses nothing.
    pub async fn stop(&mut self) -> StopCause {
        cause(&mut self.stop).await
    }

    /// The next message. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Message {
        tokio::select! {
            biased;
            cause = cause(&mut self.stop), if !self.told => {
                self.told = true;
                Message::Stop(cause)
            }
            Some(remark) = self.remarks.recv() => Message::Remark(remark),
            Some(command) = self.commands.recv() => Message::Command(command),
            // Nobody is left who could say something.
            else => std::future::pending().await,
        }
    }
}

async fn cause(stop: &mut watch::Receiver<Option<StopCause>>) -> StopCause {
    if let Ok(stop) = stop.wait_for(Option::is_some).await
        && let Some(cause) = &*stop
    {
        return cause.clone();
    }
    // Nobody is left who could stop us.
    std::future::pending().await
}

/// Takes signals for as long as the runner lives.
///
/// Buries children, and turns an order to end from outside into a stop. One from inside the pod is the agent's own
/// doing: it ends nothing, and the timeline says so.
pub async fn take_signals(mut signals: Signals, reaper: Arc<Reaper>, host: HostSender) {
    let mut told = 0;
    loop {
        match signals.next().await {
            Ok(Received::ChildEnded) => reaper.reap(),
            Ok(Received::End {
                sender: Sender::Outside,
                ..
            }) => host.stop(StopCause::Terminated),
            Ok(Received::End {
                signal,
                sender: Sender::Inside(pid),
            }) => {
                told += 1;
                if told <= REMARKS {
                    host.remark(format!(
                        "a process in the pod ({pid}) sent signal {signal}{} to the runner: it is ignored",
                        if signal == 15 { " (TERM)" } else { "" }
                    ));
                }
            }
            Err(error) => {
                // Without signals no child is ever buried and no order to end heard: better to end now.
                error!(%error, "signals cannot be read");
                host.stop(StopCause::Terminated);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_cause_stands_and_remarks_are_bounded() {
        let (sender, mut host) = channel();
        assert_eq!(host.stopped(), None);
        sender.stop(StopCause::TimedOut(3));
        sender.stop(StopCause::Terminated);
        assert_eq!(host.stop().await, StopCause::TimedOut(3));
        assert_eq!(host.stopped(), Some(StopCause::TimedOut(3)));
        for number in 0..REMARKS * 2 {
            sender.remark(number.to_string());
        }
        assert_eq!(host.next().await, Message::Stop(StopCause::TimedOut(3)));
        for _ in 0..REMARKS {
            assert!(matches!(host.next().await, Message::Remark(_)));
        }
        drop(sender);
        let nothing = tokio::time::timeout(std::time::Duration::ZERO, host.next()).await;
        assert!(nothing.is_err());
    }
}
