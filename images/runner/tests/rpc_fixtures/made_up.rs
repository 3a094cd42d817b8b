//! Runs whose frames are made up for a test.

use std::time::Duration;

use runner::adapter::{Exit, HostCommand, Input, Output, TimerId};

use crate::of;
use crate::replay::{Case, Run};

/// A run of this provider after these lines.
pub(crate) fn run(provider: &'static str, resume: Option<&'static str>, lines: &[&str]) -> Run {
    let case = Case {
        resume,
        ..of(provider, "none", "none")
    };
    let mut run = Run::of(&case);
    for line in lines {
        run.give(Input::Stdout(line.as_bytes()));
    }
    run
}

/// The timers that were set, with their times.
pub(crate) fn timers(run: &Run) -> Vec<(TimerId, Duration)> {
    let timer = |output: &Output| {
        if let Output::SetTimer { id, after } = output {
            Some((*id, *after))
        } else {
            None
        }
    };
    run.out.iter().filter_map(timer).collect()
}

/// The one that was set last.
pub(crate) fn timer(run: &Run) -> (TimerId, Duration) {
    *timers(run).last().expect("a timer was set")
}

/// What it has asked for once its process has ended well.
pub(crate) fn ended(run: Run) -> Vec<Output> {
    run.end(Exit {
        code: Some(0),
        signal: None,
    })
}

/// How many of the lines that it wrote hold these words.
pub(crate) fn written(run: &Run, words: &str) -> usize {
    let is_it = |output: &&Output| matches!(output, Output::Write(line) if String::from_utf8_lossy(line).contains(words));
    run.out.iter().filter(is_it).count()
}

/// What became of remarks, in the order in which it was said.
pub(crate) fn steered(run: &Run) -> Vec<(String, bool)> {
    let told = |output: &Output| {
        let Output::Steered { id, taken } = output else {
            return None;
        };
        Some((id.clone(), taken.is_ok()))
    };
    run.out.iter().filter_map(told).collect()
}

/// Hands a remark over.
pub(crate) fn steer(run: &mut Run, id: &str) {
    let text = format!("words of {id}");
    run.give(Input::Host(HostCommand::Steer { id, text: &text }));
}

/// The id of the call whose line holds these words.
pub(crate) fn id_of(run: &Run, words: &str) -> serde_json::Value {
    let line = run.out.iter().rev().find_map(|output| {
        let Output::Write(line) = output else {
            return None;
        };
        String::from_utf8_lossy(line)
            .contains(words)
            .then_some(line)
    });
    let frame: serde_json::Value =
        serde_json::from_slice(line.expect("it was written")).expect("JSON");
    frame["id"].clone()
}
