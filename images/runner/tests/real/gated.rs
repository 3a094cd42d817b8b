//! What holds a real program to its Agent's tools, in the hands of the whole runner: what may not be used does nothing, and
//! what a person is asked about waits for them. Its file makes tests of them with [`gated!`].

#[path = "left.rs"]
pub(crate) mod left;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use protocol::providers::Held;
use protocol::tools::ToolPolicy;
use protocol::{EventBody, FailureClass, Outcome, Package, ToolStatus};
use rustix::process::Signal;

use crate::api::{Api, Told, said};
use crate::given;
use crate::lab::{Lab, word};
use crate::pod::{Ended, Pod};
use crate::whole::{answer, now, pod, resuming, run, task};

/// One test for each scenario, of a program that is held to all that is said.
macro_rules! gated {
    ($cli:ident) => {
        $crate::gated::gated!($cli:
            a_tool_that_is_denied_does_nothing
            a_tool_that_is_not_allowed_does_nothing
            a_person_decides_on_each_use
            only_what_is_named_is_asked_about
            what_an_agent_left_undoes_nothing
            what_it_is_given_is_there_all_the_same
            its_own_settings_are_not_for_its_tools
        );
    };
    ($cli:ident: $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() -> anyhow::Result<()> {
                $crate::lab::with_lab($cli, $crate::gated::$scenario)
            }
        )*
    };
}
pub(crate) use gated;

/// The file that a command of the model's would make.
const MADE: &str = "workspace/work/made";

