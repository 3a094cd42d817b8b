//! The ACP client against real programs: no account, no network but a scripted model's.

#[path = "../lab/mod.rs"]
mod lab;

use std::time::Duration;

use anyhow::Result;
use lab::{Cli, lab, word};
use protocol::{EventBody, FailureClass, Outcome, ToolStatus};
use runner::adapter::{HostCommand, ResumeOutcome};

const CLAUDE_AGENT: Cli = Cli {
    id: "claude-agent-acp",
    args: &[],
    env: &[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"),
        ("ANTHROPIC_API_KEY", "any"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ],
    files: &[],
    uses: Some(("CLAUDE_CODE_EXECUTABLE", "claude")),
};

const CODEX: Cli = Cli {
    id: "codex-acp",
    args: &[],
    env: &[
        (
            "CODEX_CONFIG",
            r#"{"model":"scripted","model_provider":"scripted","model_providers":{"scripted":{"name":"scripted","base_url":"http://127.0.0.1:8080/v1","env_key":"SCRIPTED_KEY","wire_api":"responses","request_max_retries":1,"stream_max_retries":1}}}"#,
        ),
        ("MODEL_PROVIDER", "scripted"),
        ("SCRIPTED_KEY", "any"),
    ],
    files: &[],
    uses: Some(("CODEX_PATH", "codex")),
};

const BOTH: [Cli; 2] = [CLAUDE_AGENT, CODEX];

#[test]
fn they_answer() -> Result<()> {
    for (cli, input) in BOTH.into_iter().zip([1200, 1240]) {
        let lab = lab!(cli);
        let told = lab.say("[scenario:text] hi", None)?;
        assert_eq!(told.result.outcome, Outcome::Succeeded, "{}", cli.id);
        assert_eq!(told.result.output, "Hello from the scripted model.");
        let session = told.session()?.to_owned();
        assert!(told.has(&EventBody::Status {
            status: "running".to_owned(),
            session_id: Some(session.clone())
        }));
        let usage: Vec<_> = told.result.usage.values().collect();
        assert_eq!(usage.len(), 1, "{}", cli.id);
        assert_eq!(
            (usage[0].input, usage[0].output, usage[0].cache_read),
            (input, 12, 300),
            "{}",
            cli.id
        );

        // Where the adapter says that the conversation lies, it lies.
        let files = lab.session_files(&session);
        assert_eq!(files.len(), 1);
        assert!(std::fs::metadata(&files[0])?.len() > 0, "{}", cli.id);
    }
    Ok(())
}

#[test]
fn they_think_before_they_answer() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let told = lab.say("[scenario:thinking] hi", None)?;
        assert_eq!(told.result.output, "Thought, then said.");
        let thought: String = told
            .events
            .iter()
            .filter_map(|event| {
                if let EventBody::Thinking { content } = event {
                    Some(content.as_str())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(thought.trim(), "One thought.", "{}", cli.id);
    }
    Ok(())
}

/// In the mode in which nothing is asked.
#[test]
fn they_use_a_tool() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let told = lab.say("[scenario:shell] go", None)?;
        assert_eq!(told.result.outcome, Outcome::Succeeded, "{}", cli.id);
        let tools = told.tools();
        assert!(
            matches!(tools[..], [(output, Some(ToolStatus::Completed))] if output.starts_with("scripted-42\n")),
            "{} {tools:?}",
            cli.id
        );
        let refused = |event: &EventBody| matches!(event, EventBody::Log { content, .. } if content.contains("could not set"));
        assert!(
            !told.events.iter().any(refused),
            "{} {:?}",
            cli.id,
            told.events
        );
    }
    Ok(())
}

#[test]
fn a_second_process_goes_on_with_the_conversation() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let word = word()?;
        let first = lab.say(&format!("[scenario:text] Remember the word {word}."), None)?;
        let session = first.session()?;
        let second = lab.say("[scenario:recall] Which word was it?", Some(session))?;
        assert_eq!(
            second.result.output,
            format!("The word was {word}."),
            "{}",
            cli.id
        );
        assert_eq!(second.session()?, session);
        assert!(
            matches!(second.result.resume, ResumeOutcome::Continued(_)),
            "{:?}",
            second.result.resume
        );
        let usage: Vec<_> = second
            .result
            .usage
            .values()
            .map(|usage| usage.input)
            .collect();
        assert_eq!(usage, [100], "{}: the turn's own", cli.id);
    }
    Ok(())
}

#[test]
fn an_unknown_session_is_rejected_with_evidence() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let unknown = "11111111-2222-4333-8444-555555555555";
        let told = lab.say("[scenario:text] hi", Some(unknown))?;
        assert_eq!(
            told.class(),
            Some(FailureClass::SessionRejected),
            "{}",
            cli.id
        );
        assert!(matches!(&told.result.resume, ResumeOutcome::Rejected(_)));
        assert_eq!(
            (&told.result.session, &told.result.retired[..]),
            (&None, &[unknown.to_owned()][..])
        );
    }
    Ok(())
}

#[test]
fn they_can_be_interrupted_in_a_tool_and_resumed() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let told = lab.run("[scenario:long-command] go", None, |event| {
            matches!(event, EventBody::ToolUse { .. }).then_some(HostCommand::Interrupt)
        })?;
        assert_eq!(told.class(), Some(FailureClass::Cancelled), "{}", cli.id);
        assert!(
            told.took < Duration::from_secs(40),
            "the command alone takes 50 s: {:?}",
            told.took
        );
        assert!(
            matches!(told.tools()[..], [(_, Some(ToolStatus::Failed))]),
            "{} {:?}",
            cli.id,
            told.tools()
        );
        let session = told.session()?;
        let next = lab.say("[scenario:text] hi", Some(session))?;
        assert_eq!(next.result.outcome, Outcome::Succeeded, "{}", cli.id);
        assert_eq!(next.session()?, session);
    }
    Ok(())
}

#[test]
fn they_can_be_interrupted_while_they_answer() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        let told = lab.run("[scenario:slow-text] go", None, |event| {
            matches!(event, EventBody::Text { .. }).then_some(HostCommand::Interrupt)
        })?;
        assert_eq!(told.class(), Some(FailureClass::Cancelled), "{}", cli.id);
        assert!(
            told.took < Duration::from_secs(15),
            "the answer alone takes 19 s: {:?}",
            told.took
        );
    }
    Ok(())
}

#[test]
fn failures_of_the_provider_have_their_class() -> Result<()> {
    for cli in BOTH {
        let lab = lab!(cli);
        for (scenario, class) in [
            ("http-401", FailureClass::ProviderAuth),
            ("http-529", FailureClass::ProviderOverloaded),
            ("http-404", FailureClass::ModelNotFound),
            ("http-429", FailureClass::ProviderOverloaded),
            ("http-500", FailureClass::ProviderServerError),
        ] {
            let told = lab.say(&format!("[scenario:{scenario}] hi"), None)?;
            assert_eq!(
                told.class(),
                Some(class),
                "{} {scenario}: {:?} {:#?}",
                cli.id,
                told.result,
                told.events
            );
            assert_eq!(told.result.output, "", "{} {scenario}", cli.id);
        }
    }
    Ok(())
}
