//! The command line of one run: what the Runtime asks for and what the adapter adds.

use super::flags::{self, Reserved};
use crate::adapter::{CommandLine, JsonVariable, Launch, LaunchFile, LaunchLink};
use crate::ledger::UsageFile;
use crate::mcp::Values;

/// What an adapter adds.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// The program, unless the Runtime names another.
    pub(super) program: &'a str,
    /// Flags that the Runtime cannot set.
    pub(super) reserved: &'a Reserved,
    /// Flags that it cannot set to values that begin so.
    pub(super) settings: &'a [(&'a str, &'a str)],
    /// Arguments before those of the Runtime.
    pub(super) args: Vec<&'a str>,
    /// Arguments after them, where the last one counts.
    pub(super) last: Vec<&'a str>,
    /// Variables that are set unless the container's environment has them.
    pub(super) env: Vec<(&'a str, &'a str)>,
    /// The same as `last`, before it, where they are made for this run.
    pub(super) own: Vec<String>,
    /// Variables that are set in any case, which may hold secrets.
    pub(super) secret_env: Values,
    /// JSON for a variable.
    pub(super) env_json: Option<JsonVariable>,
    /// Where it writes its tokens at its end.
    pub(super) usage_file: Option<UsageFile>,
    /// Files that it reads at its start.
    pub(super) files: Vec<LaunchFile>,
    /// Links beside them.
    pub(super) links: Vec<LaunchLink>,
    /// The first frames.
    pub(super) stdin: Vec<u8>,
}

impl Parts<'_> {
    /// The command line. Without frames everything is said once the program runs.
    pub(super) fn line(self, launch: &Launch) -> CommandLine {
        let (prefix, mut notes) = flags::keep_prefix(&launch.launch_prefix, self.reserved);
        let (args, more) = flags::keep(&launch.args, self.reserved, "the Runtime's args");
        notes.extend(more);
        let (custom, more) = flags::keep(&launch.custom_args, self.reserved, "the Agent's args");
        notes.extend(more);

        let mut left_out = |tokens: Vec<String>| {
            let (kept, more) = flags::without_settings(tokens, self.settings);
            notes.extend(more);
            kept
        };
        let (args, custom) = (left_out(args), left_out(custom));

        let mut argv = if launch.command.is_empty() {
            vec![self.program.to_owned()]
        } else {
            launch.command.clone()
        };
        argv.extend(prefix);
        argv.extend(self.args.into_iter().map(str::to_owned));
        argv.extend(args);
        argv.extend(custom);
        argv.extend(self.own);
        argv.extend(self.last.into_iter().map(str::to_owned));
        let env = self.env.into_iter();
        CommandLine {
            argv,
            env_defaults: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            env: self.secret_env,
            env_json: self.env_json,
            usage_file: self.usage_file,
            service: None,
            files: self.files,
            links: self.links,
            stdin: self.stdin,
            notes,
        }
    }
}

/// A flag with its value, where there is one.
pub(super) fn option<'a>(flag: &'a str, value: Option<&'a str>) -> impl Iterator<Item = &'a str> {
    value.into_iter().flat_map(move |value| [flag, value])
}
