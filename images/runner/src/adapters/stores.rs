//! Looking for a conversation in the store of a CLI that names its files in ways which cannot be worked out.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::adapter::Place;

/// Entries that are looked at. An agent can fill its own store with as many as it likes.
const ENTRIES: usize = 20_000;

/// True for an id in the form of a UUID with dashes: such a one cannot leave a folder.
pub(super) fn is_uuid(id: &str) -> bool {
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && id.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// The folder of a CLI, which `variable` may move from its usual place in the home.
pub(super) fn folder(place: &Place<'_>, variable: &str, usual: &str) -> PathBuf {
    match place.env.get(variable) {
        Some(moved) if !moved.is_empty() => PathBuf::from(moved),
        _ => place.home.join(usual),
    }
}

/// Every file of a conversation that `is_it` knows; see [`crate::adapter::Provider::session_files`]. `none` is
/// a name that no file has.
pub(super) fn look(
    store: &Path,
    depth: u32,
    none: &str,
    is_it: impl Fn(&str) -> bool,
) -> Vec<PathBuf> {
    match find(store, depth, is_it) {
        None => Vec::new(),
        // The answer is that it is not there, not that nobody can tell.
        Some(found) if found.is_empty() => vec![store.join(none)],
        Some(found) => found,
    }
}

/// The files `depth` folders below `root` whose name `is_it` knows. `None` when there are more than can be
/// looked at, or one cannot be looked at now, which says nothing about any of them. Links to folders are not followed.
fn find(root: &Path, depth: u32, is_it: impl Fn(&str) -> bool) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = ENTRIES;
    let mut folders = vec![(root.to_path_buf(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // A folder that is not there holds nothing.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        for entry in entries {
            left = left.checked_sub(1)?;
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if depth > 0 && kind.is_dir() {
                folders.push((entry.path(), depth - 1));
            } else if depth == 0 && kind.is_file() && entry.file_name().to_str().is_some_and(&is_it)
            {
                found.push(entry.path());
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_uuids_are_ids() {
        assert!(is_uuid("6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a6978"));
        for odd in [
            "",
            "..",
            "6b1c1c5e",
            "6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a697/",
            "6b1c1c5e-8a7e-4a3f-9f0e-2d3c4b5a69788",
        ] {
            assert!(!is_uuid(odd), "{odd}");
        }
    }

    #[test]
    fn files_are_found_at_their_depth_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["a/b", "c"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["it", "a/it", "a/b/it", "a/b/other"] {
            std::fs::write(at(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(at("a/b"), at("c/link")).unwrap();
        let it = |name: &str| name == "it";
        assert_eq!(find(dir.path(), 2, it), Some(vec![at("a/b/it")]));
        assert_eq!(find(dir.path(), 0, it), Some(vec![at("it")]));
        assert_eq!(find(&at("none"), 2, it), Some(Vec::new()));
        // Whatever fails but for want of a folder is no answer.
        assert_eq!(find(&at("it"), 2, it), None);
    }

    #[test]
    fn a_store_that_is_too_large_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for name in 0..=ENTRIES {
            std::fs::File::create(dir.path().join(name.to_string())).unwrap();
        }
        assert_eq!(find(dir.path(), 0, |_| true), None);
    }
}
