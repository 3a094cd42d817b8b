//! Network policies: one base per namespace, one per Runtime. Both stand before the first pod does.

pub mod build;

use crds::{Runtime, labels};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;

use crate::context::Context;
use crate::kube_writes::{KubePoint, WriteError};
use crate::runtime::probe;

/// Makes both policies that a pod of `runtime` is under, where they are not as wanted.
///
/// # Errors
/// [`WriteError`]; then no pod may be made.
pub async fn ensure(ctx: &Context, runtime: &Runtime) -> Result<(), WriteError> {
    let namespace = runtime.namespace().unwrap_or_default();
    let installation = ctx.settings.installation;
    let _one_at_a_time = ctx.policies.lock().await;
    let base = build::base(installation, &namespace, &ctx.settings.api_peer);
    apply(ctx, KubePoint::BasePolicy, &base).await?;
    let own = build::of_runtime(installation, runtime);
    apply(ctx, KubePoint::RuntimePolicy, &own).await
}

/// Makes the policy that pods are under which ask programs for their versions.
///
/// # Errors
/// [`WriteError`]; then no such pod may be made.
pub(crate) async fn ensure_probes(ctx: &Context, namespace: &str) -> Result<(), WriteError> {
    let _one_at_a_time = ctx.policies.lock().await;
    let wanted = probe::policy(ctx.settings.installation, namespace);
    apply(ctx, KubePoint::ProbePolicy, &wanted).await
}

async fn apply(ctx: &Context, point: KubePoint, wanted: &NetworkPolicy) -> Result<(), WriteError> {
    let namespace = wanted.namespace().unwrap_or_default();
    let there = ctx.caches.policies.get(&namespace, &wanted.name_any());
    if there.is_some_and(|there| build::is_as_wanted(&there, wanted)) {
        return Ok(());
    }
    let written = ctx
        .writes
        .apply(point, labels::RUNTIME_MANAGER, wanted)
        .await?;
    ctx.caches.policies.observe(written);
    Ok(())
}
