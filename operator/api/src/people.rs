//! Who people are, and what they may do: questions that only the cluster answers.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

use crate::error::Failure;

/// A user as Kubernetes knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Person {
    /// The user's name.
    pub user: String,
    /// The groups, as of the login.
    pub groups: Vec<String>,
}

impl Person {
    /// A short key of the name. A login may tell the same groups in another order, or one of them twice, and is
    /// still of the same person.
    pub(crate) fn name_digest(&self) -> [u8; 32] {
        Sha256::digest(&self.user).into()
    }

    /// A short key that only the same name with the same groups has.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut sum = Sha256::new();
        for word in std::iter::once(&self.user).chain(&self.groups) {
            // With its length, so that no two lists run into the same bytes.
            sum.update(word.len().to_be_bytes());
            sum.update(word);
        }
        sum.finalize().into()
    }
}

/// What somebody wants to do, in the words of RBAC. The group is always ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// Where.
    pub namespace: String,
    /// `get`, `list`, `create`, `patch`, …
    pub verb: &'static str,
    /// In the plural: `issues`, `comments`, …
    pub resource: &'static str,
}

/// A `LoginRequest` that nobody but its creator can have written.
#[derive(Clone, PartialEq, Eq)]
pub struct PendingLogin {
    /// UID of the object.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// Who made it.
    pub person: Person,
    /// SHA-256 of the nonce that completes the login.
    pub nonce_hash: [u8; 32],
    /// When it was made.
    pub created: Timestamp,
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLogin")
            .field("uid", &self.uid)
            .field("name", &self.name)
            .field("user", &self.person.user)
            .field("created", &self.created)
            .finish_non_exhaustive()
    }
}

/// Why the cluster did not answer a question about people.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It did not answer.
    #[error("the cluster did not answer: {doing}")]
    Unavailable {
        /// What was asked.
        doing: &'static str,
        /// What the client said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What keeps people from logging in under another's name does not stand as it should. The sentence is for
    /// the caller: what is wrong, and what to do.
    #[error("{0}")]
    Closed(String),
}

/// Knows people and their rights. Asked within requests; nobody waits longer than a few seconds for it.
pub trait Authority: Send + Sync + 'static {
    /// The `LoginRequest` of this name; `None` where there is none, or it is not in the operator's namespace.
    ///
    /// An error where it could have been written by somebody else than whom it names.
    fn login_request<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<PendingLogin>, AuthorityError>>;

    /// Removes that object, and no other one of its name. That it is gone already is no error.
    fn remove_login_request<'a>(
        &'a self,
        login: &'a PendingLogin,
    ) -> BoxFuture<'a, Result<(), AuthorityError>>;

    /// The ServiceAccount whose token this is, made for the audience `mooring`; `None` for any other word.
    fn review_token<'a>(
        &'a self,
        token: &'a SecretString,
    ) -> BoxFuture<'a, Result<Option<Person>, AuthorityError>>;

    /// Whether somebody may do something now.
    fn may<'a>(
        &'a self,
        person: &'a Person,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<bool, AuthorityError>>;
}

/// Waits for an answer, but not for ever, as the client itself would.
pub(crate) async fn within<T>(
    limit: Duration,
    question: BoxFuture<'_, Result<T, AuthorityError>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, question).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failure::cluster_away()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_person_has_the_same_digest() {
        let person = |user: &str, groups: &[&str]| Person {
            user: user.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        };
        let one = person("ada", &["a", "b"]);
        assert_eq!(one.digest(), person("ada", &["a", "b"]).digest());
        for other in [
            person("ada", &["ab"]),
            person("ada", &["a"]),
            person("adaa", &["b"]),
            person("ada", &["b", "a"]),
        ] {
            assert_ne!(one.digest(), other.digest(), "{other:?}");
            let is_ada = other.user == "ada";
            assert_eq!(one.name_digest() == other.name_digest(), is_ada);
        }
    }
}
