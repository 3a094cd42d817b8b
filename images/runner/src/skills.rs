//! The agent's skills: copied from where the kubelet mounted them to where its CLI looks for them.
//!
//! They go under `$HOME`, not into the working directory, which may be a repository. What the agent put there
//! itself stays; ours is known by a mark inside, so that a skill that was taken away is gone in the next run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, io};

use crate::adapter::SkillList;
use crate::files;
use crate::prepare::SetAside;

/// What marks a folder as ours.
const MARK: &str = ".mooring";
/// What a skill begins with.
const ENTRY: &str = "SKILL.md";
/// Bytes of one skill.
const BYTES: u64 = 8 * 1024 * 1024;
/// Files of one skill.
const FILES: usize = 1000;
/// Bytes of a list of skills. A larger one is begun anew.
const LIST_BYTES: u64 = 4 * 1024 * 1024;

/// Why a skill cannot be given to the agent.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The skill itself is not as it should be.
    #[error("skill {name} {why}")]
    Skill {
        /// Which.
        name: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// It cannot be written.
    #[error("the skills cannot be put into place: {0}")]
    Place(#[from] io::Error),
}

/// A file of a skill, by its path in there.
struct File {
    path: String,
    bytes: Vec<u8>,
}

/// Gives the agent these skills and takes away those of former runs. Doing it again does no harm.
///
/// # Errors
/// [`SkillError`]; none was then left half there.
pub fn install(
    mounted: &Path,
    names: &[String],
    folder: &Path,
    set_aside: &mut Vec<SetAside>,
) -> Result<(), SkillError> {
    // Read before anything is changed.
    let mut skills = Vec::new();
    for name in names {
        skills.push((name, read(mounted, name)?));
    }
    if skills.is_empty() && !folder.is_dir() {
        return Ok(());
    }
    ensure(folder, set_aside)?;
    sweep(folder, set_aside)?;
    for (name, files) in skills {
        let place = folder.join(name);
        if fs::symlink_metadata(&place).is_ok() {
            set_aside.push(SetAside::now(
                &place,
                "a skill of this name is given to the agent",
            )?);
        }
        write(&place, &files)?;
    }
    Ok(())
}

/// Tells the CLI that these are to be used. What stands in its list beside them stays; a list that is none is begun anew,
/// since the CLI would do so too.
///
/// # Errors
/// [`SkillError::Place`].
pub fn switch_on(list: &SkillList, names: &[String]) -> Result<(), SkillError> {
    if names.is_empty() {
        return Ok(());
    }
    let bytes = files::read(&list.path, LIST_BYTES).ok().flatten();
    let stands = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut stands = stands.unwrap_or_default();
    (list.switch_on)(&mut stands, names);
    files::replace(&list.path, stands.to_string().as_bytes(), 0o600)?;
    Ok(())
}

/// The files of a mounted skill.
fn read(mounted: &Path, name: &str) -> Result<Vec<File>, SkillError> {
    let fail = |why: &str| SkillError::Skill {
        name: name.to_owned(),
        why: why.to_owned(),
    };
    // A name that is none could lead out of the folder.
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(fail("has a name that is none"));
    }
    let root = mounted.join(name);
    if !root.is_dir() {
        return Err(fail(
            "does not exist: create the Skill, or take it out of the Agent's skills",
        ));
    }
    let (mut files, mut bytes) = (Vec::new(), 0);
    for folder in fs::read_dir(&root)? {
        let folder = folder?;
        let named = folder.file_name().to_string_lossy().into_owned();
        let Some(prefix) = named.strip_prefix('@') else {
            continue;
        };
        for entry in fs::read_dir(folder.path())? {
            let entry = entry?;
            let key = entry.file_name().to_string_lossy().into_owned();
            // How the kubelet keeps versions apart.
            if key.starts_with("..") {
                continue;
            }
            bytes += fs::metadata(entry.path())?.len();
            if bytes > BYTES || files.len() >= FILES {
                return Err(fail("is larger than 8 MiB or 1,000 files: make two of it"));
            }
            let path = match prefix {
                "" => key,
                folder => format!("{folder}/{key}"),
            };
            let bytes = fs::read(entry.path())?;
            files.push(File { path, bytes });
        }
    }
    let entry = files.iter().find(|file| file.path == ENTRY);
    let entry = entry.ok_or_else(|| {
        fail("has no SKILL.md: one of its ConfigMaps is missing, or none has that key")
    })?;
    if !entry.bytes.starts_with(b"---") {
        return Err(fail(
            "has a SKILL.md that does not begin with `---` and its name and description: agents would not see it",
        ));
    }
    Ok(files)
}

