//! `moor completion`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// Which shell.
    shell: Shell,
}

impl Completion {
    /// Writes the script. It knows what `line` knows and nothing else.
    pub(super) fn run(&self, mut line: clap::Command, out: &mut Output<'_>) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut line, "moor", &mut script);
        out.print(&String::from_utf8_lossy(&script))
    }
}
