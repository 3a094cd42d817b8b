//! What a webhook says of itself.

use crds::conditions::{self as merge, Status, Wanted};
use crds::{
    AgentWebhook, AgentWebhookStatus, READY, labels, webhook_condition as condition,
    webhook_reason as reason,
};
use kube::ResourceExt as _;
use store::DeliveryOutcome;

use crate::context::Context;
use crate::directory::Known;
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::patch;

/// Writes the status, where it says something else.
pub(super) async fn write(
    ctx: &Context,
    webhook: &AgentWebhook,
    secret_name: String,
    last: Option<&DeliveryOutcome>,
) -> Result<(), Error> {
    let old = webhook.status.clone().unwrap_or_default();
    let generation = webhook.metadata.generation;
    let namespace = webhook.namespace().unwrap_or_default();
    let wanted = vec![ready(ctx, webhook), delivered(last)];
    let now = ctx.clock.now();
    let new = AgentWebhookStatus {
        observed_generation: generation,
        conditions: merge::merge(&old.conditions, wanted, generation, now),
        path: Some(format!("/hooks/{namespace}/{}", webhook.name_any())),
        secret_name: Some(secret_name),
    };
    let Some(patch) = patch::status_patch(&old, &new) else {
        return Ok(());
    };
    let (manager, meta) = (labels::WEBHOOK_MANAGER, &webhook.metadata);
    let written = ctx
        .writes
        .patch_status::<AgentWebhook>(KubePoint::WebhookStatus, manager, meta, patch)
        .await;
    match written {
        Ok(written) => {
            ctx.caches.webhooks.observe(written);
            Ok(())
        }
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn ready(ctx: &Context, webhook: &AgentWebhook) -> Wanted {
    let want = |status, reason, message: String| Wanted {
        kind: READY,
        status,
        reason,
        message,
    };
    if webhook.spec.suspend {
        let message = "Nothing is taken while suspend is set.".to_owned();
        return want(Status::False, reason::SUSPENDED, message);
    }
    if let Some(missing) = missing(ctx, webhook) {
        let message = format!("There is no {missing}. Create it, or correct the name.");
        return want(Status::False, reason::AGENT_NOT_FOUND, message);
    }
    want(Status::True, reason::READY, String::new())
}

/// Whoever gets its issues, where they are not there.
fn missing(ctx: &Context, webhook: &AgentWebhook) -> Option<String> {
    let spec = &webhook.spec;
    let of_issue = spec
        .issue
        .as_ref()
        .and_then(|issue| issue.assignee.as_ref());
    let of_github = spec
        .git_hub
        .as_ref()
        .and_then(|github| github.assignee.as_ref());
    let assignee = of_issue.or(of_github)?;
    let namespace = webhook.namespace().unwrap_or_default();
    let known = Known::new(&ctx.caches, &namespace);
    known.missing(assignee)
}

fn delivered(last: Option<&DeliveryOutcome>) -> Wanted {
    let (status, reason, message) = match last {
        None => (Status::Unknown, reason::NOTHING_YET, String::new()),
        Some(last) if last.taken => (Status::True, reason::TAKEN, String::new()),
        Some(last) => {
            let message = format!("Delivery {:?} failed: {}", last.delivery, last.remark);
            (Status::False, reason::FAILED, message)
        }
    };
    Wanted {
        kind: condition::DELIVERED,
        status,
        reason,
        message,
    }
}
