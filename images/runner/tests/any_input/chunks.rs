//! A stream comes in pieces that know nothing of lines or characters.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use protocol::{limits, providers::ids};
use runner::adapter::Input;
use runner::lines::{Line, Lines};
use tokio::io::{AsyncRead, ReadBuf};

use crate::corpus;
use crate::replay::{Case, Run, shown};

/// Bytes of a stream that is cut at each of its bytes: what has to be read grows with its square.
const STREAM_BYTES: usize = 40_000;

/// Gives its bytes in two pieces.
struct Cut<'a> {
    pieces: [&'a [u8]; 2],
}

impl AsyncRead for Cut<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let [first, second] = &mut self.pieces;
        let piece = if first.is_empty() { second } else { first };
        let (now, later) = piece.split_at(piece.len().min(buffer.remaining()));
        buffer.put_slice(now);
        *piece = later;
        Poll::Ready(Ok(()))
    }
}

async fn lines_of(pieces: [&[u8]; 2]) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(Cut { pieces }, limits::LINE_BYTES);
    let mut read = Vec::new();
    loop {
        match lines.next().await.expect("it cannot fail") {
            Line::Whole(line) => read.push(line.to_vec()),
            Line::TooLong(_) | Line::End => return read,
        }
    }
}

fn events(case: &Case, lines: &[Vec<u8>]) -> String {
    let mut run = Run::of(case);
    for line in lines {
        match std::str::from_utf8(line) {
            Ok(line) => run.line(line),
            Err(_) => run.give(Input::Stdout(line)),
        }
    }
    shown(&run.end(case.exit()))
}

/// Each recording with a tool is cut at every byte, within a character too, and what comes of it is the same.
#[tokio::test]
async fn a_stream_may_be_cut_at_every_byte() {
    for provider in ids() {
        let recordings = corpus::recordings(provider);
        let of_a_tool = recordings.iter().find(|case| case.name == "shell");
        let Some(case) = of_a_tool.or(recordings.first()) else {
            continue;
        };
        let mut stream = case.stdout().join("\n").into_bytes();
        stream.extend("\n{\"odd\": \"é漢🦀\"}\n".as_bytes());
        let whole = lines_of([&stream, &[]]).await;
        let told = events(case, &whole);
        // A long one is cut within its end, where the tool and the answer are.
        let from = stream.len().saturating_sub(STREAM_BYTES / 10);
        for cut in from..stream.len() {
            let (first, second) = stream.split_at(cut);
            let lines = lines_of([first, second]).await;
            assert_eq!(lines, whole, "{provider} cut at {cut}");
        }
        assert_eq!(events(case, &lines_of([&[], &stream]).await), told);
    }
}

/// A stream that ends within a line, at every byte of it: what is left is a line, and the run has its one result.
#[test]
fn every_byte_may_be_the_last() {
    for provider in ids() {
        let recordings = corpus::recordings(provider);
        let Some(case) = recordings.iter().find(|case| case.name == "shell") else {
            continue;
        };
        let lines = case.stdout();
        let bytes: usize = lines.iter().map(String::len).sum();
        // All of them would be the square of it.
        let step = (bytes / 300).max(1);
        for (at, line) in lines.iter().enumerate() {
            for cut in (0..line.len()).step_by(step) {
                let mut run = Run::of(case);
                for line in &lines[..at] {
                    run.line(line);
                }
                run.give(Input::Stdout(&line.as_bytes()[..cut]));
                run.end(case.exit());
            }
        }
    }
}
