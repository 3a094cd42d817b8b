//! Gemini CLI (0.61.0).

use serde_json::{Value, json};

use super::dialect::{BASE, Dialect, Model, Naming, Resume};
use super::sessions::{Need, Step};
use crate::adapter::{Launch, LaunchFile, LaunchLink, Place};
use crate::adapters::command::Parts;
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::frame::text;
use crate::adapters::names::Kept;
use crate::adapters::own::Home;
use crate::adapters::stores;

/// A folder that nobody has called trusted would be read-only for it.
const TRUSTS: &str = "--skip-trust";
/// The variable that moves the folder in which its own stands, and that which says that the working directory is trusted.
const HOME: &str = "GEMINI_CLI_HOME";
const TRUSTED: &str = "GEMINI_CLI_TRUST_WORKSPACE";
/// Its own folder.
const FOLDER: &str = ".gemini";
/// With a tool policy: its sub-agents, which have tools of their own, are taken away.
const AGENTS: &str = "invoke_agent";

const RESERVED: &Reserved = &[
    ("--acp", Takes::Nothing),
    ("--experimental-acp", Takes::Nothing),
    ("-p", Takes::Value),
    ("--prompt", Takes::Value),
    ("-i", Takes::Value),
    ("--prompt-interactive", Takes::Value),
    ("-o", Takes::Value),
    ("--output-format", Takes::Value),
    ("-m", Takes::Value),
    ("--model", Takes::Value),
    ("-r", Takes::MaybeValue),
    ("--resume", Takes::MaybeValue),
    (TRUSTS, Takes::Nothing),
];

pub(super) const DIALECT: Dialect = Dialect {
    id: "gemini",
    program: "gemini",
    args: &["--acp", TRUSTS],
    reserved: RESERVED,
    context_file: "GEMINI.md",
    skills: |place| usual(place).join("skills"),
    resume: Resume::Load,
    lost: &["no previous sessions found"],
    model: Model::Flag("-m"),
    // It tells of a conversation that it loads once that is loaded: what it says before the answer to this is still of that.
    first: |launch, id, _| {
        (!launch.tools.is_empty()).then(|| Step {
            need: Need::None,
            what: "the mode in which it asks".to_owned(),
            method: "session/set_mode",
            params: json!({"sessionId": id, "modeId": "default"}),
        })
    },
    modes: &["yolo"],
    asks_when_held: true,
    tools: Naming::Kind,
    tool: |update| named(text(update, "toolCallId")),
    held,
    kept: Some(KEPT),
    ..BASE
};

/// By its settings; of a tool that it does not have it tells nothing.
const KEPT: Kept = Kept {
    program: "gemini",
    how: "a version that keeps to tools.exclude and tools.core of its settings, as 0.61.0 does",
    away: &[AGENTS],
    has_none: |_, _| false,
};
/// The digits of a time in the id of a call.
const TIME_DIGITS: usize = 12;

/// The tool in the id of a call: `name__id` where the model gave it one, else `name-time-number`. Of other ids none is known.
fn named(call: &str) -> &str {
    let is_time = |part: &str| {
        let part = part.split('-').next().unwrap_or_default();
        part.len() >= TIME_DIGITS && part.chars().all(|c| c.is_ascii_digit())
    };
    let of_time = || call.split_once('-').filter(|(_, rest)| is_time(rest));
    let name = call.split_once("__").or_else(of_time);
    name.map_or("", |(name, _)| name)
}

/// Its folder, where nothing is held.
fn usual(place: &Place<'_>) -> std::path::PathBuf {
    stores::folder(place, HOME, "").join(FOLDER)
}

