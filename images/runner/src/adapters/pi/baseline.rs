//! Programs that are known by no name and speak as pi does in its mode `rpc`. They get what that protocol has always had: no
//! tool policy, no servers (pi reads them from a file of its own home, and its protocol and its flags know none), and no
//! look into a store that may lie anywhere. Which of their arguments would be words to them nobody knows here.

use super::launch::RESERVED;
use super::{PI, Run};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};

const ID: &str = "custom-rpc";

/// Any of them.
pub(in crate::adapters) const RPC: Cli = Cli {
    id: ID,
    skills: |place| place.home.join(".agents/skills"),
    session_files: |_, _| Vec::new(),
    launch: |launch| {
        let run = Run {
            name: ID,
            asked: launch.resume.clone(),
            message: launch.message.clone(),
            ..Run::default()
        };
        (command_line(launch), Box::new(run))
    },
    ..PI
};

fn command_line(launch: &Launch) -> CommandLine {
    let mut args = vec!["--mode", "rpc"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--thinking", launch.thinking.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let parts = Parts {
        program: ID,
        reserved: RESERVED,
        args,
        env: vec![("NO_COLOR", "1")],
        ..Parts::default()
    };
    parts.line(launch)
}
