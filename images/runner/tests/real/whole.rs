//! What every real program has to do in the hands of the whole runner: the program of the pod, an API over TLS, and the
//! command line inside the network of the model. Its file makes tests of them with [`through_the_runner!`].

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use protocol::{EndReason, EventBody, FailureClass, Outcome, Package, ProviderSession, ToolStatus};
use runner::stop;
use rustix::process::Signal;

use crate::api::{Api, Told, said};
pub(crate) use crate::given::{
    a_remark_reaches_the_model_in_the_same_turn, a_tool_of_an_mcp_server_is_called,
};
use crate::lab::{Cli, Lab, word};
use crate::pod::{self, Ended, Pod};
pub(crate) use crate::provider::{
    a_broken_stream_is_survived_or_told, a_provider_that_cannot_now_has_its_class,
    a_provider_that_hangs_is_noticed, a_spent_quota_has_its_class,
    what_the_provider_refuses_has_its_class,
};
use crate::record::Record;
pub(crate) use crate::turns::its_model_is_asked_so_often_as_it_may_be;

/// One test for each scenario, of this program.
macro_rules! through_the_runner {
    ($cli:ident) => {
        $crate::whole::through_the_runner!($cli:
            it_thinks_before_it_answers
            tools_are_told_one_by_one_and_every_token_counts
            its_model_is_asked_so_often_as_it_may_be
            a_tool_of_an_mcp_server_is_called
            a_lost_conversation_begins_anew_and_the_agent_is_told
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
            a_provider_that_cannot_now_has_its_class
            a_spent_quota_has_its_class
        );
    };
    ($cli:ident: $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() -> anyhow::Result<()> {
                $crate::lab::with_lab($cli, $crate::whole::$scenario)
            }
        )*
    };
}
pub(crate) use through_the_runner;

/// A flag that the adapter keeps for itself, with a value that would break the run, where it has one.
fn reserved(cli: Cli) -> Option<&'static [&'static str]> {
    match cli.id {
        "claude" | "codebuddy" | "copilot" => Some(&["--output-format", "text"]),
        "codex" => Some(&["--listen=ws://127.0.0.1:1"]),
        "pi" | "omp" => Some(&["--mode", "text"]),
        "qwen" => Some(&["-o", "text"]),
        "opencode" => Some(&["--format='default'"]),
        "openclaw" => Some(&["--message", "[scenario:default] no"]),
        "gemini" => Some(&["--prompt", "[scenario:default] no"]),
        "hermes" => Some(&["--oneshot", "[scenario:default] no"]),
        "kimi" => Some(&["acp"]),
        "reasonix" => Some(&["--planner", "none"]),
        "qwenpaw" => Some(&["--workspace", "/none"]),
        _ => None,
    }
}

/// A pod whose program works in the model's network, with what a Runtime would give it.
pub(crate) fn pod(lab: &Lab) -> Result<Pod> {
    let mut pod = Pod::new();
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    pod.variables = lab.cli.env.iter().copied().map(own).collect();
    pod.variables.extend(lab.used());
    for (file, text) in lab.cli.files {
        let path = pod.at("workspace/home").join(file);
        std::fs::create_dir_all(path.parent().context("a file in a folder")?)?;
        std::fs::write(path, text)?;
    }
    Ok(pod)
}

pub(crate) fn task(lab: &Lab, prompt: &str) -> Package {
    let mut package = pod::package_of(lab.inside(), prompt);
    lab.cli.driver().clone_into(&mut package.runtime.provider);
    package.runtime.args = lab.cli.args.iter().map(ToString::to_string).collect();
    package.agent.model = None;
    package.runtime.version = lab.version().map(|version| version.to_string());
    package.timeouts.task_seconds = 120;
    package
}

/// The same, to go on with this conversation.
pub(crate) fn resuming(lab: &Lab, prompt: &str, id: &str) -> Package {
    let mut package = task(lab, prompt);
    package.session.has_past = true;
    package.session.resume = Some(ProviderSession {
        provider: lab.cli.driver().to_owned(),
        id: id.to_owned(),
    });
    package
}

