//! Bounded reading of a CLI's output, line by line. A line that is too long is thrown away while the pipe is
//! drained on: a reader that stops would stop the CLI.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Room that is kept from one line to the next; more is given back after a large line.
const CHUNK: usize = 64 * 1024;

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its newline; the last one may have had none.
    Whole(Bytes),
    /// A line of this many bytes, thrown away.
    TooLong(u64),
    /// The end.
    End,
}

/// The lines of a source.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer holds no newline.
    searched: usize,
    /// Bytes of the line that is being thrown away.
    dropped: Option<u64>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            dropped: None,
            ended: false,
        }
    }

    /// The next line. Dropping the future loses nothing.
    ///
    /// # Errors
    /// What the source says.
    pub async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line);
            }
            if self.ended {
                return Ok(Line::End);
            }
            self.buffer.reserve(CHUNK);
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                self.ended = true;
            }
        }
    }

    /// The next line of what was read so far.
    fn buffered(&mut self) -> Option<Line> {
        let new = &self.buffer[self.searched..];
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            return self.unfinished();
        };
        let line = self.buffer.split_to(self.searched + end + 1);
        self.searched = 0;
        if self.buffer.is_empty() {
            // A new buffer, so that a large line does not keep its room for ever.
            self.buffer = BytesMut::new();
        }
        let length = line.len() - 1;
        Some(match self.dropped.take() {
            Some(dropped) => Line::TooLong(dropped + length as u64),
            None if length > self.limit => Line::TooLong(length as u64),
            None => Line::Whole(line.freeze().slice(..length)),
        })
    }

    /// What to do about a line whose newline has not come.
    fn unfinished(&mut self) -> Option<Line> {
        self.searched = self.buffer.len();
        if self.ended {
            let rest = std::mem::take(&mut self.buffer);
            self.searched = 0;
            return match self.dropped.take() {
                Some(dropped) => Some(Line::TooLong(dropped + rest.len() as u64)),
                None if rest.is_empty() => None,
                None => Some(Line::Whole(rest.freeze())),
            };
        }
        if self.dropped.is_some() || self.buffer.len() > self.limit {
            let dropped = self.dropped.get_or_insert_default();
            *dropped += self.buffer.len() as u64;
            self.buffer = BytesMut::new();
            self.searched = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Gives its bytes in pieces of the given sizes.
    struct Pieces {
        bytes: Vec<u8>,
        sizes: Vec<usize>,
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let size = self.sizes.pop().unwrap_or(usize::MAX);
            let size = size.min(self.bytes.len()).min(into.remaining());
            let piece: Vec<u8> = self.bytes.drain(..size).collect();
            into.put_slice(&piece);
            Poll::Ready(Ok(()))
        }
    }

    fn read_all(bytes: &[u8], sizes: Vec<usize>, limit: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let source = Pieces {
            bytes: bytes.to_vec(),
            sizes,
        };
        runtime.block_on(async {
            let mut lines = Lines::new(source, limit);
            let mut read = Vec::new();
            loop {
                match lines.next().await.unwrap() {
                    Line::End => return read,
                    line @ (Line::Whole(_) | Line::TooLong(_)) => read.push(line),
                }
            }
        })
    }

    fn expected(bytes: &[u8], limit: usize) -> Vec<Line> {
        let mut pieces: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
        if pieces.last().is_some_and(|last| last.is_empty()) {
            pieces.pop();
        }
        let line = |piece: &[u8]| {
            if piece.len() > limit {
                Line::TooLong(piece.len() as u64)
            } else {
                Line::Whole(Bytes::copy_from_slice(piece))
            }
        };
        pieces.into_iter().map(line).collect()
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            sizes in proptest::collection::vec(1usize..40, 0..40),
            limit in 0usize..30,
        ) {
            prop_assert_eq!(read_all(&bytes, sizes, limit), expected(&bytes, limit));
        }
    }

    #[test]
    fn a_long_line_is_drained_and_the_next_one_read() {
        let mut bytes = vec![b'x'; 3_000_000];
        bytes.extend_from_slice(b"\nshort\nlast");
        let wanted = [
            Line::TooLong(3_000_000),
            Line::Whole("short".into()),
            Line::Whole("last".into()),
        ];
        assert_eq!(read_all(&bytes, Vec::new(), 1_000_000), wanted);
    }
}
