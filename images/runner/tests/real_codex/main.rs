//! The adapter against the real Codex: no account, no network but a scripted model's.

#[path = "../lab/mod.rs"]
mod lab;

use std::time::Duration;

use anyhow::Result;
use lab::{Cli, lab, word};
use protocol::{EventBody, FailureClass, Outcome, ToolStatus};
use runner::adapter::{HostCommand, ResumeOutcome};

/// The provider is given as a Runtime would give it: by arguments, with its key in a variable.
const CODEX: Cli = Cli {
    id: "codex",
    args: &[
        "-c",
        "model=\"scripted\"",
        "-c",
        "model_provider=\"scripted\"",
        "-c",
        "model_providers.scripted={name=\"scripted\",base_url=\"http://127.0.0.1:8080/v1\",env_key=\"SCRIPTED_KEY\",wire_api=\"responses\",request_max_retries=1,stream_max_retries=1}",
    ],
    env: &[("SCRIPTED_KEY", "any")],
    files: &[],
    uses: None,
};

#[test]
fn it_answers() -> Result<()> {
    let lab = lab!(CODEX);
    let told = lab.say("[scenario:text] hi", None)?;
    assert_eq!(told.result.outcome, Outcome::Succeeded);
    assert_eq!(told.result.output, "Hello from the scripted model.");
    let session = told.session()?.to_owned();
    assert!(told.has(&EventBody::Status {
        status: "running".to_owned(),
        session_id: Some(session.clone())
    }));
    let usage = told.result.usage["scripted"];
    // This API counts what goes into the cache with the rest.
    assert_eq!(
        (usage.input, usage.output, usage.cache_read),
        (1240, 12, 300)
    );
    assert!(
        told.took < Duration::from_secs(30),
        "it leaves by itself: {:?}",
        told.took
    );

    // Where the adapter says that the conversation lies, it lies.
    let files = lab.session_files(&session);
    assert_eq!(files.len(), 1);
    assert!(std::fs::metadata(&files[0])?.len() > 0);
    Ok(())
}

#[test]
fn it_thinks_before_it_answers() -> Result<()> {
    let lab = lab!(CODEX);
    let told = lab.say("[scenario:thinking] hi", None)?;
    assert_eq!(told.result.output, "Thought, then said.");
    assert!(told.has(&EventBody::Thinking {
        content: "One thought.".to_owned()
    }));
    Ok(())
}

/// Without a question: the pod is the sandbox.
#[test]
fn it_uses_a_tool() -> Result<()> {
    let lab = lab!(CODEX);
    let told = lab.say("[scenario:shell] go", None)?;
    assert_eq!(told.result.outcome, Outcome::Succeeded);
    let tools = told.tools();
    assert!(
        matches!(tools[..], [(output, Some(ToolStatus::Completed))] if output.starts_with("scripted-42\n")),
        "{tools:?}"
    );
    Ok(())
}

#[test]
fn a_second_process_goes_on_with_the_conversation() -> Result<()> {
    let lab = lab!(CODEX);
    let word = word()?;
    let first = lab.say(&format!("[scenario:text] Remember the word {word}."), None)?;
    let session = first.session()?;
    let second = lab.say("[scenario:recall] Which word was it?", Some(session))?;
    assert_eq!(second.result.output, format!("The word was {word}."));
    assert_eq!(second.session()?, session);
    assert!(
        matches!(second.result.resume, ResumeOutcome::Continued(_)),
        "{:?}",
        second.result.resume
    );
    // The program first tells the tokens of the turn before once more; these are the turn's.
    assert_eq!(second.result.usage["scripted"].input, 100);

    let fresh = lab.say("[scenario:recall] Which word was it?", None)?;
    assert_eq!(fresh.result.output, "I do not know of any word.");
    Ok(())
}

#[test]
fn an_unknown_session_is_rejected_with_evidence() -> Result<()> {
    let lab = lab!(CODEX);
    let unknown = "11111111-2222-4333-8444-555555555555";
    let told = lab.say("[scenario:text] hi", Some(unknown))?;
    assert_eq!(told.class(), Some(FailureClass::SessionRejected));
    assert!(
        matches!(&told.result.resume, ResumeOutcome::Rejected(words) if words.contains(unknown))
    );
    assert_eq!(
        (&told.result.session, &told.result.retired[..]),
        (&None, &[unknown.to_owned()][..])
    );
    assert!(!lab.session_files(unknown).iter().any(|file| file.exists()));
    Ok(())
}

#[test]
fn it_can_be_interrupted_in_a_tool_and_resumed() -> Result<()> {
    let lab = lab!(CODEX);
    let told = lab.run("[scenario:long-command] go", None, |event| {
        matches!(event, EventBody::ToolUse { .. }).then_some(HostCommand::Interrupt)
    })?;
    assert_eq!(told.class(), Some(FailureClass::Cancelled));
    assert!(
        told.took < Duration::from_secs(40),
        "the command alone takes 50 s: {:?}",
        told.took
    );
    assert!(
        matches!(told.tools()[..], [(_, Some(ToolStatus::Failed))]),
        "{:?}",
        told.tools()
    );
    let session = told.session()?;
    let next = lab.say("[scenario:text] hi", Some(session))?;
    assert_eq!(next.result.outcome, Outcome::Succeeded);
    assert_eq!(next.session()?, session);
    Ok(())
}

#[test]
fn it_can_be_interrupted_while_it_answers() -> Result<()> {
    let lab = lab!(CODEX);
    let told = lab.run("[scenario:slow-text] go", None, |event| {
        matches!(event, EventBody::Text { .. }).then_some(HostCommand::Interrupt)
    })?;
    assert_eq!(told.class(), Some(FailureClass::Cancelled));
    assert!(
        told.took < Duration::from_secs(15),
        "the answer alone takes 19 s: {:?}",
        told.took
    );
    Ok(())
}

#[test]
fn failures_of_the_provider_have_their_class() -> Result<()> {
    let lab = lab!(CODEX);
    for (scenario, class) in [
        ("http-401", FailureClass::ProviderAuth),
        ("http-529", FailureClass::ProviderOverloaded),
        ("http-404", FailureClass::ModelNotFound),
        ("http-429", FailureClass::ProviderOverloaded),
        ("http-500", FailureClass::ProviderServerError),
    ] {
        let told = lab.say(&format!("[scenario:{scenario}] hi"), None)?;
        assert_eq!(told.class(), Some(class), "{scenario}: {:?}", told.result);
        assert_eq!(told.result.output, "", "{scenario}");
        assert!(
            told.events
                .iter()
                .any(|event| matches!(event, EventBody::Error { .. })),
            "{scenario} is told"
        );
    }
    Ok(())
}
