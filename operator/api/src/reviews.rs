//! Tokens that are not ours: that of a ServiceAccount, which the cluster looks at for us.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use protocol::Credential;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::error::Failure;
use crate::limits::{Limits, Party, Peer, Slots};
use crate::people::{Authority, Person, within};
use crate::recent::Recent;

/// Each ServiceAccount whose token was looked at a moment ago.
pub(crate) struct Reviews {
    authority: Arc<dyn Authority>,
    slots: Arc<Slots>,
    limits: Limits,
    known: Recent<[u8; 32], (Person, Timestamp)>,
}

impl Reviews {
    pub(crate) fn new(authority: Arc<dyn Authority>, slots: Arc<Slots>, limits: Limits) -> Self {
        Self {
            authority,
            slots,
            limits,
            known: Recent::default(),
        }
    }

    /// Whose token it is, and when it ends.
    pub(crate) async fn person(
        &self,
        token: &SecretString,
        from: Option<Peer>,
        now: Timestamp,
    ) -> Result<(Person, Timestamp), Failure> {
        let hash = Credential::token_hash(token);
        if let Some((person, expires)) = self.known.get(&hash, now)
            && now < expires
        {
            return Ok((person, expires));
        }
        // What bears no end is not made for us: it would be good for ever.
        let expires = expiry(token).ok_or_else(Failure::unauthenticated)?;
        if expires <= now {
            return Err(Failure::unauthenticated());
        }
        let from = from.map(|Peer(from)| Party::ReviewsFrom(from));
        let _slots = self
            .slots
            .take_for_stranger((Party::Reviews, from), &self.limits)?;
        let question = self.authority.review_token(token);
        let found = within(self.limits.cluster_answer, question).await?;
        let person = found.ok_or_else(Failure::unauthenticated)?;
        self.known.keep(hash, (person.clone(), expires), now);
        Ok((person, expires))
    }
}

/// True for what can be a token of a ServiceAccount: a signed JWT.
pub(crate) fn is_jwt(word: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    word.split('.').count() == 3 && word.split('.').all(is_part)
}

/// When a token ends, as it says itself. Believed only of what the cluster found to be good.
fn expiry(token: &SecretString) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Claims {
        exp: i64,
    }
    let payload = token.expose_secret().split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let Claims { exp } = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(exp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_jwt() {
        assert!(is_jwt("eyJhbGciOiJSUzI1NiJ9.e30.c2ln"));
        for word in [
            "", "x", "a.b", "a.b.c.d", "a..c", "a.b.", "a.b c.d", "ä.b.c",
        ] {
            assert!(!is_jwt(word), "{word}");
        }
    }

    #[test]
    fn the_end_of_a_token() {
        let token = |payload: &str| SecretString::from(format!("h.{payload}.s"));
        let of = |claims: &str| expiry(&token(&URL_SAFE_NO_PAD.encode(claims)));
        assert_eq!(
            of(r#"{"sub":"x","exp":1800000000}"#),
            Timestamp::from_second(1_800_000_000).ok()
        );
        for claims in ["{}", "[]", "", r#"{"exp":"1"}"#, r#"{"exp":9e99}"#] {
            assert_eq!(of(claims), None, "{claims}");
        }
        assert_eq!(expiry(&token("%%")), None);
    }
}
