//! Reasonix (1.38.11).

use std::fs;

use serde_json::{Value, json};

use super::dialect::{Asks, BASE, Choice, Dialect, Scope, Steers};
use crate::adapter::{Launch, LaunchFile};
use crate::adapters::flags::Takes;
use crate::adapters::frame::{flag, list, text};

/// What it keeps under its own name in `_meta`.
const META: &str = "reasonix.io";
/// Tools that would change more than the task is about.
const FORBIDDEN: &[&str] = &[
    "exit_plan_mode",
    "remember",
    "forget",
    "sandbox_escape",
    "config_write",
    "plan_mode_read_only_command",
];

pub(super) const DIALECT: Dialect = Dialect {
    id: "reasonix",
    program: "reasonix",
    args: &[
        "acp",
        "--planner",
        "auto",
        "--sandbox-network",
        "auto",
        "--sandbox-bash",
        "auto",
        "--workspace-only",
    ],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--model", Takes::Value),
        ("--profile", Takes::Value),
        ("--planner", Takes::Value),
        ("--sandbox-network", Takes::Value),
        ("--sandbox-bash", Takes::Value),
        ("--workspace-only", Takes::Nothing),
    ],
    skills: |place| place.home.join(".reasonix/skills"),
    // Otherwise it runs a command only in a sandbox of its own, and none where it has no program for that.
    choices: &[Choice {
        id: "tool_approval",
        value: "danger-full-access",
        needed: false,
    }],
    unset: &["not configured", "no default_model configured"],
    is_held: |refusal| {
        let words = refusal.words.to_lowercase();
        words.contains(" in use") && words.contains("close the other reasonix")
    },
    asks,
    files: hooks,
    // It tells of a hook that refuses as if the agent had said it.
    is_notice: |update| {
        let words = update
            .get("content")
            .map_or("", |content| text(content, "text"));
        words.trim_start().starts_with("[warning] hook [")
    },
    steers: Steers::Named(META),
    only_known_ends: true,
    usage: Scope::Notice,
    ..BASE
};

/// A hook before its tool that asks a person. Nobody is there to answer, and without an answer Reasonix ends the turn. It has no flag
/// and no variable for that, and a `reasonix.toml` here would take the place of the user's own lists; hooks are added to
/// theirs. Settings that are there already stay as they are.
fn hooks(launch: &Launch) -> Vec<LaunchFile> {
    let folder = launch.cwd.join(".reasonix");
    let path = folder.join("settings.json");
    let is_folder = fs::symlink_metadata(&folder).map_or(true, |found| found.is_dir());
    if !is_folder || fs::symlink_metadata(&path).is_ok() {
        return Vec::new();
    }
    // Exit code 2 says no.
    let hook = json!({"match": "ask", "command": "exit 2"});
    vec![LaunchFile {
        path,
        content: json!({"hooks": {"PreToolUse": [hook]}})
            .to_string()
            .into_bytes(),
        secret: false,
    }]
}

fn asks(params: &Value) -> Asks {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let cancels = |option: &Value| text(option, "optionId").ends_with(":cancel");
    if text(call, "toolCallId").starts_with("ask-") || list(params, "options").iter().any(cancels) {
        return Asks::Person;
    }
    let meta = call.get("_meta").and_then(|meta| meta.get(META));
    let meta = meta.unwrap_or(&Value::Null);
    if flag(meta, "fresh") || FORBIDDEN.contains(&text(meta, "tool")) {
        Asks::Forbidden
    } else {
        Asks::Permission
    }
}

#[cfg(test)]
mod tests {
    use super::super::command_line;
    use super::*;
    use crate::testing::launch;

    #[test]
    fn what_it_says_of_a_hook_is_not_the_agents() {
        let chunk = |words: &str| json!({"content": {"type": "text", "text": words}});
        let told = "\n\n[warning] hook [project/PreToolUse] exit 2 \u{2014} block";
        assert!((DIALECT.is_notice)(&chunk(told)));
        assert!(!(DIALECT.is_notice)(&chunk("[warning] of the agent")));
    }

    #[test]
    fn its_question_is_refused_by_a_hook_where_there_are_no_other_settings() {
        let work = tempfile::tempdir().unwrap();
        let asked = Launch {
            cwd: work.path().to_owned(),
            ..launch()
        };
        let files = || command_line(&DIALECT, &asked).files;
        let [file] = &files()[..] else { panic!() };
        let folder = work.path().join(".reasonix");
        assert_eq!(file.path, folder.join("settings.json"));
        assert!(!file.secret);
        let settings: Value = serde_json::from_slice(&file.content).unwrap();
        let hook = &settings["hooks"]["PreToolUse"][0];
        assert_eq!(hook["match"], "ask");
        fs::create_dir(&folder).unwrap();
        assert_eq!(files().len(), 1);
        fs::write(folder.join("settings.json"), "{}").unwrap();
        assert_eq!(files().len(), 0);
        fs::remove_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/", &folder).unwrap();
        assert_eq!(files().len(), 0);
    }
}
