//! How `CodeBuddy` is started, and where it keeps its conversations.

use std::path::PathBuf;

use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::stores::{self, is_uuid};
use crate::adapters::stream_json::control;

/// Tools that wait for someone who is not there.
const DISALLOWED: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
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

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["-p", "--output-format", "stream-json"];
    args.extend(["--input-format", "stream-json", "--verbose"]);
    // Each an argument of its own: a flag has to follow, or the next word would be taken for a tool.
    args.push("--disallowedTools");
    args.extend(DISALLOWED);
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
    let parts = Parts {
        program: "codebuddy",
        reserved: RESERVED,
        args,
        env,
        // Nothing before it: asked for its hooks, it plays the conversation that it resumes once more.
        stdin: control::user_message(&launch.message),
        ..Parts::default()
    };
    parts.line(launch)
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
