//! How Claude Code is started, and where it keeps its conversations.

use std::path::PathBuf;
use std::time::Duration;

use super::control;
use super::servers::holds_message;
use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::mcp;
use crate::adapters::stores::{self, is_uuid};
use crate::approvals::CLI_SLACK;

/// Tools that wait for someone who is not there, or promise to come back after the process is gone.
const DISALLOWED: &str = "AskUserQuestion,ScheduleWakeup,CronCreate,Monitor";

/// With a tool policy: what a skill would run by itself, without a tool, does not run. And hooks are on, whatever an
/// administrator's defaults in the image say.
const SETTINGS: &str = r#"{"disableAllHooks":false,"disableSkillShellExecution":true}"#;
/// What an agent can write is no settings then: hooks, variables and programs for this and that run without a tool. The
/// prompt is rendered anew each time, since the context file is in it.
const GATED: &[&str] = &[
    "--setting-sources=",
    "--settings",
    SETTINGS,
    "--system-prompt-snapshot",
    "off",
];
/// How it is spoken to.
pub(super) const PROTOCOL: [&str; 8] = [
    "-p",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--verbose",
    "--permission-mode",
    "bypassPermissions",
];
/// Without it the CLI refuses to bypass permissions as root; the pod is the sandbox.
pub(super) const SANDBOX: (&str, &str) = ("IS_SANDBOX", "1");

/// The frame of the protocol, and the conversation, are ours to choose.
pub(super) const RESERVED: &Reserved = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("--permission-mode", Takes::Value),
    ("--mcp-config", Takes::Value),
    ("--strict-mcp-config", Takes::Nothing),
    ("--effort", Takes::Value),
    ("--resume", Takes::MaybeValue),
    ("-r", Takes::MaybeValue),
    ("--continue", Takes::Nothing),
    ("-c", Takes::Nothing),
    ("--fork-session", Takes::Nothing),
    ("--session-id", Takes::Value),
];

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    // A tool that it may never use it need not know of.
    let denied = launch.tools.denied_tools();
    let disallowed = [DISALLOWED]
        .into_iter()
        .chain(denied)
        .collect::<Vec<_>>()
        .join(",");
    let mut args = PROTOCOL.to_vec();
    args.extend(["--disallowedTools", disallowed.as_str()]);
    let gated = !launch.tools.is_empty();
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--effort", launch.thinking.as_deref()));
    let turns = launch.max_turns.map(|turns| turns.to_string());
    args.extend(option("--max-turns", turns.as_deref()));
    args.extend(option("--resume", launch.resume.as_deref()));
    let mut env = vec![
        ("DISABLE_AUTOUPDATER", "1"),
        ("NO_COLOR", "1"),
        // Behind an allow-list telemetry would only run into its time-outs.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    env.extend(launch.root.then_some(SANDBOX));
    if let Some(tier) = &launch.service_tier {
        // There is no flag, and no other provider that it knows has tiers.
        env.push(("ANTHROPIC_BEDROCK_SERVICE_TIER", tier));
    }
    // The list alone counts. Strict without a list takes all servers away.
    let servers = mcp::file(launch);
    let mut own = Vec::new();
    if gated || servers.is_some() {
        own.push("--strict-mcp-config".to_owned());
    }
    if let Some(file) = &servers {
        own.extend(["--mcp-config".to_owned(), file.path.display().to_string()]);
    }
    if gated {
        own.extend(GATED.iter().map(|word| (*word).to_owned()));
        own.extend(context(launch));
    }
    let mut stdin = if gated {
        let person = Duration::from_secs(launch.tools.approval_seconds.into());
        control::initialize_gated((person + CLI_SLACK).as_secs())
    } else {
        control::initialize_steered()
    };
    if !holds_message(launch) {
        stdin.extend(control::user_message(&launch.message));
    }
    let parts = Parts {
        program: "claude",
        reserved: RESERVED,
        args,
        env,
        own,
        files: servers.into_iter().collect(),
        stdin,
        ..Parts::default()
    };
    parts.line(launch)
}

/// What it reads by itself where it reads settings: the context file and the skills that the agent is given.
fn context(launch: &Launch) -> Vec<String> {
    let file = launch.cwd.join(super::CLAUDE.context_file);
    let mut words = vec![
        "--append-system-prompt-file".to_owned(),
        file.display().to_string(),
    ];
    for skill in &launch.skills {
        words.extend(["--plugin-dir".to_owned(), skill.display().to_string()]);
    }
    words
}

/// Where it looks for skills.
pub(in crate::adapters) fn skills(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "CLAUDE_CONFIG_DIR", ".claude").join("skills")
}

/// The one file in which `session` may lie.
pub(in crate::adapters) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let root = stores::folder(place, "CLAUDE_CONFIG_DIR", ".claude");
    let folder = project_folder(&place.cwd.to_string_lossy());
    vec![
        root.join("projects")
            .join(folder)
            .join(format!("{session}.jsonl")),
    ]
}

