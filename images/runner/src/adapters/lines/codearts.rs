//! `CodeArts`' agent, a relative of opencode. No program of it could be had: its arguments are from descriptions.

use super::opencode::{Named, Opencode, servers};
use super::{LADDER, Run};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::Cli;
use crate::adapters::command::{Parts, option};
use crate::adapters::flags::{Reserved, Takes};

/// `CodeArts`' agent.
pub(in crate::adapters) const CODEARTS: Cli = Cli {
    id: "codearts",
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".agents/skills"),
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
    const NAME: &'static str = "codearts";
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
    ("--auto", Takes::Nothing),
    ("--sandbox", Takes::Nothing),
    ("--dangerously-skip-permissions", Takes::Nothing),
];

/// What its own launcher would set.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "1"),
    ("package_tag", "undefined"),
    ("CODEAGENT_USE_MESSAGE_FEEDBACK", "false"),
    ("OMO_SEND_ANONYMOUS_TELEMETRY", "0"),
    ("SCENARIO", "codeartsdoer"),
    ("OPENCODE_CHANNEL", "latest"),
    (
        "OPENCODE_CONFIG_FILE",
        "codearts_cli.json,codearts_cli.jsonc",
    ),
    ("OPENCODE_MODE", "tui"),
    ("PLUGIN_ENV", "hc"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "true"),
    ("OPENCODE_ALWAYS_NOTIFY_UPDATE", "false"),
];

fn command_line(launch: &Launch) -> CommandLine {
    let at = |path: &str| launch.home.join(path).display().to_string();
    let config = at(".codeartsdoer");
    let (data, file) = (
        at(".codeartsdoer/cli-data"),
        at(".codeartsdoer/codearts_cli.json"),
    );
    let mut args = vec!["run", "--format", "json", "--auto"];
    args.extend(option("--model", launch.model.as_deref()));
    args.extend(option("--session", launch.resume.as_deref()));
    let mut env = ENVIRONMENT.to_vec();
    env.extend([
        ("KERNEL_DATA_DIR", data.as_str()),
        ("KERNEL_CONFIG_DIR", &config),
        ("OPENCODE_CONFIG", &file),
    ]);
    let parts = Parts {
        program: "codearts",
        reserved: RESERVED,
        args,
        env,
        env_json: launch.mcp.as_ref().map(servers),
        stdin: launch.message.clone().into_bytes(),
        ..Parts::default()
    };
    parts.line(launch)
}
