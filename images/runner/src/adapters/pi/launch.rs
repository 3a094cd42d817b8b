//! How pi is started, and where it keeps its conversations.

use std::path::PathBuf;

use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::flags::{self, Reserved, Takes};
use crate::adapters::stores::{self, is_uuid};

/// How it is spoken to, and the conversation, are ours to choose.
const RESERVED: &Reserved = &[
    ("--mode", Takes::Value),
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

/// Folders between the store and a file: one for each working directory.
const DEPTH: u32 = 1;

/// The command line of one run. Everything else is said once it runs.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let (prefix, mut notes) = flags::keep(&launch.launch_prefix, RESERVED, "launchPrefix");
    let (args, more) = flags::keep(&launch.args, RESERVED, "args");
    notes.extend(more);

    let mut argv = if launch.command.is_empty() {
        vec!["pi".to_owned()]
    } else {
        launch.command.clone()
    };
    argv.extend(prefix);
    argv.extend(["--mode", "rpc"].map(str::to_owned));
    for (name, value) in [("--model", &launch.model), ("--session", &launch.resume)] {
        if let Some(value) = value {
            argv.extend([name.to_owned(), value.clone()]);
        }
    }
    argv.extend(args);
    // Behind an allow-list a look for updates would only run into its time-out.
    let env = [("NO_COLOR", "1"), ("PI_OFFLINE", "1")];
    CommandLine {
        argv,
        env_defaults: env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        stdin: Vec::new(),
        notes,
    }
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
pub(super) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let home = match place.env.get("PI_CODING_AGENT_DIR") {
        Some(moved) if !moved.is_empty() => PathBuf::from(moved),
        _ => place.home.join(".pi/agent"),
    };
    let store = home.join("sessions");
    let end = format!("_{session}.jsonl");
    match stores::find(&store, DEPTH, |name| name.ends_with(&end)) {
        None => Vec::new(),
        // A name that no file has: the answer is that it is not there, not that nobody can tell.
        Some(found) if found.is_empty() => vec![store.join(format!("{session}.jsonl"))],
        Some(found) => found,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    const ID: &str = "019a1c5e-8a7e-7a3f-9f0e-2d3c4b5a6978";

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
            message: "Say hi please".to_owned(),
        }
    }

    #[test]
    fn command_lines() {
        let argv = |launch: &Launch| command_line(launch).argv.join(" ");
        assert_eq!(argv(&launch()), "pi --mode rpc");
        let words = |words: &[&str]| -> Vec<_> { words.iter().map(ToString::to_string).collect() };
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
