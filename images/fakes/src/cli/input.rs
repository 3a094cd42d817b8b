//! Frames that come in while something else goes on.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;
use serde_json::Value;

/// Stdin, line by line.
pub(crate) struct Input {
    lines: Receiver<String>,
}

/// What came in.
pub(crate) enum Incoming {
    /// A frame.
    Frame(Value),
    /// Nothing, in the time given.
    Nothing,
    /// The end of the input.
    End,
}

impl Input {
    /// Begins to read. Signals are for the other thread.
    pub(crate) fn read() -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            if SigSet::all().thread_block().is_err() {
                return;
            }
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next frame, for which it waits as long as it takes.
    pub(crate) fn next(&self) -> io::Result<Incoming> {
        match self.lines.recv() {
            Ok(line) => frame(&line),
            Err(_) => Ok(Incoming::End),
        }
    }

    /// The next frame until then.
    pub(crate) fn until(&self, then: Instant) -> io::Result<Incoming> {
        let left = then.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => frame(&line),
            Err(RecvTimeoutError::Timeout) => Ok(Incoming::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                // Nothing more comes, but whoever waits for a while still waits.
                std::thread::sleep(left.max(Duration::ZERO));
                Ok(Incoming::Nothing)
            }
        }
    }
}

fn frame(line: &str) -> io::Result<Incoming> {
    Ok(Incoming::Frame(serde_json::from_str(line)?))
}
