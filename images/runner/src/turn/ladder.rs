//! The steps by which a run is stopped, and what follows the end of its process.

use std::sync::Arc;

use protocol::LogLevel;
use rustix::process::Signal;
use tokio::time::Instant;
use tracing::info;

use super::Turn;
use crate::adapter::{Exit, HostCommand, Input};
use crate::processes::{end_all, signal_all};
use crate::stop::{Rung, StopCause, schedule};

impl Turn<'_, '_> {
    pub(super) fn stop(&mut self, cause: StopCause) {
        self.cause = Some(cause.clone());
        self.end_by = Some(Instant::now() + self.around.grace);
        // With a result the CLI is being ended already, and the result stands.
        if self.result.is_none() {
            self.around.journal.remark(LogLevel::Warn, cause.remark());
            self.stopped = Some(cause);
            if self.exited_at.is_none() {
                self.begin(Rung::Interrupt);
            }
        }
    }

    pub(super) fn begin(&mut self, first: Rung) {
        let now = Instant::now();
        let steps = schedule(self.around.ladder, first, self.around.grace);
        self.steps = steps
            .into_iter()
            .map(|(after, rung)| (now + after, rung))
            .collect();
    }

    pub(super) fn climb(&mut self, rung: Rung, now: Instant) {
        info!(?rung, "the agent's program is being stopped");
        match rung {
            Rung::Interrupt => self.give(Input::Host(HostCommand::Interrupt)),
            Rung::Close => self.input.close(),
            Rung::Term => signal_all(Signal::TERM),
            Rung::Kill => {
                signal_all(Signal::KILL);
                self.killed_at = Some(now);
            }
        }
    }

    pub(super) fn exited(&mut self, exit: Option<Exit>) {
        self.exit = exit;
        self.exited_at = Some(Instant::now());
        self.steps.clear();
        self.input.close();
        if !self.around.served || self.cause.is_some() {
            self.sweep();
        }
    }

    /// What the CLI left behind is ended, wherever it has gone to, and so the pipes close.
    pub(super) fn sweep(&mut self) {
        self.beside.close();
        let (reaper, polite) = (Arc::clone(&self.around.reaper), self.around.ladder.term);
        let left = self
            .end_by
            .map_or(self.around.grace, |by| by - Instant::now());
        let polite = polite.min(left);
        self.sweep = Some(tokio::spawn(async move { end_all(&reaper, polite).await }));
    }

    /// The adapter is told of the end of the process, once.
    pub(super) fn tell_exit(&mut self) {
        if !std::mem::replace(&mut self.told_exit, true) {
            let unknown = Exit {
                code: None,
                signal: None,
            };
            self.give(Input::Exited(self.exit.unwrap_or(unknown)));
        }
    }
}
