//! Hermes (0.19.0, installed with its `acp` extra).

use serde_json::{Value, json};

use super::dialect::{BASE, Dialect, Model, Naming, Steers};
use super::gate::Gated;
use crate::adapter::{Launch, LaunchFile, Place};
use crate::adapters::command::Parts;
use crate::adapters::flags::Takes;
use crate::adapters::frame::text;
use crate::adapters::own::Home;
use crate::adapters::stores;

/// What asks in it, in the form of a plugin, and what says of it that it is one.
const PLUGIN: &str = include_str!("gate.py");
const MANIFEST: &str =
    r#"{"name": "mooring", "version": "1.0.0", "description": "Asks before each tool."}"#;
/// Where it is held to its tools. Nothing but its folder in memory says what it is and does, not a plugin of the working
/// directory either; and the plugin is there.
const HELD: [(&str, &str); 4] = [
    ("HERMES_ENABLE_PROJECT_PLUGINS", "0"),
    ("HERMES_SAFE_MODE", "0"),
    ("HERMES_ACCEPT_HOOKS", "0"),
    // Otherwise a file can send it to another home.
    ("HERMES_S6_SUPERVISED_CHILD", "1"),
];

pub(super) const DIALECT: Dialect = Dialect {
    id: "hermes",
    program: "hermes",
    args: &["acp"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("-z", Takes::Value),
        ("--oneshot", Takes::Value),
        ("-m", Takes::Value),
        ("--model", Takes::Value),
        ("--provider", Takes::Value),
        ("-t", Takes::Value),
        ("--toolsets", Takes::Value),
        ("-r", Takes::Value),
        ("--resume", Takes::Value),
        ("-s", Takes::Value),
        ("--skills", Takes::Value),
        ("--usage-file", Takes::Value),
        ("-c", Takes::MaybeValue),
        ("--continue", Takes::MaybeValue),
    ],
    env: &[("NO_COLOR", "1"), ("HERMES_YOLO_MODE", "1")],
    skills: |place| stores::folder(place, "HERMES_HOME", ".hermes").join("skills"),
    // It takes any session: in one that it does not know it refuses the prompt, or works under another id.
    refuses_when_lost: true,
    renamed: |opened| text(provenance(opened), "acpSessionId"),
    is_new: |opened| {
        let provenance = provenance(opened);
        let root = text(provenance, "rootHermesSessionId");
        text(provenance, "sessionKind") == "root" && root == text(provenance, "acpSessionId")
    },
    model: Model::WhenOpened,
    announces_no_servers: true,
    // It says of itself that it has the remark, as if the agent had said it.
    steers: Steers::Prompt("/steer "),
    is_notice: |update| {
        let content = update.get("content").unwrap_or(&Value::Null);
        text(content, "text").starts_with("⏩ Steer queued for the active turn")
    },
    tools: Naming::Hermes,
    fails_on_stderr: true,
    asks_apart: true,
    // Of a file that it wrote it does not say that it is written.
    leaves_tools_open: true,
    leaves_edits_open: true,
    held,
    gated: Some(Gated {
        links: |launch| home(launch).links,
        odd,
    }),
    ..BASE
};

/// Its home where it is held to its tools. Its provider comes with the image then, or by variables.
fn home(launch: &Launch) -> Home {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let usual = stores::folder(&place, "HERMES_HOME", ".hermes");
    Home::new(
        launch,
        "hermes",
        &usual,
        &[("state.db", false), ("memories", true)],
    )
}

