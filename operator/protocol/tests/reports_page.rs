//! Each test that `operator/docs/reports.md` and `conformance.md` name exists.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Rust files under a folder of the repository.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// `file::test`, as the last column of a table names them.
fn named(page: &str) -> Vec<(&str, &str)> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let proofs = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let words = proofs.flat_map(|cell| cell.split('`'));
    words.filter_map(|word| word.split_once("::")).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["operator", "images/runner", "e2e/tests"] {
        files(&root.join(folder), &mut found);
    }
    for name in ["operator/docs/reports.md", "operator/docs/conformance.md"] {
        let page = fs::read_to_string(root.join(name)).unwrap();
        let named = named(&page);
        assert!(
            named.len() > 50,
            "{name}: only {} tests are named",
            named.len()
        );
        for (stem, test) in named {
            let declared = format!("fn {test}(");
            // Tests of a module may have a file of their own.
            let is_meant = |path: &Path| {
                path.file_stem().is_some_and(|name| name == stem)
                    || path.ends_with(format!("{stem}/tests.rs"))
            };
            let exists = found.iter().any(|path| {
                is_meant(path) && fs::read_to_string(path).unwrap().contains(&declared)
            });
            assert!(exists, "{name}: there is no {stem}::{test}");
        }
    }
}
