//! Whatever a program writes: no panic, one result, tools paired.

use proptest::prelude::*;
use runner::adapter::{Exit, HostCommand, Input, TimerId};

use crate::replay::{Run, broken};
use crate::{Case, folders};

/// Lines of one folder in any order, after a beginning that is as it should be.
fn runs() -> impl Strategy<Value = (Case, usize, Vec<Vec<u8>>)> {
    let folders: Vec<_> = folders().into_iter().map(|(_, cases)| cases).collect();
    prop::sample::select(folders).prop_flat_map(|cases| {
        let lines: Vec<_> = cases
            .iter()
            .flat_map(Case::stdout)
            .filter(|line| !line.is_empty())
            .collect();
        let lines = prop::collection::vec(broken(lines), 0..30);
        (prop::sample::select(cases), 0..8_usize, lines)
    })
}

proptest! {
    #[test]
    fn there_is_exactly_one_result((case, begin, lines) in runs(), interrupt_at in 0..60_usize, resume in any::<bool>()) {
        let case = Case {
            resume: resume.then_some("00000000-0000-4000-8000-000000000005"),
            ..case
        };
        let mut run = Run::of(&case);
        for line in case.stdout().iter().take(begin) {
            run.line(line);
        }
        for (at, line) in lines.iter().enumerate() {
            if at == interrupt_at {
                run.give(Input::Host(HostCommand::Interrupt));
            }
            match line.len() % 11 {
                0 => run.give(Input::Stderr(line)),
                1 => run.give(Input::Timer(TimerId(u8::try_from(at % 5).unwrap_or_default()))),
                _ => run.give(Input::Stdout(line)),
            }
        }
        run.end(Exit { code: Some(0), signal: None });
    }
}

/// A stream that is cut anywhere, at a border of a character or within one, is what its lines are.
#[test]
fn every_byte_may_be_the_last() {
    for (_, cases) in folders() {
        let text = cases
            .iter()
            .find(|case| case.name.ends_with("shell"))
            .expect("a case");
        let lines = text.stdout();
        for (at, line) in lines.iter().enumerate() {
            for cut in (0..line.len()).step_by(7) {
                let mut run = Run::of(text);
                for line in &lines[..at] {
                    run.line(line);
                }
                run.give(Input::Stdout(&line.as_bytes()[..cut]));
                run.end(text.exit());
            }
        }
    }
}
