//! Credentials of an attempt, all derived from the installation's key: making one again gives the same
//! bytes, so no one ever has to read a Secret.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{AttemptId, TaskId};

const TOKEN_PREFIX: &str = "mrt_";
const RUNNER_PREFIX: &str = "mrr_";
const PERSON_PREFIX: &str = "mrp_";
const WEBHOOK_PREFIX: &str = "mrw_";

/// Random bytes of an attempt's row, so that an attempt's credentials cannot be derived before it exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

/// The key from which every credential of an installation is derived.
#[derive(Clone)]
pub struct InstallationKey([u8; 32]);

impl fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationKey(…)")
    }
}

impl InstallationKey {
    /// Takes 32 random bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be kept in the installation's Secret and nowhere else.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The token of an attempt: the agent's, and what opens the package. Dies with its row in the store.
    #[must_use]
    pub fn task_token(&self, attempt: AttemptId, salt: Salt) -> SecretString {
        let mac = self.derive(b"mooring/task-token/v1", attempt, salt);
        format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(mac)).into()
    }

    /// The runner's own credential. It names its attempt, since its row is found by that; it outlives the
    /// token so that what a dead attempt left behind can still be appended.
    #[must_use]
    pub fn runner_credential(&self, attempt: AttemptId, salt: Salt) -> SecretString {
        let mac = self.derive(b"mooring/runner-credential/v1", attempt, salt);
        let (task, number) = (attempt.task.0.simple(), attempt.number);
        format!(
            "{RUNNER_PREFIX}{task}_{number}_{}",
            URL_SAFE_NO_PAD.encode(mac)
        )
        .into()
    }

    /// The key with which the runner signs what it leaves where an agent can write.
    #[must_use]
    pub fn mac_key(&self, attempt: AttemptId, salt: Salt) -> MacKey {
        MacKey(self.derive(b"mooring/attempt-mac/v1", attempt, salt))
    }

    /// True when `given` is the runner's credential of this attempt. Takes the same time whatever differs.
    #[must_use]
    pub fn is_runner_credential(
        &self,
        given: &SecretString,
        attempt: AttemptId,
        salt: Salt,
    ) -> bool {
        let wanted = self.runner_credential(attempt, salt);
        wanted
            .expose_secret()
            .as_bytes()
            .ct_eq(given.expose_secret().as_bytes())
            .into()
    }

    /// The key with which a webhook's sender signs, as text: that of the object with this UID and name, of this
    /// number. A webhook that is made anew has another one.
    #[must_use]
    pub fn webhook_key(&self, uid: &str, name: &str, version: i32) -> SecretString {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(b"mooring/webhook-key/v2");
        for part in [uid, name] {
            // Their lengths too, so that no two pairs are the same bytes.
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.update(&version.to_be_bytes());
        let key: [u8; 32] = mac.finalize().into_bytes().into();
        format!("{WEBHOOK_PREFIX}{}", URL_SAFE_NO_PAD.encode(key)).into()
    }

    fn derive(&self, purpose: &[u8], attempt: AttemptId, salt: Salt) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(purpose);
        mac.update(attempt.task.0.as_bytes());
        mac.update(&attempt.number.to_be_bytes());
        mac.update(&salt.0);
        mac.finalize().into_bytes().into()
    }
}

/// The per-attempt key of [`crate::OutboxLine`] and [`crate::TerminationMessage`]. Kept in memory only.
#[derive(Clone, PartialEq, Eq)]
pub struct MacKey(pub(crate) [u8; 32]);

impl MacKey {
    /// Reads the form of [`MacKey::to_wire`].
    #[must_use]
    pub fn from_wire(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// The form in which the package carries it.
    #[must_use]
    pub fn to_wire(&self) -> SecretString {
        URL_SAFE_NO_PAD.encode(self.0).into()
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(…)")
    }
}

/// What a caller showed, told apart by its form alone. Whether it is good, the store decides.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A task token; found by [`Credential::token_hash`].
    Task(SecretString),
    /// A runner's credential and the attempt that it names.
    Runner(AttemptId, SecretString),
    /// A person's token; found by [`Credential::token_hash`].
    Person(SecretString),
}

