//! How Codex is started, and where it keeps its conversations.

use std::path::PathBuf;

use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::command::Parts;
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::stores::{self, is_uuid};

/// How it is spoken to is ours to choose.
const RESERVED: &Reserved = &[("--listen", Takes::Value)];

/// Settings of ours. They come last, and the last one counts.
const SETTINGS: &[&str] = &[
    // Behind an allow-list both would only run into their time-outs.
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    // Agents of its own would outlive the turn, and the process ends with it.
    "features.multi_agent=false",
];

/// The tier for which a feature has to be on,
const PRIORITY: &str = "priority";
/// and what would switch that off.
const FAST_OFF: [(&str, &str); 3] = [
    ("--disable", "fast_mode"),
    ("-c", "features.fast_mode"),
    ("--config", "features.fast_mode"),
];

/// Folders between the store and a file: year, month, day.
const DEPTH: u32 = 3;

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let fast = launch.service_tier.as_deref() == Some(PRIORITY);
    let mut settings = Vec::new();
    if launch.mcp.is_some() {
        settings.extend([("-c", "mcp_servers"), ("--config", "mcp_servers")]);
    }
    if fast {
        settings.extend(FAST_OFF);
    }
    let own = if fast {
        vec!["--enable", "fast_mode"]
    } else {
        Vec::new()
    };
    let parts = Parts {
        program: "codex",
        reserved: RESERVED,
        settings: &settings,
        own: own.into_iter().map(str::to_owned).collect(),
        args: vec!["app-server", "--listen", "stdio://"],
        last: SETTINGS.iter().flat_map(|set| ["-c", set]).collect(),
        env: vec![("NO_COLOR", "1")],
        ..Parts::default()
    };
    parts.line(launch)
}

/// Where it looks for skills.
pub(in crate::adapters) fn skills(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "CODEX_HOME", ".codex").join("skills")
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
pub(in crate::adapters) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let store = stores::folder(place, "CODEX_HOME", ".codex").join("sessions");
    let ends = [format!("-{session}.jsonl"), format!("-{session}.jsonl.zst")];
    let is_it =
        |name: &str| name.starts_with("rollout-") && ends.iter().any(|end| name.ends_with(end));
    stores::look(&store, DEPTH, &format!("rollout-{session}.jsonl"), is_it)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    const ID: &str = "019a1c5e-8a7e-7a3f-9f0e-2d3c4b5a6978";
    const OURS: &str = "-c check_for_update_on_startup=false -c analytics.enabled=false -c features.multi_agent=false";

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
        let words = format!("{:?} {:?}", line.argv, line.files);
        assert!(!words.contains("s3cret"), "{words}");
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
