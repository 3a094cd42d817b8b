//! However much a program says, its adapter keeps no more than a little of it. Alone in its process, since what is
//! measured is the process.

use protocol::{limits, providers::ids};
use runner::adapter::{Input, Output};
use serde_json::Value;

#[expect(
    dead_code,
    reason = "the tests of recordings use the rest of what they share"
)]
#[path = "../any_input/corpus.rs"]
mod corpus;
#[expect(
    dead_code,
    reason = "the tests of recordings use the rest of what they share"
)]
#[path = "../replay/mod.rs"]
mod replay;

use replay::{Case, Run};

/// Bytes that each program says on stdout, and as many on stderr, in each half of its run.
const HALF: usize = 16 * 1024 * 1024;
/// Bytes that may be kept of the first half, by the adapter and by an allocator that gives nothing back.
const KEPT: usize = 2 * 1024 * 1024;
/// Bytes that may come to that with the second half, which finds everything full that is kept.
const ADDED: usize = 512 * 1024;
/// What tells everything at its end in one object has to be kept whole, which is no longer than a line may be.
const WHOLE: &[&str] = &["openclaw"];
/// Bytes that such an object has here.
const OBJECT: usize = 3 * limits::LINE_BYTES;
/// Bytes that each text of a frame is made longer by: so there are thousands of frames, and their texts are what is said.
const LONGER: usize = 4000;
/// What an id that never came before ends in, until it has its number.
const NUMBER: &str = "-mooring-number";

/// Bytes of memory that this process has in use.
fn in_use() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").expect("a process has its numbers");
    let pages = told.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

/// A frame as it was recorded, with room for a number in its ids and longer texts. What names the conversation stays.
fn anew(value: &mut Value, key: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| anew(item, key)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                anew(field, name);
            }
        }
        Value::String(text) => {
            let key = key.to_lowercase();
            let conversation = ["session", "thread", "turn", "conversation"];
            if conversation.iter().any(|word| key.contains(word)) {
                return;
            }
            if key.ends_with("id") {
                text.push_str(NUMBER);
            } else if matches!(
                key.as_str(),
                "text"
                    | "text_delta"
                    | "delta"
                    | "thinking"
                    | "content"
                    | "output"
                    | "message"
                    | "command"
                    | "stdout"
            ) {
                text.push_str(&"x".repeat(LONGER));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Everything but what would end the turn: answers to calls, and frames after which no more is read.
fn goes_on(frame: &Value) -> bool {
    let method = frame["method"].as_str();
    let kind = frame["type"].as_str().unwrap_or_default();
    let is_answer = method.is_none() && frame.get("id").is_some() && frame.get("type").is_none();
    !is_answer
        && !matches!(method, Some("turn/completed"))
        && !matches!(
            kind,
            "result" | "agent_end" | "agent_settled" | "response" | "step_finish" | "error"
        )
}

/// The lines of a recording that can be said again and again, and those that come before them.
fn split(provider: &str, case: &Case) -> (Vec<String>, Vec<String>) {
    let lines = case.stdout();
    let marks = [
        "toolCallId",
        "tool_use",
        "tool_call",
        "tool_execution_start",
        "commandExecution",
    ];
    let begin = lines
        .iter()
        .position(|line| marks.iter().any(|mark| line.contains(mark)));
    let frames: Vec<String> = lines
        .iter()
        .filter(|line| line.len() < 16 * 1024)
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(goes_on)
        .map(|mut frame| {
            anew(&mut frame, "");
            frame.to_string()
        })
        .collect();
    assert!(!frames.is_empty(), "{provider} has nothing to say");
    let before = lines[..begin.unwrap_or(lines.len() / 2)].to_vec();
    (before, frames)
}

/// What a run has said so far.
#[derive(Default)]
struct Said {
    frames: usize,
    bytes: usize,
    /// What the adapter made of it for the timeline.
    events: usize,
}

/// Says all frames, round by round, until there are so many bytes.
fn say(run: &mut Run, frames: &[String], said: &mut Said, bytes: usize) {
    while said.bytes < bytes {
        for frame in frames {
            said.frames += 1;
            let line = frame.replace(NUMBER, &format!("-{}", said.frames));
            said.bytes += line.len();
            run.give(Input::Stdout(line.as_bytes()));
            run.give(Input::Stderr(line.as_bytes()));
            let done = |output: &Output| matches!(output, Output::Done(_));
            assert!(
                !run.out.iter().any(done),
                "it ended after {} frames: {line}",
                said.frames
            );
            said.events += run
                .out
                .iter()
                .filter(|output| matches!(output, Output::Event(_)))
                .count();
            run.out.clear();
        }
    }
}

/// The bytes that a run has taken for each half of what it said, and what that was.
fn flood(provider: &'static str) -> ([usize; 2], Said) {
    let case = corpus::recording(provider, "shell");
    let (before, frames) = split(provider, &case);
    let mut run = Run::of(&case);
    for line in &before {
        run.line(line);
    }
    run.out.clear();
    let mut said = Said::default();
    let halves = [HALF, 2 * HALF].map(|bytes| {
        let before = in_use();
        say(&mut run, &frames, &mut said, bytes);
        in_use().saturating_sub(before)
    });
    (halves, said)
}

/// The bytes that a run has taken for an object that does not end.
fn endless(provider: &'static str) -> usize {
    let mut run = Run::of(&corpus::recording(provider, "shell"));
    let before = in_use();
    run.line("{");
    let line = format!("  \"text\": \"{}\",", "x".repeat(LONGER));
    let (mut said, mut most) = (0, 0);
    while said < OBJECT {
        said += line.len();
        run.give(Input::Stdout(line.as_bytes()));
        most = most.max(in_use().saturating_sub(before));
    }
    assert!(
        run.out
            .iter()
            .all(|output| !matches!(output, Output::Done(_)))
    );
    most
}

#[test]
fn what_is_kept_does_not_grow_with_what_is_said() {
    for provider in ids().into_iter().filter(|id| !WHOLE.contains(id)) {
        let ([kept, added], said) = flood(provider);
        let Said {
            frames,
            bytes,
            events,
        } = said;
        assert!(
            kept < KEPT && added < ADDED,
            "{provider} keeps {kept} and {added} of {bytes} bytes"
        );
        assert!(
            events * 4 > frames,
            "{provider}: {events} events of {frames} frames"
        );
    }
    for provider in WHOLE {
        let kept = endless(provider);
        // Room grows by doubling, and is moved to where there is twice as much.
        let most = 3 * limits::LINE_BYTES + KEPT;
        assert!(
            kept > limits::LINE_BYTES / 2 && kept < most,
            "{provider} keeps {kept} bytes of an object"
        );
    }
}
