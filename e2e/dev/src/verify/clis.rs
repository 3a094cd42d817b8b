//! The real command lines that tests of the runner drive: each has an installer beside those tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cluster::progress::{say, step};
use cluster::{command, packages};

/// Where the installers are, one for each command line: `install-<name>.sh`.
pub(super) const USUAL: &str = "images/runner/tests";
/// Those of the command lines that have a layer of their own.
pub(super) const MORE: &str = "images/runner/tests/more_clis";

/// Installs what is missing. What cannot be had is said here; the tests that need it say the rest.
pub(super) fn install(checkout: &Path, folder: &str) {
    let installed = packages::ensure(packages::CLIS)
        .and_then(|()| installers(&checkout.join(folder)))
        .and_then(|all| all.iter().try_for_each(|installer| run(installer)));
    if let Err(error) = installed {
        say(&format!("no real command lines to test with: {error:#}"));
    }
}

fn installers(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| is_installer(path))
        .collect();
    found.sort();
    Ok(found)
}

fn is_installer(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with("install-") && name.ends_with(".sh"))
}

fn run(installer: &Path) -> Result<()> {
    let name = installer.file_stem().unwrap_or_default().to_string_lossy();
    step(&name.replacen('-', " ", 1), || {
        command::run(&mut Command::new(installer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_line_with_tests_has_its_installer() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (folder, one) in [(USUAL, "install-claude.sh"), (MORE, "install-qwen.sh")] {
            let found = installers(&checkout.join(folder)).unwrap();
            assert!(found.iter().any(|path| path.ends_with(one)), "{found:?}");
        }
    }
}
