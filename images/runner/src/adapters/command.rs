//! The command line of one run: what the Runtime asks for and what the adapter adds.

use super::flags::{self, Reserved};
use crate::adapter::{CommandLine, Launch, LaunchFile};

/// What an adapter adds.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// The program, unless the Runtime names another.
    pub(super) program: &'a str,
    /// Flags that the Runtime cannot set.
    pub(super) reserved: &'a Reserved,
    /// Arguments before those of the Runtime.
    pub(super) args: Vec<&'a str>,
    /// Arguments after them, where the last one counts.
    pub(super) last: Vec<&'a str>,
    /// Variables that are set unless the container's environment has them.
    pub(super) env: Vec<(&'a str, &'a str)>,
    /// Files that it reads at its start.
    pub(super) files: Vec<LaunchFile>,
    /// The first frames.
    pub(super) stdin: Vec<u8>,
}

impl Parts<'_> {
    /// The command line. Without frames everything is said once the program runs.
    pub(super) fn line(self, launch: &Launch) -> CommandLine {
        let (prefix, mut notes) = flags::keep(&launch.launch_prefix, self.reserved, "launchPrefix");
        let (args, more) = flags::keep(&launch.args, self.reserved, "args");
        notes.extend(more);

        let mut argv = if launch.command.is_empty() {
            vec![self.program.to_owned()]
        } else {
            launch.command.clone()
        };
        argv.extend(prefix);
        argv.extend(self.args.into_iter().map(str::to_owned));
        argv.extend(args);
        argv.extend(self.last.into_iter().map(str::to_owned));
        let env = self.env.into_iter();
        CommandLine {
            argv,
            env_defaults: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            files: self.files,
            stdin: self.stdin,
            notes,
        }
    }
}

/// A flag with its value, where there is one.
pub(super) fn option<'a>(flag: &'a str, value: Option<&'a str>) -> impl Iterator<Item = &'a str> {
    value.into_iter().flat_map(move |value| [flag, value])
}
