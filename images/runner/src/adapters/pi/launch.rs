//! How pi is started, and where it keeps its conversations.

use std::path::{Path, PathBuf};

use protocol::programs::Version;
use serde_json::{Map, Value, json};

use super::gate::EXTENSION;
use crate::adapter::{CommandLine, Launch, LaunchFile, Place};
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes, without_words};
use crate::adapters::stores::{self, is_uuid};
use crate::mcp::{At, McpServers, Values};

/// How it is spoken to, and the conversation, are ours to choose.
pub(super) const RESERVED: &Reserved = &[
    ("--mode", Takes::Value),
    ("--thinking", Takes::Value),
    ("-p", Takes::Nothing),
    ("--print", Takes::Nothing),
    ("--session", Takes::Value),
    ("--session-dir", Takes::Value),
    ("--no-session", Takes::Nothing),
    ("--fork", Takes::Value),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("-r", Takes::Nothing),
    ("--resume", Takes::Nothing),
];

/// Those that would bring something before our gate, or past it.
const GATED: &Reserved = &[
    ("-e", Takes::Value),
    ("--extension", Takes::Value),
    ("-ne", Takes::Nothing),
    ("--no-extensions", Takes::Nothing),
    ("-a", Takes::Nothing),
    ("--approve", Takes::Nothing),
    ("-na", Takes::Nothing),
    ("--no-approve", Takes::Nothing),
];

/// It knows the flag by which what a repository sets for it counts, and without the flag nothing of that does. Earlier ones know
/// no such flag, and always read it.
const APPROVES: Version = Version(0, 79, 0);

/// Flags that take a value.
const VALUES: &[&str] = &[
    "--mode",
    "--provider",
    "--model",
    "--api-key",
    "--thinking",
    "--models",
    "--session",
    "--session-id",
    "--session-dir",
    "--name",
    "-n",
    "--tools",
    "-t",
    "--exclude-tools",
    "-xt",
    "--extension",
    "-e",
    "--skill",
    "--prompt-template",
    "--theme",
    "--use-theme",
    "--system-prompt",
    "--append-system-prompt",
    "--tui-mode",
];