/// The folder of a working directory: each UTF-16 unit that is no ASCII letter or digit becomes a dash.
fn project_folder(cwd: &str) -> String {
    let dashed = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_string()
        } else {
            "-".repeat(c.len_utf16())
        }
    };
    cwd.chars().map(dashed).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use protocol::tools::ToolPolicy;
    use serde_json::Value;

    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    const ID: &str = "6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a6978";

    fn argv(launch: &Launch) -> String {
        command_line(launch).argv.join(" ")
    }

    const FIXED: &str = "-p --output-format stream-json --input-format stream-json --verbose --permission-mode \
        bypassPermissions --disallowedTools AskUserQuestion,ScheduleWakeup,CronCreate,Monitor";

    #[test]
    fn command_lines() {
        assert_eq!(argv(&launch()), format!("claude {FIXED}"));
        let full = Launch {
            command: words(&["/opt/claude"]),
            launch_prefix: words(&["wrapped", "--effort", "high"]),
            args: words(&["--permission-mode=plan", "--add-dir", "'/a b'", "-c"]),
            model: Some("m-1".to_owned()),
            resume: Some(ID.to_owned()),
            ..launch()
        };
        assert_eq!(
            argv(&full),
            format!("/opt/claude wrapped {FIXED} --model m-1 --resume {ID} --add-dir /a b")
        );
        assert_eq!(command_line(&full).notes.len(), 3);
    }

    #[test]
    fn options_of_the_agent() {
        let asked = Launch {
            thinking: Some("high".to_owned()),
            service_tier: Some("flex".to_owned()),
            max_turns: Some(7),
            args: words(&["--add-dir", "/a"]),
            custom_args: words(&["--add-dir", "/b", "--strict-mcp-config"]),
            mcp: Some(mcp_servers()),
            ..launch()
        };
        let line = command_line(&asked);
        assert_eq!(
            line.argv.join(" "),
            format!(
                "claude {FIXED} --effort high --max-turns 7 --add-dir /a --add-dir /b --strict-mcp-config --mcp-config /run/mooring/cli/mcp.json"
            )
        );
        assert_eq!((line.notes.len(), line.files.len()), (1, 1));
        let tier = (
            "ANTHROPIC_BEDROCK_SERVICE_TIER".to_owned(),
            "flex".to_owned(),
        );
        assert!(line.env_defaults.contains(&tier));
    }

    #[test]
    fn with_a_policy_nothing_counts_that_an_agent_can_write() {
        let gated = Launch {
            tools: ToolPolicy {
                deny: words(&["WebFetch"]),
                ..ToolPolicy::default()
            },
            skills: vec!["/workspace/home/.claude/skills/review".into()],
            args: words(&["--setting-sources=user", "--settings", "x"]),
            ..launch()
        };
        assert_eq!(
            argv(&gated),
            format!(
                "claude {FIXED},WebFetch --setting-sources=user --settings x --strict-mcp-config --setting-sources= \
                 --settings {SETTINGS} --system-prompt-snapshot off --append-system-prompt-file \
                 /workspace/work/CLAUDE.md --plugin-dir /workspace/home/.claude/skills/review"
            )
        );
    }

    #[test]
    fn every_reserved_flag_is_dropped_in_both_forms() {
        for (flag, takes) in RESERVED {
            let mut forms = vec![vec![format!("{flag}=v")]];
            forms.push(match takes {
                Takes::Nothing => vec![(*flag).to_owned()],
                Takes::Value | Takes::MaybeValue => vec![(*flag).to_owned(), "v".to_owned()],
            });
            for args in forms {
                assert_eq!(
                    argv(&Launch {
                        args: args.clone(),
                        ..launch()
                    }),
                    format!("claude {FIXED}"),
                    "{args:?}"
                );
            }
        }
    }

    #[test]
    fn the_message_is_one_line_of_stdin_and_no_argument() {
        let line = command_line(&launch());
        let stdin = String::from_utf8(line.stdin).unwrap();
        let frames: Vec<Value> = stdin
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[0]["request"]["subtype"], "initialize");
        assert_eq!(
            frames[1]["message"]["content"][0]["text"],
            "Say \"hi\"\nplease"
        );
        assert!(!line.argv.iter().any(|word| word.contains("please")));
    }

    #[test]
    fn only_root_calls_itself_a_sandbox() {
        let sandbox = |root| {
            let line = command_line(&Launch { root, ..launch() });
            line.env_defaults
                .iter()
                .any(|(name, _)| name == "IS_SANDBOX")
        };
        assert!(sandbox(true) && !sandbox(false));
    }

    #[test]
    fn a_session_has_one_file_and_an_odd_id_none() {
        let files = |env: &[(&str, &str)], cwd: &str, session: &str| {
            let env: BTreeMap<_, _> = env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let place = Place {
                home: Path::new("/h"),
                cwd: Path::new(cwd),
                env: &env,
            };
            session_files(&place, session)
        };
        let file = |path: String| vec![PathBuf::from(path)];
        assert_eq!(
            files(&[], "/workspace/work", ID),
            file(format!("/h/.claude/projects/-workspace-work/{ID}.jsonl"))
        );
        assert_eq!(
            files(&[], "/a.b_c/𝄞é", ID),
            file(format!("/h/.claude/projects/-a-b-c----/{ID}.jsonl"))
        );
        let moved = [("CLAUDE_CONFIG_DIR", "/c")];
        assert_eq!(
            files(&moved, "/w", ID),
            file(format!("/c/projects/-w/{ID}.jsonl"))
        );
        for odd in [
            "",
            "../../etc/passwd",
            "6b1c1c5e",
            "6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a697/",
            "nonsense",
        ] {
            assert_eq!(files(&[], "/w", odd), Vec::<PathBuf>::new(), "{odd}");
        }
    }
}
