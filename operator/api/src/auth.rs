//! Who calls. A handler whose first argument is a [`Caller`] has been authorised, and the router takes no
//! other ones under `/api/v1` ([`crate::routes`]).
//!
//! Every request is looked up anew: a credential that was good a moment ago proves nothing.

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use jiff::Timestamp;
use protocol::{AttemptId, Credential};
use secrecy::SecretString;
use store::AttemptRow;

use crate::error::Failure;
use crate::limits::{Party, Slot};
use crate::state::{Inner, Shared};

/// Bytes of an `Authorization` header; ours are shorter.
const HEADER_BYTES: usize = 512;

/// Who may call a route.
pub(crate) trait Caller: FromRequestParts<Shared, Rejection = Failure> {}

/// An agent, or a runner that has not opened its package yet: whoever has the task's token.
#[derive(Debug)]
pub(crate) struct AgentCaller {
    pub(crate) attempt: AttemptId,
    pub(crate) expires: Timestamp,
    _slot: Slot,
}

/// The runner of an attempt, also of one that has ended: what it may still do then, the store decides.
#[derive(Debug)]
pub(crate) struct RunnerCaller {
    pub(crate) attempt: AttemptRow,
    _slot: Slot,
}

/// A person. There are none yet, so nobody is one.
#[derive(Debug)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "no route is for people until there are people")
)]
pub(crate) struct PersonCaller(std::convert::Infallible);

impl Caller for AgentCaller {}
impl Caller for RunnerCaller {}
impl Caller for PersonCaller {}

/// Whose credential it is.
enum Identity {
    Agent(store::Authenticated),
    Runner(Box<AttemptRow>),
}

impl FromRequestParts<Shared> for AgentCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match identify(parts, state).await? {
            Identity::Agent(store::Authenticated {
                attempt,
                expires_at,
            }) => {
                let slot = state
                    .slots
                    .take(Party::Agent(attempt.task), state.limits.requests_per_task)?;
                Ok(Self {
                    attempt,
                    expires: expires_at,
                    _slot: slot,
                })
            }
            Identity::Runner(_) => Err(Failure::forbidden("this route is for the task's token")),
        }
    }
}

impl FromRequestParts<Shared> for RunnerCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match identify(parts, state).await? {
            Identity::Runner(attempt) => {
                let slot = state.slots.take(
                    Party::Runner(attempt.id.task),
                    state.limits.requests_per_task,
                )?;
                Ok(Self {
                    attempt: *attempt,
                    _slot: slot,
                })
            }
            Identity::Agent(_) => Err(Failure::forbidden(
                "this route is for the runner, not for its agent",
            )),
        }
    }
}

impl FromRequestParts<Shared> for PersonCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        identify(parts, state).await?;
        Err(Failure::forbidden("this route is for people"))
    }
}

async fn identify(parts: &Parts, state: &Inner) -> Result<Identity, Failure> {
    let key = state.key()?;
    match bearer(parts).ok_or_else(Failure::unauthenticated)? {
        Credential::Task(token) => by_token(&token, state).await,
        Credential::Runner(attempt, credential) => {
            let row = state
                .store
                .attempt(attempt)
                .await?
                .ok_or_else(Failure::unauthenticated)?;
            if !key.is_runner_credential(&credential, row.id, row.salt) {
                return Err(Failure::unauthenticated());
            }
            Ok(Identity::Runner(Box::new(row)))
        }
    }
}

async fn by_token(token: &SecretString, state: &Inner) -> Result<Identity, Failure> {
    let hash = Credential::token_hash(token);
    let found = state.store.authenticate_token(hash, state.now()).await?;
    found
        .map(Identity::Agent)
        .ok_or_else(Failure::unauthenticated)
}

/// The one bearer credential of a request; two of them are none.
fn bearer(parts: &Parts) -> Option<Credential> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    if value.len() > HEADER_BYTES {
        return None;
    }
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| Credential::parse(rest.trim()))
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::package::tests::{key, rows};

    fn parse(values: &[&str]) -> Option<Credential> {
        let mut request = http::Request::builder();
        for value in values {
            request = request.header(AUTHORIZATION, *value);
        }
        bearer(&request.body(()).unwrap().into_parts().0)
    }

    #[tokio::test]
    async fn nobody_is_a_person() {
        let rows = rows().await;
        let now = rows.attempt.claimed_at;
        let parts = crate::Parts {
            store: rows.store.clone(),
            mode: crate::Mode::Serving(key()),
            definitions: Arc::new(Nothing),
            now: Arc::new(move || now),
            readiness: crate::Readiness::default(),
            registry: prometheus_client::registry::Registry::default(),
            limits: crate::Limits::default(),
            shutdown: tokio_util::sync::CancellationToken::new(),
        };
        let crate::ApiState(state) = crate::ApiState::new(parts);
        let token = key().task_token(rows.attempt.id, rows.attempt.salt);
        let credential = key().runner_credential(rows.attempt.id, rows.attempt.salt);
        for (given, wanted) in [
            ("x", 401),
            (token.expose_secret(), 403),
            (credential.expose_secret(), 403),
        ] {
            let request = http::Request::builder().header(AUTHORIZATION, format!("Bearer {given}"));
            let mut parts = request.body(()).unwrap().into_parts().0;
            let refused = PersonCaller::from_request_parts(&mut parts, &state)
                .await
                .unwrap_err();
            assert_eq!(refused.status.as_u16(), wanted);
        }
    }

    struct Nothing;

    impl crate::Definitions for Nothing {
        fn task(&self, _: &str, _: &str) -> Option<Arc<crds::AgentTask>> {
            None
        }
        fn agent(&self, _: &str, _: &str) -> Option<Arc<crds::Agent>> {
            None
        }
        fn runtime(&self, _: &str, _: &str) -> Option<Arc<crds::Runtime>> {
            None
        }
    }

    #[test]
    fn one_bearer_credential_and_nothing_else() {
        assert!(matches!(
            parse(&["Bearer mrt_x"]),
            Some(Credential::Task(_))
        ));
        assert!(matches!(
            parse(&["bearer  mrt_x "]),
            Some(Credential::Task(_))
        ));
        let long = format!("Bearer mrt_{}", "x".repeat(HEADER_BYTES));
        for refused in [
            &[][..],
            &["mrt_x"],
            &["Basic mrt_x"],
            &["Bearer"],
            &["Bearer mrt_x", "Bearer mrt_x"],
            &[&long],
        ] {
            assert!(parse(refused).is_none(), "{refused:?}");
        }
    }
}
