//! How Claude Code is started, and where it keeps its conversations.

use std::path::PathBuf;

use super::control;
use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::flags::{self, Reserved, Takes};
use crate::adapters::stores::is_uuid;

/// Tools that wait for someone who is not there, or promise to come back after the process is gone.
const DISALLOWED: &str = "AskUserQuestion,ScheduleWakeup,CronCreate,Monitor";

/// The frame of the protocol, and the conversation, are ours to choose.
const RESERVED: &Reserved = &[
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("--permission-mode", Takes::Value),
    ("--mcp-config", Takes::Value),
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
    let (prefix, mut notes) = flags::keep(&launch.launch_prefix, RESERVED, "launchPrefix");
    let (args, more) = flags::keep(&launch.args, RESERVED, "args");
    notes.extend(more);

    let mut argv = if launch.command.is_empty() {
        vec!["claude".to_owned()]
    } else {
        launch.command.clone()
    };
    argv.extend(prefix);
    argv.extend(
        [
            "-p",
            "--output-format",
            "stream-json",
            "--input-format",
            "stream-json",
            "--verbose",
        ]
        .map(str::to_owned),
    );
    argv.extend(
        [
            "--permission-mode",
            "bypassPermissions",
            "--disallowedTools",
            DISALLOWED,
        ]
        .map(str::to_owned),
    );
    for (name, value) in [("--model", &launch.model), ("--resume", &launch.resume)] {
        if let Some(value) = value {
            argv.extend([name.to_owned(), value.clone()]);
        }
    }
    argv.extend(args);

    let mut env = vec![
        ("DISABLE_AUTOUPDATER", "1"),
        ("NO_COLOR", "1"),
        // Behind an allow-list telemetry would only run into its time-outs.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    if launch.root {
        // Without it the CLI refuses to bypass permissions as root; the pod is the sandbox.
        env.push(("IS_SANDBOX", "1"));
    }
    let mut stdin = control::initialize();
    stdin.extend(control::user_message(&launch.message));
    CommandLine {
        argv,
        env_defaults: env
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        stdin,
        notes,
    }
}

/// The one file in which `session` may lie.
pub(in crate::adapters) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let root = match place.env.get("CLAUDE_CONFIG_DIR") {
        Some(moved) if !moved.is_empty() => PathBuf::from(moved),
        _ => place.home.join(".claude"),
    };
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

    use serde_json::Value;

    use super::*;

    const ID: &str = "6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a6978";

    fn launch() -> Launch {
        Launch {
            command: Vec::new(),
            launch_prefix: Vec::new(),
            args: Vec::new(),
            model: None,
            cwd: "/workspace/work".into(),
            home: "/workspace/home".into(),
            root: false,
            resume: None,
            message: "Say \"hi\"\nplease".to_owned(),
        }
    }

    fn argv(launch: &Launch) -> String {
        command_line(launch).argv.join(" ")
    }

    const FIXED: &str = "-p --output-format stream-json --input-format stream-json --verbose --permission-mode \
        bypassPermissions --disallowedTools AskUserQuestion,ScheduleWakeup,CronCreate,Monitor";

    #[test]
    fn command_lines() {
        assert_eq!(argv(&launch()), format!("claude {FIXED}"));
        let full = Launch {
            command: vec!["/opt/claude".to_owned()],
            launch_prefix: vec![
                "wrapped".to_owned(),
                "--effort".to_owned(),
                "high".to_owned(),
            ],
            args: ["--permission-mode=plan", "--add-dir", "'/a b'", "-c"]
                .map(str::to_owned)
                .to_vec(),
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
