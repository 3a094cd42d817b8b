//! A local Kubernetes cluster out of plain processes, for stories, drills and the demo.
//!
//! No container engine is needed: etcd, the control plane, containerd and the kubelets are programs built from
//! published Go modules ([`programs`]), started by us ([`Cluster::up`]) and taken away again without a trace
//! ([`Cluster::down`]). There is one cluster per user and machine, since addresses, ports and bridges exist once.
//! Its state is disposable: a cluster that is not whole is cleaned and started afresh.

mod addons;
mod cgroups;
mod cluster;
pub mod command;
mod control_plane;
mod daemon;
mod home;
pub mod images;
mod leftovers;
mod node;
pub mod packages;
mod pki;
pub mod programs;
pub mod progress;
mod rules;
mod template;

pub use cluster::{Cluster, Status};
pub use daemon::Daemon;
pub use home::{Home, Lock};
pub use leftovers::leftovers;
pub use node::{NODES, Node};
