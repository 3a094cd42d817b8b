//! What every real program has to do. Its file makes tests of them with [`scenarios!`].

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use protocol::{EventBody, FailureClass, Outcome, ToolStatus};
use runner::adapter::{HostCommand, ResumeOutcome};

use crate::lab::{Lab, word};
use crate::whole::heard;

/// One test for each scenario, of this program.
macro_rules! scenarios {
    ($cli:ident) => {
        $crate::scenarios::scenarios!($cli:
            it_answers
            it_uses_a_tool
            a_second_process_goes_on_with_the_conversation
            an_unknown_session_is_rejected_with_evidence
            it_can_be_interrupted_in_a_tool_and_resumed
            it_can_be_interrupted_while_it_answers
        );
    };
    ($cli:ident: $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() -> anyhow::Result<()> {
                $crate::lab::with_lab($cli, $crate::scenarios::$scenario)
            }
        )*
    };
}
pub(crate) use scenarios;

pub(crate) fn it_answers(lab: &Lab) -> Result<()> {
    const ANSWER: &str = "Hello from the scripted model.";
    let told = lab.say("[scenario:text] hi", None)?;
    assert_eq!(told.result.outcome, Outcome::Succeeded);
    assert_eq!(told.result.output, ANSWER);
    assert_eq!(told.text(), ANSWER);
    let session = told.session()?.to_owned();
    let named = |event: &EventBody| {
        let EventBody::Status { session_id, .. } = event else {
            return false;
        };
        // Some name it at the end only.
        session_id.as_ref() == Some(&session) || (session_id.is_none() && !lab.cli.has_files)
    };
    assert!(told.events.iter().any(named), "{:?}", told.events);
    let usage: Vec<_> = told.result.usage.iter().collect();
    match (&usage[..], lab.cli.tokens) {
        ([], None) => {}
        ([(model, usage)], Some(tokens)) => {
            let wanted = lab.cli.model;
            assert!(wanted.is_none_or(|wanted| wanted == *model), "{model}");
            assert_eq!((usage.input, usage.output, usage.cache_read), tokens);
        }
        _ => bail!("{usage:?}"),
    }
    assert!(
        told.took < Duration::from_secs(30),
        "it leaves by itself: {:?}",
        told.took
    );

    // Where the adapter says that the conversation lies, it lies.
    let files = lab.session_files(&session);
    assert_eq!(files.len(), usize::from(lab.cli.has_files));
    for file in files {
        assert!(std::fs::metadata(file)?.len() > 0);
    }
    Ok(())
}

/// Without a question: the pod is the sandbox. It works in the working directory.
pub(crate) fn it_uses_a_tool(lab: &Lab) -> Result<()> {
    let mut work = PathBuf::new();
    let told = lab.run_with(
        |launch| work.clone_from(&launch.cwd),
        "[scenario:shell] go",
        None,
        |_| None,
    )?;
    assert_eq!(told.result.outcome, Outcome::Succeeded);
    let tools = told.tools();
    let work = work.to_str().context("a path in words")?;
    assert!(
        matches!(tools[..], [(output, Some(ToolStatus::Completed))]
            if heard(lab.cli, output, "scripted-42\n", "scripted-%s") && heard(lab.cli, output, work, "pwd")),
        "{tools:?}"
    );
    let not_set = |event: &EventBody| matches!(event, EventBody::Log { content, .. } if content.contains("could not set"));
    assert!(!told.events.iter().any(not_set), "{:?}", told.events);
    Ok(())
}

pub(crate) fn a_second_process_goes_on_with_the_conversation(lab: &Lab) -> Result<()> {
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
    // Some also tell the tokens of the whole conversation, or those of the turn before once more; these are
    // the turn's.
    let usage = second.result.usage.values();
    let usage: Vec<_> = usage.map(|usage| usage.input).collect();
    assert_eq!(usage, vec![100; usize::from(lab.cli.tokens.is_some())]);

    let fresh = lab.say("[scenario:recall] Which word was it?", None)?;
    assert_eq!(fresh.result.output, "I do not know of any word.");
    Ok(())
}

pub(crate) fn an_unknown_session_is_rejected_with_evidence(lab: &Lab) -> Result<()> {
    let unknown = "11111111-2222-4333-8444-555555555555";
    let told = lab.say("[scenario:text] hi", Some(unknown))?;
    assert_eq!(told.class(), Some(FailureClass::SessionRejected));
    assert!(
        matches!(&told.result.resume, ResumeOutcome::Rejected(words) if lab.cli.acp || words.contains(unknown) || words.contains("not found")),
        "{:?}",
        told.result.resume
    );
    assert_eq!(
        (&told.result.session, &told.result.retired[..]),
        (&None, &[unknown.to_owned()][..])
    );
    assert!(!lab.session_files(unknown).iter().any(|file| file.exists()));
    Ok(())
}

pub(crate) fn it_can_be_interrupted_in_a_tool_and_resumed(lab: &Lab) -> Result<()> {
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

pub(crate) fn it_can_be_interrupted_while_it_answers(lab: &Lab) -> Result<()> {
    let mut interrupted = None;
    let told = lab.run("[scenario:slow-text] go", None, |event| {
        let answers = if lab.cli.in_pieces {
            matches!(event, EventBody::Text { .. })
        } else {
            matches!(event, EventBody::Status { .. })
        };
        answers.then(|| {
            interrupted.get_or_insert_with(Instant::now);
            HostCommand::Interrupt
        })
    })?;
    let took = interrupted.map(|at| at.elapsed());
    assert_eq!(told.class(), Some(FailureClass::Cancelled));
    assert!(
        took.is_some_and(|took| took < Duration::from_secs(15)),
        "the answer alone takes 19 s: {took:?}"
    );
    Ok(())
}

/// What is asked of a program in its own words, and what its request to the model then says: a level, or a number of tokens.
const LEVELS: &[(&str, &str, &str)] = &[
    ("pi", "low", "2048"),
    ("omp", "low", "low"),
    ("kimi", "low", "low"),
    ("dsh", "low", "low"),
    ("codebuddy", "low", "low"),
    ("openclaw", "low", "2048"),
    ("copilot", "high", "4096"),
    ("opencode", "high", "4095"),
];

/// In the words of the program. Without them it is something else.
pub(crate) fn the_model_is_told_how_much_to_think(lab: &Lab) -> Result<()> {
    let mut levels = LEVELS.iter();
    let of = levels.find(|(id, ..)| *id == lab.cli.id);
    let (_, level, said) = of.copied().unwrap_or(("", "high", "high"));
    let asked = |level: Option<&str>| {
        let told = lab.run_with(
            |launch| launch.thinking = level.map(str::to_owned),
            "[scenario:effort] How much?",
            None,
            |_| None,
        )?;
        Ok::<_, anyhow::Error>((told.result.output, told.events))
    };
    // First, since some keep what they were told.
    let usual = asked(None)?.0;
    let (output, events) = asked(Some(level))?;
    let said = format!("It is {said}.");
    assert_eq!(output, said, "{usual} {events:#?}");
    assert_ne!(usual, said);
    Ok(())
}
