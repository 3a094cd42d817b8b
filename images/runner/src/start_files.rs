//! What shells and Node run by themselves as they start, from the home of an agent that is held to its tools.
//!
//! Some command lines run each command in a login shell, or take over what such a shell sets; those that are written for Node
//! look in the home for modules that they do not have. So what an agent wrote there in a task before would run behind every
//! command that it is allowed, or in the program itself, and nobody would have looked at it. What other programs take from
//! there is switched off by variables: [`crate::environment::Environment::with_no_start_files`].

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::files;

/// Files in the home that shells read.
const NAMES: [&str; 10] = [
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Folders in the home in which Node looks for modules. While the program works an empty file stands in their place, of which
/// no tool that writes files makes a folder.
const MODULES: [&str; 2] = [".node_libraries", ".node_modules"];

/// Moves them aside in this home; where they are now. Of each name one is kept: an agent writes a new one in each task, if it
/// likes, and must not fill its home with them.
///
/// # Errors
/// With a sentence that names the first one that cannot be moved.
pub fn set_aside(home: &Path) -> Result<Vec<PathBuf>, String> {
    let mut moved = Vec::new();
    for name in NAMES {
        let path = home.join(name);
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(refused(&path, &error)),
        }
        moved.push(files::set_aside_anew(&path).map_err(|error| refused(&path, &error))?);
    }
    for name in MODULES {
        let path = home.join(name);
        moved.extend(blocked(&path).map_err(|error| refused(&path, &error))?);
    }
    Ok(moved)
}

/// Puts an empty file there, and what there was aside; where that is now.
fn blocked(path: &Path) -> io::Result<Option<PathBuf>> {
    let moved = match path.symlink_metadata() {
        Ok(found) if found.is_file() && found.len() == 0 => return Ok(None),
        Ok(_) => Some(files::set_aside_anew(path)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    File::create_new(path)?;
    Ok(moved)
}

fn refused(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!(
        "{path}, which shells or the agent's program run by themselves, cannot be moved aside, so the agent cannot be held to its tools: {error}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shells_run_is_moved_and_the_rest_stays() {
        let home = tempfile::tempdir().unwrap();
        for name in [".bashrc", ".profile", ".gitconfig"] {
            std::fs::write(home.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("/nowhere", home.path().join(".zshenv")).unwrap();
        let moved = set_aside(home.path()).unwrap();
        assert_eq!(moved.len(), 3);
        assert!(moved.iter().all(|path| path.symlink_metadata().is_ok()));
        for name in [".bashrc", ".profile", ".zshenv"] {
            assert!(home.path().join(name).symlink_metadata().is_err(), "{name}");
        }
        assert!(home.path().join(".gitconfig").exists());
        assert_eq!(set_aside(home.path()), Ok(Vec::new()));
        let all = || std::fs::read_dir(home.path()).unwrap().count();
        let before = all();
        for _ in 0..200 {
            std::fs::write(home.path().join(".profile"), "again").unwrap();
            assert_eq!(set_aside(home.path()).map(|moved| moved.len()), Ok(1));
        }
        assert_eq!(all(), before);
    }

    #[test]
    fn no_module_of_the_agents_is_found() {
        let home = tempfile::tempdir().unwrap();
        let modules = home.path().join(".node_modules");
        std::fs::create_dir(&modules).unwrap();
        std::fs::write(modules.join("left.js"), "x").unwrap();
        let moved = set_aside(home.path()).unwrap();
        assert_eq!(moved, [home.path().join(".node_modules.set-aside")]);
        for name in MODULES {
            assert!(home.path().join(name).is_file(), "{name}");
        }
        assert_eq!(set_aside(home.path()), Ok(Vec::new()));
        std::fs::write(&modules, "module.exports = {}").unwrap();
        assert_eq!(set_aside(home.path()).map(|moved| moved.len()), Ok(1));
    }
}
