//! What belongs to an agent's program itself where it is held to its tools: its home of settings, which it reads anew while
//! it runs, and what the kernel shows of processes. No tool is for that, in whichever way a path is written.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::adapter::{Launch, LaunchLink};
use crate::files;

/// Why a tool may not be used.
pub(super) const WHY: &str = "this path belongs to the agent's program itself";
/// Names in a path by which `git` finds commands that it runs by itself, and that programs run which ask it how things stand.
/// By the last of them it takes any folder for a repository.
const OF_GIT: [&str; 3] = [".git", ".gitconfig", "HEAD"];
/// The same below the folder of settings.
const GIT_SETTINGS: [&str; 2] = [".config", "git"];
/// Texts of an input that are looked at in the file system, and how deep others lie.
const TEXTS: usize = 64;
const DEPTH: u32 = 8;
/// The kernel takes no longer path.
const PATH_BYTES: usize = 4096;
/// Fields with words for a shell, which are no paths.
const WORDS: [&str; 2] = ["command", "cmd"];

/// A folder in memory, new for each run, so that no setting, hook, rule or server in it is of the agent; and what of it
/// stays in the program's usual home.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) folder: PathBuf,
    pub(super) links: Vec<LaunchLink>,
}

impl Home {
    /// That of a program. Of `usual`, its home elsewhere, this is kept, each a name and whether it is a folder; and the
    /// skills that it is given are in it.
    pub(super) fn new(launch: &Launch, program: &str, usual: &Path, kept: &[(&str, bool)]) -> Self {
        Self::of(Self::folder(launch, program), launch, usual, kept)
    }

    /// A folder for this run alone.
    pub(super) fn folder(launch: &Launch, program: &str) -> PathBuf {
        let name = format!("{program}-{}", launch.new_session);
        launch.private.join(name)
    }

    /// The same as [`Self::new`] in a folder below that one.
    pub(super) fn of(
        folder: PathBuf,
        launch: &Launch,
        usual: &Path,
        kept: &[(&str, bool)],
    ) -> Self {
        let link = |path: PathBuf, to: PathBuf, folder: bool| LaunchLink { path, to, folder };
        let kept = (kept.iter())
            .map(|(name, is_folder)| link(folder.join(name), usual.join(name), *is_folder));
        let skills = launch.skills.iter().filter_map(|skill| {
            let path = folder.join("skills").join(skill.file_name()?);
            Some(link(path, skill.clone(), false))
        });
        let links = kept.chain(skills).collect();
        Self { folder, links }
    }
}

/// What is the program's own in one run.
#[derive(Debug)]
pub(super) struct Own {
    /// The folder in memory,
    private: Option<PathBuf>,
    /// and what in it leads out of it again.
    kept: Vec<PathBuf>,
    home: PathBuf,
    /// What a path leads to.
    real: fn(&Path) -> PathBuf,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            private: None,
            kept: Vec::new(),
            home: PathBuf::new(),
            real: Path::to_path_buf,
        }
    }
}

impl Own {
    /// For one run, with these links in the folder in memory.
    pub(super) fn of(launch: &Launch, links: &[LaunchLink]) -> Self {
        let private = &launch.private;
        Self {
            private: (!private.as_os_str().is_empty()).then(|| private.clone()),
            kept: links.iter().map(|link| link.path.clone()).collect(),
            home: launch.home.clone(),
            real: files::real_path,
        }
    }

    /// True when something in an input is a path of the program's own. `now` is the folder from which paths count.
    pub(super) fn is_named(&self, input: &Value, now: &Path) -> bool {
        let Some(fields) = input.as_object() else {
            return self.is_inside(input, now, DEPTH);
        };
        let mut texts = 0;
        fields.iter().any(|(name, value)| match value.as_str() {
            Some(_) if WORDS.contains(&name.as_str()) => false,
            Some(text) => {
                texts += 1;
                texts > TEXTS || self.is_own(text, now, true)
            }
            None => self.is_inside(value, now, DEPTH),
        })
    }

