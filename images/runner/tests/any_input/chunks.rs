//! A stream comes in pieces that know nothing of lines or characters.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use protocol::{limits, providers::ids};
use runner::adapter::Input;
use runner::lines::{Line, Lines};
use tokio::io::{AsyncRead, ReadBuf};

use crate::replay::{Case, Run};
use crate::{check, corpus};

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

/// What is cut at each of its bytes: a whole short run of each provider.
const CUT: &str = "text";

/// The sample of each provider, half of them on each of two threads: each cut is a run of its own.
fn for_each_sample(test: impl Fn(&'static str, Case) + Sync) {
    let (some, others): (Vec<_>, Vec<_>) = ids()
        .into_iter()
        .enumerate()
        .partition(|(at, _)| at % 2 == 0);
    std::thread::scope(|scope| {
        for half in [some, others] {
            scope.spawn(|| {
                for (_, provider) in half {
                    test(provider, corpus::recording(provider, CUT));
                }
            });
        }
    });
}

/// Each sample is cut in two at every byte, within a character too: its lines are the same, and with them what comes of it.
#[test]
fn a_stream_may_be_cut_at_every_byte() {
    for_each_sample(|provider, case| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let mut stream = case.stdout().join("\n").into_bytes();
        stream.extend("\n{\"odd\": \"é漢🦀\"}\n".as_bytes());
        let whole = runtime.block_on(lines_of([&stream, &[]]));
        let written: Vec<_> = stream.split(|byte| *byte == b'\n').collect();
        assert_eq!(whole, written[..written.len() - 1], "{provider}");
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let lines = runtime.block_on(lines_of([first, second]));
            assert_eq!(lines, whole, "{provider} cut at {cut}");
        }
    });
}

/// Each sample ends at every byte of it: what is left is a line, and the run has its one result.
#[test]
fn every_byte_may_be_the_last() {
    for_each_sample(|_, case| {
        let lines = case.stdout();
        for (at, line) in lines.iter().enumerate() {
            for cut in 0..=line.len() {
                let mut run = Run::of(&case);
                for line in &lines[..at] {
                    run.line(line);
                }
                run.give(Input::Stdout(&line.as_bytes()[..cut]));
                check(&run.end(case.exit()));
            }
        }
    });
}
