//! Faults that tests put into the seam. A release build carries one call through [`NoFaults`] per write.

use futures::future::BoxFuture;

use super::KubePoint;

/// What a caller is told about a write that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The truth.
    None,
    /// That the apiserver had an internal error.
    ServerError,
    /// Nothing within the deadline.
    TimeOut,
}

/// Decides about faults.
pub trait FaultPlan: Send + Sync {
    /// Called before each write. After a crash it never comes back: the dead write nothing.
    fn before(&self, point: KubePoint) -> BoxFuture<'_, ()>;
    /// Called after each write has been answered. A crash is a future that never ends.
    fn after(&self, point: KubePoint) -> BoxFuture<'_, Fault>;
}

/// No faults.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl FaultPlan for NoFaults {
    fn before(&self, _point: KubePoint) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn after(&self, _point: KubePoint) -> BoxFuture<'_, Fault> {
        Box::pin(std::future::ready(Fault::None))
    }
}

pub(super) fn server_error() -> kube::core::Status {
    kube::core::Status {
        code: 500,
        reason: "InternalError".into(),
        message: "an internal error happened after the write was done".into(),
        ..kube::core::Status::default()
    }
}
