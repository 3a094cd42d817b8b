//! Programs that are known by no name and speak as Claude Code does. They get what that protocol has always had: no hooks,
//! and with them no remarks and no tool policy, and no look into a store that may lie anywhere.

use super::launch::{self, RESERVED};
use super::servers::Servers;
use super::{CLAUDE, Run};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};
use crate::adapters::mcp;
use crate::adapters::stream_json::control;

const ID: &str = "custom-stream-json";

/// Any of them.
pub(in crate::adapters) const STREAM_JSON: Cli = Cli {
    id: ID,
    skills: |place| place.home.join(".claude/skills"),
    session_files: |_, _| Vec::new(),
    launch: |launch| {
        let run = Run {
            name: ID,
            remarks: None,
            servers: Servers::default(),
            ..Run::new(launch)
        };
        (command_line(launch), Box::new(run))
    },
    ..CLAUDE
};

fn command_line(launch: &Launch) -> CommandLine {
    let mut args = launch::PROTOCOL.to_vec();
    args.extend(["--disallowedTools", "AskUserQuestion"]);
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--effort", launch.thinking.as_deref()));
    args.extend(option("--resume", launch.resume.as_deref()));
    let mut env = vec![("NO_COLOR", "1")];
    env.extend(launch.root.then_some(launch::SANDBOX));
    let servers = mcp::file(launch);
    let own = servers.iter().flat_map(|file| {
        let path = file.path.display().to_string();
        let strict = "--strict-mcp-config".to_owned();
        [strict, "--mcp-config".to_owned(), path]
    });
    let parts = Parts {
        program: ID,
        reserved: RESERVED,
        args,
        env,
        own: own.collect(),
        files: servers.iter().cloned().collect(),
        stdin: control::user_message(&launch.message),
        ..Parts::default()
    };
    parts.line(launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    #[test]
    fn nothing_of_one_version_is_on_its_command_line() {
        const FIXED: &str = "our-agent --house -p --output-format stream-json --input-format stream-json --verbose \
            --permission-mode bypassPermissions --disallowedTools AskUserQuestion";
        let plain = Launch {
            command: words(&["our-agent"]),
            launch_prefix: words(&["--house", "--print"]),
            ..launch()
        };
        let line = command_line(&plain);
        assert_eq!(line.argv.join(" "), FIXED);
        assert_eq!(line.notes.len(), 1, "the flag of the protocol is ours");
        let frames = String::from_utf8(line.stdin).unwrap();
        assert_eq!(frames.lines().count(), 1, "no hooks: {frames}");

        let full = Launch {
            model: Some("m".to_owned()),
            resume: Some("s".to_owned()),
            args: words(&["--extra"]),
            mcp: Some(mcp_servers()),
            ..plain
        };
        let line = command_line(&full);
        assert_eq!(
            line.argv.join(" "),
            format!(
                "{FIXED} --model m --resume s --extra --strict-mcp-config --mcp-config /run/mooring/cli/mcp.json"
            )
        );
        assert!(line.files[0].secret);
    }
}
