//! Deliveries of other systems: who has signed one with the key of a webhook may deliver through that webhook.
//!
//! Whoever has not is told the same, whether the webhook is there or not, after the same work.

use axum::extract::{FromRequest, Path, Request};
use axum::{RequestExt as _, body::Body};
use crds::{AgentWebhook, PreviousKey};
use http::HeaderMap;
use jiff::Timestamp;
use protocol::webhook::{
    BODY_BYTES, DELIVERY, GITHUB_DELIVERY, GITHUB_EVENT, GITHUB_SIGNATURE, ID_BYTES, SIGNATURE,
    SKEW_SECONDS, TIMESTAMP, is_signed, is_signed_by_github,
};

use crate::body;
use crate::error::Failure;
use crate::limits::{Party, Peer, Slot};
use crate::state::{Inner, Shared};

/// A delivery whose signature is good.
#[derive(Debug)]
pub(crate) struct Signed {
    /// Name and UID of the namespace.
    pub(crate) workspace: (String, String),
    /// Name of the webhook.
    pub(crate) webhook: String,
    /// In whose form it came.
    pub(crate) form: Form,
    /// The sender's id of it.
    pub(crate) id: String,
    /// What was sent.
    pub(crate) body: Vec<u8>,
    _slots: (Option<Slot>, Slot),
}

/// In whose form a delivery comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Ours.
    Generic,
    /// GitHub's, which says what it tells of.
    GitHub {
        /// The kind of event.
        event: String,
    },
}

/// What the headers of a delivery say, before any of it is believed.
struct Claimed<'a> {
    form: Form,
    id: &'a str,
    signature: &'a str,
    /// In our form.
    timestamp: &'a str,
}

impl FromRequest<Shared> for Signed {
    type Rejection = Failure;

    async fn from_request(mut request: Request<Body>, state: &Shared) -> Result<Self, Failure> {
        state.key()?;
        if !state.definitions.is_complete() {
            return Err(Failure::unavailable(
                "the cluster is still being listed: send it again later",
            ));
        }
        let path = request.extract_parts::<Path<(String, String)>>().await;
        let Path((namespace, name)) = path.map_err(|_| Failure::not_found())?;
        let from = request.extensions().get::<Peer>().copied();
        let of_sender = from.map(|Peer(address)| {
            let most = state.limits.deliveries_per_address;
            state.slots.take(Party::DeliveriesFrom(address), most)
        });
        let of_sender = of_sender.transpose()?;
        let of_all = state
            .slots
            .take(Party::Deliveries, state.limits.deliveries)?;
        let headers = request.headers().clone();
        let claimed = claimed(&headers).ok_or_else(Failure::unauthenticated)?;
        let body = body::whole(request, BODY_BYTES, state.limits.delivery_body).await?;
        let workspace = state.definitions.workspace(&namespace);
        let webhook = state.definitions.webhook(&namespace, &name);
        let known = webhook.zip(workspace);
        let webhook = known.as_ref().map(|(webhook, _)| webhook.as_ref());
        let good = is_good(state, &name, webhook, &claimed, &body)?;
        let known = known.filter(|(webhook, _)| good && takes(webhook, &claimed.form));
        let Some((webhook, uid)) = known else {
            return Err(Failure::unauthenticated());
        };
        if !is_fresh(&claimed, state.now()) {
            return Err(Failure::invalid(
                "the delivery was signed more than five minutes from now: look at the clocks, and sign it anew",
            ));
        }
        if webhook.spec.suspend {
            return Err(Failure::forbidden("this webhook is suspended"));
        }
        Ok(Self {
            workspace: (namespace, uid),
            webhook: name,
            form: claimed.form.clone(),
            id: claimed.id.to_owned(),
            body,
            _slots: (of_sender, of_all),
        })
    }
}

fn claimed(headers: &HeaderMap) -> Option<Claimed<'_>> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let claimed = match one(GITHUB_SIGNATURE) {
        Some(signature) => Claimed {
            form: Form::GitHub {
                event: one(GITHUB_EVENT)?.to_owned(),
            },
            id: one(GITHUB_DELIVERY)?,
            signature,
            timestamp: "",
        },
        None => Claimed {
            form: Form::Generic,
            id: one(DELIVERY)?,
            signature: one(SIGNATURE)?,
            timestamp: one(TIMESTAMP)?,
        },
    };
    let id = claimed.id;
    let is_id =
        (1..=ID_BYTES).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_id.then_some(claimed)
}

/// Whether the signature is that of one of the webhook's keys. Where there is no webhook it is compared all the same.
fn is_good(
    state: &Inner,
    name: &str,
    webhook: Option<&AgentWebhook>,
    claimed: &Claimed<'_>,
    body: &[u8],
) -> Result<bool, Failure> {
    let uid = webhook.and_then(|webhook| webhook.metadata.uid.as_deref());
    let present = webhook.map_or(1, |webhook| webhook.spec.key_version);
    let previous = webhook.is_some_and(|webhook| webhook.spec.previous_key == PreviousKey::Accept);
    let mut good = false;
    for version in [Some(present), Some(present - 1).filter(|_| previous)] {
        let Some(version) = version else { continue };
        let key = state
            .key()?
            .webhook_key(uid.unwrap_or_default(), name, version);
        good |= match &claimed.form {
            Form::GitHub { .. } => is_signed_by_github(claimed.signature, &key, body),
            Form::Generic => {
                is_signed(claimed.signature, &key, claimed.timestamp, claimed.id, body)
            }
        };
    }
    Ok(good)
}

fn takes(webhook: &AgentWebhook, form: &Form) -> bool {
    match form {
        Form::Generic => webhook.spec.git_hub.is_none(),
        Form::GitHub { .. } => webhook.spec.git_hub.is_some(),
    }
}

/// Whether a delivery in our form was signed just now, so that nobody sends it again later.
fn is_fresh(claimed: &Claimed<'_>, now: Timestamp) -> bool {
    match claimed.form {
        Form::GitHub { .. } => true,
        Form::Generic => claimed
            .timestamp
            .parse::<i64>()
            .is_ok_and(|signed| now.as_second().saturating_sub(signed).abs() <= SKEW_SECONDS),
    }
}