/// With a tool policy its home is a folder in memory, whose settings leave tools out of its list; and the working directory
/// is no trusted one, so that no settings, variables, hooks and servers in it count. Its context file stands in that home
/// then. Of the usual one conversations and Skills stay.
fn held(launch: &Launch, parts: &mut Parts<'_>) {
    let variables = launch.env.variables();
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: variables,
    };
    let home = Home::folder(launch, DIALECT.id);
    let Home { folder, links } =
        Home::of(home.join(FOLDER), launch, &usual(&place), &[("tmp", true)]);
    parts.links = links;
    parts.links.push(LaunchLink {
        path: folder.join(DIALECT.context_file),
        to: launch.cwd.join(DIALECT.context_file),
        folder: false,
    });
    parts.files.push(LaunchFile {
        path: folder.join("settings.json"),
        content: settings(launch).to_string().into_bytes(),
        secret: false,
    });
    parts.args.retain(|arg| *arg != TRUSTS);
    let variables = [
        (HOME, home.display().to_string()),
        (TRUSTED, "false".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    parts.secret_env.0.extend(variables);
}

/// It goes on with a conversation only where it is told how it logs in; the image's settings come before these.
fn settings(launch: &Launch) -> Value {
    let vertex = launch.env.variables().get("GOOGLE_GENAI_USE_VERTEXAI");
    let login = match vertex.map(String::as_str) {
        Some("true") => "vertex-ai",
        _ => "gemini-api-key",
    };
    let excluded = [AGENTS].into_iter().chain(launch.tools.denied_tools());
    let mut tools = json!({"exclude": excluded.flat_map(spellings).collect::<Vec<_>>()});
    if !launch.tools.allow.is_empty() {
        let allowed = launch.tools.allow.iter();
        let allowed: Vec<_> = allowed.flat_map(|name| spellings(name)).collect();
        tools["core"] = json!(allowed);
    }
    json!({
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": true}},
        "general": {"enableAutoUpdate": false, "sessionRetention": {"enabled": false}},
        "privacy": {"usageStatisticsEnabled": false},
        // Else some variables of a `.env` above the working directory would count.
        "advanced": {"ignoreLocalEnv": true},
        "tools": tools,
    })
}

/// A tool as a policy has it, and as the program does.
fn spellings(name: &str) -> impl Iterator<Item = String> {
    let small = name.to_lowercase();
    let other = (small != name).then(|| name.to_owned());
    [small].into_iter().chain(other)
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
            args: words(&[TRUSTS, "--extra"]),
            skills: vec!["/workspace/home/.gemini/skills/review".into()],
            ..launch()
        }
    }

    #[test]
    fn with_a_policy_its_settings_are_ours_and_nothing_else_is_trusted() {
        let line = command_line(&DIALECT, &asked(&["Read_file"], &["web_fetch"]));
        assert_eq!(line.argv, words(&["gemini", "--acp", "--extra"]));
        let home = "/run/mooring/cli/gemini-1";
        for (name, value) in [(HOME, home), (TRUSTED, "false")] {
            let set = (name.to_owned(), value.to_owned());
            assert!(line.env.0.contains(&set), "{name}");
        }
        let settings: Value = serde_json::from_slice(&line.files[0].content).unwrap();
        let tools =
            json!({"exclude": ["invoke_agent", "web_fetch"], "core": ["read_file", "Read_file"]});
        assert_eq!(settings["tools"], tools);
        assert_eq!(settings["security"]["folderTrust"]["enabled"], true);
        let links: Vec<_> = line
            .links
            .iter()
            .map(|link| link.path.display().to_string())
            .collect();
        let below = |name: &str| format!("{home}/.gemini/{name}");
        let wanted = ["tmp", "skills/review", "GEMINI.md"].map(below);
        assert_eq!(links, wanted);
    }

    #[test]
    fn a_tool_that_was_taken_away_ends_the_run() {
        for (deny, call, passed) in [
            ("write_file", "write_file__toolu_000001_0", true),
            ("write_file", "write_file-1796073490484-1", true),
            ("Write_File", "write_file__toolu_000001_0", true),
            ("write_file", "read_file__toolu_000001_0", false),
            ("write_file", "28efb06f-4728-a275-c689-035568e40000", false),
            ("write_file", "toolu_000001_0", false),
            ("glob", "invoke_agent__toolu_000001_0", true),
        ] {
            let mut run = Run::new(&DIALECT, &asked(&[], &[deny]));
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"});
            assert_eq!(run.went_past(&update).is_some(), passed, "{deny} {call}");
        }
    }

    #[test]
    fn without_a_policy_the_home_is_the_usual_one() {
        let line = command_line(&DIALECT, &launch());
        assert_eq!(line.argv, words(&["gemini", "--acp", TRUSTS]));
        assert!(line.files.is_empty() && line.links.is_empty() && line.env.0.is_empty());
        assert!((DIALECT.first)(&launch(), "s", &Value::Null).is_none());
        let denied_only = settings(&asked(&[], &["glob"]));
        assert!(denied_only["tools"].get("core").is_none());
    }
}
