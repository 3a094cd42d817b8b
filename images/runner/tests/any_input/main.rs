//! Whatever a program writes and however it ends, for every provider that there is: no panic, one result and nothing
//! after it, tools paired, every line to it whole, every value within its bounds. New providers are taken in by
//! themselves, with their recordings where they have some.

mod chunks;
mod conformance;
mod corpus;
mod held;
#[expect(
    dead_code,
    reason = "the tests of recordings use the rest of what they share"
)]
#[path = "../replay/mod.rs"]
mod replay;
mod spoil;
mod steps;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use protocol::{Outcome, limits, providers::ids};
use runner::adapter::{Exit, Output};

use replay::{Run, result};
use steps::{Plan, Step};

/// Runs of each provider. All of them together stay within seconds.
const RUNS: u32 = 40;

/// An end of a process: a code, or a signal.
fn exit() -> impl Strategy<Value = Exit> {
    let code = prop_oneof![Just(0), Just(1), any::<i32>()].prop_map(|code| Exit {
        code: Some(code),
        signal: None,
    });
    let signal = prop_oneof![Just(9), Just(15), any::<i32>()].prop_map(|signal| Exit {
        code: None,
        signal: Some(signal),
    });
    prop_oneof![code, signal]
}

/// What holds for any run once its process has ended; that there is one result, and tools are paired, is held by
/// [`Run::end`].
fn check(out: &[Output]) {
    let result = result(out);
    if let Outcome::Failed { message, .. } = &result.outcome {
        assert!(message.len() <= limits::MESSAGE_BYTES, "{message}");
        assert_eq!(result.output, "", "a failure has no answer");
    }
    for id in &result.retired {
        assert_ne!(Some(id), result.session.as_ref(), "kept and retired");
    }
    check_answers(out);
    for output in out {
        if let Output::Write(line) = output {
            let inner = &line[..line.len() - 1];
            assert!(!inner.contains(&b'\n'), "one line at a time");
            assert!(serde_json::from_slice::<serde_json::Value>(inner).is_ok());
        }
    }
}

/// What was handed over is answered once at most, and only what was asked is withdrawn.
fn check_answers(out: &[Output]) {
    let (mut steered, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for output in out {
        if let Output::Steered { id, .. } = output {
            assert!(id.starts_with(steps::REMARK), "{id} was not handed over");
            assert!(steered.insert(id), "{id} is answered twice");
        } else if let Output::Ask { id, .. } = output {
            assert!(asked.insert(id), "{id} is asked twice");
        } else if let Output::Withdrawn { id } = output {
            assert!(asked.contains(id), "{id} was never asked");
        }
    }
}

/// The runs of one provider, in any order of anything: the same ones each time, so that a failure is seen again, unless
/// `PROPTEST_RNG_SEED` asks for others.
fn runs_of(provider: &'static str) {
    let mut config = ProptestConfig {
        cases: RUNS,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(1);
    }
    let mut runner = TestRunner::new(config);
    let lines = corpus::lines(provider);
    let inputs = (steps::plans(provider, lines), exit());
    let ended = runner.run(&inputs, |(plan, exit)| {
        let mut run = plan.begin();
        for step in &plan.steps {
            step.give(&mut run);
        }
        check(&run.end(exit));
        Ok(())
    });
    assert!(
        ended.is_ok(),
        "{provider}: {}",
        ended
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    );
}

#[test]
fn there_is_exactly_one_result_for_every_provider() {
    // Two at a time: each is a loop of its own.
    let (some, others): (Vec<_>, Vec<_>) = ids()
        .into_iter()
        .enumerate()
        .partition(|(at, _)| at % 2 == 0);
    std::thread::scope(|scope| {
        for half in [some, others] {
            scope.spawn(|| half.into_iter().for_each(|(_, provider)| runs_of(provider)));
        }
    });
}

/// Nothing at all is an end too, at any moment and in every way.
#[test]
fn a_process_may_end_at_any_moment() {
    for provider in ids() {
        for recording in corpus::recordings(provider) {
            let lines = recording.stdout();
            let step = (lines.len() / 12).max(1);
            for cut in (0..=lines.len()).step_by(step) {
                for (code, signal) in [(Some(0), None), (Some(1), None), (None, Some(9))] {
                    let mut run = Run::of(&recording);
                    for line in &lines[..cut] {
                        run.line(line);
                    }
                    check(&run.end(Exit { code, signal }));
                }
            }
        }
    }
}

/// The tests above could pass for want of anything to do.
#[test]
fn every_provider_comes_to_its_turn() {
    for provider in ids() {
        let began = corpus::recordings(provider).iter().any(|recording| {
            let plan = Plan::of(*recording, usize::MAX);
            let mut run = plan.begin();
            for step in [Step::Timer(1), Step::Timer(3)] {
                step.give(&mut run);
            }
            let out = run.end(recording.exit());
            let said = |output: &Output| {
                matches!(
                    output,
                    Output::Event(
                        protocol::EventBody::Text { .. } | protocol::EventBody::ToolUse { .. }
                    )
                )
            };
            out.iter().any(said)
        });
        assert!(began, "{provider}: no recording comes to a word or a tool");
    }
}
