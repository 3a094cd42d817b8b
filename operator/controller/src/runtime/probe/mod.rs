//! What the program of a Runtime is: asked by a short pod that has no token, no volume and no network, once for what a
//! Runtime runs, and once more when its image is seen to be another one by now.
//!
//! The answer lies in the Runtime's status, so a restart asks nothing again. Runtimes that run the same share one answer.

mod build;
mod decide;
mod read;

use crds::{CliFinding, Runtime, RuntimeStatus, labels};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

pub(crate) use build::{POLICY, fingerprint, policy};
pub(super) use decide::Plan;
use decide::Step;
pub(crate) use read::image_id;

use crate::context::{Context, Key};
use crate::error::Error;
use crate::kube_writes::{KubePoint, Target, WriteError};
use crate::network;

/// What is known of the program by now, and what is still to be done about it.
pub(super) fn plan(ctx: &Context, runtime: &Runtime) -> Plan {
    let (namespace, name) = place(runtime);
    let key = fingerprint(&runtime.spec);
    let seen = decide::Seen {
        old: runtime
            .status
            .as_ref()
            .and_then(|status| status.cli.clone()),
        pod: ctx.caches.pods.get(&namespace, &build::name(&name)),
        // What somebody else was told may be taken from a registry that this one has no login for.
        shared: build::is_shareable(&runtime.spec)
            .then(|| ctx.memory.cli(&key))
            .flatten(),
        moved_to: ctx.memory.image_seen(&namespace, &name),
        uid: runtime.uid().unwrap_or_default(),
        program: build::program(&runtime.spec),
        command: build::called(&runtime.spec),
        place: decide::Place {
            namespace,
            name,
            image: runtime.spec.image.clone(),
        },
        key,
    };
    decide::decide(&seen, ctx.clock.now())
}

/// Does what is left once the status says what is known: a pod that has answered goes, one that is to ask comes.
pub(super) async fn carry_out(ctx: &Context, runtime: &Runtime, plan: &Plan) -> Result<(), Error> {
    let (namespace, name) = place(runtime);
    let key = || Key::Runtime {
        namespace: namespace.clone(),
        name: name.clone(),
    };
    if let Some(cli) = &plan.cli
        && cli.finding == CliFinding::Usable
        && build::is_shareable(&runtime.spec)
    {
        ctx.memory.know_cli(cli.clone());
    }
    match &plan.step {
        Step::Wait => {}
        Step::Nothing => leave(ctx, &key()),
        Step::Remove(uid) => {
            remove(ctx, &namespace, &name, uid).await?;
            leave(ctx, &key());
        }
        Step::Ask => {
            if !ctx.memory.may_probe(&key()) {
                return Ok(());
            }
            match ask(ctx, runtime).await {
                Ok(()) => {}
                Err(error) if error.is_already_exists() => {}
                Err(error) => {
                    leave(ctx, &key());
                    return Err(error.into());
                }
            }
        }
    }
    Ok(())
}

/// The Runtime is gone, and its pod with it.
pub(super) fn forget(ctx: &Context, namespace: &str, name: &str) {
    leave(
        ctx,
        &Key::Runtime {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
    );
}

/// Gives the place to the next one that waits for it.
fn leave(ctx: &Context, key: &Key) {
    if let Some(next) = ctx.memory.probed(key) {
        ctx.queue.add(next);
    }
}

async fn ask(ctx: &Context, runtime: &Runtime) -> Result<(), WriteError> {
    let namespace = runtime.namespace().unwrap_or_default();
    // The wall stands before the pod does.
    network::ensure_probes(ctx, &namespace).await?;
    let pod = build::pod(ctx.settings.installation, runtime, &ctx.settings.install);
    let made = ctx
        .writes
        .create(KubePoint::CreateProbe, &namespace, &pod)
        .await?;
    ctx.caches.pods.observe(made);
    Ok(())
}

async fn remove(ctx: &Context, namespace: &str, runtime: &str, uid: &str) -> Result<(), Error> {
    let target = Target {
        namespace,
        name: &build::name(runtime),
        uid: Some(uid),
        // It has answered, or will not: there is nothing to end politely.
        grace_seconds: Some(0),
    };
    match ctx
        .writes
        .delete::<Pod>(KubePoint::DeleteProbe, &target)
        .await
    {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        other => Ok(other?),
    }
}

fn place(runtime: &Runtime) -> (String, String) {
    (runtime.namespace().unwrap_or_default(), runtime.name_any())
}

/// Whether tasks cannot succeed with what a Runtime runs now.
pub(crate) fn is_hopeless(runtime: &Runtime) -> bool {
    let status = runtime.status.as_ref();
    let cli = status.and_then(|status| status.cli.as_ref());
    cli.is_some_and(|cli| cli.finding.is_hopeless() && cli.probed == fingerprint(&runtime.spec))
}

/// The Runtime that a pod was made to ask about.
pub(crate) fn asks_about(pod: &Pod) -> Option<Key> {
    let labels = pod.labels();
    if labels.get(labels::COMPONENT)? != labels::PROBE {
        return None;
    }
    Some(Key::Runtime {
        namespace: pod.namespace()?,
        name: labels.get(labels::RUNTIME)?.clone(),
    })
}

/// A task's pod shows which image its Runtime has by now. Where that is another one than was asked, the Runtime is looked at.
pub(crate) fn notice(ctx: &Context, pod: &Pod) {
    let place = pod
        .namespace()
        .zip(pod.labels().get(labels::RUNTIME).cloned());
    let (Some((namespace, name)), Some(now)) = (place, image_id(pod)) else {
        return;
    };
    let Some(runtime) = ctx.caches.runtimes.get(&namespace, &name) else {
        return;
    };
    let status: Option<&RuntimeStatus> = runtime.status.as_ref();
    let asked = status.and_then(|status| status.cli.as_ref()?.image_id.clone());
    if asked.is_some_and(|asked| asked != now) && ctx.memory.saw_image(&namespace, &name, &now) {
        ctx.queue.add(Key::Runtime { namespace, name });
    }
}