/// Folders between the store and a file: one for each working directory.
const DEPTH: u32 = 1;

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["--mode", "rpc"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--thinking", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let gated = !launch.tools.is_empty();
    if !gated && launch.version >= Some(APPROVES) {
        args.push("--approve");
    }
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let usual = folder(&place);
    let settings = if gated {
        gated_folder(launch)
    } else {
        usual.clone()
    };
    let (mut files, mut secret_env) =
        launch
            .mcp
            .as_ref()
            .map_or_else(Default::default, |servers| {
                let (file, values) = servers_file(&settings, servers);
                (vec![file], values)
            });
    let mut own = Vec::new();
    let mut reserved = RESERVED.to_vec();
    if gated {
        let (more, words) = gate(launch, &settings, &usual);
        files.extend(more);
        own = words;
        reserved.extend(GATED);
        let variables = [
            ("PI_CODING_AGENT_DIR", settings.display().to_string()),
            // What was kept of an extension elsewhere is not ours.
            ("JITI_FS_CACHE", "false".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        secret_env.0.extend(variables);
    }
    let parts = Parts {
        program: "pi",
        files,
        secret_env,
        reserved: &reserved,
        args,
        own,
        // Behind an allow-list a look for updates would only run into its time-out.
        env: vec![("NO_COLOR", "1"), ("PI_OFFLINE", "1")],
        ..Parts::default()
    };
    let mut line = parts.line(launch);
    let (argv, notes) = without_words(line.argv, VALUES);
    line.argv = argv;
    line.notes.extend(notes);
    line
}

/// Where its settings lie.
fn folder(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "PI_CODING_AGENT_DIR", ".pi/agent")
}

/// The same where it is held to its tools: a folder in memory, new for each run, so that nothing in it is of the agent.
fn gated_folder(launch: &Launch) -> PathBuf {
    launch.private.join(format!("pi-{}", launch.new_session))
}

/// What puts our gate before its tools, and keeps away what would be run without being asked for: extensions, settings,
/// logins and servers in the home and in the working directory. Its conversations stay in their usual place.
fn gate(launch: &Launch, settings: &Path, usual: &Path) -> (Vec<LaunchFile>, Vec<String>) {
    let file = |name: &str, content: &str| LaunchFile {
        path: settings.join(name),
        content: content.as_bytes().to_vec(),
        secret: true,
    };
    let mut files = vec![file("gate.js", EXTENSION)];
    let models = launch.env.variables().get("PI_MODELS");
    if let Some(models) = models.filter(|models| !models.is_empty()) {
        files.push(file("models.json", models));
    }
    let sessions = usual.join("sessions").join(of_directory(&launch.cwd));
    let path = |path: PathBuf| path.display().to_string();
    let mut words = vec![
        "--no-extensions".to_owned(),
        "--no-skills".to_owned(),
        "--no-prompt-templates".to_owned(),
        "--no-themes".to_owned(),
        "--no-approve".to_owned(),
        "--session-dir".to_owned(),
        path(sessions),
        "--extension".to_owned(),
        path(settings.join("gate.js")),
    ];
    if launch.mcp.is_some() {
        words.extend(["--extension".to_owned(), "builtin:mcp".to_owned()]);
    }
    for skill in &launch.skills {
        words.extend(["--skill".to_owned(), path(skill.clone())]);
    }
    (files, words)
}

/// The name that pi gives the folder for conversations in this directory.
fn of_directory(cwd: &Path) -> String {
    let words = cwd.display().to_string();
    let words = words.strip_prefix('/').unwrap_or(&words);
    format!("--{}--", words.replace(['/', '\\', ':'], "-"))
}

/// The file in which pi looks for MCP servers; it lies on the volume, so it names variables instead of values. It is
/// the whole set: what the agent put there itself goes.
fn servers_file(settings: &Path, servers: &McpServers) -> (LaunchFile, Values) {
    let mut values = Vec::new();
    let mut named = |given: &Values| {
        let pairs = given.0.iter().map(|(name, value)| {
            let variable = format!("MCP_VALUE_{}", values.len());
            values.push((variable.clone(), value.clone()));
            (name.clone(), json!(format!("${{{variable}}}")))
        });
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    let entries = servers.0.iter().map(|server| {
        // Direct: the model is told of the tools, and the first prompt waits for them.
        let entry = match &server.at {
            At::Program { command, args, env } => {
                json!({"command": command, "args": args, "env": named(env), "exposure": "direct"})
            }
            At::Address { url, headers, .. } => {
                json!({"url": url, "headers": named(headers), "exposure": "direct"})
            }
        };
        (server.name.clone(), entry)
    });
    let content = json!({"mcpServers": entries.collect::<Map<_, _>>()});
    let file = LaunchFile {
        path: settings.join("mcp.json"),
        content: content.to_string().into_bytes(),
        // A later run without a list must not find it.
        secret: true,
    };
    (file, Values(values))
}

/// Where it looks for skills.
pub(in crate::adapters) fn skills(place: &Place<'_>) -> PathBuf {
    folder(place).join("skills")
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
pub(super) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let store = folder(place).join("sessions");
    let end = format!("_{session}.jsonl");
    stores::look(&store, DEPTH, &format!("{session}.jsonl"), |name| {
        name.ends_with(&end)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    const ID: &str = "019a1c5e-8a7e-7a3f-9f0e-2d3c4b5a6978";

    #[test]
    fn command_lines() {
        let argv = |launch: &Launch| command_line(launch).argv.join(" ");
        assert_eq!(argv(&launch()), "pi --mode rpc");
        let full = Launch {
            command: words(&["/opt/pi"]),
            launch_prefix: words(&["wrapped", "-p"]),
            args: words(&["--provider", "x", "--mode=json", "--session", "y"]),
            model: Some("m".to_owned()),
            resume: Some(ID.to_owned()),
            ..launch()
        };
        assert_eq!(
            argv(&full),
            format!("/opt/pi wrapped --mode rpc --model m --session {ID} --provider x")
        );
        assert_eq!(command_line(&full).notes.len(), 3);
    }

    #[test]
    fn words_that_would_be_a_part_of_the_prompt_are_left_out() {
        let asked = Launch {
            thinking: Some("xhigh".to_owned()),
            args: words(&["--verbose", "@notes.md", "--provider", "x"]),
            custom_args: words(&["hello", "--skill", "/s"]),
            ..launch()
        };
        let line = command_line(&asked);
        let wanted = "pi --mode rpc --thinking xhigh --verbose --provider x --skill /s";
        assert_eq!(
            (line.argv.join(" ").as_str(), line.notes.len()),
            (wanted, 2)
        );
    }

    #[test]
    fn what_a_repository_sets_counts_where_its_version_knows_the_flag() {
        let line = |version| {
            let asked = Launch {
                version,
                args: words(&["--no-approve"]),
                ..launch()
            };
            command_line(&asked).argv.join(" ")
        };
        // The last one counts.
        let approves = "pi --mode rpc --approve --no-approve";
        assert_eq!(line(Some(Version(1, 6, 0))), approves);
        for version in [None, Some(Version(0, 78, 1))] {
            assert_eq!(line(version), "pi --mode rpc --no-approve", "{version:?}");
        }
    }

    #[test]
    fn servers_lie_in_its_home_without_their_values() {
        let asked = Launch {
            mcp: Some(mcp_servers()),
            ..launch()
        };
        let line = command_line(&asked);
        let [file] = &line.files[..] else {
            panic!("{:?}", line.files);
        };
        assert_eq!(file.path, Path::new("/workspace/home/.pi/agent/mcp.json"));
        let content = String::from_utf8(file.content.clone()).unwrap();
        assert!(!content.contains("s3cret"), "{content}");
        let read: Value = serde_json::from_str(&content).unwrap();
        let server = &read["mcpServers"]["files"];
        assert_eq!(server["env"], json!({"TOKEN": "${MCP_VALUE_0}"}));
        let values = [
            ("MCP_VALUE_0", "s3cret-value"),
            ("MCP_VALUE_1", "Bearer s3cret-value"),
        ];
        assert_eq!(
            line.env.0,
            values.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn with_a_policy_nothing_counts_that_an_agent_could_have_left() {
        let asked = Launch {
            tools: ToolPolicy {
                deny: words(&["bash"]),
                ..ToolPolicy::default()
            },
            args: words(&["-e", "./theirs.js", "--provider", "x"]),
            custom_args: words(&["--approve", "--extension=theirs.js"]),
            new_session: "n".to_owned(),
            mcp: Some(mcp_servers()),
            skills: vec!["/workspace/home/.pi/agent/skills/memory".into()],
            ..launch()
        };
        let line = command_line(&asked);
        assert_eq!(
            line.argv.join(" "),
            "pi --mode rpc --provider x --no-extensions --no-skills --no-prompt-templates --no-themes --no-approve \
             --session-dir /workspace/home/.pi/agent/sessions/--workspace-work-- \
             --extension /run/mooring/cli/pi-n/gate.js --extension builtin:mcp \
             --skill /workspace/home/.pi/agent/skills/memory"
        );
        assert_eq!(line.notes.len(), 3);
        let files: Vec<_> = line.files.iter().map(|file| file.path.clone()).collect();
        let wanted = ["mcp.json", "gate.js"].map(|name| gated_folder(&asked).join(name));
        assert_eq!(files, wanted);
        let folder = ("PI_CODING_AGENT_DIR", "/run/mooring/cli/pi-n");
        let set = line.env.0.iter();
        let mut set = set.map(|(name, value)| (name.as_str(), value.as_str()));
        assert!(set.any(|pair| pair == folder), "{:?}", line.env.0);
    }

    #[test]
    fn a_session_is_looked_for_under_its_folder() {
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
        let folder = home.path().join(".pi/agent/sessions/--w--");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("2026-11-30T06-00-00-000Z_{ID}.jsonl"));
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(files(&none, ID), [file]);
        let moved = BTreeMap::from([("PI_CODING_AGENT_DIR".to_owned(), "/nowhere".to_owned())]);
        assert!(files(&moved, ID)[0].starts_with("/nowhere/sessions"));
        assert_eq!(files(&none, "../x"), Vec::<PathBuf>::new());
    }
}
