//! Claude Code behind claude-agent-acp (0.101.0).

use serde_json::{Value, json};

use super::dialect::{BASE, Dialect};
use crate::adapter::Launch;
use crate::adapters::claude;
use crate::adapters::frame::text;

/// With a tool policy: what has tools of its own, or runs commands later and by another name, is taken away.
const AWAY: [&str; 8] = [
    "Agent",
    "Task",
    "Workflow",
    "TeamCreate",
    "SendMessage",
    "Monitor",
    "CronCreate",
    "ScheduleWakeup",
];
/// Its tools as it spells them, where a policy may spell them otherwise.
const TOOLS: [&str; 20] = [
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LSP",
    "NotebookEdit",
    "PowerShell",
    "Read",
    "Skill",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

pub(super) const DIALECT: Dialect = Dialect {
    id: "claude-agent-acp",
    program: "claude-agent-acp",
    env: &[
        ("NO_COLOR", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Behind an allow-list telemetry would only run into its time-outs.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ],
    // Without it permissions are not bypassed as root; the pod is the sandbox.
    root_env: &[("IS_SANDBOX", "1")],
    context_file: "CLAUDE.md",
    skills: claude::skills,
    session_files: claude::session_files,
    opening,
    modes: &["bypassPermissions"],
    tool: |update| of_claude(update).map_or("", |meta| text(meta, "toolName")),
    is_notice: |update| of_claude(update).is_some_and(|meta| text(meta, "kind") == "informational"),
    ..BASE
};

fn of_claude(update: &Value) -> Option<&Value> {
    update.get("_meta")?.get("claudeCode")
}

/// With a tool policy its tools are taken away when a session is opened, and nothing that an agent can write is a setting
/// then. The context file and the Skills, which would be read with those, are named.
fn opening(launch: &Launch, params: &mut Value) {
    if launch.tools.is_empty() {
        return;
    }
    let denied: Vec<_> = AWAY
        .into_iter()
        .chain(launch.tools.denied_tools().flat_map(spellings))
        .collect();
    let skills = launch.skills.iter();
    let skills: Vec<_> = skills
        .map(|skill| json!({"type": "local", "path": skill}))
        .collect();
    params["_meta"] = json!({"claudeCode": {"options": {
        "disallowedTools": denied,
        "settingSources": [],
        "strictMcpConfig": true,
        "settings": {"disableSkillShellExecution": true},
        "plugins": skills,
        "extraArgs": {
            "append-system-prompt-file": launch.cwd.join(DIALECT.context_file),
            // The context file is in it, so it is made anew each time.
            "system-prompt-snapshot": "off",
        },
    }}});
}

/// A tool as a policy has it, and as the program does.
fn spellings(name: &str) -> impl Iterator<Item = &str> {
    let own = TOOLS
        .into_iter()
        .filter(move |own| own.eq_ignore_ascii_case(name) && *own != name);
    [name].into_iter().chain(own)
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::super::run::Run;
    use super::*;
    use crate::testing::{launch, words};

    fn held() -> Launch {
        Launch {
            tools: ToolPolicy {
                deny: words(&["webfetch", "Bash", "mcp__tracker__close"]),
                ..ToolPolicy::default()
            },
            skills: vec!["/workspace/home/.claude/skills/review".into()],
            ..launch()
        }
    }

    #[test]
    fn tools_are_taken_away_however_they_are_spelled() {
        let mut params = json!({"cwd": "/workspace/work"});
        opening(&launch(), &mut params);
        assert!(params.get("_meta").is_none());
        opening(&held(), &mut params);
        let options = &params["_meta"]["claudeCode"]["options"];
        let denied = options["disallowedTools"].as_array().unwrap();
        for name in ["Agent", "WebFetch", "Bash", "mcp__tracker__close"] {
            assert!(denied.contains(&json!(name)), "{name}");
        }
        assert_eq!(options["settingSources"], json!([]));
        let path = "/workspace/home/.claude/skills/review";
        assert_eq!(options["plugins"], json!([{"type": "local", "path": path}]));
    }

    /// A server's tool may be spelled in any way.
    #[test]
    fn one_that_was_used_all_the_same_ends_the_run() {
        let run = Run::new(&DIALECT, &held());
        for (tool, status, ends) in [
            ("mcp__Tracker__close", "completed", true),
            ("Bash", "completed", true),
            ("Bash", "failed", false),
            ("Read", "completed", false),
        ] {
            let update = json!({"status": status, "_meta": {"claudeCode": {"toolName": tool}}});
            assert_eq!(run.passed(&update).is_some(), ends, "{tool} {status}");
        }
        let unsaid = json!({"status": "completed"});
        assert!(run.passed(&unsaid).is_none());
    }
}
