//! When it is believed that no process of a pod is left, though its object is gone.
//!
//! The absence of the object alone proves nothing: a force delete, a partition or a removal while the
//! operator was away leave a kubelet that may still run the containers. It is believed when
//!
//! - the pod was seen dead: all its containers had terminated when its object was last seen; or
//! - it was seen without a node when its object went: only a pod that exists can get one; or
//! - no pod was ever recorded (asked of the apiserver, not of the cache) and its package was never opened: a pod
//!   that was made all the same has no agent and gets none, since an ended attempt opens nothing; or
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
use crate::task::observe::{Seen, had_pod};

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
    if !had_pod(attempt) && seen.last_sight.is_none() {
        return Fence::Dead;
    }
    if matches!(seen.node, NodeHealth::Gone | NodeHealth::OutOfService) {
        return Fence::Dead;
    }
    let since = attempt.pod_absent_since.unwrap_or(now);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;
    use crate::fixtures;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(status: serde_json::Value) -> Arc<Pod> {
        let object = json!({"metadata": {"uid": "pod-uid"}, "spec": {"nodeName": "node-1", "containers": []}, "status": status});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    /// The attempt ended at 2000; its pod was noticed to be absent at 2000 too.
    fn absent(node: NodeHealth, nodes: Vec<Node>) -> Seen {
        let mut seen = fixtures::running();
        seen.attempts[0].ended_at = Some(at(2_000));
        seen.attempts[0].pod_absent_since = Some(at(2_000));
        seen.node = node;
        seen.nodes = nodes.into_iter().map(Arc::new).collect();
        seen
    }

    fn is_dead_at(seen: &Seen, second: i64) -> bool {
        fence(seen, &seen.attempts[0], at(second)) == Fence::Dead
    }

    #[test]
    fn a_pod_that_was_seen_dead_is() {
        let mut seen = absent(
            NodeHealth::Ready,
            vec![fixtures::node("node-1", "True", 0, &[])],
        );
        seen.last_sight = Some(pod(json!({"phase": "Failed"})));
        assert!(is_dead_at(&seen, 2_000));
        seen.last_sight = Some(pod(json!({"phase": "Running"})));
        assert!(!is_dead_at(&seen, 2_000));
    }

    #[test]
    fn a_node_that_is_well_gets_time_to_end_it() {
        // 15 seconds of grace and the margin.
        let well = absent(
            NodeHealth::Ready,
            vec![fixtures::node("node-1", "True", 0, &[])],
        );
        assert!(!is_dead_at(&well, 2_074) && is_dead_at(&well, 2_075));
        let came_back = absent(
            NodeHealth::Ready,
            vec![fixtures::node("node-1", "True", 2_050, &[])],
        );
        assert!(!is_dead_at(&came_back, 2_124) && is_dead_at(&came_back, 2_125));
    }

    #[test]
    fn a_silent_node_keeps_the_fence_closed_for_ever() {
        let silent = absent(
            NodeHealth::Silent,
            vec![fixtures::node("node-1", "Unknown", 2_001, &[])],
        );
        assert!(!is_dead_at(&silent, 1_000_000));
        let Fence::Closed { until: None, why } = fence(&silent, &silent.attempts[0], at(9_999))
        else {
            panic!("open")
        };
        assert!(
            why.contains("node-1") && why.contains("out-of-service"),
            "{why}"
        );
    }

    #[test]
    fn a_node_that_is_gone_or_off_runs_nothing() {
        let off = fixtures::node(
            "node-1",
            "Unknown",
            0,
            &["node.kubernetes.io/out-of-service"],
        );
        assert!(is_dead_at(
            &absent(NodeHealth::OutOfService, vec![off]),
            2_000
        ));
        assert!(is_dead_at(&absent(NodeHealth::Gone, Vec::new()), 2_000));
    }

    #[test]
    fn where_the_node_is_not_known_every_one_is_asked() {
        let two = |other| {
            vec![
                fixtures::node("node-1", "True", 0, &[]),
                fixtures::node("node-2", other, 0, &[]),
            ]
        };
        assert!(is_dead_at(&absent(NodeHealth::None, two("True")), 2_075));
        assert!(!is_dead_at(
            &absent(NodeHealth::None, two("Unknown")),
            1_000_000
        ));
    }

    #[test]
    fn without_its_runtime_the_longest_grace_counts() {
        let mut seen = absent(
            NodeHealth::Ready,
            vec![fixtures::node("node-1", "True", 0, &[])],
        );
        seen.runtime = None;
        assert!(!is_dead_at(&seen, 2_659) && is_dead_at(&seen, 2_660));
    }

    #[test]
    fn a_pod_that_was_never_made_needs_no_fence() {
        let nodes = vec![fixtures::node("node-1", "True", 0, &[])];
        let mut seen = absent(NodeHealth::None, nodes);
        seen.attempts[0].pod_uid = None;
        seen.attempts[0].opened_at = None;
        assert!(is_dead_at(&seen, 2_000));
        // Unless its package was opened: that was done in a pod, whoever failed to record it.
        seen.attempts[0].opened_at = Some(at(1_500));
        assert!(!is_dead_at(&seen, 2_074) && is_dead_at(&seen, 2_075));
    }
}
