//! How Codex is started, and where it keeps its conversations.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::gate;
use crate::adapter::{CommandLine, Launch, LaunchLink, Place, Provider as _};
use crate::adapters::command::Parts;
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::own::Home;
use crate::adapters::stores::{self, is_uuid};
use crate::approvals::CLI_SLACK;
use crate::mcp::Values;

/// How it is spoken to is ours to choose.
pub(super) const RESERVED: &Reserved = &[("--listen", Takes::Value)];

/// The file with what it is told of its work.
pub(super) const CONTEXT: &str = "AGENTS.md";

/// Settings of ours. They come last, and the last one counts.
const SETTINGS: &[&str] = &[
    // Behind an allow-list both would only run into their time-outs.
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    // Agents of its own would outlive the turn, and the process ends with it.
    "features.multi_agent=false",
    // It is off unless settings say so: memories are written by the model after the turn, and read into other conversations.
    "features.memories=false",
];

/// The tier for which a feature has to be on,
const PRIORITY: &str = "priority";
/// and what would switch that off.
const FAST_OFF: [(&str, &str); 3] = [
    ("--disable", "fast_mode"),
    ("-c", "features.fast_mode"),
    ("--config", "features.fast_mode"),
];

/// Settings of ours where it is held to its tools.
const GATED: &[&str] = &[
    "features.hooks=true",
    // Both would run what an agent has written into its home.
    "allow_login_shell=false",
    "features.shell_snapshot=false",
    // The provider runs it by itself: nobody could look at it first.
    "web_search=\"disabled\"",
];
/// What would change them.
const HOOKS: [(&str, &str); 8] = [
    ("-c", "projects"),
    ("--config", "projects"),
    ("-c", "hooks"),
    ("--config", "hooks"),
    ("-c", "features.hooks"),
    ("--config", "features.hooks"),
    ("--disable", "hooks"),
    ("--enable", "apps"),
];

/// Folders between the store and a file: year, month, day.
const DEPTH: u32 = 3;

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let fast = tier(launch) == Some(PRIORITY);
    let mut settings = Vec::new();
    if launch.mcp.is_some() {
        settings.extend([("-c", "mcp_servers"), ("--config", "mcp_servers")]);
    }
    if fast {
        settings.extend(FAST_OFF);
    }
    let mut own = Vec::new();
    if fast {
        own.extend(["--enable", "fast_mode"].map(str::to_owned));
    }
    let mut last: Vec<_> = SETTINGS.iter().flat_map(|set| ["-c", set]).collect();
    let (mut links, mut home) = (Vec::new(), Values::default());
    if !launch.tools.is_empty() {
        settings.extend(HOOKS);
        last.extend(GATED.iter().flat_map(|set| ["-c", set]));
        own.extend(gate_settings(launch));
        let gated = gated_home(launch);
        links = gated.links;
        let folder = gated.folder.display().to_string();
        home.0.push(("CODEX_HOME".to_owned(), folder));
    }
    let parts = Parts {
        program: "codex",
        reserved: RESERVED,
        settings: &settings,
        own,
        links,
        secret_env: home,
        args: vec!["app-server", "--listen", "stdio://"],
        last,
        env: vec![("NO_COLOR", "1")],
        ..Parts::default()
    };
    parts.line(launch)
}

/// The tier of the provider's service, where its version knows them.
pub(super) fn tier(launch: &Launch) -> Option<&str> {
    let knows = super::CODEX.facts().knows_tiers(launch.version);
    launch.service_tier.as_deref().filter(|_| knows)
}

/// How long it waits for the answer about a tool.
pub(super) fn gate_seconds(launch: &Launch) -> u64 {
    let person = Duration::from_secs(launch.tools.approval_seconds.into());
    (person + CLI_SLACK).as_secs()
}

/// Its home where it is held to its tools. Conversations and the login stay in the usual one, and the context file is here too:
/// in a working directory that is not trusted it is not read.
pub(super) fn gated_home(launch: &Launch) -> Home {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let kept = [("sessions", true), ("auth.json", false)];
    let mut home = Home::new(launch, "codex", &home_folder(&place), &kept);
    home.links.push(LaunchLink {
        path: home.folder.join(CONTEXT),
        to: launch.cwd.join(CONTEXT),
        folder: false,
    });
    home
}