pub(crate) fn now<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

/// One run to its end, with exactly one result.
pub(crate) fn run(pod: &Pod, package: Package) -> Result<(Told, Ended)> {
    let record = Record::of(&package.runtime.provider, &package.prompt);
    now(async {
        let api = Api::serve(package).await;
        let ended = pod.run(&api).await;
        let told = api.told();
        record.wrote(&told.raw);
        ensure!(told.results.len() == 1, "{:?}\n{}", told.results, ended.log);
        Ok((told, ended))
    })
}

pub(crate) fn answer(pod: &Pod, package: Package) -> Result<String> {
    let (told, ended) = run(pod, package)?;
    let result = &told.results[0];
    ensure!(
        result.outcome == Outcome::Succeeded,
        "{result:?}\n{}\n{}",
        said(&told.events),
        ended.log
    );
    Ok(result.output.clone())
}

/// True when a tool told this word that its command printed. Qwen Code and `CodeBuddy` lose at times what a command printed
/// that is over at once, and tell the model as well that it was nothing.
pub(crate) fn heard(cli: Cli, output: &str, word: &str, command: &str) -> bool {
    let loses = ["codebuddy", "qwen"].contains(&cli.id) && output.contains(command);
    let lost = || {
        ["Output: (empty)", "Stdout: (empty)"]
            .iter()
            .any(|words| output.contains(words))
    };
    output.contains(word) || (loses && lost())
}

pub(crate) fn it_thinks_before_it_answers(lab: &Lab) -> Result<()> {
    let (told, ended) = run(&pod(lab)?, task(lab, "[scenario:thinking] hi"))?;
    let shown = || format!("{}\n{}", said(&told.events), ended.log);
    ensure!(
        told.results[0].output == "Thought, then said.",
        "{}",
        shown()
    );
    let thoughts = told.events.iter().map(|event| match &event.body {
        EventBody::Thinking { content } => content.as_str(),
        EventBody::Text { .. }
        | EventBody::ToolUse { .. }
        | EventBody::ToolResult { .. }
        | EventBody::Status { .. }
        | EventBody::Error { .. }
        | EventBody::Log { .. } => "",
    });
    let thought: String = thoughts.collect();
    // Some put spaces or a headline around it.
    ensure!(thought.matches("One thought.").count() == 1, "{}", shown());
    Ok(())
}

/// Two tools in one answer, one that fails in the next, and the end: what was asked of the model is what is counted.
pub(crate) fn tools_are_told_one_by_one_and_every_token_counts(lab: &Lab) -> Result<()> {
    let (told, ended) = run(&pod(lab)?, task(lab, "[scenario:steps] go"))?;
    let result = &told.results[0];
    assert_eq!(result.output, "It failed with 3.", "{}", ended.log);
    let begun = |event: &protocol::Event| matches!(event.body, EventBody::ToolUse { .. });
    let begun = told.events.iter().filter(|event| begun(event)).count();
    let ends: Vec<_> = (told.events.iter())
        .filter_map(|event| {
            if let EventBody::ToolResult { output, status, .. } = &event.body {
                Some((output.as_str(), *status))
            } else {
                None
            }
        })
        .collect();
    assert_eq!((begun, ends.len()), (3, 3), "{}", said(&told.events));
    // Those of one answer may end in any order.
    let has = |ends: &[(&str, _)], word| ends.iter().any(|(output, _)| output.contains(word));
    let printed = |word, command| {
        let both = ends[..2].iter();
        both.map(|(output, _)| output)
            .any(|output| heard(lab.cli, output, word, command))
    };
    // Reasonix tells of a tool that failed why, and not what it printed.
    let last = ["to-stderr", ""][usize::from(lab.cli.id == "reasonix")];
    assert!(
        printed("first", "fi''rst") && printed("second", "sec''ond") && has(&ends[2..], last),
        "{ends:?}"
    );
    // Whoever tells how a tool ended tells this one's failure, or what its shell ended with; some tell neither.
    let (output, status) = ends[2];
    let is_told = status == Some(ToolStatus::Failed) || output.contains('3');
    let tells = !["gemini", "opencode", "vibe"].contains(&lab.cli.id);
    assert_eq!(is_told, tells, "{ends:?}");

    let usage: Vec<_> = result.usage.values().copied().collect();
    let sum = |of: fn(&protocol::TokenUsage) -> u64| usage.iter().map(of).sum::<u64>();
    let counted = (
        sum(|usage| usage.input),
        sum(|usage| usage.output),
        sum(|usage| usage.cache_read),
    );
    let wanted = lab.cli.tokens.map(|_| lab.cli.counted((1800, 45, 50)));
    assert_eq!(
        counted,
        wanted.unwrap_or_default(),
        "{usage:?}\n{}",
        said(&told.events)
    );
    Ok(())
}

