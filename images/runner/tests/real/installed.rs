//! Which version of a program is installed.

use protocol::programs::{Version, version_in};

use crate::lab::Lab;

impl Lab {
    /// The version, as the name of its folder ends. The operator would be told of it by the program.
    pub(crate) fn version(&self) -> Option<Version> {
        let id = self.cli.id;
        let mut folders = self.program.iter().filter_map(|folder| folder.to_str());
        let version = folders.find_map(|folder| folder.strip_prefix(id)?.rsplit('-').next());
        version_in(version?)
    }
}
