//! The workdir before the CLI starts: folders, credentials of the agent, context file, outbox.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use protocol::{Evidence, MacKey, Package};
use secrecy::{ExposeSecret as _, SecretString};

use crate::adapter::SkillList;
use crate::context_file;
use crate::disk;
use crate::files;
use crate::layout::Layout;
use crate::outbox::Outbox;
use crate::skills::{self, SkillError};

/// A context file that is larger is not ours to rewrite.
const CONTEXT_BYTES: u64 = 4 * 1024 * 1024;

/// Why the workdir cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A folder.
    #[error("the folder {path} cannot be made: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What the agent finds in memory.
    #[error("the agent's token cannot be put into place: {0}")]
    Credentials(#[source] io::Error),
    /// The context file.
    #[error("the context file {path} cannot be written: {source}")]
    Context {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The skills.
    #[error(transparent)]
    Skills(#[from] SkillError),
    /// The outbox.
    #[error("the outbox cannot be made: {0}")]
    Outbox(#[source] io::Error),
}

/// What is needed to prepare a workdir.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// Where everything lies.
    pub layout: Layout,
    /// The work.
    pub package: Package,
    /// Name of the CLI's context file.
    pub context_file: &'static str,
    /// Where the CLI looks for skills.
    pub skills: PathBuf,
    /// Where it keeps which are switched on, if it does.
    pub skill_list: Option<SkillList>,
    /// The agent's token.
    pub token: SecretString,
    /// The CA of the API.
    pub ca: Vec<u8>,
    /// Signs the outbox.
    pub key: MacKey,
}

/// A workdir that stands.
#[derive(Debug)]
pub struct Prepared {
    /// The volume is full, and what was kept for that day was given to the run.
    pub gave_room: bool,
    /// For the events.
    pub outbox: Outbox,
    /// What lay in our folders and is not of this attempt.
    pub foreign: Vec<String>,
    /// What was in the way of the workdir.
    pub set_aside: Vec<SetAside>,
    /// Whether the working directory was there before.
    pub workdir: Evidence,
}

/// What was in the way and was moved aside: no turn is worth a file of the agent's, nor is a file worth that no
/// turn ever runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    path: PathBuf,
    to: PathBuf,
    why: String,
}

impl SetAside {
    /// Moves it aside.
    pub(crate) fn now(path: &Path, why: &str) -> io::Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            to: files::set_aside(path)?,
            why: why.to_owned(),
        })
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, to, why } = self;
        let (path, to) = (path.display(), to.display());
        write!(
            f,
            "{path} was in the way of the run ({why}): it was moved to {to}"
        )
    }
}

/// Prepares the workdir. Doing it again does no harm.
///
/// # Errors
/// [`PrepareError`] by what was in the way.
pub fn prepare(preparation: &Preparation) -> Result<Prepared, PrepareError> {
    let layout = &preparation.layout;
    let mut set_aside = Vec::new();
    let gave_room = disk::give_up(&layout.state);
    folder(&layout.home, &mut set_aside)?;
    let workdir = if folder(&layout.work, &mut set_aside)? {
        Evidence::yes("the working directory was on the volume already")
    } else {
        Evidence::no("the working directory was made for this run")
    };
    give_credentials(preparation).map_err(PrepareError::Credentials)?;
    write_context(preparation, &mut set_aside)?;
    let names = &preparation.package.agent.skills;
    skills::install(&layout.skills, names, &preparation.skills, &mut set_aside)?;
    if let Some(list) = &preparation.skill_list {
        skills::switch_on(list, names)?;
    }
    let (outbox, foreign) = Outbox::open(
        &layout.state,
        preparation.package.attempt,
        preparation.key.clone(),
    )
    .map_err(PrepareError::Outbox)?;
    if !gave_room {
        disk::reserve(&layout.state);
    }
    Ok(Prepared {
        gave_room,
        outbox,
        foreign,
        set_aside,
        workdir,
    })
}

/// Takes the agent's token away again.
pub fn take_back(layout: &Layout) {
    // In memory, and dead with the pod at the latest.
    let _ = std::fs::remove_file(&layout.token_file);
}

fn folder(path: &Path, set_aside: &mut Vec<SetAside>) -> Result<bool, PrepareError> {
    let fail = |source| PrepareError::Folder {
        path: path.to_path_buf(),
        source,
    };
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
        set_aside.push(SetAside::now(path, "it is not a folder").map_err(fail)?);
    }
    files::ensure_folder(path).map_err(fail)
}

fn give_credentials(preparation: &Preparation) -> io::Result<()> {
    let layout = &preparation.layout;
    if let Some(dir) = layout.token_file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let token = preparation.token.expose_secret().as_bytes();
    files::replace(&layout.token_file, token, 0o600)?;
    files::replace(&layout.ca_file, &preparation.ca, 0o644)
}

