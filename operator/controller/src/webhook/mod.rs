//! Webhooks: the key of each, what it says of itself, and what becomes of what they deliver.
//!
//! The signing key is derived, so that the operator never reads a Secret: it makes one, for people to read and to
//! tell the sender, and derives the key again for each delivery.

mod github;
mod read;
mod status;
mod template;

use std::collections::BTreeMap;

use crds::{AgentWebhook, labels, names};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use secrecy::ExposeSecret as _;
use store::{Acting, Delivery, Nothing};

use crate::catalog::{Catalog, Standing};
use crate::context::{Context, Key};
use crate::directory::Known;
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::task::build;
use crate::work::Done;
use read::Wish;

/// Deliveries that are dealt with in one pass.
const AT_ONCE: u32 = 50;
/// Tries of one delivery that the store cannot take. Then it has failed, and the sender may send it again.
const TRIES: u32 = 4;
/// Deliveries of one pass that fail alike before the store is believed to be away.
const FAILURES: usize = 3;

/// The key of a webhook.
#[must_use]
pub fn key(webhook: &AgentWebhook) -> Key {
    Key::Webhook {
        namespace: webhook.namespace().unwrap_or_default(),
        name: webhook.name_any(),
    }
}

/// Every webhook of a namespace is looked at: somebody who gets its issues came or went.
pub(crate) fn look_at_all(ctx: &Context, namespace: &str) {
    for webhook in ctx.caches.webhooks.in_namespace(namespace) {
        ctx.queue.add(key(&webhook));
    }
}

/// One pass of a webhook: it gets its key, and says how it stands.
///
/// # Errors
/// [`Error::Store`], [`Error::Write`].
pub async fn pass(ctx: &Context, namespace: &str, name: &str) -> Result<Done, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let Some(namespace_uid) = catalog.workspace_uid(namespace) else {
        return Ok(Done::Settled);
    };
    let Some(webhook) = ctx.caches.webhooks.get(namespace, name) else {
        return Ok(Done::Settled);
    };
    if webhook.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let uid = webhook.uid().unwrap_or_default();
    let secret = names::webhook_secret_name(name, &uid, webhook.spec.key_version);
    let told = webhook.status.as_ref();
    let told = told.and_then(|status| status.secret_name.as_deref());
    if told != Some(&secret) {
        make_secret(ctx, &webhook, &secret).await?;
    }
    let last = ctx.store.last_delivery(&namespace_uid, name).await?;
    status::write(ctx, &webhook, secret, last.as_ref()).await?;
    Ok(Done::Settled)
}

/// Makes the Secret of a webhook's key. One that is there holds the same bytes: its name follows from what they do.
async fn make_secret(ctx: &Context, webhook: &AgentWebhook, name: &str) -> Result<(), Error> {
    let namespace = webhook.namespace().unwrap_or_default();
    let version = webhook.spec.key_version;
    let uid = webhook.uid().unwrap_or_default();
    let key = ctx.key.webhook_key(&uid, &webhook.name_any(), version);
    let all = [
        (labels::MANAGED_BY, labels::MANAGER.to_owned()),
        (labels::INSTALLATION, ctx.settings.installation.to_string()),
        (labels::WEBHOOK, webhook.name_any()),
    ];
    let owned = |(key, value): (&str, String)| (key.to_owned(), value);
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.clone()),
            labels: Some(all.map(owned).into_iter().collect()),
            owner_references: build::owner(webhook).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        immutable: Some(true),
        string_data: Some(BTreeMap::from([(
            "key".to_owned(),
            key.expose_secret().to_owned(),
        )])),
        type_: Some("Opaque".to_owned()),
        data: None,
    };
    match ctx
        .writes
        .create(KubePoint::CreateWebhookSecret, &namespace, &secret)
        .await
    {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Deals with deliveries that wait, in the order in which they came.
///
/// # Errors
/// [`Error::Store`], where asking again may help. A delivery that cannot become anything fails alone.
pub async fn deliver(ctx: &Context) -> Result<Done, Error> {
    let waiting = ctx.store.waiting_deliveries(AT_ONCE).await?;
    let mut failures = Vec::new();
    for delivery in &waiting {
        let dealt = deliver_one(ctx, delivery).await;
        // Also where nobody knows whether it was done: it says so then.
        ctx.queue.add(Key::Webhook {
            namespace: delivery.workspace.namespace.clone(),
            name: delivery.webhook.clone(),
        });
        // One that cannot be dealt with holds up no other.
        failures.extend(dealt.err());
        if failures.len() >= FAILURES {
            break;
        }
    }
    if let Some(error) = failures.into_iter().next() {
        return Err(error);
    }
    if waiting.is_empty() {
        return Ok(Done::Settled);
    }
    Ok(Done::LookAgain(std::time::Duration::ZERO))
}

async fn deliver_one(ctx: &Context, delivery: &Delivery) -> Result<(), Error> {
    let workspace = &delivery.workspace;
    let catalog = Catalog::new(ctx.caches.clone());
    let stands = catalog.standing(&workspace.namespace, &workspace.namespace_uid);
    let webhook = ctx
        .caches
        .webhooks
        .get(&workspace.namespace, &delivery.webhook);
    let webhook = webhook.filter(|_| stands == Standing::Workspace);
    let end = |how, why: String| async move {
        ctx.store.end_delivery(delivery.id, how, &why).await?;
        Ok::<_, Error>(())
    };
    let Some(webhook) = webhook else {
        return end(Nothing::Ignored, "the webhook is gone".to_owned()).await;
    };
    let now = ctx.clock.now();
    // As old as it was when it came, however long it has waited here.
    let came = delivery.came_at().unwrap_or(now);
    let becomes = match read::read(&webhook.spec, &delivery.event, &delivery.body, came) {
        Wish::Become(becomes) => becomes,
        Wish::Ignore(why) => return end(Nothing::Ignored, why.to_owned()).await,
        Wish::Wrong(why) => return end(Nothing::Failed, why).await,
    };
    let by = acting(delivery);
    let known = Known::new(&ctx.caches, &workspace.namespace);
    match ctx
        .store
        .deliver(delivery, (&by, becomes), &known, now)
        .await
    {
        Ok(()) => Ok(()),
        Err(
            error @ (store::Error::Missing { .. }
            | store::Error::Invalid { .. }
            | store::Error::Conflict { .. }),
        ) => end(Nothing::Failed, error.to_string()).await,
        Err(error) if may_pass(&error) && ctx.memory.tried(delivery.id.as_u128()) < TRIES => {
            Err(error.into())
        }
        Err(error @ store::Error::Lost { .. }) => Err(error.into()),
        Err(error) => {
            let why = format!("it could not be stored: {error}; send it again");
            end(Nothing::Failed, why).await
        }
    }
}

/// Whether trying again may help.
fn may_pass(error: &store::Error) -> bool {
    match error.retry() {
        store::Retry::WithBackoff => true,
        store::Retry::WhenChanged | store::Retry::Never => false,
    }
}

/// The webhook as who writes.
fn acting(delivery: &Delivery) -> Acting {
    Acting::webhook(&delivery.workspace, &delivery.webhook)
}
