//! The header `Idempotency-Key`: a caller who got no answer sends the same request again, and nothing is made twice.

use axum::extract::FromRequestParts;
use http::request::Parts;
use protocol::limits;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use store::{Request, Store};

use crate::error::Failure;
use crate::state::{Inner, Shared};

/// The key of a request, where it has one.
pub(crate) struct Once(Option<String>);

impl FromRequestParts<Shared> for Once {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let wrong = || {
            Failure::invalid(format!(
                "Idempotency-Key: 1 to {} visible ASCII characters, one key for each thing that is made",
                limits::IDEMPOTENCY_KEY_BYTES
            ))
        };
        let mut given = parts.headers.get_all(limits::IDEMPOTENCY_KEY).iter();
        let Some(key) = given.next() else {
            return Ok(Self(None));
        };
        let key = key.to_str().map_err(|_| wrong())?;
        let fits = (1..=limits::IDEMPOTENCY_KEY_BYTES).contains(&key.len());
        if !fits || !key.bytes().all(|byte| byte.is_ascii_graphic()) || given.next().is_some() {
            return Err(wrong());
        }
        Ok(Self(Some(key.to_owned())))
    }
}

impl Once {
    /// The store, in which what is asked is made once. `route` and `body` are all that is asked.
    pub(crate) fn store(
        self,
        state: &Inner,
        route: &str,
        body: &impl Serialize,
    ) -> Result<Store, Failure> {
        let Some(key) = self.0 else {
            return Ok(state.store.clone());
        };
        let asked = serde_json::to_vec(&(route, body)).map_err(|_| Failure::internal())?;
        let digest = Sha256::digest(asked).into();
        Ok(state.store.for_request(Some(Request { key, digest })))
    }
}
