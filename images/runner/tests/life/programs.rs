//! Programs that a test puts into place and runs.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Copies a program. A child does it: while this process had the file open for writing, another test's thread
/// could start a program, and until that one is running it holds the file open too. Whoever then runs the
/// file is told that it is busy.
pub(crate) fn copy(from: &Path, to: &Path) {
    let mut install = Command::new("install");
    let done = install.args(["-m", "755"]).arg(from).arg(to).status();
    assert!(done.unwrap().success(), "{}", to.display());
}

/// Writes a script.
pub(crate) fn script(text: &str, to: &Path) {
    let draft = to.with_added_extension("draft");
    fs::write(&draft, text).unwrap();
    copy(&draft, to);
    fs::remove_file(draft).unwrap();
}
