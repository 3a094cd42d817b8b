//! What comes of a run of a real program when its provider fails, in the hands of the whole runner.

use anyhow::{Result, ensure};
use protocol::{EventBody, FailureClass, Outcome};

use crate::api::said;
use crate::lab::{Cli, Lab};
use crate::whole::{pod, run, task};

/// How long a program may be silent here: longer than it takes to its first request on a busy machine.
fn quiet(cli: Cli) -> u32 {
    match cli.id {
        "openclaw" | "hermes" | "qwenpaw" => 60,
        _ => 20,
    }
}

/// The model stops in the middle of its answer and never goes on.
pub(crate) fn a_provider_that_hangs_is_noticed(lab: &Lab) -> Result<()> {
    let mut package = task(lab, "[scenario:hang] go");
    package.timeouts.idle_seconds = quiet(lab.cli);
    let (told, ended) = run(&pod(lab)?, package)?;
    assert!(lab.asked("hang")?);
    let class = told.results[0].outcome.class();
    assert_eq!(
        class,
        Some(FailureClass::IdleTimeout),
        "{:?}\n{}",
        told.results,
        ended.log
    );
    assert!(lab.at_work()?.is_empty(), "{:?}", lab.at_work()?);
    Ok(())
}

/// The connection breaks in the middle of an answer: it is asked for again, or the run fails for it. Half an answer is none.
pub(crate) fn a_broken_stream_is_survived_or_told(lab: &Lab) -> Result<()> {
    let (told, ended) = run(&pod(lab)?, task(lab, "[scenario:broken-stream] go"))?;
    let result = &told.results[0];
    let whole = "This answer comes whole when it is asked for again.";
    let survived = result.outcome == Outcome::Succeeded && result.output.ends_with(whole);
    assert!(
        survived || result.outcome.class() == Some(FailureClass::ProviderNetwork),
        "{result:?}\n{}\n{}",
        said(&told.events),
        ended.log
    );
    Ok(())
}

pub(crate) fn what_the_provider_refuses_has_its_class(lab: &Lab) -> Result<()> {
    refused(lab, "http-401", FailureClass::ProviderAuth)?;
    refused(lab, "http-404", FailureClass::ModelNotFound)?;
    refused(lab, "overflow", FailureClass::ContextOverflow)
}

pub(crate) fn a_spent_quota_has_its_class(lab: &Lab) -> Result<()> {
    refused(lab, "http-quota", FailureClass::ProviderQuota)
}

/// What may be over in a moment, and is not.
pub(crate) fn a_provider_that_cannot_now_has_its_class(lab: &Lab) -> Result<()> {
    refused(lab, "http-429", FailureClass::ProviderOverloaded)?;
    refused(lab, "http-500", FailureClass::ProviderServerError)?;
    refused(lab, "http-529", FailureClass::ProviderOverloaded)
}

fn refused(lab: &Lab, scenario: &str, class: FailureClass) -> Result<()> {
    let package = task(lab, &format!("[scenario:{scenario}] hi"));
    let (told, ended) = run(&pod(lab)?, package)?;
    let result = &told.results[0];
    assert_eq!(
        result.outcome.class(),
        Some(class),
        "{scenario}: {result:?}\n{}\n{}",
        said(&told.events),
        ended.log
    );
    assert_eq!(result.output, "", "{scenario}");
    // Behind ACP it is told by the result alone.
    let failure = |event: &protocol::Event| matches!(event.body, EventBody::Error { .. });
    ensure!(
        lab.cli.acp || told.events.iter().any(failure),
        "{scenario} is told: {}",
        said(&told.events)
    );
    Ok(())
}
