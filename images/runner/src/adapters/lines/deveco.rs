//! `DevEco`'s agent, a relative of opencode. No program of it could be had: its arguments are from descriptions.

use super::opencode::{Named, Opencode};
use super::{LADDER, Run};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};

/// Linux takes no argument of this many bytes, the end of it included.
const ARGUMENT_BYTES: usize = 128 * 1024;

/// `DevEco`'s agent.
pub(in crate::adapters) const DEVECO: Cli = Cli {
    id: "deveco",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".config/deveco/skills"),
    session_files: |_, _| Vec::new(),
    ladder: LADDER,
    launch: |launch| {
        let talk = Opencode::<Name>::new(launch);
        (
            command_line(launch),
            Box::new(Run::new(talk, launch.resume.clone())),
        )
    },
};

#[derive(Default)]
struct Name;

impl Named for Name {
    const NAME: &'static str = "deveco";
    const TELLS_LOSS: bool = false;
}

const RESERVED: &Reserved = &[
    ("--format", Takes::Value),
    ("--dir", Takes::Value),
    ("--variant", Takes::Value),
    ("-m", Takes::Value),
    ("--model", Takes::Value),
    ("-s", Takes::Value),
    ("--session", Takes::Value),
    ("-c", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("--dangerously-skip-permissions", Takes::Nothing),
];

fn command_line(launch: &Launch) -> CommandLine {
    let cwd = launch.cwd.to_string_lossy();
    let mut args = vec!["run", "--format", "json"];
    args.extend(["--dangerously-skip-permissions", "--dir", &cwd]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--variant", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    // The one program that knows no other way. What is too long for it goes in as its relatives take theirs.
    let fits = launch.message.len() < ARGUMENT_BYTES;
    let (last, stdin) = match fits {
        true => (vec![launch.message.as_str()], Vec::new()),
        false => (Vec::new(), launch.message.clone().into_bytes()),
    };
    let parts = Parts {
        program: "deveco",
        reserved: RESERVED,
        args,
        last,
        env: vec![("NO_COLOR", "1")],
        stdin,
        ..Parts::default()
    };
    parts.line(launch)
}
