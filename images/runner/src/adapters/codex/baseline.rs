//! Programs that are known by no name and speak as Codex's app-server does. They get what that protocol has always had: no
//! settings that one program knows, servers with the thread and beside those that it finds, and no look into a store that
//! may lie anywhere.

use super::launch::RESERVED;
use super::servers::Awaited;
use super::{CODEX, Run};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::Parts;

const ID: &str = "custom-app-server";

/// Any of them.
pub(in crate::adapters) const APP_SERVER: Cli = Cli {
    id: ID,
    skills: |place| place.home.join(".agents/skills"),
    session_files: |_, _| Vec::new(),
    launch: |launch| {
        let run = Run {
            name: ID,
            // How far it is with its servers it need not say; those that are required were greeted before.
            awaited: Awaited::default(),
            replaces: false,
            ..Run::new(launch)
        };
        (command_line(launch), Box::new(run))
    },
    ..CODEX
};

fn command_line(launch: &Launch) -> CommandLine {
    let parts = Parts {
        program: ID,
        reserved: RESERVED,
        args: vec!["app-server", "--listen", "stdio://"],
        env: vec![("NO_COLOR", "1")],
        ..Parts::default()
    };
    parts.line(launch)
}
