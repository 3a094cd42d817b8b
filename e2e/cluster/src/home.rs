//! Where everything lives: one folder per user, shared by all checkouts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder `$HOME/.cache/mooring`: programs, images and the state of the one cluster.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

/// Held while a cluster is being changed; released when dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lives as long as the open file")] File);

impl Home {
    /// The folder of the user who runs us.
    ///
    /// # Errors
    /// When the user has no home folder or it cannot be written.
    pub fn of_user() -> Result<Self> {
        let home = std::env::home_dir().context("no home folder: set HOME")?;
        Self::at(home.join(".cache/mooring"))
    }

    /// A folder of the caller's choice.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn at(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(&root).with_context(|| format!("create {}", root.display()))?;
        Ok(Self { root })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// State of the cluster: keys, configuration, logs, data. It goes away with the cluster.
    pub fn state(&self) -> PathBuf {
        self.root.join("cluster")
    }

    /// Logs of the cluster that was taken down last.
    pub fn last_logs(&self) -> PathBuf {
        self.root.join("cluster-last-logs")
    }

    /// Images as OCI archives, one file per image and content.
    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// Waits until no other process changes the cluster, then keeps others out.
    ///
    /// # Errors
    /// When the lock file cannot be opened.
    pub fn lock(&self) -> Result<Lock> {
        let path = self.root.join("lock");
        let file = File::create(&path).with_context(|| format!("open {}", path.display()))?;
        crate::progress::step(
            "waiting for another cargo command to finish with the cluster",
            || {
                file.lock()
                    .with_context(|| format!("lock {}", path.display()))
            },
        )?;
        Ok(Lock(file))
    }
}
