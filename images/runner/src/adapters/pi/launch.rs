//! How pi is started, and where it keeps its conversations.

use std::path::PathBuf;

use crate::adapter::{CommandLine, Launch, Place};
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};
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

/// The command line of one run.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["--mode", "rpc"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: "pi",
        reserved: RESERVED,
        args,
        // Behind an allow-list a look for updates would only run into its time-out.
        env: vec![("NO_COLOR", "1"), ("PI_OFFLINE", "1")],
        ..Parts::default()
    };
    parts.line(launch)
}

/// Where it looks for skills.
pub(in crate::adapters) fn skills(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "PI_CODING_AGENT_DIR", ".pi/agent").join("skills")
}

/// The file in which `session` lies. Its name begins with the time at which the conversation did.
pub(super) fn session_files(place: &Place<'_>, session: &str) -> Vec<PathBuf> {
    if !is_uuid(session) {
        return Vec::new();
    }
    let store = stores::folder(place, "PI_CODING_AGENT_DIR", ".pi/agent").join("sessions");
    let end = format!("_{session}.jsonl");
    stores::look(&store, DEPTH, &format!("{session}.jsonl"), |name| {
        name.ends_with(&end)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::testing::{launch, words};

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