/// Nothing is left of the conversation that it is to go on with.
pub(crate) fn a_lost_conversation_begins_anew_and_the_agent_is_told(lab: &Lab) -> Result<()> {
    let unknown = "11111111-2222-4333-8444-555555555555";
    let package = resuming(lab, "[scenario:notice] Were you told?", unknown);
    let (told, ended) = run(&pod(lab)?, package)?;
    let result = &told.results[0];
    assert_eq!(
        result.output,
        "I was told.",
        "{result:?}\n{}\n{}",
        said(&told.events),
        ended.log
    );
    let next = result.provider_session.as_ref().context("a new one")?;
    assert_ne!(next.id, unknown);
    Ok(())
}

/// The standing instructions of an agent, which the runner writes into it.
pub(crate) fn its_context_file_reaches_the_model(lab: &Lab) -> Result<()> {
    let word = word()?;
    let mut package = task(lab, "[scenario:skill] Which word was it?");
    package.agent.instructions = format!("Remember the word {word}.");
    assert_eq!(
        answer(&pod(lab)?, package)?,
        format!("The word was {word}.")
    );
    Ok(())
}

/// What an Agent says since its last run counts, also in a conversation that goes on.
pub(crate) fn new_instructions_reach_a_conversation_that_goes_on(lab: &Lab) -> Result<()> {
    let (pod, word) = (pod(lab)?, word()?);
    let (told, _) = run(&pod, task(lab, "[scenario:text] hi"))?;
    let session = told.results[0].provider_session.clone();
    let session = session.context("a conversation")?;
    let mut next = resuming(lab, "[scenario:skill] Which word was it?", &session.id);
    next.agent.instructions = format!("Remember the word {word}.");
    assert_eq!(answer(&pod, next)?, format!("The word was {word}."));
    Ok(())
}

pub(crate) fn its_skills_reach_the_model(lab: &Lab) -> Result<()> {
    let (word, pod) = (word()?, pod(lab)?);
    let skill = pod.at("opt/mooring-skills/lantern/@");
    std::fs::create_dir_all(&skill)?;
    let text = format!("---\nname: lantern\ndescription: Remember the word {word}.\n---\nHello.\n");
    std::fs::write(skill.join("SKILL.md"), text)?;
    let mut package = task(lab, "[scenario:skill] Which word was it?");
    package.agent.skills = vec!["lantern".to_owned()];
    assert_eq!(answer(&pod, package)?, format!("The word was {word}."));
    Ok(())
}

/// What a Runtime and an Agent give of them changes nothing, and is said.
pub(crate) fn flags_of_ours_are_left_out(lab: &Lab) -> Result<()> {
    let flags = reserved(lab.cli).context("it has a flag of ours")?;
    let mut package = task(lab, "[scenario:text] hi");
    let given = flags.iter().map(ToString::to_string);
    package.runtime.args.extend(given.clone());
    package.options.args = given.collect();
    let (told, ended) = run(&pod(lab)?, package)?;
    assert_eq!(
        told.results[0].output, "Hello from the scripted model.",
        "{}",
        ended.log
    );
    let said = said(&told.events);
    for place in ["the Runtime's args", "the Agent's args"] {
        let words = format!("is set by Mooring; the one in {place} was left out");
        assert!(said.contains(&words), "{said}");
    }
    Ok(())
}

