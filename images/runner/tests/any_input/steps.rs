//! A run: how it begins, and what happens then.

use proptest::prelude::*;
use runner::adapter::{HostCommand, Input, Output, SideId, TimerId};

use crate::corpus::{self, Lines};
use crate::replay::{Case, Run, side_of};
use crate::spoil::{instead, spoil};

/// Numbers of timers; no adapter has as many.
const TIMERS: u8 = 10;
/// Ids that are asked to go on with: one of the recordings' form, and some that no program gave.
const ASKED: &[Option<&str>] = &[
    None,
    None,
    Some("00000000-0000-4000-8000-000000000005"),
    Some("s"),
    Some("../../etc/passwd"),
];

/// Answers of a program that runs beside one.
const ANSWERS: &[&str] = &[
    "",
    "HTTP 404",
    r#"{"data":[]}"#,
    r#"{"data":[{"id":"msg_2","type":"idle","outcome":"succeeded"},{"id":"msg_1","type":"assistant","finish":"stop","time":{"completed":2},"content":[{"type":"text","text":"All is well."}]}]}"#,
    r#"{"data":[{"type":"idle","outcome":"succeeded"},{"id":7,"type":"assistant","content":{"type":"text"}}]}"#,
];

/// Remarks have ids that begin so.
pub(crate) const REMARK: &str = "remark-";

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A line in which an answer has the number of the call that it belongs to.
    Line(String),
    /// A line as it is.
    Bytes(Vec<u8>),
    Stderr(Vec<u8>),
    TooLong(u64),
    Timer(u8),
    Interrupt,
    Steer(u32),
    /// On the newest question, or on one that nobody asked.
    Decide(bool),
    /// The newest program that it asked for, or one that it did not, ends: well, with some answer, or badly.
    Ran(Option<Vec<u8>>),
    InterruptTools,
}

impl Step {
    pub(crate) fn give(&self, run: &mut Run) {
        match self {
            Self::Line(line) => run.line(line),
            Self::Bytes(line) => run.give(Input::Stdout(line)),
            Self::Stderr(line) => run.give(Input::Stderr(line)),
            Self::TooLong(bytes) => run.give(Input::StdoutTooLong(*bytes)),
            Self::Timer(id) => run.give(Input::Timer(TimerId(*id))),
            Self::Interrupt => run.give(Input::Host(HostCommand::Interrupt)),
            Self::Steer(number) => {
                let id = format!("{REMARK}{number}");
                run.give(Input::Host(HostCommand::Steer {
                    id: &id,
                    text: "Only Safari.\nPlease.",
                }));
            }
            Self::Decide(allow) => {
                let asked = run.out.iter().rev().find_map(|output| {
                    if let Output::Ask { id, .. } = output {
                        Some(id.clone())
                    } else {
                        None
                    }
                });
                run.give(Input::Host(HostCommand::Decide {
                    id: &asked.unwrap_or_else(|| "unasked".to_owned()),
                    allow: *allow,
                    why: (!allow).then_some("no"),
                }));
            }
            Self::Ran(answer) => {
                let id = run.out.iter().rev().find_map(side_of);
                run.give(Input::Ran {
                    id: id.unwrap_or(SideId(0)),
                    stdout: answer.as_deref(),
                });
            }
            Self::InterruptTools => {
                run.give(Input::Host(HostCommand::InterruptBackgroundTools));
            }
        }
    }
}

/// A beginning as it was recorded, and what comes after it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    case: Case,
    begin: usize,
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    pub(crate) fn of(case: Case, begin: usize) -> Self {
        Self {
            case,
            begin,
            steps: Vec::new(),
        }
    }

    pub(crate) fn begin(&self) -> Run {
        let mut run = Run::of(&self.case);
        for line in self.case.stdout().iter().take(self.begin) {
            run.line(line);
        }
        run
    }
}

fn line(lines: Lines) -> impl Strategy<Value = String> {
    let Lines { own, alien } = lines;
    prop_oneof![6 => prop::sample::select(own), 1 => prop::sample::select(alien)]
}

fn step(lines: Lines) -> impl Strategy<Value = Step> {
    let as_it_is = line(lines.clone()).prop_map(Step::Line);
    let spoilt = (line(lines.clone()), any::<prop::sample::Index>(), instead())
        .prop_map(|(line, at, instead)| Step::Line(spoil(&line, at, &instead)));
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    let changed = (line(lines.clone()), changes).prop_map(|(line, changes)| {
        let mut bytes = line.into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        Step::Bytes(bytes)
    });
    let stderr = prop_oneof![
        line(lines).prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..100),
        Just(b"Error: Session not found".to_vec()),
        Just("❌ API call failed after 3 retries. Error: HTTP 429".into()),
    ];
    prop_oneof![
        6 => as_it_is,
        6 => spoilt,
        3 => changed,
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Step::Bytes),
        1 => Just(Step::Bytes(b"[".repeat(20_000))),
        1 => stderr.prop_map(Step::Stderr),
        1 => any::<u64>().prop_map(Step::TooLong),
        2 => prop_oneof![4 => 0..TIMERS, 1 => Just(TimerId::CLOSED.0)].prop_map(Step::Timer),
        1 => Just(Step::Interrupt),
        1 => any::<u32>().prop_map(Step::Steer),
        1 => any::<bool>().prop_map(Step::Decide),
        1 => prop::option::of(prop::sample::select(ANSWERS))
            .prop_map(|answer| Step::Ran(answer.map(|answer| answer.as_bytes().to_vec()))),
        1 => Just(Step::InterruptTools),
    ]
}

/// Runs of a provider.
pub(crate) fn plans(provider: &'static str, lines: Lines) -> impl Strategy<Value = Plan> {
    let begins = (
        prop::sample::select(corpus::recordings(provider)),
        0..12_usize,
        prop::sample::select(ASKED),
    );
    (begins, prop::collection::vec(step(lines), 0..40)).prop_map(
        |((case, begin, resume), steps)| Plan {
            case: Case { resume, ..case },
            begin,
            steps,
        },
    )
}
