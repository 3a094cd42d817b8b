//! Programs that are known by no name and speak as Codex's app-server does. They get what that protocol has always had: no
//! settings that one program knows, no servers, and no look into a store that may lie anywhere.

use super::launch::RESERVED;
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
        let without_servers = Launch {
            mcp: None,
            ..launch.clone()
        };
        let run = Run {
            name: ID,
            ..Run::new(&without_servers)
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