/// Makes the folder. What is in the way is moved aside; a link to a folder is the agent's own arrangement.
fn ensure(folder: &Path, set_aside: &mut Vec<SetAside>) -> io::Result<()> {
    let mut missing: Vec<_> = folder
        .ancestors()
        .take_while(|path| !path.is_dir())
        .collect();
    while let Some(path) = missing.pop() {
        if fs::symlink_metadata(path).is_ok() {
            set_aside.push(SetAside::now(path, "it is not a folder")?);
        }
        files::ensure_folder(path)?;
    }
    if fs::symlink_metadata(folder)?.is_dir() {
        files::ensure_folder(folder)?;
    }
    Ok(())
}

/// Removes what a former run put there.
fn sweep(folder: &Path, set_aside: &mut Vec<SetAside>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if !is_folder || fs::symlink_metadata(path.join(MARK)).is_err() {
            continue;
        }
        if fs::remove_dir_all(&path).is_err() {
            set_aside.push(SetAside::now(&path, "it is from a former run")?);
        }
    }
    Ok(())
}

/// Writes a skill's folder, the mark first: what is left of it when we die is swept.
fn write(place: &Path, files: &[File]) -> io::Result<()> {
    files::ensure_folder(place)?;
    files::replace(&place.join(MARK), b"", 0o644)?;
    for file in files {
        let path = place.join(&file.path);
        if let Some(folder) = path.parent() {
            files::ensure_folder(folder)?;
        }
        // ConfigMaps know no modes: what names its interpreter is a program.
        let mode = if file.bytes.starts_with(b"#!") {
            0o755
        } else {
            0o644
        };
        files::replace(&path, &file.bytes, mode)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    const TEXT: &str = "---\nname: review\ndescription: How we review.\n---\nLook twice.\n";

    struct Pod {
        root: tempfile::TempDir,
    }

    impl Pod {
        fn new() -> Self {
            Self {
                root: tempfile::tempdir().unwrap(),
            }
        }

        fn mounted(&self) -> PathBuf {
            self.root.path().join("mounted")
        }

        fn skills(&self) -> PathBuf {
            self.root.path().join("home/.claude/skills")
        }

        /// As the kubelet mounts a ConfigMap: names are links into a version of it.
        fn mount(&self, skill: &str, folder: &str, file: &str, text: &str) {
            let at = self.mounted().join(skill).join(format!("@{folder}"));
            let version = at.join("..2026");
            fs::create_dir_all(&version).unwrap();
            fs::write(version.join(file), text).unwrap();
            let _ = symlink("..2026", at.join("..data"));
            symlink(Path::new("..data").join(file), at.join(file)).unwrap();
        }

        fn install(&self, names: &[&str]) -> Result<Vec<String>, String> {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut aside = Vec::new();
            install(&self.mounted(), &names, &self.skills(), &mut aside)
                .map(|()| aside.iter().map(ToString::to_string).collect())
                .map_err(|error| error.to_string())
        }
    }

    #[test]
    fn an_agent_has_the_skills_of_its_definition_and_its_own() {
        let pod = Pod::new();
        assert_eq!(pod.install(&[]), Ok(Vec::new()));
        assert!(!pod.skills().exists());
        pod.mount("review", "", "SKILL.md", TEXT);
        pod.mount("review", "scripts", "look", "#!/bin/sh\n");
        assert_eq!(pod.install(&["review"]), Ok(Vec::new()));
        let place = pod.skills().join("review");
        assert_eq!(fs::read_to_string(place.join("SKILL.md")).unwrap(), TEXT);
        let mode =
            |path: &str| fs::metadata(place.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("SKILL.md"), mode("scripts/look")), (0o644, 0o755));
        // Its own skill stays; what it changed in ours does not.
        let own = pod.skills().join("own/SKILL.md");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, "mine").unwrap();
        fs::write(place.join("SKILL.md"), "changed").unwrap();
        fs::write(place.join("more"), "changed").unwrap();
        assert_eq!(pod.install(&["review"]), Ok(Vec::new()));
        assert_eq!(fs::read_to_string(place.join("SKILL.md")).unwrap(), TEXT);
        assert!(!place.join("more").exists());
        // Taken out of the definition: gone.
        assert_eq!(pod.install(&[]), Ok(Vec::new()));
        assert!(!place.exists());
        assert_eq!(fs::read(&own).unwrap(), b"mine");
    }

    #[test]
    fn what_is_in_the_way_is_moved_aside_and_nothing_is_followed() {
        let pod = Pod::new();
        pod.mount("review", "", "SKILL.md", TEXT);
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(pod.skills()).unwrap();
        symlink(elsewhere.path(), pod.skills().join("review")).unwrap();
        assert_eq!(pod.install(&["review"]).unwrap().len(), 1);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert!(pod.skills().join("review/SKILL.md").is_file());
        // A file where its folders should be.
        fs::remove_dir_all(pod.root.path().join("home/.claude")).unwrap();
        fs::write(pod.root.path().join("home/.claude"), "important").unwrap();
        assert_eq!(pod.install(&["review"]).unwrap().len(), 1);
        assert!(pod.skills().join("review/SKILL.md").is_file());
    }

    #[test]
    fn skills_are_switched_on_in_a_list_whatever_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let list = SkillList {
            path: folder.path().join("list.json"),
            switch_on: |list, names| list["on"] = names.into(),
        };
        let read = || fs::read_to_string(&list.path).unwrap();
        switch_on(&list, &[]).unwrap();
        assert!(!list.path.exists());
        let names = ["review".to_owned()];
        switch_on(&list, &names).unwrap();
        assert_eq!(read(), r#"{"on":["review"]}"#);
        fs::write(&list.path, r#"{"own":1}"#).unwrap();
        switch_on(&list, &names).unwrap();
        assert_eq!(read(), r#"{"on":["review"],"own":1}"#);
        // What it names stays as it is.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, r#"{"own":1}"#).unwrap();
        fs::remove_file(&list.path).unwrap();
        symlink(&elsewhere, &list.path).unwrap();
        switch_on(&list, &names).unwrap();
        assert_eq!(read(), r#"{"on":["review"]}"#);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), r#"{"own":1}"#);
    }

    #[test]
    fn a_skill_that_is_not_whole_is_named() {
        let pod = Pod::new();
        pod.mount("bare", "scripts", "look", "#!/bin/sh\n");
        pod.mount("plain", "", "SKILL.md", "Look twice.");
        pod.mount("large", "", "SKILL.md", &"-".repeat(9 * 1024 * 1024));
        for (name, why) in [
            ("gone", "does not exist"),
            ("bare", "has no SKILL.md"),
            ("plain", "has a SKILL.md that does not begin"),
            ("large", "is larger than 8 MiB"),
            ("../review", "has a name that is none"),
        ] {
            let said = pod.install(&[name]).unwrap_err();
            assert!(said.starts_with(&format!("skill {name} {why}")), "{said}");
            assert!(!pod.skills().exists());
        }
    }
}
