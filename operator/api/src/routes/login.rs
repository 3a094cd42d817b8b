//! How a person gets a token without showing a credential of the cluster.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use jiff::Timestamp;
use protocol::board::{LoginAnswer, LoginExchange};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::auth::Stranger;
use crate::body::Json;
use crate::error::Failure;
use crate::limits::{Party, Peer};
use crate::people::{PendingLogin, Person, within};
use crate::state::{Inner, Shared};

/// A `LoginRequest` is good for this long.
const LIFE: Duration = Duration::from_secs(5 * 60);
/// Bytes of a nonce.
const NONCE_BYTES: usize = 32;
/// Characters of the name of an object, and of a namespace.
const NAME_CHARACTERS: usize = 253;

/// `POST login`: a token for whoever made a `LoginRequest`, once for each.
pub(super) async fn log_in(
    caller: Stranger,
    State(state): State<Shared>,
    Json(request): Json<LoginExchange>,
) -> Result<Answer<LoginAnswer>, Failure> {
    let mut nonce = [0; NONCE_BYTES];
    hex::decode_to_slice(&request.nonce, &mut nonce)
        .map_err(|_| Failure::invalid(format!("the nonce is not {NONCE_BYTES} bytes in hex")))?;
    // The words become a path at the apiserver.
    if !is_name(&request.namespace) || !is_name(&request.name) {
        return Err(Failure::login_refused());
    }
    // Not before the body is there: whoever sends it slowly would take the place of others.
    let from = caller.from.map(|Peer(from)| Party::LoginsFrom(from));
    let _slots = state
        .slots
        .take_for_stranger((Party::Logins, from), &state.limits)?;
    let found = state
        .authority
        .login_request(&request.namespace, &request.name);
    let found = within(state.limits.cluster_answer, found).await?;
    let login = found.ok_or_else(Failure::login_refused)?;
    let now = state.now();
    if !is_good(&login, &nonce, now) {
        return Err(Failure::login_refused());
    }
    let PendingLogin { uid, person, .. } = &login;
    let Person { user, groups } = person;
    // The store first: what dies here leaves an object that is good for nothing any more.
    let minted = state
        .store
        .exchange_login(uid, user, groups, now)
        .await?
        .ok_or_else(Failure::login_refused)?;
    tracing::info!(user, token.id = %minted.record.id, "a person logged in");
    remove(&state, &login).await;
    Ok(Answer(minted))
}

/// Takes the same time whatever differs in the nonce.
fn is_good(login: &PendingLogin, nonce: &[u8; NONCE_BYTES], now: Timestamp) -> bool {
    let hash: [u8; 32] = Sha256::digest(nonce).into();
    let is_owner = bool::from(hash.ct_eq(&login.nonce_hash));
    // Both ways: the apiserver's clock may be ahead of ours, but not by more than that.
    let age = now.duration_since(login.created).unsigned_abs();
    is_owner && age <= LIFE
}

/// An object that stays is used and soon too old; it is swept later.
async fn remove(state: &Inner, login: &PendingLogin) {
    let removal = state.authority.remove_login_request(login);
    if let Err(failure) = within(state.limits.cluster_answer, removal).await {
        let cause = failure.cause.as_deref();
        let cause = cause.map(|cause| cause as &dyn std::error::Error);
        tracing::warn!(login = %login.name, cause, "a LoginRequest that was used could not be removed");
    }
}

fn is_name(word: &str) -> bool {
    let is_inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
    };
    word.len() <= NAME_CHARACTERS
        && word.bytes().all(is_inner)
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !word.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_name_is_asked_for() {
        for name in ["login-x7k2p", "mooring-system", "a.b", "1"] {
            assert!(is_name(name), "{name}");
        }
        for word in [
            "",
            ".",
            "..",
            "a..b",
            "a/b",
            "-a",
            "A",
            "a?b",
            "a%2f",
            "ä",
            &"a".repeat(254),
        ] {
            assert!(!is_name(word), "{word}");
        }
    }

    #[test]
    fn a_login_needs_its_nonce_and_is_soon_too_old() {
        let at = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let login = PendingLogin {
            uid: "u".to_owned(),
            name: "login-1".to_owned(),
            person: Person {
                user: "ada".to_owned(),
                groups: Vec::new(),
            },
            nonce_hash: Sha256::digest([1; 32]).into(),
            created: at(0),
        };
        for (nonce, now, wanted) in [
            (1, 0, true),
            (1, 300, true),
            (1, 301, false),
            (1, -300, true),
            (1, -301, false),
            (2, 0, false),
        ] {
            assert_eq!(
                is_good(&login, &[nonce; 32], at(now)),
                wanted,
                "{nonce} {now}"
            );
        }
    }
}