/// What the program calls its shell, and another tool of it that does no harm.
fn names(lab: &Lab) -> (&'static str, &'static str) {
    match lab.cli.id {
        "pi" => ("bash", "read"),
        "copilot" => ("bash", "view"),
        "hermes" => ("terminal", "read_file"),
        "gemini" => ("run_shell_command", "read_file"),
        "codex" | "codex-acp" => ("Bash", "apply_patch"),
        _ => ("Bash", "Read"),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The model first says something and then makes the file.
const TOUCHES: &str = "Go.\ndo: run echo be''fore\ndo: run touch made\ndo: answer Over.\n";

/// A task whose model does that.
fn touches(lab: &Lab, policy: ToolPolicy) -> Package {
    let mut package = task(lab, TOUCHES);
    package.agent.tools = Some(ToolPolicy {
        approval_seconds: 600,
        ..policy
    });
    package
}

/// What the tools gave, and how they ended. `CodeBuddy` tells a refusal as what the tool gave.
fn results(told: &Told) -> Vec<(String, Option<ToolStatus>)> {
    let result = |event: &protocol::Event| {
        let EventBody::ToolResult { output, status, .. } = &event.body else {
            return None;
        };
        let refused = output.starts_with("Error: ");
        let status = if refused {
            Some(ToolStatus::Failed)
        } else {
            *status
        };
        Some((output.clone(), status))
    };
    told.events.iter().filter_map(result).collect()
}

/// The run came to its end, and each tool did as is said here.
fn ended_with(told: &Told, ended: &Ended, wanted: &[ToolStatus]) -> Result<()> {
    let result = &told.results[0];
    let context = || format!("{result:?}\n{}\n{}", said(&told.events), ended.log);
    ensure!(result.outcome == Outcome::Succeeded, "{}", context());
    ensure!(result.output == "Over.", "{}", context());
    let how: Vec<_> = results(told).into_iter().map(|(_, how)| how).collect();
    // Gemini tells nothing of a tool that it does not have.
    let session = result.provider_session.as_ref();
    let silent = session.is_some_and(|session| session.provider == "gemini");
    let told = |how: &&ToolStatus| !silent || **how != ToolStatus::Failed;
    let wanted: Vec<_> = wanted.iter().filter(told).copied().map(Some).collect();
    ensure!(how == wanted, "{how:?}\n{}", context());
    Ok(())
}

pub(crate) fn a_tool_that_is_denied_does_nothing(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let policy = ToolPolicy {
        deny: words(&[names(lab).0]),
        ..ToolPolicy::default()
    };
    let (told, ended) = run(&pod, touches(lab, policy))?;
    ended_with(&told, &ended, &[ToolStatus::Failed; 2])?;
    assert!(!pod.at(MADE).exists());
    assert!(told.asked.is_empty());
    Ok(())
}

/// Whatever it could do in a task before.
pub(crate) fn a_tool_that_is_denied_stays_so_when_it_goes_on(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let (told, _) = run(&pod, task(lab, "Go.\ndo: run echo a\ndo: answer Done.\n"))?;
    assert_eq!(results(&told)[0].1, Some(ToolStatus::Completed));
    let session = told.results[0].provider_session.clone();
    left::until_it_goes_on(lab)?;
    let mut second = resuming(lab, TOUCHES, &session.context("a conversation")?.id);
    second.agent.tools = Some(ToolPolicy {
        deny: words(&[names(lab).0]),
        ..ToolPolicy::default()
    });
    let (told, ended) = run(&pod, second)?;
    ended_with(&told, &ended, &[ToolStatus::Failed; 2])?;
    assert!(!pod.at(MADE).exists());
    Ok(())
}

/// One of an MCP server, which answers where it is not denied.
pub(crate) fn a_tool_of_a_server_that_is_denied_does_nothing(lab: &Lab) -> Result<()> {
    for (denied, answers) in [("nothing", true), ("mcp__words__word", false)] {
        let word = word()?;
        let mut package = given::over_stdio(lab, &word);
        package.agent.tools = Some(ToolPolicy {
            deny: words(&[denied]),
            ..ToolPolicy::default()
        });
        let said = if answers { &word } else { "nothing" };
        let output = answer(&pod(lab)?, package)?;
        ensure!(output == format!("The server said {said}."), "{output}");
    }
    Ok(())
}

pub(crate) fn a_tool_that_is_not_allowed_does_nothing(lab: &Lab) -> Result<()> {
    let (shell, other) = names(lab);
    let echo = format!("{shell}(echo:*)");
    let pod = pod(lab)?;
    let policy = ToolPolicy {
        allow: words(&[other, &echo]),
        ..ToolPolicy::default()
    };
    let (told, ended) = run(&pod, touches(lab, policy))?;
    ended_with(&told, &ended, &[ToolStatus::Completed, ToolStatus::Failed])?;
    assert!(results(&told)[0].0.contains("before"));
    assert!(!pod.at(MADE).exists());
    Ok(())
}

/// With nothing but a name.
pub(crate) fn a_tool_that_is_not_named_does_nothing(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let policy = ToolPolicy {
        allow: words(&[names(lab).1]),
        ..ToolPolicy::default()
    };
    let (told, ended) = run(&pod, touches(lab, policy))?;
    ended_with(&told, &ended, &[ToolStatus::Failed; 2])?;
    assert!(!pod.at(MADE).exists());
    Ok(())
}

/// One that cannot be held to what is said does not begin.
pub(crate) fn what_cannot_be_held_does_not_begin(lab: &Lab) -> Result<()> {
    let shell = names(lab).0;
    let pattern = format!("{shell}(touch:*)");
    for (deny, ask) in [
        (Vec::new(), words(&[shell])),
        (words(&[&pattern]), Vec::new()),
    ] {
        let pod = pod(lab)?;
        let policy = ToolPolicy {
            deny,
            require_approval: ask,
            ..ToolPolicy::default()
        };
        let (told, ended) = run(&pod, touches(lab, policy))?;
        let class = told.results[0].outcome.class();
        assert_eq!(class, Some(FailureClass::PrepareFailed), "{}", ended.log);
        assert!(!pod.at(MADE).exists());
    }
    Ok(())
}

pub(crate) fn a_person_decides_on_each_use(lab: &Lab) -> Result<()> {
    for allow in [true, false] {
        let pod = pod(lab)?;
        let policy = ToolPolicy {
            require_approval: words(&[names(lab).0]),
            ..ToolPolicy::default()
        };
        let package = touches(lab, policy);
        now(async {
            let api = Api::serve(package).await;
            let running = pod.start(&api);
            for number in 1..=2 {
                let told = api
                    .until("a question", |told| {
                        told.asked.len() == number || !told.results.is_empty()
                    })
                    .await;
                ensure!(told.results.is_empty(), "{}", said(&told.events));
                let asked = &told.asked[number - 1];
                let command = if number == 1 {
                    "echo be''fore"
                } else {
                    "touch made"
                };
                assert_eq!(asked.input["command"], command, "{asked:?}");
                assert!(!pod.at(MADE).exists(), "it waits");
                let decided = number == 1 || allow;
                api.decide(number as u128, decided, Some("as ada says"));
            }
            let ended = running.end().await;
            let told = api.told();
            let second = if allow {
                ToolStatus::Completed
            } else {
                ToolStatus::Failed
            };
            ended_with(&told, &ended, &[ToolStatus::Completed, second])?;
            assert_eq!(pod.at(MADE).exists(), allow);
            // Why it may not is said to the model.
            let output = &results(&told)[1].0;
            assert_eq!(
                output.contains("denied by ada: as ada says"),
                !allow,
                "{output}"
            );
            Ok(())
        })?;
    }
    Ok(())
}

pub(crate) fn only_what_is_named_is_asked_about(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let policy = ToolPolicy {
        require_approval: words(&[&format!("{}(touch:*)", names(lab).0)]),
        ..ToolPolicy::default()
    };
    let package = touches(lab, policy);
    now(async {
        let api = Api::serve(package).await;
        let running = pod.start(&api);
        let told = api.until("a question", |told| !told.asked.is_empty()).await;
        assert_eq!(told.asked[0].input["command"], "touch made");
        api.decide(1, true, None);
        let ended = running.end().await;
        let told = api.told();
        ended_with(&told, &ended, &[ToolStatus::Completed; 2])?;
        assert!(pod.at(MADE).exists() && told.asked.len() == 1);
        Ok(())
    })
}

/// What an agent could have written in a task before: each of it would run a command without a tool, or let one past.
pub(crate) fn what_an_agent_left_undoes_nothing(lab: &Lab) -> Result<()> {
    for gated in [true, false] {
        let pod = pod(lab)?;
        let ran = pod.at("workspace/ran");
        std::fs::create_dir(&ran)?;
        let left = leave(lab, &pod)?;
        let mut package = touches(lab, ToolPolicy::default());
        package.agent.tools = idle(lab).filter(|_| gated);
        let (told, ended) = run(&pod, package)?;
        ended_with(&told, &ended, &[ToolStatus::Completed; 2])?;
        for name in left {
            // Without a list of tools it is the agent's own affair: so the trap is a real one.
            assert_eq!(
                ran.join(name).exists(),
                !gated,
                "{name}\n{}",
                said(&told.events)
            );
        }
        // Nor any other, of which it is not known that it would be.
        let all = std::fs::read_dir(&ran)?.map(|entry| Ok(entry?.file_name()));
        let all = all.collect::<std::io::Result<Vec<_>>>()?;
        ensure!(!gated || all.is_empty(), "{all:?}");
    }
    Ok(())
}

/// Its settings are read anew while it runs: so none of its tools writes them, by a link neither.
pub(crate) fn its_own_settings_are_not_for_its_tools(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let settings = Path::new(protocol::paths::PRIVATE).join("settings.json");
    let settings = pod.at(&settings.to_string_lossy()[1..]);
    let private = settings.parent().context("a folder")?;
    std::fs::create_dir_all(pod.at("workspace/work"))?;
    std::os::unix::fs::symlink(private, pod.at("workspace/work/own"))?;
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: own/settings.json\n+{}\n*** End Patch\nEOF\n";
    let prompt = match lab.cli.id {
        "codex" | "codex-acp" => format!(
            "do: run {}\ndo: answer Over.\n",
            serde_json::to_string(patch)?
        ),
        _ => "[scenario:own-settings] Go.".to_owned(),
    };
    for held in [true, false] {
        let mut package = task(lab, &prompt);
        package.agent.tools = idle(lab).filter(|_| held);
        let (told, ended) = run(&pod, package)?;
        let how = if held {
            ToolStatus::Failed
        } else {
            ToolStatus::Completed
        };
        ended_with(&told, &ended, &[how])?;
        let output = &results(&told)[0].0;
        let refused = output.contains("belongs to the agent's program itself");
        assert_eq!((refused, settings.exists()), (held, !held), "{output}");
    }
    Ok(())
}

/// A policy that names nothing of the program's, and to which it can be held.
fn idle(lab: &Lab) -> Option<ToolPolicy> {
    let facts = protocol::providers::facts(lab.cli.id)?;
    let nothing = words(&["nothing"]);
    let mut policy = ToolPolicy {
        approval_seconds: 600,
        ..ToolPolicy::default()
    };
    match facts.tools.approve {
        Held::Uses => policy.require_approval = nothing,
        Held::Names | Held::No => policy.deny = nothing,
    }
    Some(policy)
}

pub(crate) fn what_its_file_tools_write_undoes_nothing(lab: &Lab) -> Result<()> {
    left::what_its_file_tools_write_undoes_nothing(lab)
}

pub(crate) fn what_it_changes_meanwhile_undoes_nothing(lab: &Lab) -> Result<()> {
    left::what_it_changes_meanwhile_undoes_nothing(lab)
}

/// Its skills, its context file, and its conversation in a second process.
pub(crate) fn what_it_is_given_is_there_all_the_same(lab: &Lab) -> Result<()> {
    let (pod, word) = (pod(lab)?, word()?);
    let mut first = task(lab, &format!("[scenario:text] Remember the word {word}."));
    first.agent.tools = idle(lab);
    let (told, _) = run(&pod, first)?;
    let session = told.results[0].provider_session.clone();
    let session = session.context("a conversation")?;
    left::until_it_goes_on(lab)?;
    let mut second = resuming(lab, "[scenario:recall] Which word was it?", &session.id);
    second.agent.tools = idle(lab);
    assert_eq!(answer(&pod, second)?, format!("The word was {word}."));

    let skill = pod.at("opt/mooring-skills/lantern/@");
    std::fs::create_dir_all(&skill)?;
    let text = "---\nname: lantern\ndescription: Remember the word lantern4711.\n---\nHello.\n";
    std::fs::write(skill.join("SKILL.md"), text)?;
    let mut third = task(lab, "[scenario:skill] Which word was it?");
    third.agent.tools = idle(lab);
    third.agent.skills = vec!["lantern".to_owned()];
    assert_eq!(answer(&pod, third)?, "The word was lantern4711.");

    let mut fourth = task(lab, "[scenario:skill] Which word was it?");
    fourth.agent.tools = idle(lab);
    fourth.agent.instructions = "Remember the word rope4712.".to_owned();
    assert_eq!(
        answer(&crate::whole::pod(lab)?, fourth)?,
        "The word was rope4712."
    );
    Ok(())
}

/// Codex takes a patch out of a command of its shell and applies it itself.
pub(crate) fn a_patch_is_one_whoever_applies_it(lab: &Lab) -> Result<()> {
    for (deny, how) in [
        ("nothing", ToolStatus::Completed),
        ("apply_patch", ToolStatus::Failed),
    ] {
        let pod = pod(lab)?;
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made\n+hello\n*** End Patch\nEOF\n";
        let prompt = format!(
            "do: run {}\ndo: answer Over.\n",
            serde_json::to_string(patch)?
        );
        let mut package = task(lab, &prompt);
        package.agent.tools = Some(ToolPolicy {
            deny: words(&[deny]),
            ..ToolPolicy::default()
        });
        let (told, ended) = run(&pod, package)?;
        ended_with(&told, &ended, &[how])?;
        assert_eq!(pod.at(MADE).exists(), how == ToolStatus::Completed);
    }
    Ok(())
}

/// An image of one pixel.
const DOT: &[u8] = b"\
    \x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\
    \x00\x01\x08\x02\x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0c\x49\x44\x41\x54\x78\x9c\x63\
    \x60\x64\x62\x06\x00\x00\x0e\x00\x07\xd7\x6f\xe4\x78\x00\x00\x00\x00\x49\x45\x4e\x44\xae\
    \x42\x60\x82";

/// A tool of Codex's that is shown in a way of its own.
pub(crate) fn an_image_is_looked_at_as_any_tool_is_used(lab: &Lab) -> Result<()> {
    for (deny, how) in [
        ("nothing", ToolStatus::Completed),
        ("view_image", ToolStatus::Failed),
    ] {
        let pod = pod(lab)?;
        std::fs::create_dir_all(pod.at("workspace/work"))?;
        std::fs::write(pod.at("workspace/work/dot.png"), DOT)?;
        let mut package = task(lab, "[scenario:image] Go.");
        package.agent.tools = Some(ToolPolicy {
            deny: words(&[deny]),
            ..ToolPolicy::default()
        });
        let (told, ended) = run(&pod, package)?;
        ended_with(&told, &ended, &[how])?;
    }
    Ok(())
}

/// The program that asks for Codex runs as the agent does, so the agent can end it. Codex goes on without an answer then, and
/// is ended for it.
pub(crate) fn who_ends_the_one_that_asks_is_ended(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let policy = ToolPolicy {
        require_approval: words(&[&format!("{}(touch:*)", names(lab).0)]),
        ..ToolPolicy::default()
    };
    let package = touches(lab, policy);
    now(async {
        let api = Api::serve(package).await;
        let running = pod.start(&api);
        api.until("a question", |told| !told.asked.is_empty()).await;
        for desk in lab.pids_of("mooring-runner")? {
            rustix::process::kill_process(desk, Signal::KILL)?;
        }
        let ended = running.end().await;
        let told = api.told();
        let class = told.results[0].outcome.class();
        assert_eq!(
            class,
            Some(FailureClass::CliCrashed),
            "{}\n{}",
            said(&told.events),
            ended.log
        );
        assert!(format!("{:?}", told.results[0]).contains("cannot be held to its tools"));
        Ok(())
    })
}

/// Lays the traps; the names of those that show that they were run.
fn leave(lab: &Lab, pod: &Pod) -> Result<Vec<&'static str>> {
    let run = |name: &str| format!("touch {}", pod.at("workspace/ran").join(name).display());
    let (files, names) = match lab.cli.id {
        "pi" => {
            let extension = |name: &str| {
                let path = pod.at("workspace/ran").join(name);
                format!(
                    "require('node:fs').writeFileSync({path:?}, ''); module.exports = () => {{}};"
                )
            };
            let settings = serde_json::json!({
                "shellCommandPrefix": run("prefix"), "defaultProjectTrust": "always",
                "retry": {"enabled": false},
            });
            let server = serde_json::json!({"mcpServers": {"left": {
                "command": "sh", "args": ["-c", run("server")], "exposure": "direct"}}});
            let files = vec![
                (
                    "home/.pi/agent/extensions/left.js",
                    extension("home-extension"),
                ),
                ("work/.pi/extensions/left.js", extension("work-extension")),
                ("home/.pi/agent/settings.json", settings.to_string()),
                ("home/.pi/agent/mcp.json", server.to_string()),
            ];
            (
                files,
                vec!["home-extension", "work-extension", "prefix", "server"],
            )
        }
        "codex" | "codex-acp" => {
            let command = |name: &str| format!("[\"sh\", \"-c\", {:?}]", run(name));
            let server = |name: &str| {
                format!(
                    "[mcp_servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", {:?}]\n",
                    run(name)
                )
            };
            let settings = format!("notify = {}\n{}", command("notify"), server("server"));
            let files = vec![
                ("home/.codex/config.toml", settings),
                ("work/.codex/config.toml", server("work-server")),
                ("home/.bash_profile", run("profile")),
            ];
            let mut names = vec!["notify", "server", "profile"];
            // It would trust any working directory.
            names.extend((lab.cli.id == "codex-acp").then_some("work-server"));
            (files, names)
        }
        "copilot" => left_for_copilot(&run),
        "codebuddy" => left_for_codebuddy(&run),
        "claude-agent-acp" => left_for_claude_agent(&run),
        other => left::left(other, &pod.at("workspace/work"), &run)?
            .with_context(|| format!("nothing is known to be left for {other}"))?,
    };
    for (file, text) in files {
        let path = pod.at("workspace").join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        std::fs::write(path, text)?;
    }
    Ok(names)
}

