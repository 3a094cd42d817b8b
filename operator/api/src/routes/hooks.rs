//! What other systems deliver. It is stored before it is answered; what becomes of it is not waited for.

use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::{NewDelivery, Took, WAITING_DELIVERIES, WorkspaceRef};

use crate::error::Failure;
use crate::signed::{Form, Signed};
use crate::state::Shared;

/// What GitHub tells that can become something.
const EVENTS: [&str; 2] = ["issues", "issue_comment"];

/// `POST /hooks/{namespace}/{name}`.
pub(super) async fn take_delivery(
    State(state): State<Shared>,
    signed: Signed,
) -> Result<(StatusCode, Answer<Value>), Failure> {
    let Signed {
        workspace,
        webhook,
        form,
        id,
        body,
        ..
    } = signed;
    if serde_json::from_slice::<IgnoredAny>(&body).is_err() {
        return Err(Failure::invalid(
            "the body is no JSON: send it as application/json",
        ));
    }
    let (event, body_hash) = match form {
        Form::Generic => ("delivery".to_owned(), None),
        // GitHub's signature does not cover the id: whoever saw a delivery could else send it again under others.
        Form::GitHub { event } => (event, Some(Sha256::digest(&body).into())),
    };
    if body_hash.is_some() && !EVENTS.contains(&event.as_str()) {
        return Ok(answer("ignored"));
    }
    let new = NewDelivery {
        workspace: WorkspaceRef {
            namespace: workspace.0,
            namespace_uid: workspace.1,
        },
        webhook,
        delivery: id,
        event,
        body,
        body_hash,
    };
    match state.store.take_delivery(new, state.now()).await {
        Ok(Took::New) => Ok(answer("taken")),
        Ok(Took::Known) => Ok(answer("known")),
        Err(store::Error::Conflict { .. }) => {
            Err(Failure::too_many_requests(WAITING_DELIVERIES as usize))
        }
        Err(error) => Err(error.into()),
    }
}

fn answer(word: &str) -> (StatusCode, Answer<Value>) {
    (StatusCode::ACCEPTED, Answer(json!({"delivery": word})))
}
