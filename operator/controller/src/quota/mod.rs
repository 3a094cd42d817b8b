//! The AgentQuota of a workspace: what it may have, its `Ready`, and how much is used of it.

use std::time::Duration;

use crds::conditions::{self as merge, Status, Wanted};
use crds::{AgentQuota, AgentQuotaStatus, QUOTA_NAME, READY, labels, quota_reason as reason};
use jiff::Timestamp;
use protocol::TaskState;
use store::Share;

use crate::catalog::Catalog;
use crate::context::{Context, Key};
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::patch;
use crate::work::Done;

/// How long after a change what is used is counted: many changes are then one write.
const COUNTED_AFTER: Duration = Duration::from_secs(2);
/// Nothing is counted further than what a status can hold.
const COUNTED: u32 = 100_000;

/// What a workspace may have. `max_pods` is what all of them share.
#[must_use]
pub fn share(quota: Option<&AgentQuota>, max_pods: Option<u32>) -> Share {
    let Some(spec) = quota.map(|quota| &quota.spec) else {
        return Share {
            max_pods,
            ..Share::default()
        };
    };
    Share {
        weight: u32::try_from(spec.weight).unwrap_or(1),
        max_concurrent: limit(spec.max_concurrent),
        runs_per_hour: limit(spec.runs_per_hour),
        max_pods,
    }
}

/// Tasks that may wait in a workspace.
#[must_use]
pub fn max_queued(quota: Option<&AgentQuota>) -> Option<u32> {
    quota.and_then(|quota| limit(quota.spec.max_queued))
}

/// The schema allows no negative number; what it would not allow lets nothing through.
fn limit(of: Option<i32>) -> Option<u32> {
    of.map(|limit| u32::try_from(limit).unwrap_or(0))
}

/// A task of a workspace is looked at, so what is used may have changed: it is counted soon, where somebody has set a
/// limit, and one that does not wait any more makes room for one that found none.
pub(crate) fn used(ctx: &Context, namespace: &str, state: TaskState) {
    if state != TaskState::Queued
        && let Some(object) = ctx.memory.let_in(namespace)
    {
        ctx.queue.add(object);
    }
    if ctx.caches.quotas.get(namespace, QUOTA_NAME).is_some() {
        ctx.queue
            .add_after(Key::Quota(namespace.to_owned()), COUNTED_AFTER);
    }
}

/// One pass of the AgentQuota of a namespace.
///
/// # Errors
/// [`Error::Store`], [`Error::Write`].
pub async fn pass(ctx: &Context, namespace: &str) -> Result<Done, Error> {
    let Some(quota) = ctx.caches.quotas.get(namespace, QUOTA_NAME) else {
        return Ok(Done::Settled);
    };
    let Some(uid) = Catalog::new(ctx.caches.clone()).workspace_uid(namespace) else {
        return Ok(Done::Settled);
    };
    if quota.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let (queued, running) = ctx.store.load(&uid, COUNTED).await?;
    let old = quota.status.clone().unwrap_or_default();
    let is_shared = ctx.settings.max_pods.is_some();
    let new = status(&quota, &old, (queued, running), is_shared, ctx.clock.now());
    if let Some(patch) = patch::status_patch(&old, &new) {
        let manager = labels::QUOTA_MANAGER;
        let written = ctx
            .writes
            .patch_status::<AgentQuota>(KubePoint::QuotaStatus, manager, &quota.metadata, patch)
            .await;
        match written {
            Ok(written) => {
                ctx.caches.quotas.observe(written);
            }
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Done::Settled)
}

fn status(
    quota: &AgentQuota,
    old: &AgentQuotaStatus,
    (queued, running): (u32, u32),
    is_shared: bool,
    now: Timestamp,
) -> AgentQuotaStatus {
    let generation = quota.metadata.generation;
    let message = if is_shared {
        String::new()
    } else {
        "The weight has no effect: the workspaces share no number of pods (capacity.maxPods of the chart).".to_owned()
    };
    let ready = Wanted {
        kind: READY,
        status: Status::True,
        reason: reason::READY,
        message,
    };
    let count = |count: u32| Some(i32::try_from(count.min(COUNTED)).unwrap_or(i32::MAX));
    AgentQuotaStatus {
        observed_generation: generation,
        conditions: merge::merge(&old.conditions, vec![ready], generation, now),
        running: count(running),
        queued: count(queued),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn quota(spec: serde_json::Value) -> AgentQuota {
        let object = json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentQuota",
            "metadata": {"name": "default", "generation": 3}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_share_is_what_the_quota_says() {
        let plain = quota(json!({}));
        assert_eq!(share(Some(&plain), None), Share::default());
        assert_eq!(max_queued(Some(&plain)), None);
        let full =
            quota(json!({"weight": 300, "maxConcurrent": 0, "runsPerHour": 7, "maxQueued": 9}));
        let wanted = Share {
            weight: 300,
            max_concurrent: Some(0),
            runs_per_hour: Some(7),
            max_pods: Some(5),
        };
        assert_eq!(share(Some(&full), Some(5)), wanted);
        assert_eq!(max_queued(Some(&full)), Some(9));
        assert_eq!((share(None, Some(5)).weight, max_queued(None)), (100, None));
    }

    #[test]
    fn a_status_says_what_is_used_and_whether_the_weight_counts() {
        let (quota, old) = (quota(json!({})), AgentQuotaStatus::default());
        let status = |is_shared| status(&quota, &old, (2, 1), is_shared, Timestamp::UNIX_EPOCH);
        let alone = status(false);
        assert_eq!((alone.queued, alone.running), (Some(2), Some(1)));
        assert_eq!(alone.observed_generation, Some(3));
        assert!(alone.conditions[0].message.contains("capacity.maxPods"));
        assert_eq!(status(true).conditions[0].message, "");
    }
}
