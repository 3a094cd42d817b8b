//! What every adapter does with the pipes of its process, and with time.

use std::time::Duration;

use protocol::LogLevel;

use super::frame::log;
use crate::adapter::{Output, TimerId};

/// The process's stdin, open at first.
#[derive(Debug, Default)]
pub(super) struct Stdin {
    closed: bool,
}

impl Stdin {
    /// True until it is closed.
    pub(super) fn is_open(&self) -> bool {
        !self.closed
    }

    /// Writes a frame. After the end there is nobody to read it.
    pub(super) fn write(&self, line: Vec<u8>, out: &mut Vec<Output>) {
        if self.is_open() {
            out.push(Output::Write(line));
        }
    }

    /// Closes it, once.
    pub(super) fn close(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.closed, true) {
            out.push(Output::CloseStdin);
        }
    }
}

/// A line of stdout that is no frame, for the log.
pub(super) fn no_frame(line: &str, out: &mut Vec<Output>) {
    if !line.trim().is_empty() {
        let words = format!("stdout: {line}");
        out.push(Output::Event(log(LogLevel::Debug, words)));
    }
}

/// A line of stderr, for the log.
pub(super) fn stderr(line: &str, out: &mut Vec<Output>) {
    let words = format!("stderr: {line}");
    out.push(Output::Event(log(LogLevel::Debug, words)));
}

/// Says that a remark cannot be handed over to a CLI while it works.
pub(super) fn takes_no_remark(id: &str, name: &str, out: &mut Vec<Output>) {
    out.push(Output::Steered {
        id: id.to_owned(),
        taken: Err(format!("{name} takes no remarks while it works")),
    });
}

/// Sets a timer.
pub(super) fn wait(id: TimerId, after: Duration, out: &mut Vec<Output>) {
    out.push(Output::SetTimer { id, after });
}