/// Brings our block up to date. A file that is not there to be read as text is moved aside.
fn write_context(
    preparation: &Preparation,
    set_aside: &mut Vec<SetAside>,
) -> Result<(), PrepareError> {
    let path = preparation.layout.work.join(preparation.context_file);
    let fail = |source| PrepareError::Context {
        path: path.clone(),
        source,
    };
    let old = match read_text(&path) {
        Ok(old) => old,
        Err(error) => {
            set_aside.push(SetAside::now(&path, &error.to_string()).map_err(fail)?);
            String::new()
        }
    };
    let new = context_file::upsert(&old, &context_file::block(&preparation.package));
    if new == old {
        return Ok(());
    }
    files::replace(&path, new.as_bytes(), 0o644).map_err(fail)
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = files::read(path, CONTEXT_BYTES)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::package;

    fn preparation(root: &std::path::Path) -> Preparation {
        Preparation {
            layout: Layout::new(root),
            package: package(),
            context_file: "CLAUDE.md",
            skills: Layout::new(root).home.join(".claude/skills"),
            skill_list: None,
            token: "mrt_x".into(),
            ca: b"PEM".to_vec(),
            key: MacKey::from_wire(&"A".repeat(43)).unwrap(),
        }
    }

    #[test]
    fn a_second_time_finds_what_the_first_made() {
        let root = tempfile::tempdir().unwrap();
        let preparation = preparation(root.path());
        let layout = &preparation.layout;
        let first = prepare(&preparation).unwrap();
        assert_eq!(first.workdir.answer, protocol::Answer::No);
        let context = layout.work.join("CLAUDE.md");
        let text = fs::read_to_string(&context).unwrap();
        fs::write(&context, format!("mine\n{text}")).unwrap();
        fs::write(layout.work.join("file"), "x").unwrap();

        let second = prepare(&preparation).unwrap();
        assert_eq!(second.workdir.answer, protocol::Answer::Yes);
        assert_eq!(
            fs::read_to_string(&context).unwrap(),
            format!("mine\n{text}")
        );
        assert_eq!(fs::read(&layout.token_file).unwrap(), b"mrt_x");
        take_back(layout);
        assert!(!layout.token_file.exists());
        assert!(layout.work.join("file").exists());
    }

    #[test]
    fn nothing_that_an_agent_leaves_in_our_folder_stops_the_next_run() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let preparation = preparation(root.path());
        let layout = &preparation.layout;
        prepare(&preparation).unwrap();
        let outbox = layout.state.join("outbox");
        for folder in [&layout.state, &outbox] {
            fs::remove_dir_all(folder).unwrap();
            symlink(elsewhere.path(), folder).unwrap();
            prepare(&preparation).unwrap();
            fs::remove_dir_all(folder).unwrap();
            fs::write(folder, "mine").unwrap();
            prepare(&preparation).unwrap();
        }
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

        for folder in [&layout.home, &layout.work, &layout.state, &outbox] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o050)).unwrap();
        }
        prepare(&preparation).unwrap();
        for folder in [&layout.home, &layout.work, &layout.state, &outbox] {
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o750, "{}", folder.display());
        }
    }

    #[test]
    fn a_folder_of_ours_that_is_none_is_moved_aside() {
        use std::os::unix::fs::symlink;

        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let preparation = preparation(root.path());
        prepare(&preparation).unwrap();
        for folder in [&preparation.layout.home, &preparation.layout.work] {
            fs::remove_dir_all(folder).unwrap();
            fs::write(folder, "important").unwrap();
            let prepared = prepare(&preparation).unwrap();
            let to = folder.with_extension("set-aside-1");
            let wanted = format!(
                "{} was in the way of the run (it is not a folder): it was moved to {}",
                folder.display(),
                to.display()
            );
            let told: Vec<_> = prepared.set_aside.iter().map(SetAside::to_string).collect();
            assert_eq!(told, [wanted]);
            assert_eq!(fs::read(&to).unwrap(), b"important");

            fs::remove_dir_all(folder).unwrap();
            symlink(elsewhere.path(), folder).unwrap();
            let prepared = prepare(&preparation).unwrap();
            assert_eq!(prepared.set_aside.len(), 1);
            assert!(folder.is_dir() && !folder.is_symlink());
            assert!(folder.with_extension("set-aside-2").is_symlink());
            // And then nothing is in the way any more.
            assert_eq!(prepare(&preparation).unwrap().set_aside, []);
        }
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_context_file_that_is_no_text_is_moved_aside() {
        use std::os::unix::fs::symlink;

        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let preparation = preparation(root.path());
        prepare(&preparation).unwrap();
        let context = preparation.layout.work.join("CLAUDE.md");
        let target = elsewhere.path().join("target");
        fs::write(&target, "foreign").unwrap();
        let ours = fs::read(&context).unwrap();
        let leave: [(&str, &dyn Fn()); 6] = [
            ("it is not UTF-8 text", &|| {
                fs::write(&context, b"\xff").unwrap()
            }),
            ("it is larger than 4194304 bytes", &|| {
                fs::write(&context, vec![b'x'; 4 * 1024 * 1024 + 1]).unwrap();
            }),
            ("it is a link", &|| symlink(&target, &context).unwrap()),
            ("it is a link", &|| {
                symlink(elsewhere.path().join("new"), &context).unwrap()
            }),
            ("it is no regular file", &|| {
                let made = std::process::Command::new("mkfifo").arg(&context).status();
                assert!(made.unwrap().success());
            }),
            ("it is no regular file", &|| {
                fs::create_dir(&context).unwrap();
                fs::write(context.join("inner"), "important").unwrap();
            }),
        ];
        for (number, (why, leave)) in (1..).zip(leave) {
            fs::remove_file(&context).unwrap();
            leave();
            let prepared = prepare(&preparation).unwrap();
            let to = preparation
                .layout
                .work
                .join(format!("CLAUDE.md.set-aside-{number}"));
            assert!(fs::symlink_metadata(&to).is_ok(), "{why}");
            let wanted = SetAside {
                path: context.clone(),
                to,
                why: why.to_owned(),
            };
            assert_eq!(prepared.set_aside, [wanted]);
            assert_eq!(fs::read(&context).unwrap(), ours, "{why}");
        }
        let folder = preparation.layout.work.join("CLAUDE.md.set-aside-6");
        assert_eq!(fs::read(folder.join("inner")).unwrap(), b"important");
        assert_eq!(fs::read(&target).unwrap(), b"foreign");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }
}
