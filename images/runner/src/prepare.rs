//! The workdir before the CLI starts: folders, credentials of the agent, context file, outbox.

use std::io;
use std::path::{Path, PathBuf};

use protocol::{Evidence, MacKey, Package};
use secrecy::{ExposeSecret as _, SecretString};

use crate::context_file;
use crate::files;
use crate::layout::Layout;
use crate::outbox::Outbox;

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
    /// For the events.
    pub outbox: Outbox,
    /// What lay in our folders and is not of this attempt.
    pub foreign: Vec<String>,
    /// Whether the working directory was there before.
    pub workdir: Evidence,
}

/// Prepares the workdir. Doing it again does no harm.
///
/// # Errors
/// [`PrepareError`] by what was in the way.
pub fn prepare(preparation: &Preparation) -> Result<Prepared, PrepareError> {
    let layout = &preparation.layout;
    folder(&layout.home)?;
    let workdir = if folder(&layout.work)? {
        Evidence::yes("the working directory was on the volume already")
    } else {
        Evidence::no("the working directory was made for this run")
    };
    give_credentials(preparation).map_err(PrepareError::Credentials)?;
    write_context(preparation)?;
    let (outbox, foreign) = Outbox::open(
        &layout.state,
        preparation.package.attempt,
        preparation.key.clone(),
    )
    .map_err(PrepareError::Outbox)?;
    Ok(Prepared {
        outbox,
        foreign,
        workdir,
    })
}

/// Takes the agent's token away again.
pub fn take_back(layout: &Layout) {
    // In memory, and dead with the pod at the latest.
    let _ = std::fs::remove_file(&layout.token_file);
}

fn folder(path: &Path) -> Result<bool, PrepareError> {
    files::ensure_folder(path).map_err(|source| PrepareError::Folder {
        path: path.to_path_buf(),
        source,
    })
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

fn write_context(preparation: &Preparation) -> Result<(), PrepareError> {
    let path = preparation.layout.work.join(preparation.context_file);
    let fail = |source| PrepareError::Context {
        path: path.clone(),
        source,
    };
    let old = files::read(&path, CONTEXT_BYTES)
        .map_err(fail)?
        .unwrap_or_default();
    let old = String::from_utf8(old).map_err(|_| fail(io::Error::other("it is not UTF-8 text")))?;
    let new = context_file::upsert(&old, &context_file::block(&preparation.package));
    if new == old {
        return Ok(());
    }
    files::replace(&path, new.as_bytes(), 0o644).map_err(fail)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::package;

    fn preparation(root: &std::path::Path) -> Preparation {
        Preparation {
            layout: Layout::new(root),
            package: package(),
            context_file: "CLAUDE.md",
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
    fn what_is_in_the_way_is_named_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let preparation = preparation(root.path());
        fs::create_dir_all(&preparation.layout.state).unwrap();
        fs::write(&preparation.layout.work, "important").unwrap();
        let error = prepare(&preparation).unwrap_err().to_string();
        assert!(error.contains("workspace/work"), "{error}");
        assert_eq!(fs::read(&preparation.layout.work).unwrap(), b"important");

        fs::remove_file(&preparation.layout.work).unwrap();
        fs::create_dir_all(&preparation.layout.work).unwrap();
        let context = preparation.layout.work.join("CLAUDE.md");
        fs::write(&context, b"\xff").unwrap();
        let error = prepare(&preparation).unwrap_err().to_string();
        assert!(error.contains("CLAUDE.md"), "{error}");
        assert_eq!(fs::read(&context).unwrap(), b"\xff");
    }
}
