//! When it is believed that no process of a pod is left, though its object is gone.
//!
//! The absence of the object alone proves nothing: a force delete, a partition or a removal while the
//! operator was away leave a kubelet that may still run the containers. It is believed when
//!
//! - the pod was seen dead: all its containers had terminated when its object was last seen; or
//! - it was seen without a node when its object went: only a pod that exists can get one; or
//! - no pod was ever made (asked of the apiserver, not of the cache); or
//! - its node is gone, or carries the out-of-service taint; or
//! - its node is Ready, and has been for the pod's grace period and [`MARGIN`] since the absence was noticed:
//!   a kubelet that talks to the apiserver ends what the apiserver no longer lists. Where the node is not
//!   known this is asked of every node. The margin is longer than the 50 s after which Kubernetes notices
//!   that a node has become silent, so that one which was cut off just then is not believed to be well.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use store::AttemptRow;

use crate::node;
use crate::task::failure::{self, NodeHealth, after};
use crate::task::observe::Seen;

/// What is waited for beyond the grace period.
pub(super) const MARGIN: Duration = Duration::from_secs(60);

/// Whether the next attempt may use the volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fence {
    /// No process is left.
    Dead,
    /// It is not known.
    Closed {
        /// When it will be, if nothing changes.
        until: Option<Timestamp>,
        /// What is waited for.
        why: String,
    },
}

/// Whether the ended attempt's pod, whose object is absent, is dead.
#[must_use]
pub fn fence(seen: &Seen, attempt: &AttemptRow, now: Timestamp) -> Fence {
    if let Some(pod) = &seen.last_sight
        && (failure::is_dead(pod) || failure::was_never_bound(pod))
    {
        return Fence::Dead;
    }
    if attempt.pod_uid.is_none() && seen.last_sight.is_none() {
        return Fence::Dead;
    }
    if matches!(seen.node, NodeHealth::Gone | NodeHealth::OutOfService) {
        return Fence::Dead;
    }
    let since = seen.absent_since.unwrap_or(now);
    let wait = seen.grace() + MARGIN;
    let mut until = after(since, wait);
    for node in &seen.nodes {
        match (node::health(node), node::ready_since(node)) {
            (NodeHealth::Ready, Some(ready)) => until = until.max(after(ready, wait)),
            (NodeHealth::OutOfService | NodeHealth::Gone, _) => {}
            (NodeHealth::Ready | NodeHealth::Silent | NodeHealth::None, _) => return silent(node),
        }
    }
    if now >= until {
        return Fence::Dead;
    }
    let why = "the pod's object is gone, but nobody saw its containers end; its node gets time to end them";
    Fence::Closed {
        until: Some(until),
        why: why.to_owned(),
    }
}

fn silent(node: &Node) -> Fence {
    let name = node.metadata.name.as_deref().unwrap_or("?");
    let why = format!(
        "the pod's object is gone, but node {name} does not say that its containers have ended; \
         if the node is switched off, taint it with node.kubernetes.io/out-of-service or delete it"
    );
    Fence::Closed { until: None, why }
}