    /// The same of what lies deeper, by words alone. What cannot be looked through counts as named.
    fn is_inside(&self, value: &Value, now: &Path, depth: u32) -> bool {
        match value {
            Value::String(text) => self.is_own(text, now, false),
            Value::Array(_) | Value::Object(_) if depth == 0 => true,
            Value::Array(values) => values.iter().any(|one| self.is_inside(one, now, depth - 1)),
            Value::Object(fields) => fields
                .values()
                .any(|one| self.is_inside(one, now, depth - 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn is_own(&self, text: &str, now: &Path, looks: bool) -> bool {
        let text = text.trim().trim_start_matches('@');
        let text = text.strip_prefix("file://").unwrap_or(text);
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => now.join(text),
        };
        let words = plain(&path);
        let fits = |path: &Path| path.as_os_str().len() <= PATH_BYTES;
        // Some programs work out what climbs by themselves, others leave it to the kernel.
        let leads = |path: &Path| looks && fits(path) && self.is_real(&(self.real)(path));
        self.is_written(&words) || leads(&words) || leads(&path)
    }

    fn is_written(&self, path: &Path) -> bool {
        let kept = |kept: &PathBuf| path.starts_with(kept) && path != kept;
        is_process(path) || is_of_git(path) || self.is_private(path) && !self.kept.iter().any(kept)
    }

    /// What is kept leads out of the folder.
    fn is_real(&self, path: &Path) -> bool {
        is_process(path) || is_of_git(path) || self.is_private(path)
    }

    fn is_private(&self, path: &Path) -> bool {
        let private = self.private.as_ref();
        private.is_some_and(|private| path.starts_with(private))
    }
}

/// True for what the kernel shows of a process: of what it was given, and by which files it reaches all others.
fn is_process(path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix("/proc") else {
        return false;
    };
    rest.components().next().is_some_and(files::is_process)
}

/// True for what `git` is set by.
fn is_of_git(path: &Path) -> bool {
    let names = || path.iter().map(|name| name.to_str().unwrap_or_default());
    let mut pairs = names().zip(names().skip(1));
    names().any(|name| OF_GIT.contains(&name))
        || pairs.any(|(one, next)| [one, next] == GIT_SETTINGS)
}

/// A whole path without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::launch;

    #[test]
    fn a_path_is_the_same_however_it_is_written() {
        let asked = Launch {
            new_session: "1".to_owned(),
            skills: vec!["/workspace/home/.x/skills/memory".into()],
            ..launch()
        };
        let home = Home::new(
            &asked,
            "x",
            Path::new("/workspace/home/.x"),
            &[("auth.json", false), ("sessions", true)],
        );
        // By words alone: nothing of that is there.
        let own = Own {
            real: |_| PathBuf::new(),
            ..Own::of(&asked, &home.links)
        };
        for (path, named) in [
            ("src/a", false),
            ("/run/mooring", false),
            ("/run/mooring/cli/x-1/settings.json", true),
            ("/run//mooring/cli/new", true),
            ("/run/./mooring/cli", true),
            ("/run/mooring/x/../cli/a", true),
            ("../../run/mooring/cli/a", true),
            ("~/../../run/mooring/cli/a", true),
            ("file:///run/mooring/cli/a", true),
            (" /run/mooring/cli/a", true),
            ("/run/mooring/client", false),
            // What leads out of it again is the agent's, and not what leads there.
            ("/run/mooring/cli/x-1/sessions/a", false),
            ("/run/mooring/cli/x-1/skills/memory/SKILL.md", false),
            ("/run/mooring/cli/x-1/skills/memory", true),
            ("/run/mooring/cli/x-1/skills/other/SKILL.md", true),
            ("/run/mooring/cli/x-1/sessions/../auth.json", true),
            ("/run/mooring/cli/x-1/auth.json", true),
            ("/proc/self/environ", true),
            ("//proc/self/environ", true),
            ("../../proc/1/environ", true),
            ("/proc/thread-self/root", true),
            ("/proc/cpuinfo", false),
            (".git/config", true),
            ("app/.git", true),
            ("~/.gitconfig", true),
            ("HEAD", true),
            ("/workspace/home/.config/git/config", true),
            (".gitignore", false),
            (".config/gitui", false),
        ] {
            for input in [json!({"file_path": path}), json!({"any": [{"path": path}]})] {
                let is_named = own.is_named(&input, Path::new("/workspace/work"));
                assert_eq!(is_named, named, "{input}");
            }
        }
        let command = json!({"command": "/run/mooring/cli"});
        assert!(!own.is_named(&command, Path::new("/workspace/work")));
        assert!(!Own::default().is_named(&json!({"path": "/run"}), Path::new("/")));
    }

    #[test]
    fn a_link_is_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["work", "private/x-1", "kept/deep"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        link(at("private"), "work/folder");
        // Nothing is there yet.
        link(at("private/x-1/settings.json"), "work/file");
        link("../work/folder".into(), "work/again");
        link(at("kept/deep"), "work/deep");
        link("/proc".into(), "work/kernel");
        link(at("kept/deep"), "private/x-1/sessions");
        let asked = Launch {
            private: at("private"),
            ..launch()
        };
        let kept = LaunchLink {
            path: at("private/x-1/sessions"),
            to: at("kept/deep"),
            folder: true,
        };
        let own = Own::of(&asked, &[kept]);
        for (path, named) in [
            ("folder/x-1/settings.json", true),
            ("file", true),
            ("again/new", true),
            ("deep/../../private/a", true),
            ("kernel/self/environ", true),
            ("deep/a", false),
            ("../private/x-1/sessions/a", false),
            ("new", false),
        ] {
            let input = json!({"path": path});
            assert_eq!(own.is_named(&input, &at("work")), named, "{path}");
        }
    }
}
