//! Runtimes: their network policies, their `Ready`, and who waits for them.

use crds::conditions::{self as merge, Status, Wanted};
use crds::{READY, Runtime, RuntimeStatus, labels, runtime_reason as reason};
use jiff::Timestamp;
use kube::ResourceExt as _;
use protocol::providers;

use crate::catalog::{Catalog, is_supported};
use crate::context::{Context, Key};
use crate::error::Error;
use crate::kube_writes::{KubePoint, WriteError};
use crate::work::Done;
use crate::{network, patch};

/// One pass of a Runtime.
///
/// # Errors
/// [`Error::Write`]; a policy that cannot be made is also said in the status.
pub async fn pass(ctx: &Context, namespace: &str, name: &str) -> Result<Done, Error> {
    wake(ctx, namespace, name);
    let Some(runtime) = ctx.caches.runtimes.get(namespace, name) else {
        return Ok(Done::Settled);
    };
    let catalog = Catalog::new(ctx.caches.clone());
    if catalog.workspace_uid(namespace).is_none() || runtime.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let policies = network::ensure(ctx, &runtime).await;
    let old = runtime.status.clone().unwrap_or_default();
    let new = status(&runtime, &old, policies.as_ref().err(), ctx.clock.now());
    if let Some(patch) = patch::status_patch(&old, &new) {
        let manager = labels::RUNTIME_MANAGER;
        let written = ctx
            .writes
            .patch_status::<Runtime>(KubePoint::RuntimeStatus, manager, &runtime.metadata, patch)
            .await;
        match written {
            Ok(written) => {
                ctx.caches.runtimes.observe(written);
                wake(ctx, namespace, name);
            }
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    policies?;
    Ok(Done::Settled)
}

/// Its lane, and the Agents whose own readiness depends on it.
fn wake(ctx: &Context, namespace: &str, name: &str) {
    ctx.claim_in(namespace, name);
    for agent in Catalog::new(ctx.caches.clone()).agents_of(namespace, name) {
        ctx.queue.add(Key::Agent {
            namespace: namespace.to_owned(),
            name: agent.name_any(),
        });
    }
}

fn status(
    runtime: &Runtime,
    old: &RuntimeStatus,
    failed: Option<&WriteError>,
    now: Timestamp,
) -> RuntimeStatus {
    let generation = runtime.metadata.generation;
    let conditions = merge::merge(
        &old.conditions,
        vec![ready(runtime, failed)],
        generation,
        now,
    );
    RuntimeStatus {
        observed_generation: generation,
        conditions,
    }
}

fn ready(runtime: &Runtime, failed: Option<&WriteError>) -> Wanted {
    let want = |status, reason, message| Wanted {
        kind: READY,
        status,
        reason,
        message,
    };
    let provider = runtime.spec.provider;
    if !is_supported(provider) {
        let message = format!(
            "The runner has no adapter for {provider} yet. Supported: {}.",
            providers::ids().join(", ")
        );
        return want(Status::False, reason::PROVIDER_NOT_SUPPORTED, message);
    }
    match failed {
        None => want(Status::True, reason::READY, String::new()),
        Some(error) => {
            let words = error
                .refusal()
                .map_or_else(|| "no answer".to_owned(), |status| status.message.clone());
            let message = format!("The network policies could not be made, so no pod is: {words}");
            want(Status::False, reason::NETWORK_POLICY_FAILED, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn readiness_follows_from_provider_and_policies() {
        let known = fixtures::runtime("claude");
        let mut unknown = known.clone();
        unknown.spec.provider = crds::Provider::Dsh;
        let failed = WriteError {
            point: KubePoint::BasePolicy,
            cause: crate::kube_writes::WriteCause::TimedOut,
        };
        let cases = [
            (&known, None, Status::True, reason::READY),
            (
                &unknown,
                None,
                Status::False,
                reason::PROVIDER_NOT_SUPPORTED,
            ),
            (
                &known,
                Some(&failed),
                Status::False,
                reason::NETWORK_POLICY_FAILED,
            ),
        ];
        for (runtime, failed, status, reason) in cases {
            let ready = ready(runtime, failed);
            assert_eq!((ready.status, ready.reason), (status, reason));
        }
    }
}
