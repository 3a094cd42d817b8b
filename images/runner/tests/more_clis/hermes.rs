//! Hermes.

use anyhow::Result;
use protocol::FailureClass;
use protocol::tools::ToolPolicy;

use crate::gated::gated;
use crate::lab::{Cli, Lab, with_lab};
use crate::scenarios::scenarios;
use crate::whole::{pod, run, task, through_the_runner};

/// The provider is given in the folder of what an image fixes, which stands here beside the working directory.
const HERMES: Cli = Cli {
    id: "hermes",
    args: &[],
    env: &[("HERMES_MANAGED_DIR", "../home/.managed")],
    files: &[(
        ".managed/config.yaml",
        "model:\n  default: scripted-1\n  provider: custom\n  base_url: http://127.0.0.1:8080/v1\n  api_key: any\n",
    )],
    uses: None,
    model: None,
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

// Interrupted, it lets an answer and a tool come to their end, so the rest of the ladder has to end it.
scenarios!(HERMES:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
);
through_the_runner!(HERMES);
through_the_runner!(HERMES: a_remark_reaches_the_model_in_the_same_turn);
gated!(HERMES);
gated!(HERMES: what_it_changes_meanwhile_undoes_nothing);

/// A script of its can use tools, and each use is looked at as any other.
#[test]
fn what_a_script_uses_is_looked_at_as_well() -> Result<()> {
    with_lab(HERMES, uses_by_a_script)
}

fn uses_by_a_script(lab: &Lab) -> Result<()> {
    for (denied, made) in [("nothing", true), ("terminal", false)] {
        let pod = pod(lab)?;
        let mut package = task(lab, "[scenario:script] Go.");
        package.agent.tools = Some(ToolPolicy {
            deny: vec![denied.to_owned()],
            ..ToolPolicy::default()
        });
        let (told, ended) = run(&pod, package)?;
        assert_eq!(told.results[0].output, "Over.", "{}", ended.log);
        assert_eq!(pod.at("workspace/work/made").exists(), made, "{denied}");
    }
    Ok(())
}

/// The settings of an image come before those of ours, and can name other plugins.
#[test]
fn without_what_asks_nothing_is_said_to_the_model() -> Result<()> {
    with_lab(HERMES, without_a_plugin)
}

fn without_a_plugin(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let settings = pod.at("workspace/home/.managed/config.yaml");
    let named = std::fs::read_to_string(&settings)? + "plugins:\n  enabled: [other]\n";
    std::fs::write(settings, named)?;
    let mut package = task(lab, "Go.\ndo: run touch made\ndo: answer Over.\n");
    package.agent.tools = Some(ToolPolicy {
        deny: vec!["terminal".to_owned()],
        ..ToolPolicy::default()
    });
    let (told, ended) = run(&pod, package)?;
    let class = told.results[0].outcome.class();
    assert_eq!(class, Some(FailureClass::CliCrashed), "{}", ended.log);
    assert!(!lab.asked("dictated")? && !pod.at("workspace/work/made").exists());
    Ok(())
}

/// Its file tools count paths from where its shell stands.
#[test]
fn a_path_is_judged_from_where_it_counts() -> Result<()> {
    with_lab(HERMES, moves)
}

fn moves(lab: &Lab) -> Result<()> {
    for (denied, made) in [("nothing", true), ("write_file(docs/*)", false)] {
        let pod = pod(lab)?;
        let mut package = task(lab, "[scenario:moves] Go.");
        package.agent.tools = Some(ToolPolicy {
            deny: vec![denied.to_owned()],
            ..ToolPolicy::default()
        });
        let (_, ended) = run(&pod, package)?;
        let work = pod.at("workspace/work");
        let is_there = work.join("docs/made.txt").exists();
        assert_eq!(is_there, made, "{denied}\n{}", ended.log);
        assert!(!work.join("made.txt").exists());
    }
    Ok(())
}
