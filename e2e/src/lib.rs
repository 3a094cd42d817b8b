//! What stories on a real cluster are told with.
//!
//! A story is a test on the node: it gets a namespace of its own ([`Workspace`]), waits by watches ([`wait`]), reads
//! what others cannot see (the audit log, the store's timeline, processes of pods), and ends with the invariant
//! checker. Mooring is installed once for all of them by its own chart ([`install`]).

pub mod audit;
pub mod checker;
pub mod cluster;
mod dump;
pub mod install;
pub mod model;
pub mod node;
pub mod objects;
pub mod operator;
pub mod person;
pub mod script;
pub mod server;
pub mod settings;
pub mod store;
mod story;
pub mod token;
pub mod wait;
mod workspace;

pub use cluster::Cluster;
pub use person::Person;
pub use story::{on_apiserver, story, story_within};
pub use workspace::Workspace;