impl Credential {
    /// Reads the value of `Authorization: Bearer`. `None` when it is none of ours.
    #[must_use]
    pub fn parse(bearer: &str) -> Option<Self> {
        let is_after = |prefix| {
            let rest = bearer.strip_prefix(prefix);
            rest.is_some_and(|rest| !rest.is_empty())
        };
        if is_after(TOKEN_PREFIX) {
            return Some(Self::Task(bearer.into()));
        }
        if is_after(PERSON_PREFIX) {
            return Some(Self::Person(bearer.into()));
        }
        let mut parts = bearer.strip_prefix(RUNNER_PREFIX)?.splitn(3, '_');
        let task = uuid::Uuid::try_parse(parts.next()?).ok()?;
        let number = parts.next()?.parse().ok()?;
        parts.next()?;
        Some(Self::Runner(
            AttemptId {
                task: TaskId(task),
                number,
            },
            bearer.into(),
        ))
    }

    /// A person's token from 32 random bytes. It is derived from nothing: only its owner ever has it again.
    #[must_use]
    pub fn person_token(random: &[u8; 32]) -> SecretString {
        format!("{PERSON_PREFIX}{}", URL_SAFE_NO_PAD.encode(random)).into()
    }

    /// The form in which a token is stored and looked up: its SHA-256.
    #[must_use]
    pub fn token_hash(token: &SecretString) -> [u8; 32] {
        Sha256::digest(token.expose_secret().as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_has_a_key_of_its_own_and_each_number_another() {
        let key = InstallationKey::new([7; 32]);
        let text = |uid, name, version| {
            let key = key.webhook_key(uid, name, version);
            key.expose_secret().to_owned()
        };
        let one = text("uid", "alerts", 1);
        assert_eq!(one, text("uid", "alerts", 1));
        assert!(one.starts_with("mrw_") && one.len() == 47, "{one}");
        for other in [
            text("uid", "alerts", 2),
            text("uida", "lerts", 1),
            text("uie", "alerts", 1),
        ] {
            assert_ne!(one, other);
        }
        assert!(Credential::parse(&one).is_none(), "it opens nothing else");
    }

    fn attempt(number: u32) -> AttemptId {
        AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number,
        }
    }

    #[test]
    fn credentials_are_the_same_again_and_differ_by_everything() {
        let key = InstallationKey::new([1; 32]);
        let token = |key: &InstallationKey, number, salt| {
            key.task_token(attempt(number), Salt([salt; 16]))
                .expose_secret()
                .to_owned()
        };
        let one = token(&key, 1, 0);
        assert_eq!(one, token(&key, 1, 0));
        assert!(one.starts_with("mrt_") && one.len() == 47, "{one}");
        assert_ne!(one, token(&key, 2, 0));
        assert_ne!(one, token(&key, 1, 1));
        assert_ne!(one, token(&InstallationKey::new([2; 32]), 1, 0));
    }

    #[test]
    fn a_runner_credential_is_read_back_and_checked() {
        let key = InstallationKey::new([1; 32]);
        let salt = Salt([9; 16]);
        let credential = key.runner_credential(attempt(3), salt);
        let Some(Credential::Runner(named, given)) = Credential::parse(credential.expose_secret())
        else {
            panic!("not read as a runner's")
        };
        assert_eq!(named, attempt(3));
        assert!(key.is_runner_credential(&given, named, salt));
        assert!(!key.is_runner_credential(&given, attempt(4), salt));
        assert!(!key.is_runner_credential(&given, named, Salt([8; 16])));
    }

    #[test]
    fn a_persons_token_is_told_from_a_tasks() {
        let token = Credential::person_token(&[1; 32]);
        assert_eq!(token.expose_secret().len(), 47);
        assert!(matches!(
            Credential::parse(token.expose_secret()),
            Some(Credential::Person(_))
        ));
    }

    #[test]
    fn foreign_words_are_no_credentials() {
        for word in [
            "",
            "mrt_",
            "mrr_",
            "mrp_",
            "mrr_x_1_y",
            "Bearer x",
            "mrr_00000000000000000000000000000007_x_y",
        ] {
            assert!(Credential::parse(word).is_none(), "{word}");
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let key = InstallationKey::new([1; 32]);
        let shown = format!(
            "{key:?} {:?} {:?}",
            key.mac_key(attempt(1), Salt([2; 16])),
            key.task_token(attempt(1), Salt([2; 16]))
        );
        assert!(!shown.contains("mrt_") && !shown.contains("[1"), "{shown}");
    }
}
