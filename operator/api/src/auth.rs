//! Who calls. A handler whose first argument is a [`Caller`] has been authorised, and the router takes no
//! other ones under `/api/v1` ([`crate::routes`]).
//!
//! Every request is looked up anew: a credential that was good a moment ago proves nothing.

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use jiff::Timestamp;
use protocol::{AttemptId, Credential, TokenId};
use secrecy::SecretString;
use store::{AttemptRow, TokenHolder, TokenKind};

use crate::error::Failure;
use crate::limits::{Party, Peer, Slot};
use crate::people::Person;
use crate::reviews;
use crate::state::{Inner, Shared};

/// Bytes of an `Authorization` header. Ours are far shorter, those of a ServiceAccount are not.
const HEADER_BYTES: usize = 8 * 1024;

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

/// A person, or a program that acts with a ServiceAccount. What it may do, [`Inner::may`] tells.
#[derive(Debug)]
pub(crate) struct PersonCaller {
    pub(crate) person: Person,
    /// When the credential ends.
    pub(crate) expires: Timestamp,
    /// Which of its tokens was shown; none by a ServiceAccount.
    pub(crate) token: Option<(TokenId, TokenKind)>,
    _slot: Slot,
}

/// A person or an agent, where a route is for both.
#[derive(Debug)]
pub(crate) enum Presented {
    Person(PersonCaller),
    Agent(AgentCaller),
}

/// Nobody known yet: whoever has no credential and asks for one.
#[derive(Debug)]
pub(crate) struct Stranger {
    /// Whence.
    pub(crate) from: Option<Peer>,
}

impl Caller for AgentCaller {}
impl Caller for RunnerCaller {}
impl Caller for PersonCaller {}
impl Caller for Presented {}
impl Caller for Stranger {}

/// Whose credential it is.
enum Identity {
    Agent(store::Authenticated),
    Runner(Box<AttemptRow>),
    Person(Box<Known>),
}

/// A person whose credential is good.
struct Known {
    person: Person,
    expires: Timestamp,
    token: Option<(TokenId, TokenKind)>,
}

/// What a caller showed.
enum Bearer {
    Ours(Credential),
    /// What can be a token of a ServiceAccount.
    Foreign(SecretString),
}

impl AgentCaller {
    fn new(found: &store::Authenticated, state: &Inner) -> Result<Self, Failure> {
        let party = Party::Agent(found.attempt.task);
        Ok(Self {
            attempt: found.attempt,
            expires: found.expires_at,
            _slot: state.slots.take(party, state.limits.requests_per_task)?,
        })
    }
}

impl PersonCaller {
    fn new(known: Known, state: &Inner) -> Result<Self, Failure> {
        let Known {
            person,
            expires,
            token,
        } = known;
        let party = Party::Person(person.name_digest());
        let slot = state.slots.take(party, state.limits.requests_per_person)?;
        Ok(Self {
            person,
            expires,
            token,
            _slot: slot,
        })
    }
}

impl FromRequestParts<Shared> for AgentCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match identify(parts, state).await? {
            Identity::Agent(found) => Self::new(&found, state),
            Identity::Runner(_) | Identity::Person(_) => {
                Err(Failure::forbidden("this route is for the task's token"))
            }
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
            Identity::Person(_) => Err(Failure::forbidden("this route is for runners")),
        }
    }
}

impl FromRequestParts<Shared> for PersonCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match identify(parts, state).await? {
            Identity::Person(known) => Self::new(*known, state),
            Identity::Agent(_) | Identity::Runner(_) => {
                Err(Failure::forbidden("this route is for people"))
            }
        }
    }
}

impl FromRequestParts<Shared> for Presented {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match identify(parts, state).await? {
            Identity::Person(known) => PersonCaller::new(*known, state).map(Self::Person),
            Identity::Agent(found) => AgentCaller::new(&found, state).map(Self::Agent),
            Identity::Runner(_) => Err(Failure::forbidden(
                "this route is for people and agents, not for the runner",
            )),
        }
    }
}

impl FromRequestParts<Shared> for Stranger {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        // Where nothing is written nobody can be given anything.
        state.key()?;
        let from = parts.extensions.get().copied();
        Ok(Self { from })
    }
}

async fn identify(parts: &Parts, state: &Inner) -> Result<Identity, Failure> {
    let key = state.key()?;
    let from = parts.extensions.get().copied();
    match bearer(parts).ok_or_else(Failure::unauthenticated)? {
        Bearer::Ours(Credential::Task(token)) => {
            let hash = Credential::token_hash(&token);
            let found = state.store.authenticate_token(hash, state.now()).await?;
            found
                .map(Identity::Agent)
                .ok_or_else(Failure::unauthenticated)
        }
        Bearer::Ours(Credential::Runner(attempt, credential)) => {
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
        Bearer::Ours(Credential::Person(token)) => {
            let hash = Credential::token_hash(&token);
            let found = state.store.authenticate_person(hash, state.now()).await?;
            let TokenHolder {
                id,
                user,
                groups,
                kind,
                expires,
            } = found.ok_or_else(Failure::unauthenticated)?;
            Ok(Identity::Person(Box::new(Known {
                person: Person { user, groups },
                expires,
                token: Some((id, kind)),
            })))
        }
        Bearer::Foreign(token) => {
            let (person, expires) = state.reviews.person(&token, from, state.now()).await?;
            Ok(Identity::Person(Box::new(Known {
                person,
                expires,
                token: None,
            })))
        }
    }
}

/// The one bearer credential of a request; two of them are none.
fn bearer(parts: &Parts) -> Option<Bearer> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    if value.len() > HEADER_BYTES {
        return None;
    }
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let word = rest.trim();
    let ours = Credential::parse(word).map(Bearer::Ours);
    ours.or_else(|| reviews::is_jwt(word).then(|| Bearer::Foreign(word.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> Option<Bearer> {
        let mut request = http::Request::builder();
        for value in values {
            request = request.header(AUTHORIZATION, *value);
        }
        bearer(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn one_bearer_credential_and_nothing_else() {
        for task in ["Bearer mrt_x", "bearer  mrt_x "] {
            assert!(matches!(
                parse(&[task]),
                Some(Bearer::Ours(Credential::Task(_)))
            ));
        }
        assert!(matches!(
            parse(&["Bearer mrp_x"]),
            Some(Bearer::Ours(Credential::Person(_)))
        ));
        assert!(matches!(parse(&["Bearer a.b.c"]), Some(Bearer::Foreign(_))));
        let long = format!("Bearer mrt_{}", "x".repeat(HEADER_BYTES));
        for refused in [
            &[][..],
            &["mrt_x"],
            &["Basic mrt_x"],
            &["Bearer"],
            &["Bearer x"],
            &["Bearer mrt_x", "Bearer mrt_x"],
            &[&long],
        ] {
            assert!(parse(refused).is_none(), "{refused:?}");
        }
    }
}
