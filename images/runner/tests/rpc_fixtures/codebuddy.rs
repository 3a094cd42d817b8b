//! The recordings of `CodeBuddy`, which tells of its failures as if the agent had said them.

use protocol::{EventBody, FailureClass as C};

use runner::adapter::{HostCommand, Input, Output};

use crate::of;
use crate::replay::{Case, Run, result};

const OF: &str = "codebuddy";
const FIRST: &str = "00000000-0000-4000-8000-000000000001";

const fn ok(name: &'static str) -> Case {
    of(OF, OF, name)
}

const fn failed(name: &'static str, class: C) -> Case {
    Case {
        class: Some(class),
        ..ok(name)
    }
}

/// The test ended it.
const fn ended(name: &'static str, class: C) -> Case {
    Case {
        exit: -9,
        ..failed(name, class)
    }
}

const fn interrupted(name: &'static str) -> Case {
    Case {
        interrupt: Some("control_response"),
        ..failed(name, C::Cancelled)
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let asked = |case: Case, session| Case {
        resume: Some(session),
        ..case
    };
    let unknown = "11111111-2222-4333-8444-555555555555";
    vec![
        failed("bad-stdin", C::CliCrashed),
        ended("drop-before", C::ProviderNetwork),
        ended("drop-mid", C::ProviderNetwork),
        failed("http-401", C::ProviderAuth),
        failed("http-404", C::ModelNotFound),
        failed("http-429", C::ProviderOverloaded),
        failed("http-500", C::ProviderServerError),
        failed("http-529-once", C::ProviderOverloaded),
        failed("http-quota", C::ProviderQuota),
        ended("initialize-hooks", C::CliCrashed),
        interrupted("interrupt-stream"),
        interrupted("interrupt-tool"),
        failed("max-turns", C::IterationLimit),
        failed("no-key", C::ProviderAuth),
        failed("overflow", C::ContextOverflow),
        asked(ok("resume-other-cwd"), FIRST),
        asked(ok("resume-same-cwd"), FIRST),
        asked(failed("resume-unknown", C::SessionRejected), unknown),
        ok("shell"),
        ok("shell-fails"),
        ok("text"),
        ok("thinking"),
        ok("two-shells"),
        ok("write-read"),
    ]
}

/// Its result tells the tokens of the whole conversation once it goes on with one.
#[test]
fn usage_is_that_of_the_run() {
    for (name, wanted) in [
        ("text", (1240, 12, 300)),
        ("shell", (1100, 40, 0)),
        ("resume-same-cwd", (1240, 12, 300)),
        ("resume-other-cwd", (1240, 12, 300)),
    ] {
        let case = cases().into_iter().find(|case| case.name == name);
        let out = case.expect("the case is in the table").replay();
        let usage = result(&out).usage["scripted-1"];
        assert_eq!(
            (usage.input, usage.output, usage.cache_read),
            wanted,
            "{name}"
        );
    }
}

#[test]
fn a_failure_is_no_text_of_the_agent() {
    for case in cases().iter().filter(|case| case.class.is_some()) {
        let told = case.replay();
        let said = told.iter().filter_map(|out| {
            let Output::Event(EventBody::Text { content }) = out else {
                return None;
            };
            Some(content.as_str())
        });
        let said: Vec<_> = said
            .filter(|said| !said.starts_with("This answer") && *said != "I will run a command.")
            .collect();
        assert_eq!(said, [""; 0], "{}", case.name);
    }
}

/// A conversation that goes on has an answer already, and that is what the result of an interrupted turn holds.
#[test]
fn the_answer_of_an_earlier_turn_is_none_of_an_interrupted_one() {
    let case = interrupted("interrupt-tool");
    let mut run = Run::of(&case);
    for line in case.stdout() {
        if line.contains("control_response") {
            run.give(Input::Host(HostCommand::Interrupt));
        }
        run.line(&line.replace("\"result\": \"\"", "\"result\": \"An earlier answer.\""));
    }
    let out = run.end(case.exit());
    assert_eq!(result(&out).outcome.class(), Some(C::Cancelled));
    assert_eq!(result(&out).output, "");
}
