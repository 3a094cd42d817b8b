//! However much a program says, its adapter keeps no more than a little of it. Alone in its process, since what is
//! measured is the process.

use protocol::providers::ids;
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

use replay::Run;

/// Bytes that each program says.
const SAID: usize = 6 * 1024 * 1024;
/// Bytes that may be kept of it, by the adapter and by an allocator that gives nothing back.
const KEPT: usize = 4 * 1024 * 1024;
/// What tells everything at its end in one object has to be kept whole, within its own bounds.
const WHOLE: &[&str] = &["openclaw"];
/// Bytes that each text of a frame is made longer by.
const LONGER: usize = 300;

/// Bytes of memory that this process has in use.
fn in_use() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").expect("a process has its numbers");
    let pages = told.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

/// A frame as it was recorded, with ids that never came before and longer texts. What names the conversation stays.
fn anew(value: &mut Value, key: &str, number: usize) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| anew(item, key, number)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                anew(field, name, number);
            }
        }
        Value::String(text) => {
            let key = key.to_lowercase();
            let conversation = ["session", "thread", "turn"];
            if conversation.iter().any(|word| key.contains(word)) {
                return;
            }
            if key.ends_with("id") {
                text.push_str(&format!("-{number}"));
            } else if matches!(
                key.as_str(),
                "text" | "delta" | "thinking" | "content" | "output" | "message" | "command"
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

/// The bytes that one run has taken, and how much was said in it.
fn flood(provider: &'static str) -> Option<(usize, usize)> {
    let recordings = corpus::recordings(provider);
    let case = recordings.iter().find(|case| case.name == "shell")?;
    let lines = case.stdout();
    let frames: Vec<Value> = lines
        .iter()
        .filter(|line| line.len() < 16 * 1024)
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(goes_on)
        .collect();
    let begin = lines
        .iter()
        .position(|line| {
            line.contains("toolCallId")
                || line.contains("tool_use")
                || line.contains("tool_execution_start")
                || line.contains("commandExecution")
        })
        .unwrap_or(lines.len() / 2);
    let mut run = Run::of(case);
    for line in &lines[..begin] {
        run.line(line);
    }
    run.out.clear();
    let before = in_use();
    let (mut said, mut number) = (0, 0);
    while said < SAID {
        for frame in &frames {
            number += 1;
            let mut frame = frame.clone();
            anew(&mut frame, "", number);
            let line = frame.to_string();
            said += line.len();
            run.give(Input::Stdout(line.as_bytes()));
            run.give(Input::Stderr(line.as_bytes()));
            let done = run
                .out
                .iter()
                .any(|output| matches!(output, Output::Done(_)));
            assert!(!done, "{provider} ended after {number} frames: {line}");
            run.out.clear();
        }
    }
    Some((in_use().saturating_sub(before), said))
}

#[test]
fn what_is_kept_does_not_grow_with_what_is_said() {
    for provider in ids().into_iter().filter(|id| !WHOLE.contains(id)) {
        let Some((kept, said)) = flood(provider) else {
            continue;
        };
        assert!(kept < KEPT, "{provider} keeps {kept} bytes of {said}");
    }
}
