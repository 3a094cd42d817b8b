//! Programs that are known by no name and run a turn per process as opencode's `run` does. They get the first version's
//! arguments and its variable for settings, which its relatives have kept, and nothing that is read from one program's log
//! or settings.

use super::Run;
use super::opencode::{Named, OPENCODE, Opencode, RESERVED, servers};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};

const ID: &str = "custom-json-lines";

/// Any of them.
pub(in crate::adapters) const JSON_LINES: Cli = Cli {
    id: ID,
    skills: |place| place.home.join(".agents/skills"),
    launch: |launch| {
        let talk = Opencode::<Name>::new(launch);
        let run = Run::new(talk, launch.resume.clone());
        (command_line(launch), Box::new(run))
    },
    ..OPENCODE
};

#[derive(Default)]
struct Name;

impl Named for Name {
    const NAME: &'static str = ID;
    const TELLS_LOSS: bool = false;
}

fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["run", "--format", "json", "--dangerously-skip-permissions"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--variant", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: ID,
        reserved: RESERVED,
        args,
        env: vec![("NO_COLOR", "1")],
        env_json: launch.mcp.as_ref().map(servers),
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}
