//! Mistral Vibe (3.0.2).

use serde_json::{Value, json};

use super::dialect::{BASE, Dialect, Resume, Scope};
use super::sessions::{Need, Step};
use crate::adapter::{Launch, LaunchLink, Place};
use crate::adapters::command::Parts;
use crate::adapters::frame::{list, text};
use crate::adapters::names::Kept;
use crate::adapters::own::Home;
use crate::adapters::stores;

/// The working directory is a place that may be believed.
const TRUST: &str = "trust_cwd";
/// The variable that moves its home, and those that say which tools it has: none of its files counts before them.
const HOME: &str = "VIBE_HOME";
const DISABLED: &str = "VIBE_DISABLED_TOOLS";
const ENABLED: &str = "VIBE_ENABLED_TOOLS";
/// Where it keeps its conversations.
const SESSIONS: &str = "VIBE_SESSION_LOGGING__SAVE_DIR";

pub(super) const DIALECT: Dialect = Dialect {
    id: "vibe",
    program: "vibe-acp",
    skills: |place| stores::folder(place, HOME, ".vibe").join("skills"),
    resume: Resume::Load,
    // Of a folder that nobody has called trusted it reads no context file.
    first: |launch, id, opened| {
        if !launch.tools.is_empty() {
            return None;
        }
        let details = opened.pointer("/_meta/workspace_trust/details")?;
        let mut offered = list(details, "availableDecisions").iter();
        offered
            .any(|decision| decision.as_str() == Some(TRUST))
            .then(|| Step {
                need: Need::None,
                what: "the trust in the working directory".to_owned(),
                method: "_trust/decision",
                params: json!({"sessionId": id, "decision": TRUST, "cwd": launch.cwd}),
            })
    },
    // Programs and addresses over HTTP.
    announces_no_servers: true,
    modes: &["auto-approve"],
    tool,
    held,
    kept: Some(KEPT),
    usage: Scope::Conversation,
    ..BASE
};

/// By its variables, in all that it does: a program of its sandbox and its sub-agents have no other tools.
const KEPT: Kept = Kept {
    program: "vibe",
    how: "a version that keeps to VIBE_DISABLED_TOOLS and VIBE_ENABLED_TOOLS, as 3.0.2 does",
    away: &[],
    has_none: |_, said| said == "Tool execution denied by approval policy",
};

/// The tool of a call, where that is one with a name of its own: what waits, looks for functions or starts a sub-agent does
/// nothing that they would not be asked for, and tools of servers are called by other names here.
fn tool(update: &Value) -> &str {
    let meta = update.get("_meta").unwrap_or(&Value::Null);
    match text(meta, "tool_name").split_once('.') {
        Some(("process", _)) => "bash",
        Some(("vibe", name)) => name,
        Some(_) => "",
        None => match text(meta, "tool_name") {
            "search_tool_functions" | "run_typescript" => "",
            name => name,
        },
    }
}

/// With a tool policy its home is a folder in memory, and the working directory is no trusted one: so no settings, servers
/// and tools that an agent left there count. Its context file stands in that home then.
fn held(launch: &Launch, parts: &mut Parts<'_>) {
    let variables = launch.env.variables();
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: variables,
    };
    let usual = stores::folder(&place, HOME, ".vibe");
    let Home { folder, links } = Home::new(launch, "vibe", &usual, &[]);
    parts.links = links;
    parts.links.push(LaunchLink {
        path: folder.join(DIALECT.context_file),
        to: launch.cwd.join(DIALECT.context_file),
        folder: false,
    });
    // It takes no link to them.
    let sessions = match variables.get(SESSIONS) {
        Some(elsewhere) => elsewhere.clone(),
        None => usual.join("logs/session").display().to_string(),
    };
    // What the Runtime takes away stays away.
    let usual: Vec<String> = (variables.get(DISABLED))
        .and_then(|list| serde_json::from_str(list).ok())
        .unwrap_or_default();
    let denied = launch.tools.denied_tools().flat_map(spellings);
    let denied: Vec<_> = usual.into_iter().chain(denied).collect();
    let allowed = launch.tools.allow.iter();
    let allowed: Vec<_> = allowed.flat_map(|name| spellings(name)).collect();
    let mut set = |name: &str, value: String| parts.secret_env.0.push((name.to_owned(), value));
    set(HOME, folder.display().to_string());
    set(SESSIONS, sessions);
    set(DISABLED, json!(denied).to_string());
    if !allowed.is_empty() {
        set(ENABLED, json!(allowed).to_string());
    }
}

