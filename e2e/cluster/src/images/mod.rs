//! Images without an engine: built by buildah from real Dockerfiles, kept as OCI archives keyed by their content.
//!
//! There is no registry to pull from, so the Dockerfiles take their base as an argument, and here it is an image that
//! we make ourselves. The archives are imported into the nodes ([`crate::Cluster::load_images`]).

mod base;
mod build;
mod context;

use std::path::PathBuf;

pub use base::{base, pause};
pub use build::{TARGET, build, programs};

/// Reference of the image that Dockerfiles build on, and that helper pods run.
pub const BASE: &str = "localhost/mooring/base:dev";

/// Reference of the image that holds a pod's namespaces.
const PAUSE: &str = "localhost/mooring/pause:dev";

/// An image that is there as an archive.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    /// Its name with a tag made from its content.
    pub reference: String,
    /// The OCI archive.
    pub archive: PathBuf,
}