fn held(launch: &Launch, parts: &mut Parts<'_>) {
    let Home { folder, links } = home(launch);
    let settings = json!({
        "plugins": {"enabled": ["mooring"]},
        // Both run programs in the working directory as a session begins: `python -m pip`, and `git` as its repository says.
        "agent": {"environment_probe": false, "coding_context": "off"},
        // Programs that it would find or fetch by itself to look at what was written, and at commands.
        "lsp": {"enabled": false},
        "security": {"tirith_enabled": false},
    });
    let settings = settings.to_string();
    for (name, content) in [
        ("config.yaml", settings.as_str()),
        ("plugins/mooring/plugin.yaml", MANIFEST),
        ("plugins/mooring/__init__.py", PLUGIN),
    ] {
        parts.files.push(LaunchFile {
            path: folder.join(name),
            content: content.as_bytes().to_vec(),
            secret: false,
        });
    }
    let own = [("HERMES_HOME", folder.to_string_lossy().into_owned())];
    let own = own
        .into_iter()
        .chain(HELD.map(|(name, value)| (name, value.to_owned())));
    (parts.secret_env.0).extend(own.map(|(name, value)| (name.to_owned(), value)));
    parts.links.extend(links);
}

/// A patch names its files in a text of its own.
fn odd(tool: &str, input: &Value) -> Option<&'static str> {
    let whole = tool == "patch" && !text(input, "patch").is_empty();
    whole.then_some("change one file at a time: mode `replace`, with its path")
}

/// What it says of where a session comes from.
fn provenance(opened: &Value) -> &Value {
    let meta = opened.get("_meta").and_then(|meta| meta.get("hermes"));
    let provenance = meta.and_then(|meta| meta.get("sessionProvenance"));
    provenance.unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use protocol::tools::ToolPolicy;

    use super::super::command_line;
    use super::*;
    use crate::testing::{launch, words};

    /// 0.19.0 looks for its profile in all of its arguments, before it reads the rest of them.
    #[test]
    fn a_profile_is_passed_on() {
        let asked = Launch {
            args: words(&["-p", "coder", "--toolsets", "x"]),
            ..launch()
        };
        let line = command_line(&DIALECT, &asked);
        assert_eq!(line.argv.join(" "), "hermes acp -p coder");
    }

    #[test]
    fn skills_lie_in_the_home_that_it_is_given() {
        let moved = BTreeMap::from([("HERMES_HOME".to_owned(), "/h/profiles/coder".to_owned())]);
        for (env, wanted) in [
            (BTreeMap::new(), "/home/.hermes/skills"),
            (moved, "/h/profiles/coder/skills"),
        ] {
            let place = Place {
                home: Path::new("/home"),
                cwd: Path::new("/w"),
                env: &env,
            };
            assert_eq!((DIALECT.skills)(&place), Path::new(wanted));
        }
    }

    #[test]
    fn with_a_policy_its_home_is_ours() {
        let tools = ToolPolicy {
            deny: words(&["terminal"]),
            ..ToolPolicy::default()
        };
        let asked = Launch {
            tools,
            new_session: "1".to_owned(),
            skills: vec!["/workspace/home/.hermes/skills/review".into()],
            ..launch()
        };
        let line = command_line(&DIALECT, &asked);
        let home = Path::new("/run/mooring/cli/hermes-1");
        let variable = ("HERMES_HOME".to_owned(), home.display().to_string());
        assert!(line.env.0.contains(&variable));
        let files: Vec<_> = line.files.iter().map(|file| file.path.as_path()).collect();
        let wanted = [
            "config.yaml",
            "plugins/mooring/plugin.yaml",
            "plugins/mooring/__init__.py",
        ];
        assert_eq!(files, wanted.map(|name| home.join(name)));
        let links: Vec<_> = line.links.iter().map(|link| link.path.as_path()).collect();
        let wanted = ["state.db", "memories", "skills/review"];
        assert_eq!(links, wanted.map(|name| home.join(name)));
        let free = command_line(&DIALECT, &launch());
        assert!(free.files.is_empty() && free.links.is_empty() && free.env.0.is_empty());
    }

    /// What it listens for is what the plugin says.
    #[test]
    fn the_plugin_asks_as_it_is_listened_to() {
        for words in [
            r#""mooring": "may it?", "tool": tool, "input": args, "shown": bool(call)"#,
            r#""method": "_mooring/there""#,
            r#"option_id="yes""#,
            r#"option_id="no""#,
            r#".get("why")"#,
        ] {
            assert!(PLUGIN.contains(words), "{words}");
        }
    }
}
