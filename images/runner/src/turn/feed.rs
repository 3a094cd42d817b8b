//! The way to the CLI's stdin.

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Writes that may wait for a CLI that does not read.
const WRITES: usize = 64;

/// Takes what the CLI is to read, and knows whether it got all of it.
pub(super) struct Feed {
    to: Option<mpsc::Sender<Vec<u8>>>,
    lost: bool,
}

impl Feed {
    /// Writes in a task of its own: a CLI may print much before it reads. Its stdin closes when this does and everything
    /// is written.
    pub(super) fn new(mut stdin: UnixStream, first: Vec<u8>) -> Self {
        let (to, mut writes) = mpsc::channel::<Vec<u8>>(WRITES);
        tokio::spawn(async move {
            let mut next = Some(first);
            while let Some(bytes) = next {
                if stdin.write_all(&bytes).await.is_err() {
                    return;
                }
                next = writes.recv().await;
            }
        });
        Self {
            to: Some(to),
            lost: false,
        }
    }

    /// Writes, unless it is closed. False when so much waits already that this was dropped.
    pub(super) fn write(&mut self, bytes: Vec<u8>) -> bool {
        let Some(to) = &self.to else { return true };
        match to.try_send(bytes) {
            Ok(()) => true,
            // It has closed its stdin.
            Err(TrySendError::Closed(_)) => {
                self.close();
                true
            }
            Err(TrySendError::Full(_)) => {
                self.lost = true;
                false
            }
        }
    }

    /// Nothing more is written.
    pub(super) fn close(&mut self) {
        self.lost = self.has_lost();
        self.to = None;
    }

    /// True once the CLI cannot have read everything.
    pub(super) fn has_lost(&self) -> bool {
        self.lost || self.to.as_ref().is_some_and(mpsc::Sender::is_closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_read_is_not_lost() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut feed = Feed::new(ours, b"one ".to_vec());
        assert!(feed.write(b"two".to_vec()));
        feed.close();
        assert!(feed.write(b"three".to_vec()));
        let mut read = String::new();
        theirs.read_to_string(&mut read).await.unwrap();
        assert_eq!((read.as_str(), feed.has_lost()), ("one two", false));
    }

    #[tokio::test]
    async fn what_a_program_cannot_have_read_is_lost() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut feed = Feed::new(ours, vec![b'x'; 1 << 22]);
        let written = (0..=WRITES).filter(|_| feed.write(b"x".to_vec())).count();
        assert_eq!((written, feed.has_lost()), (WRITES, true));

        drop(theirs);
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut feed = Feed::new(ours, b"x".to_vec());
        let to = feed.to.clone().unwrap();
        to.closed().await;
        assert!(feed.has_lost());
        feed.close();
        assert!(feed.has_lost());
    }
}
