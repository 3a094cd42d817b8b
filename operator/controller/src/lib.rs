//! The controller: from rows and objects to pods, volumes and Secrets, and back from pods to verdicts.
//!
//! The unit of work is a row of the store, not an object: what has to be cleared away follows from who holds
//! a session, and that the store knows. Objects are entered into the store first of all ([`task::intake`]);
//! then each task has passes ([`task`]) that observe, decide and apply, and each Runtime has a lane in which
//! tasks are claimed ([`claimer`]). Watches and the store's own changes say which key wants a pass
//! ([`watch`], [`work`]); every write to the cluster goes through one numbered seam ([`kube_writes`]).

pub mod agent;
pub mod catalog;
pub mod check;
pub mod claimer;
pub mod clock;
pub mod context;
mod directory;
pub mod error;
pub mod events;
mod kube_reads;
pub mod kube_writes;
pub mod memory;
pub mod network;
pub mod node;
pub mod patch;
pub mod quota;
mod read_only;
mod run;
pub mod runtime;
pub mod schedule;
pub mod task;
pub mod team;
pub mod turns;
pub mod watch;
pub mod webhook;
pub mod work;
pub mod workspace;

#[cfg(test)]
mod fixtures;

pub use catalog::Catalog;
pub use clock::{Clock, ManualClock, SystemClock};
pub use context::{Context, Key, Parts, Settings};
pub use error::Error;
pub use kube_writes::{KubePoint, KubeWrites};
pub use network::build::ApiPeer;
pub use read_only::ReadOnly;
pub use run::{RunError, run};
pub use task::build::Install;
