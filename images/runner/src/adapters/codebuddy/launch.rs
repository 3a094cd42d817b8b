//! How `CodeBuddy` is started, and where it keeps its conversations.

use std::path::PathBuf;
use std::time::Duration;

use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::own::Home;
use crate::adapters::stores::{self, is_uuid};
use crate::adapters::stream_json::control;
use crate::approvals::CLI_SLACK;
use crate::mcp::Values;

/// Tools that wait for someone who is not there.
const DISALLOWED: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
/// Tools by which others are used out of our hook's sight, and what runs later.
const HIDDEN: [&str; 7] = [
    "Agent",
    "CronCreate",
    "DeferExecuteTool",
    "TeamCreate",
    "SendMessage",
    "ToolSearch",
    "Workflow",
];
/// Folders between the store and a file: one for each working directory.
const DEPTH: u32 = 1;

/// The frame of the protocol, and the conversation, are ours to choose.
const RESERVED: &Reserved = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("--permission-mode", Takes::Value),
    ("--mcp-config", Takes::Value),
    ("--strict-mcp-config", Takes::Nothing),
    ("--effort", Takes::Value),
    ("--model", Takes::Value),
    ("--resume", Takes::MaybeValue),
    ("-r", Takes::MaybeValue),
    ("--continue", Takes::Nothing),
    ("-c", Takes::Nothing),
    ("--fork-session", Takes::Nothing),
    ("--session-id", Takes::Value),
    ("--acp", Takes::Nothing),
    ("--acp-transport", Takes::Value),
];

/// Those that would bring something past our hook.
const GATED: &Reserved = &[
    ("--settings", Takes::Value),
    ("--setting-sources", Takes::Value),
    ("--plugin-dir", Takes::Value),
    ("--agent", Takes::Value),
    ("--channels", Takes::Value),
    ("--disallowedTools", Takes::Value),
];

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["-p", "--output-format", "stream-json"];
    args.extend(["--input-format", "stream-json", "--verbose"]);
    // Each an argument of its own: a flag has to follow, or the next word would be taken for a tool.
    args.push("--disallowedTools");
    args.extend(DISALLOWED);
    let gated = !launch.tools.is_empty();
    if gated {
        args.extend(HIDDEN);
    }
    args.extend(["--permission-mode", "bypassPermissions"]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--effort", launch.thinking.as_deref()));
    let turns = launch.max_turns.map(|turns| turns.to_string());
    args.extend(option("--max-turns", turns.as_deref()));
    args.extend(option("--resume", launch.resume.as_deref()));
    let mut env = vec![("DISABLE_AUTOUPDATER", "1"), ("NO_COLOR", "1")];
    if launch.root {
        // Without it the CLI refuses to bypass permissions as root; the pod is the sandbox.
        env.push(("IS_SANDBOX", "1"));
    }
    let mut parts = Parts {
        program: "codebuddy",
        reserved: RESERVED,
        args,
        env,
        // Nothing before it: asked for its hooks, it plays the conversation that it resumes once more.
        stdin: control::user_message(&launch.message),
        ..Parts::default()
    };
    let reserved = [RESERVED, GATED].concat();
    if gated {
        let person = Duration::from_secs(launch.tools.approval_seconds.into());
        // The message follows its answer.
        parts.stdin = control::initialize_asked((person + CLI_SLACK).as_secs());
        parts.reserved = &reserved;
        // It reads settings anew while it runs: so none at all, also of a home that was empty at the start.
        let own = ["--setting-sources", "none", "--strict-mcp-config"];
        parts.own = own.map(str::to_owned).to_vec();
        let Home { folder, links } = home(launch);
        parts.links = links;
        let home = ("CODEBUDDY_CONFIG_DIR", folder.display().to_string());
        parts.secret_env = Values(vec![(home.0.to_owned(), home.1)]);
    }
    parts.line(launch)
}

/// Its settings' home where it is held to its tools. Conversations stay in the usual one.
pub(super) fn home(launch: &Launch) -> Home {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let usual = stores::folder(&place, "CODEBUDDY_CONFIG_DIR", ".codebuddy");
    Home::new(launch, "codebuddy", &usual, &[("projects", true)])
}

/// Where it looks for skills.
pub(super) fn skills(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "CODEBUDDY_CONFIG_DIR", ".codebuddy").join("skills")
}

/// The file in which `session` lies, in the folder of whichever working directory.
pub(super) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let store = stores::folder(place, "CODEBUDDY_CONFIG_DIR", ".codebuddy").join("projects");
    let file = format!("{session}.jsonl");
    stores::look(&store, DEPTH, &file, |name| name == file)
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, words};

    const FIXED: &str = "codebuddy -p --output-format stream-json --input-format stream-json --verbose \
        --disallowedTools AskUserQuestion EnterPlanMode ExitPlanMode --permission-mode bypassPermissions";

    fn argv(launch: &Launch) -> String {
        command_line(launch).argv.join(" ")
    }

    #[test]
    fn command_lines() {
        assert_eq!(argv(&launch()), FIXED);
        let full = Launch {
            args: words(&["--acp", "--add-dir", "'/a b'"]),
            model: Some("m".to_owned()),
            resume: Some("s".to_owned()),
            ..launch()
        };
        assert_eq!(
            argv(&full),
            format!("{FIXED} --model m --resume s --add-dir /a b")
        );
        let stdin = String::from_utf8(command_line(&full).stdin).unwrap();
        assert_eq!(stdin.lines().count(), 1);
    }

    #[test]
    fn with_a_policy_nothing_counts_that_an_agent_could_have_left() {
        let asked = Launch {
            tools: ToolPolicy {
                deny: words(&["WebFetch", "Bash(rm:*)"]),
                approval_seconds: 60,
                ..ToolPolicy::default()
            },
            args: words(&["--settings", "x", "--plugin-dir=y"]),
            new_session: "n".to_owned(),
            skills: vec!["/workspace/home/.codebuddy/skills/memory".into()],
            ..launch()
        };
        let line = command_line(&asked);
        let hidden = HIDDEN.join(" ");
        let said = line.argv.join(" ");
        let denied = format!("ExitPlanMode {hidden} --permission-mode bypassPermissions");
        assert!(
            said.ends_with(&format!(
                "{denied} --setting-sources none --strict-mcp-config"
            )),
            "{said}"
        );
        assert_eq!(line.notes.len(), 2);
        let stdin = String::from_utf8(line.stdin).unwrap();
        assert!(
            stdin.contains("\"timeout\":660") && !stdin.contains("please"),
            "{stdin}"
        );
        let home = ("CODEBUDDY_CONFIG_DIR", "/run/mooring/cli/codebuddy-n");
        assert_eq!(line.env.0, [(home.0.to_owned(), home.1.to_owned())]);
        let links: Vec<_> = line
            .links
            .iter()
            .map(|link| link.path.display().to_string())
            .collect();
        assert_eq!(
            links,
            [
                format!("{}/projects", home.1),
                format!("{}/skills/memory", home.1)
            ]
        );
    }

    #[test]
    fn every_reserved_flag_is_dropped_in_both_forms() {
        for (flag, takes) in RESERVED {
            let spaced = match takes {
                Takes::Nothing => vec![(*flag).to_owned()],
                Takes::Value | Takes::MaybeValue => vec![(*flag).to_owned(), "v".to_owned()],
            };
            for args in [vec![format!("{flag}=v")], spaced] {
                let asked = Launch {
                    args: args.clone(),
                    ..launch()
                };
                assert_eq!(argv(&asked), FIXED, "{args:?}");
            }
        }
    }
}