/// A tool as a policy has it, and that of a server as the program has it. It looks at no case.
fn spellings(name: &str) -> Vec<String> {
    let small = name.to_lowercase();
    let of_server = (small.strip_prefix("mcp__")).map(|rest| rest.replacen("__", "_", 1));
    [small].into_iter().chain(of_server).collect()
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::super::command_line;
    use super::super::run::Run;
    use super::*;
    use crate::testing::{launch, words};

    fn asked(allow: &[&str], deny: &[&str]) -> Launch {
        Launch {
            tools: ToolPolicy {
                allow: words(allow),
                deny: words(deny),
                ..ToolPolicy::default()
            },
            new_session: "1".to_owned(),
            ..launch()
        }
    }

    #[test]
    fn with_a_policy_its_variables_say_which_tools_it_has() {
        let line = command_line(&DIALECT, &asked(&["Read_file"], &["bash", "mcp__a__b"]));
        let value = |name: &str| {
            let found = line.env.0.iter().find(|(variable, _)| variable == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value(DISABLED), Some(r#"["bash","mcp__a__b","a_b"]"#));
        assert_eq!(value(ENABLED), Some(r#"["read_file"]"#));
        assert_eq!(value(HOME), Some("/run/mooring/cli/vibe-1"));
        let sessions = "/workspace/home/.vibe/logs/session";
        assert_eq!(value(SESSIONS), Some(sessions));
        assert!(line.links[0].path.ends_with("vibe-1/AGENTS.md"));
        let free = command_line(&DIALECT, &launch());
        assert!(free.links.is_empty() && free.env.0.is_empty());
        let only_denied = command_line(&DIALECT, &asked(&[], &["bash"]));
        assert!(only_denied.env.0.iter().all(|(name, _)| name != ENABLED));
    }

    #[test]
    fn with_a_policy_nothing_in_the_working_directory_is_believed() {
        let opened =
            json!({"_meta": {"workspace_trust": {"details": {"availableDecisions": [TRUST]}}}});
        assert!((DIALECT.first)(&launch(), "s", &opened).is_some());
        assert!((DIALECT.first)(&asked(&[], &["bash"]), "s", &opened).is_none());
    }

    #[test]
    fn a_tool_that_was_taken_away_does_nothing_or_ends_the_run() {
        let refused = "Tool execution denied by approval policy";
        for (allow, deny, tool, status, words, passed) in [
            (&[][..], &["bash"][..], "bash", "completed", "", true),
            (&[], &["bash"], "bash", "failed", refused, false),
            (&[], &["bash"], "process.start", "failed", "spawn", true),
            (&[], &["bash"], "read_file", "completed", "", false),
            (&["read_file"], &[], "vibe.cron", "completed", "", true),
            (&["read_file"], &[], "self.wait", "completed", "", false),
            (
                &["read_file"],
                &[],
                "search_tool_functions",
                "completed",
                "",
                false,
            ),
        ] {
            let mut run = Run::new(&DIALECT, &asked(allow, deny));
            let content = json!([{"type": "content", "content": {"type": "text", "text": words}}]);
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status,
                "content": content, "_meta": {"tool_name": tool}});
            assert_eq!(run.went_past(&update).is_some(), passed, "{update}");
        }
    }
}
