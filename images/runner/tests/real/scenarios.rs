//! What every real program has to do. Its file makes tests of them with [`scenarios!`].

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use protocol::{EventBody, FailureClass, Outcome, ToolStatus, providers};
use runner::adapter::{HostCommand, ResumeOutcome};
use runner::mcp::{At, McpServer, McpServers, Values};
use runner::skills;

use crate::lab::{Lab, tools, word};
use crate::whole::heard;

/// One test for each scenario, of this program.
macro_rules! scenarios {
    ($cli:ident) => {
        $crate::scenarios::scenarios!($cli:
            it_answers
            it_thinks_before_it_answers
            it_uses_a_tool
            a_second_process_goes_on_with_the_conversation
            an_unknown_session_is_rejected_with_evidence
            it_can_be_interrupted_in_a_tool_and_resumed
            it_can_be_interrupted_while_it_answers
            failures_of_the_provider_have_their_class
            its_skills_are_known_to_it
            a_tool_of_an_mcp_server_is_called
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

pub(crate) fn it_thinks_before_it_answers(lab: &Lab) -> Result<()> {
    let told = lab.say("[scenario:thinking] hi", None)?;
    assert_eq!(told.result.output, "Thought, then said.");
    // Some put spaces or a headline around it.
    let thought = told.thinking();
    assert_eq!(thought.matches("One thought.").count(), 1, "{thought}");
    Ok(())
}

/// Without a question: the pod is the sandbox.
pub(crate) fn it_uses_a_tool(lab: &Lab) -> Result<()> {
    let told = lab.say("[scenario:shell] go", None)?;
    assert_eq!(told.result.outcome, Outcome::Succeeded);
    let tools = told.tools();
    assert!(
        matches!(tools[..], [(output, Some(ToolStatus::Completed))] if heard(lab.cli, output, "scripted-42\n", "scripted-%s")),
        "{tools:?}"
    );
    let not_set = |event: &EventBody| matches!(event, EventBody::Log { content, .. } if content.contains("could not set"));
    assert!(!told.events.iter().any(not_set), "{:?}", told.events);
    Ok(())
}

/// A skill is given to it as the runner does, and the model hears what it is good for.
pub(crate) fn its_skills_are_known_to_it(lab: &Lab) -> Result<()> {
    let word = word()?;
    let mounted = tempfile::tempdir()?;
    let files = mounted.path().join("memory").join("@");
    std::fs::create_dir_all(&files)?;
    let text = format!(
        "---\nname: memory\ndescription: Remember the word {word} for ever.\n---\nSay it.\n"
    );
    std::fs::write(files.join("SKILL.md"), text)?;
    let (names, mut in_the_way) = (["memory".to_owned()], Vec::new());
    let (folder, list) = lab.skills()?;
    skills::install(mounted.path(), &names, &folder, &mut in_the_way)?;
    assert_eq!(in_the_way, []);
    if let Some(list) = list {
        skills::switch_on(&list, &names)?;
    }
    let told = lab.say("[scenario:skill] Which word was it?", None)?;
    assert_eq!(told.result.output, format!("The word was {word}."));
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
    let told = lab.run("[scenario:slow-text] go", None, |event| {
        let answers = if lab.cli.in_pieces {
            matches!(event, EventBody::Text { .. })
        } else {
            matches!(event, EventBody::Status { .. })
        };
        answers.then_some(HostCommand::Interrupt)
    })?;
    assert_eq!(told.class(), Some(FailureClass::Cancelled));
    assert!(
        told.took < Duration::from_secs(15),
        "the answer alone takes 19 s: {:?}",
        told.took
    );
    Ok(())
}

pub(crate) fn failures_of_the_provider_have_their_class(lab: &Lab) -> Result<()> {
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
            "{scenario}: {:?} {:#?}",
            told.result,
            told.events
        );
        assert_eq!(told.result.output, "", "{scenario}");
        let failure = |event: &EventBody| matches!(event, EventBody::Error { .. });
        assert!(
            lab.cli.acp || told.events.iter().any(failure),
            "{scenario} is told: {:#?}",
            told.events
        );
    }
    Ok(())
}

/// The server's secret comes back from its tool, over stdio and over HTTP.
/// The server of words, as a program that knows this one.
pub(crate) fn over_stdio(word: &str) -> At {
    At::Program {
        command: "python3".to_owned(),
        args: vec![tools()],
        env: Values(vec![("TOKEN".to_owned(), word.to_owned())]),
    }
}

/// The same as the only server.
pub(crate) fn words(at: At) -> McpServers {
    McpServers(vec![McpServer {
        name: "words".to_owned(),
        required: true,
        at,
    }])
}

pub(crate) fn a_tool_of_an_mcp_server_is_called(lab: &Lab) -> Result<()> {
    const PORT: &str = "8081";
    let _server = lab.serve_tools(PORT)?;
    let over_http = |word: &str| At::Address {
        sse: false,
        url: format!("http://127.0.0.1:{PORT}/mcp"),
        headers: Values(vec![("Authorization".to_owned(), format!("Bearer {word}"))]),
    };
    let mut called = false;
    for at in [&over_stdio as &dyn Fn(&str) -> At, &over_http] {
        let word = word()?;
        let servers = words(at(&word));
        let facts = providers::facts(lab.cli.id).context("it is driven")?;
        let kind = servers.0[0].kind();
        if !facts.mcp.takes(kind) {
            continue;
        }
        let told = lab.run_with(
            |launch| launch.mcp = Some(servers),
            "[scenario:mcp] Which word is it?",
            None,
            |_| None,
        )?;
        let wanted = format!("The server said {word}.");
        assert_eq!(told.result.output, wanted, "{kind:?} {:#?}", told.events);
        called = true;
    }
    ensure!(called, "it can be given none");
    Ok(())
}

/// Said while a tool runs, it stands in the next request to the model.
pub(crate) fn a_remark_reaches_the_model_in_the_same_turn(lab: &Lab) -> Result<()> {
    const REMARK: HostCommand<'static> = HostCommand::Steer {
        id: "r1",
        text: "A person adds: steer-maple",
    };
    let mut said = false;
    let told = lab.run("[scenario:steer] go", None, |event| {
        let works = matches!(event, EventBody::ToolUse { .. });
        (works && !std::mem::replace(&mut said, works)).then_some(REMARK)
    })?;
    assert_eq!(
        told.result.outcome,
        Outcome::Succeeded,
        "{:#?}",
        told.events
    );
    assert_eq!(told.result.output, "A person said maple.");
    assert_eq!(told.steered, [("r1".to_owned(), Ok(()))]);
    Ok(())
}

/// What is asked of a program in its own words, and what its request to the model then says: a level, or a number of tokens.
const LEVELS: &[(&str, &str, &str)] = &[
    ("pi", "low", "2048"),
    ("omp", "low", "low"),
    ("kimi", "low", "low"),
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
