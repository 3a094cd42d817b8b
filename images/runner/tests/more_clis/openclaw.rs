//! `OpenClaw`. It tells of no tool, names no conversation of its own and takes its time, so it is asked for less.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use protocol::{FailureClass, Outcome};
use runner::adapter::{Launch, ResumeOutcome};

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

fn git(folder: &Path, words: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let output = git.args(words).current_dir(folder).output()?;
    ensure!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn goes_on(lab: &Lab) -> Result<()> {
    let word = word()?;
    let mut work = PathBuf::new();
    let beside_a_checkout = |launch: &mut Launch| {
        work.clone_from(&launch.cwd);
        let made = git(&launch.cwd, &["init", "--quiet", "checkout"]);
        assert_eq!(made.expect("git runs"), "");
    };
    let message = format!("[scenario:text] Remember the word {word}.");
    let first = lab.run_with(beside_a_checkout, &message, None, |_| None)?;
    assert_eq!(first.result.output, "Hello from the scripted model.");
    // What it writes of itself is in no checkout.
    assert!(work.join("SOUL.md").is_file());
    let checkout = work.join("checkout");
    assert_eq!(git(&checkout, &["status", "--porcelain"])?, "");
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
        // It tells nothing of its tools: what this one read in the working directory is in the model's next request.
        let word = word()?;
        let text = format!("Remember the word {word}.");
        let in_its_place = |launch: &mut Launch| {
            let file = launch.cwd.join("word.txt");
            assert!(std::fs::write(&file, &text).is_ok(), "{}", file.display());
        };
        let told = lab.run_with(in_its_place, "[scenario:where] go", None, |_| None)?;
        assert_eq!(told.result.outcome, Outcome::Succeeded);
        assert_eq!(told.result.output, format!("The word was {word}."));
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
