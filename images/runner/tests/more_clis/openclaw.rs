//! `OpenClaw`. It tells of no tool, names no conversation of its own and takes its time, so it is asked for less.

use anyhow::Result;
use protocol::{FailureClass, Outcome};
use runner::adapter::ResumeOutcome;

use crate::lab::{Cli, Lab, with_lab, word};
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file.
const OPENCLAW: Cli = Cli {
    id: "openclaw",
    args: &[],
    env: &[],
    files: &[(
        ".openclaw/openclaw.json",
        r#"{"models":{"mode":"merge","providers":{"scripted":{"baseUrl":"http://127.0.0.1:8080","apiKey":"any-key-of-some-length","api":"anthropic-messages","models":[{"id":"scripted-1","name":"Scripted","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":128000,"maxTokens":8192}]}}},"agents":{"defaults":{"model":{"primary":"scripted/scripted-1"}}},"memory":{"search":{"enabled":false}}}"#,
    )],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1200, 12, 300)),
    has_files: false,
    in_pieces: false,
    acp: false,
};

/// A model of which its settings say that it thinks.
const THINKS: Cli = Cli {
    files: &[(
        ".openclaw/openclaw.json",
        r#"{"models":{"mode":"merge","providers":{"scripted":{"baseUrl":"http://127.0.0.1:8080","apiKey":"any-key-of-some-length","api":"anthropic-messages","models":[{"id":"scripted-1","name":"Scripted","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":128000,"maxTokens":8192}]}}},"agents":{"defaults":{"model":{"primary":"scripted/scripted-1"}}},"memory":{"search":{"enabled":false}}}"#,
    )],
    ..OPENCLAW
};

scenarios!(THINKS: the_model_is_told_how_much_to_think);

#[test]
fn a_second_process_goes_on_with_the_conversation() -> Result<()> {
    with_lab(OPENCLAW, goes_on)
}

fn goes_on(lab: &Lab) -> Result<()> {
    let word = word()?;
    let first = lab.say(&format!("[scenario:text] Remember the word {word}."), None)?;
    assert_eq!(first.result.output, "Hello from the scripted model.");
    let usage = first.result.usage["scripted-1"];
    assert_eq!(
        (usage.input, usage.output, usage.cache_read),
        (1200, 12, 300)
    );
    let session = first.session()?;
    let second = lab.say("[scenario:recall] Which word was it?", Some(session))?;
    assert_eq!(second.result.output, format!("The word was {word}."));
    assert_eq!(second.session()?, session);
    // It would have made one of that name.
    assert!(matches!(second.result.resume, ResumeOutcome::Unknown(_)));
    Ok(())
}

#[test]
fn it_uses_a_tool() -> Result<()> {
    with_lab(OPENCLAW, |lab| {
        let told = lab.say("[scenario:shell] go", None)?;
        assert_eq!(told.result.outcome, Outcome::Succeeded);
        assert_eq!(told.result.output, "The command printed scripted-42.");
        Ok(())
    })
}

#[test]
fn a_failure_of_the_provider_has_its_class() -> Result<()> {
    with_lab(OPENCLAW, |lab| {
        let told = lab.say("[scenario:http-401] hi", None)?;
        assert_eq!(
            told.class(),
            Some(FailureClass::ProviderAuth),
            "{:?}",
            told.result
        );
        assert_eq!(told.result.output, "");
        Ok(())
    })
}
through_the_runner!(OPENCLAW:
    its_context_file_reaches_the_model
    new_instructions_reach_a_conversation_that_goes_on
    its_skills_reach_the_model
    flags_of_ours_are_left_out
    a_stop_in_its_answer_leaves_nothing_in_time
    a_stop_in_its_tool_leaves_nothing_in_time
    after_a_term_the_conversation_goes_on
    a_provider_that_hangs_is_noticed
    a_broken_stream_is_survived_or_told
    what_the_provider_refuses_has_its_class
    a_spent_quota_has_its_class
);