/// Files with their texts, and the names of those that show that they were run.
type Left = (Vec<(&'static str, String)>, Vec<&'static str>);

/// Hooks, also in its settings, and a server.
fn left_for_copilot(run: &impl Fn(&str) -> String) -> Left {
    let hook = |name: &str| {
        let hook = serde_json::json!({"type": "command", "bash": run(name)});
        serde_json::json!({"version": 1, "hooks": {"sessionStart": [hook]}}).to_string()
    };
    let server = serde_json::json!({"mcpServers": {"left": {
        "type": "local", "command": "sh", "args": ["-c", run("server")], "tools": ["*"]}}});
    let files = vec![
        ("home/.copilot/hooks/left.json", hook("home-hook")),
        ("home/.copilot/settings.json", hook("settings")),
        ("home/.copilot/mcp-config.json", server.to_string()),
        ("work/.github/hooks/left.json", hook("work-hook")),
    ];
    (files, vec!["home-hook", "settings", "server"])
}

/// Hooks in its three places for settings, and a start file of the shell.
fn left_for_codebuddy(run: &impl Fn(&str) -> String) -> Left {
    let hook = |name: &str| {
        let hook = serde_json::json!({"type": "command", "command": run(name)});
        serde_json::json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}}).to_string()
    };
    let files = vec![
        ("home/.codebuddy/settings.json", hook("user")),
        ("work/.codebuddy/settings.json", hook("project")),
        ("work/.codebuddy/settings.local.json", hook("local")),
        ("home/.profile", run("profile")),
    ];
    (files, vec!["user", "project", "local", "profile"])
}

/// Hooks in its three places for settings, and a server in its home.
fn left_for_claude_agent(run: &impl Fn(&str) -> String) -> Left {
    let hook = |name: &str| {
        let hook = serde_json::json!({"type": "command", "command": run(name)});
        serde_json::json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}}).to_string()
    };
    let server = serde_json::json!({"mcpServers": {"left": {
        "type": "stdio", "command": "sh", "args": ["-c", run("server")]}}});
    let files = vec![
        ("home/.claude/settings.json", hook("user")),
        ("home/.claude.json", server.to_string()),
        ("work/.claude/settings.json", hook("project")),
        ("work/.claude/settings.local.json", hook("local")),
    ];
    (files, vec!["user", "project", "local", "server"])
}