/// The server that asks.
pub(super) fn gate_server(launch: &Launch) -> Value {
    json!({
        "command": launch.runner, "args": ["desk"], "enabled": true, "required": true,
        "tool_timeout_sec": gate_seconds(launch),
    })
}

fn gate_settings(launch: &Launch) -> Vec<String> {
    let hook = toml(&gate::hook(gate_seconds(launch)));
    let server = toml(&gate_server(launch));
    let settings = [
        format!("hooks.PreToolUse=[{hook}]"),
        format!("mcp_servers.{}={server}", gate::SERVER),
        format!("projects={}", toml(&untrusted(launch))),
    ];
    let words = settings.into_iter().flat_map(|set| ["-c".to_owned(), set]);
    words.collect()
}

/// What is said of the working directory. Else a thread that may write makes it a trusted one, whose settings count: servers,
/// which are programs.
pub(super) fn untrusted(launch: &Launch) -> Value {
    let work = launch.cwd.display().to_string();
    Value::Object(
        [(work, json!({"trust_level": "untrusted"}))]
            .into_iter()
            .collect(),
    )
}

/// JSON as a value of a setting. There are no nulls in it.
pub(super) fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let fields = fields.iter().map(|(name, value)| {
                let name = match name.chars().all(is_bare) {
                    true => name.clone(),
                    false => json!(name).to_string(),
                };
                format!("{name}={}", toml(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => {
            let values = values.iter().map(toml);
            format!("[{}]", values.collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn home_folder(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "CODEX_HOME", ".codex")
}

/// Where it looks for skills.
pub(in crate::adapters) fn skills(place: &Place<'_>) -> PathBuf {
    home_folder(place).join("skills")
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
pub(in crate::adapters) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let store = home_folder(place).join("sessions");
    let ends = [format!("-{session}.jsonl"), format!("-{session}.jsonl.zst")];
    let is_it =
        |name: &str| name.starts_with("rollout-") && ends.iter().any(|end| name.ends_with(end));
    stores::look(&store, DEPTH, &format!("rollout-{session}.jsonl"), is_it)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use protocol::programs::Version;
    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    const ID: &str = "019a1c5e-8a7e-7a3f-9f0e-2d3c4b5a6978";
    const OURS: &str = "-c check_for_update_on_startup=false -c analytics.enabled=false -c features.multi_agent=false \
                        -c features.memories=false";

    #[test]
    fn command_lines() {
        let argv = |launch: &Launch| command_line(launch).argv.join(" ");
        assert_eq!(
            argv(&launch()),
            format!("codex app-server --listen stdio:// {OURS}")
        );
        let full = Launch {
            command: words(&["/opt/codex"]),
            launch_prefix: words(&["wrapped", "--listen", "ws://x"]),
            args: words(&["-c", "'model_provider=\"x\"'", "--listen=unix://y"]),
            model: Some("m".to_owned()),
            resume: Some(ID.to_owned()),
            ..launch()
        };
        assert_eq!(
            argv(&full),
            format!(
                "/opt/codex wrapped app-server --listen stdio:// -c model_provider=\"x\" {OURS}"
            )
        );
        assert_eq!(command_line(&full).notes.len(), 2);
    }

    #[test]
    fn what_would_undo_an_option_is_left_out() {
        let asked = Launch {
            service_tier: Some("priority".to_owned()),
            mcp: Some(mcp_servers()),
            args: words(&[
                "-c",
                "mcp_servers.x.command=y",
                "--disable",
                "fast_mode",
                "-c",
                "a=b",
            ]),
            ..launch()
        };
        let line = command_line(&asked);
        assert_eq!(
            (line.argv.join(" "), line.notes.len()),
            (
                format!("codex app-server --listen stdio:// -c a=b --enable fast_mode {OURS}"),
                2
            )
        );
        let before_tiers = Launch {
            version: Some(Version(0, 132, 0)),
            args: Vec::new(),
            ..asked.clone()
        };
        assert_eq!(
            (tier(&before_tiers), tier(&asked)),
            (None, Some("priority"))
        );
        let old = command_line(&before_tiers).argv.join(" ");
        assert_eq!(old, format!("codex app-server --listen stdio:// {OURS}"));
        let words = format!("{:?} {:?}", line.argv, line.files);
        assert!(!words.contains("s3cret"), "{words}");
    }

    #[test]
    fn with_a_policy_nothing_counts_that_an_agent_could_have_left() {
        let asked = Launch {
            tools: ToolPolicy {
                deny: words(&["Bash"]),
                approval_seconds: 60,
                ..ToolPolicy::default()
            },
            args: words(&["-c", "hooks.Stop=[]", "--disable", "hooks"]),
            new_session: "n".to_owned(),
            runner: "/opt/mooring/runner".into(),
            skills: vec!["/workspace/home/.codex/skills/memory".into()],
            ..launch()
        };
        let line = command_line(&asked);
        let words = line.argv.join(" ");
        let hook = "-c hooks.PreToolUse=[{hooks=[{input={call=\"${tool_use_id}\",cwd=\"${cwd}\",input=\"${tool_input}\",\
                    tool=\"${tool_name}\"},server=\"mooring_gate\",timeout=660,tool=\"may\",type=\"mcp_tool\"}]}]";
        let server = "-c mcp_servers.mooring_gate={args=[\"desk\"],command=\"/opt/mooring/runner\",enabled=true,\
                      required=true,tool_timeout_sec=660}";
        assert!(words.contains(hook), "{words}");
        assert!(words.contains(server), "{words}");
        let untrusted = "-c projects={\"/workspace/work\"={trust_level=\"untrusted\"}}";
        assert!(words.contains(untrusted), "{words}");
        assert!(words.ends_with(
            "-c allow_login_shell=false -c features.shell_snapshot=false -c web_search=\"disabled\""
        ));
        assert!(!words.contains("Stop") && line.notes.len() == 2, "{words}");
        let home = (
            "CODEX_HOME".to_owned(),
            "/run/mooring/cli/codex-n".to_owned(),
        );
        assert_eq!(line.env.0, [home]);
        let links: Vec<_> = line
            .links
            .iter()
            .map(|link| {
                (
                    link.path.display().to_string(),
                    link.to.display().to_string(),
                )
            })
            .collect();
        let wanted = [
            ("sessions", "home/.codex"),
            ("auth.json", "home/.codex"),
            ("skills/memory", "home/.codex"),
            ("AGENTS.md", "work"),
        ];
        let wanted = wanted.map(|(name, of)| {
            (
                format!("/run/mooring/cli/codex-n/{name}"),
                format!("/workspace/{of}/{name}"),
            )
        });
        assert_eq!(links, wanted);
    }

    #[test]
    fn a_session_is_looked_for_under_its_day() {
        let home = tempfile::tempdir().unwrap();
        let files = |env: &BTreeMap<String, String>, session: &str| {
            let place = Place {
                home: home.path(),
                cwd: Path::new("/w"),
                env,
            };
            session_files(&place, session)
        };
        let none = BTreeMap::new();
        let there = files(&none, ID);
        assert!(there.len() == 1 && !there[0].exists(), "{there:?}");

        let day = home.path().join(".codex/sessions/2026/11/30");
        std::fs::create_dir_all(&day).unwrap();
        let file = day.join(format!("rollout-2026-11-30T06-00-00-{ID}.jsonl"));
        std::fs::write(&file, "{}").unwrap();
        std::fs::write(day.join("rollout-other.jsonl"), "{}").unwrap();
        assert_eq!(files(&none, ID), [file]);

        let moved = BTreeMap::from([("CODEX_HOME".to_owned(), "/nowhere".to_owned())]);
        let there = files(&moved, ID);
        assert!(
            there.len() == 1 && there[0].starts_with("/nowhere/sessions"),
            "{there:?}"
        );
        assert_eq!(files(&none, "../../x"), Vec::<PathBuf>::new());
    }
}
