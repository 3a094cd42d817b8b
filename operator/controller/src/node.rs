//! How nodes are.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

use crate::context::Context;
use crate::task::failure::NodeHealth;

/// The taint with which an administrator says that a node is switched off.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// How a node is, by its own object.
#[must_use]
pub fn health(node: &Node) -> NodeHealth {
    let taints = node
        .spec
        .iter()
        .filter_map(|spec| spec.taints.as_ref())
        .flatten();
    if taints.into_iter().any(|taint| taint.key == OUT_OF_SERVICE) {
        return NodeHealth::OutOfService;
    }
    match ready_since(node) {
        Some(_) => NodeHealth::Ready,
        None => NodeHealth::Silent,
    }
}

/// Since when a node has been ready without a break; `None` when it is not.
#[must_use]
pub fn ready_since(node: &Node) -> Option<Timestamp> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")?;
    let since = ready
        .last_transition_time
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    (ready.status == "True").then_some(since)
}

/// How the node of this name is.
#[must_use]
pub fn named(ctx: &Context, name: Option<&str>) -> NodeHealth {
    let Some(name) = name else {
        return NodeHealth::None;
    };
    ctx.caches
        .nodes
        .get("", name)
        .map_or(NodeHealth::Gone, |node| health(&node))
}

/// The nodes on which a pod may be: the one of this name, or all when it is not known.
#[must_use]
pub fn candidates(ctx: &Context, name: Option<&str>) -> Vec<Arc<Node>> {
    match name {
        Some(name) => ctx.caches.nodes.get("", name).into_iter().collect(),
        None => ctx.caches.nodes.all(),
    }
}
