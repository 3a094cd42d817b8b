//! Runtimes: their network policies, their program, their `Ready`, and who waits for them.

pub(crate) mod probe;

use crds::conditions::{self as merge, Status, Wanted};
use crds::{
    CliFinding, CliStatus, READY, Runtime, RuntimeStatus, labels, runtime_reason as reason,
};
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
        probe::forget(ctx, namespace, name);
        return Ok(Done::Settled);
    };
    let catalog = Catalog::new(ctx.caches.clone());
    if catalog.workspace_uid(namespace).is_none() || runtime.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let policies = network::ensure(ctx, &runtime).await;
    let old = runtime.status.clone().unwrap_or_default();
    let is_asked = ctx.settings.probe && policies.is_ok() && is_supported(&runtime.spec);
    let plan = is_asked.then(|| probe::plan(ctx, &runtime));
    let cli = match &plan {
        Some(plan) => plan.cli.clone(),
        // What is not asked any more keeps no Runtime from its tasks.
        None => old.cli.clone().filter(|_| ctx.settings.probe),
    };
    let new = status(
        &runtime,
        &old,
        cli,
        policies.as_ref().err(),
        ctx.clock.now(),
    );
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
    let Some(plan) = plan else {
        return Ok(Done::Settled);
    };
    probe::carry_out(ctx, &runtime, &plan).await?;
    Ok(plan.again.map_or(Done::Settled, Done::LookAgain))
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
    cli: Option<CliStatus>,
    failed: Option<&WriteError>,
    now: Timestamp,
) -> RuntimeStatus {
    let generation = runtime.metadata.generation;
    let conditions = merge::merge(
        &old.conditions,
        vec![ready(runtime, cli.as_ref(), failed)],
        generation,
        now,
    );
    RuntimeStatus {
        observed_generation: generation,
        conditions,
        cli,
    }
}

fn ready(runtime: &Runtime, cli: Option<&CliStatus>, failed: Option<&WriteError>) -> Wanted {
    let want = |status, reason, message| Wanted {
        kind: READY,
        status,
        reason,
        message,
    };
    let provider = runtime.spec.provider;
    if !is_supported(&runtime.spec) {
        let message = format!(
            "The runner has no adapter for {provider} yet. Supported: {}.",
            providers::ids().join(", ")
        );
        return want(Status::False, reason::PROVIDER_NOT_SUPPORTED, message);
    }
    match failed {
        None => match cli.and_then(|cli| Some((fault(cli.finding)?, cli.message.clone()))) {
            Some((reason, message)) => want(Status::False, reason, message),
            None => want(Status::True, reason::READY, String::new()),
        },
        Some(error) => {
            let words = error
                .refusal()
                .map_or_else(|| "no answer".to_owned(), |status| status.message.clone());
            let message = format!("The network policies could not be made, so no pod is: {words}");
            want(Status::False, reason::NETWORK_POLICY_FAILED, message)
        }
    }
}

/// The reason for which a program makes a Runtime not ready.
fn fault(finding: CliFinding) -> Option<&'static str> {
    match finding {
        CliFinding::Usable => None,
        CliFinding::Missing => Some(reason::CLI_MISSING),
        CliFinding::NotExecutable => Some(reason::CLI_NOT_EXECUTABLE),
        CliFinding::TooOld => Some(reason::CLI_TOO_OLD),
        CliFinding::Failed => Some(reason::CLI_FAILED),
        CliFinding::ImagePullFailed => Some(reason::IMAGE_PULL_FAILED),
        CliFinding::NotAsked => Some(reason::CLI_NOT_ASKED),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::fixtures;

    #[test]
    fn readiness_follows_from_provider_and_policies() {
        let known = fixtures::runtime("claude");
        let failed = WriteError {
            point: KubePoint::BasePolicy,
            cause: crate::kube_writes::WriteCause::TimedOut,
        };
        let bad = CliStatus {
            probed: probe::fingerprint(&known.spec),
            finding: CliFinding::TooOld,
            message: "Put a newer one into the image.".to_owned(),
            version: None,
            models: Vec::new(),
            models_left_out: 0,
            thinking_levels: Vec::new(),
            image_id: None,
            probed_time: Time(Timestamp::UNIX_EPOCH),
        };
        let cases = [
            (&known, None, None, Status::True, reason::READY),
            (&known, Some(&bad), None, Status::False, reason::CLI_TOO_OLD),
            (
                &known,
                Some(&bad),
                Some(&failed),
                Status::False,
                reason::NETWORK_POLICY_FAILED,
            ),
        ];
        for (runtime, cli, failed, status, reason) in cases {
            let ready = ready(runtime, cli, failed);
            assert_eq!((ready.status, ready.reason), (status, reason));
        }
        // Its schema lets no such one in.
        let mut unsaid = known.clone();
        unsaid.spec.provider = crds::Provider::Custom;
        let ready = ready(&unsaid, None, None);
        assert_eq!(ready.reason, reason::PROVIDER_NOT_SUPPORTED);
    }
}
