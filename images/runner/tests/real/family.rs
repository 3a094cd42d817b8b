//! A real program as one that is known by no name: by the baseline of its family, which knows nothing of its versions.
//! Its file makes a test of it with [`family!`].

use anyhow::{Context as _, Result, ensure};
use protocol::{
    EventBody, McpPlace, McpServer, McpSource, McpValue, Outcome, Package, ProviderSession,
    TaskResult, ToolStatus, providers,
};

use crate::api::said;
use crate::lab::{Lab, tools, word};
use crate::pod::Pod;
use crate::whole::{pod, run, task};

/// The test of this program, driven as this one.
macro_rules! family {
    ($cli:ident as $driver:literal) => {
        #[test]
        fn it_works_by_the_baseline_of_its_family() -> anyhow::Result<()> {
            $crate::lab::with_lab($cli, |lab| $crate::family::baseline(lab, $driver))
        }
    };
}
pub(crate) use family;

/// A task on a Runtime that does not say which program it is.
fn nameless(lab: &Lab, driver: &str, prompt: &str, resume: Option<&str>) -> Package {
    let mut package = task(lab, prompt);
    driver.clone_into(&mut package.runtime.provider);
    // Nobody asks it.
    package.runtime.version = None;
    package.session.has_past = resume.is_some();
    package.session.resume = resume.map(|id| ProviderSession {
        provider: driver.to_owned(),
        id: id.to_owned(),
    });
    package
}

fn succeeds(pod: &Pod, package: Package, wanted: &str) -> Result<TaskResult> {
    let (told, ended) = run(pod, package)?;
    let result = told.results[0].clone();
    ensure!(
        result.outcome == Outcome::Succeeded && result.output.contains(wanted),
        "{result:?}\n{}\n{}",
        said(&told.events),
        ended.log
    );
    Ok(result)
}

/// A tool, a second process that goes on with the conversation, one that is gone, and a tool of a server.
pub(crate) fn baseline(lab: &Lab, driver: &str) -> Result<()> {
    let pod = pod(lab)?;
    let first = nameless(
        lab,
        driver,
        "[scenario:shell] Remember the word lantern4711.",
        None,
    );
    let (told, ended) = run(&pod, first)?;
    let result = &told.results[0];
    let shown = || format!("{result:?}\n{}\n{}", said(&told.events), ended.log);
    // A notice of its own is not known as one, and what looks like the value of a variable is not shown.
    let printed = "-42";
    ensure!(
        result.output.contains(&format!("{printed}.")),
        "{}",
        shown()
    );
    let ran = told.events.iter().any(|event| {
        matches!(&event.body, EventBody::ToolResult { output, status: Some(ToolStatus::Completed), .. }
            if output.contains(printed))
    });
    ensure!(ran, "{}", shown());
    let tokens: u64 = result.usage.values().map(|usage| usage.total()).sum();
    ensure!(tokens > 0 || lab.cli.tokens.is_none(), "{}", shown());
    let session = result.provider_session.as_ref().context("no session")?;

    let next = "[scenario:recall] Which word was it?";
    let next = nameless(lab, driver, next, Some(&session.id));
    let second = succeeds(&pod, next, "The word was lantern4711.")?;
    ensure!(
        second.provider_session.as_ref() == Some(session),
        "{second:?}"
    );

    let gone = "11111111-2222-4333-8444-555555555555";
    let lost = "[scenario:notice] Were you told?";
    let lost = nameless(lab, driver, lost, Some(gone));
    let third = succeeds(&pod, lost, "I was told.")?;
    let kept = third.provider_session.context("no session")?;
    ensure!(kept.id != gone, "it is still that one");
    calls_a_server(lab, &pod, driver)
}

/// A server's tool answers with the word that the server was given, in the families that can be given servers. Not asked of
/// the bridges: in the mode in which they begin, and `acp` sets none, a model of their own first judges such a call.
fn calls_a_server(lab: &Lab, pod: &Pod, driver: &str) -> Result<()> {
    let facts = providers::facts(driver).context("it is driven")?;
    if driver == "acp" || !facts.mcp.stdio {
        return Ok(());
    }
    let word = word()?;
    let env = vec![McpValue {
        name: "TOKEN".to_owned(),
        value: McpSource::Plain(word.clone()),
    }];
    let mut asked = nameless(lab, driver, "[scenario:mcp] Which word is it?", None);
    asked.options.mcp_servers = Some(vec![McpServer {
        name: "words".to_owned(),
        required: true,
        at: McpPlace::Stdio {
            command: "python3".to_owned(),
            args: vec![tools()],
            env,
        },
    }]);
    succeeds(pod, asked, &format!("The server said {word}."))?;
    Ok(())
}