/// A tool dies of the same signal. These live a little longer and may hear the model's last word.
const OUTLIVES_ITS_TOOL: [&str; 1] = ["copilot"];

/// Stops a run once `begun` is seen, and looks when the last process of it is gone.
fn stopped(lab: &Lab, prompt: &str, begun: impl Fn(&Lab, &Told) -> Result<bool>) -> Result<()> {
    let pod = pod(lab)?;
    let package = task(lab, prompt);
    let grace = package.timeouts.grace_seconds;
    now(async {
        let api = Api::serve(package).await;
        let running = pod.start(&api);
        lab.until("it is at work", || begun(lab, &api.told()))
            .await?;
        let asked = Instant::now();
        api.stop(EndReason::Cancelled);
        lab.until("all is gone", || Ok(lab.at_work()?.is_empty()))
            .await?;
        let gone = asked.elapsed();
        let ended = running.end().await;
        let told = api.told();
        let result = &told.results[0];
        let class = result.outcome.class();
        let outlives = OUTLIVES_ITS_TOOL.contains(&lab.cli.id) && result.output == "It ended.";
        assert!(
            class == Some(FailureClass::Cancelled) || outlives,
            "{result:?}\n{}\n{}",
            said(&told.events),
            ended.log
        );
        // KILL comes at the end of the budget, and a busy machine looks late.
        assert!(
            gone < stop::budget(grace) + Duration::from_secs(10),
            "gone after {gone:?} of {grace} s"
        );
        Ok(())
    })
}

pub(crate) fn a_stop_in_its_answer_leaves_nothing_in_time(lab: &Lab) -> Result<()> {
    stopped(lab, "[scenario:slow-text] go", |lab, told| {
        let text = |event: &protocol::Event| matches!(event.body, EventBody::Text { .. });
        let heard = !lab.cli.in_pieces || told.events.iter().any(text);
        Ok(heard && lab.asked("slow-text")?)
    })
}

pub(crate) fn a_stop_in_its_tool_leaves_nothing_in_time(lab: &Lab) -> Result<()> {
    stopped(lab, "[scenario:long-command] go", in_its_tool)
}

/// True while the command of the scripted tool runs. omp runs such a command in its own process.
pub(crate) fn in_its_tool(lab: &Lab, told: &Told) -> Result<bool> {
    let begun = |event: &protocol::Event| matches!(event.body, EventBody::ToolUse { .. });
    let told = lab.cli.id == "omp" && told.events.iter().any(begun);
    Ok(told || lab.at_work()?.iter().any(|name| name == "tail"))
}

/// The pod is taken away in the midst of a tool.
pub(crate) fn after_a_term_the_conversation_goes_on(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let word = word()?;
    let first = format!("[scenario:text] Remember the word {word}.");
    let (told, _) = run(&pod, task(lab, &first))?;
    let session = told.results[0].provider_session.clone();
    let session = session.context("a conversation")?;

    let package = resuming(lab, "[scenario:long-command] go", &session.id);
    now(async {
        let api = Api::serve(package).await;
        let running = pod.start(&api);
        lab.until("the tool runs", || in_its_tool(lab, &api.told()))
            .await?;
        running.signal(Signal::TERM);
        let ended = running.end().await;
        assert_eq!(ended.code, Some(0), "{}", ended.log);
        assert!(lab.at_work()?.is_empty(), "{:?}", lab.at_work()?);
        let told = api.told();
        let result = &told.results[0];
        assert_eq!(
            result.outcome.class(),
            Some(FailureClass::PodDeleted),
            "{result:?}\n{}\n{}",
            said(&told.events),
            ended.log
        );
        assert_eq!(result.provider_session.as_ref(), Some(&session));
        Ok(())
    })?;
    let next = resuming(lab, "[scenario:recall] Which word was it?", &session.id);
    assert_eq!(answer(&pod, next)?, format!("The word was {word}."));
    Ok(())
}
