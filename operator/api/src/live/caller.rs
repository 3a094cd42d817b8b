//! Who looks on, and whether that may still be.

use std::time::Duration;

use axum::extract::FromRequestParts;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;
use protocol::{MemberId, limits};
use store::WorkspaceRef;

use crate::auth::{Caller, PersonCaller};
use crate::board::{BoardCaller, LookOn, Right};
use crate::error::Failure;
use crate::limits::{Party, Slot};
use crate::people::{Action, Person};
use crate::state::{Inner, Shared};

/// A right is asked for again when the answer is this old. Together with how often that is looked at
/// ([`crate::Limits::live_check`]) it is what a right outlives its removal.
const BELIEVED: Duration = Duration::from_secs(5);

/// A person who may look on in the workspace that the path names. It keeps no place among those that are being
/// answered, but one of its own.
pub(crate) struct LiveCaller {
    pub(crate) workspace: WorkspaceRef,
    pub(crate) member: MemberId,
    person: Person,
    /// As it was shown, to be looked at again.
    authorization: HeaderValue,
    _slots: [Slot; 2],
}

impl Caller for LiveCaller {}

impl FromRequestParts<Shared> for LiveCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::<LookOn>::from_request_parts(parts, state).await?;
        let person = caller
            .person()
            .ok_or_else(Failure::unauthenticated)?
            .clone();
        let shown = parts.headers.get(AUTHORIZATION).cloned();
        let mut authorization = shown.ok_or_else(Failure::unauthenticated)?;
        authorization.set_sensitive(true);
        let own = Party::Live(person.name_digest());
        Ok(Self {
            _slots: [
                state.slots.take(own, limits::LIVE_PER_PERSON)?,
                state.slots.take(Party::AllLive, limits::LIVE)?,
            ],
            workspace: caller.workspace().clone(),
            member: caller.member()?,
            person,
            authorization,
        })
    }
}

impl LiveCaller {
    /// Refuses who has not this right here.
    pub(crate) async fn check<R: Right>(&self, state: &Inner) -> Result<(), Failure> {
        let action = Action {
            namespace: self.workspace.namespace.clone(),
            verb: R::VERB,
            resource: R::RESOURCE,
        };
        let now = state.now();
        let still = state.rights.may_still(&self.person, action, now, BELIEVED);
        match still.await? {
            true => Ok(()),
            false => Err(Failure::forbidden(format!(
                "you may not {} {} in {}",
                R::VERB,
                R::RESOURCE,
                self.workspace.namespace
            ))),
        }
    }

    /// Refuses whose credential has ended, who may not look on any more, and what is no workspace any more.
    pub(crate) async fn check_all(&self, state: &Shared) -> Result<(), Failure> {
        let mut request = http::Request::new(());
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.authorization.clone());
        let (mut parts, ()) = request.into_parts();
        let shown = PersonCaller::from_request_parts(&mut parts, state).await?;
        if shown.person.user != self.person.user {
            return Err(Failure::unauthenticated());
        }
        let there = state.definitions.workspace(&self.workspace.namespace);
        if there.as_ref() != Some(&self.workspace.namespace_uid) {
            return Err(Failure::not_found());
        }
        self.check::<LookOn>(state).await
    }
}
