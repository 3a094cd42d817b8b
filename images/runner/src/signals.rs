//! Signals as messages with their sender, read from one descriptor.
//!
//! For that they are blocked, and a child would inherit it: a CLI that hears neither TERM nor the end of its
//! own children. So the block is lifted while a child is started. A signal that comes just then goes to a
//! handler and is not lost, only its sender is; an agent that could have sent it does not run yet.

use std::io;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{self, SignalKind};

/// Signals that ask for the end. Images may name another one than TERM as theirs.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];

/// Signals that are taken as messages.
#[derive(Clone, Copy, Debug)]
pub struct Blocked(SigSet);

/// Keeps the signals from their default effect. To be called before there is a second thread.
///
/// # Errors
/// When the kernel refuses.
pub fn block() -> io::Result<Blocked> {
    let mut signals = SigSet::empty();
    ENDING.into_iter().for_each(|signal| signals.add(signal));
    signals.add(Signal::SIGCHLD);
    signals.thread_block()?;
    Ok(Blocked(signals))
}

impl Blocked {
    /// Starts a child that has its signals.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn lifted<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        self.0.thread_unblock()?;
        let started = start();
        self.0.thread_block()?;
        Ok(started)
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A child may have ended.
    ChildEnded,
    /// Somebody wants us to end.
    End {
        /// The signal's number.
        signal: u32,
        /// Who sent it, see [`Sender`].
        sender: Sender,
    },
}

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kubelet, or whoever runs us: from outside of our process namespace.
    Outside,
    /// A process in the pod. It may be gone already.
    Inside(u32),
}

/// The code of a signal that was sent by `kill`, where the kernel itself names the sender.
const SENT_BY_KILL: i32 = 0;

/// The first process of a namespace sees senders from outside of it as 0. Only `kill` says so for sure, and that
/// is what container runtimes send with: a queued signal names whomever its sender likes. Where we are not the
/// first process, inside and outside cannot be told apart, and whoever started us decides.
fn sender(own_pid: u32, code: i32, sender_pid: u32) -> Sender {
    if own_pid == 1 && (sender_pid != 0 || code != SENT_BY_KILL) {
        Sender::Inside(sender_pid)
    } else {
        Sender::Outside
    }
}

/// The stream of signals.
#[derive(Debug)]
pub struct Signals {
    fd: AsyncFd<SignalFd>,
    /// Take what comes while the block is lifted.
    handlers: [unix::Signal; ENDING.len()],
}

impl Signals {
    /// Reads the blocked signals, in a runtime with I/O.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(blocked: &Blocked) -> io::Result<Self> {
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let fd = SignalFd::with_flags(&blocked.0, flags)?;
        #[expect(
            deprecated,
            reason = "its replacement is unsafe; SignalFd owns its descriptor and keeps it open, as that one asks"
        )]
        let fd = AsyncFd::new(fd)?;
        let handlers = [
            unix::signal(SignalKind::terminate())?,
            unix::signal(SignalKind::interrupt())?,
            unix::signal(SignalKind::quit())?,
        ];
        Ok(Self { fd, handlers })
    }

    /// The next signal. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn next(&mut self) -> io::Result<Received> {
        let Self { fd, handlers } = self;
        let [term, int, quit] = handlers;
        let signal = tokio::select! {
            received = read(fd) => return received,
            _ = term.recv() => Signal::SIGTERM,
            _ = int.recv() => Signal::SIGINT,
            _ = quit.recv() => Signal::SIGQUIT,
        };
        Ok(Received::End {
            signal: signal as u32,
            sender: Sender::Outside,
        })
    }
}

async fn read(fd: &AsyncFd<SignalFd>) -> io::Result<Received> {
    loop {
        let mut ready = fd.readable().await?;
        let read = ready.try_io(|fd| match fd.get_ref().read_signal() {
            Ok(Some(signal)) => Ok(signal),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error.into()),
        });
        let Ok(signal) = read else { continue };
        let signal = signal?;
        return Ok(if signal.ssi_signo == Signal::SIGCHLD as u32 {
            Received::ChildEnded
        } else {
            Received::End {
                signal: signal.ssi_signo,
                sender: sender(std::process::id(), signal.ssi_code, signal.ssi_pid),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_process_can_tell_inside_from_outside() {
        for (own, code, pid, wanted) in [
            (1, SENT_BY_KILL, 0, Sender::Outside),
            (1, SENT_BY_KILL, 42, Sender::Inside(42)),
            (7, SENT_BY_KILL, 42, Sender::Outside),
            // A queued signal names whatever sender its sender likes.
            (1, -1, 0, Sender::Inside(0)),
        ] {
            assert_eq!(sender(own, code, pid), wanted, "{own} {code} {pid}");
        }
    }
}
