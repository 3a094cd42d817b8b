//! What the cluster says of people, as a test wants it.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use api::{Action, Authority, AuthorityError, PendingLogin, Person};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

use crate::bed::NAMESPACE;

/// Where people make their `LoginRequests`.
pub(crate) const OPERATORS: &str = "mooring-system";

/// People, their rights in the workspace, and what they have made to log in.
#[derive(Default)]
pub(crate) struct People(Mutex<Known>);

#[derive(Default)]
struct Known {
    allowed: HashSet<(String, &'static str, &'static str)>,
    logins: HashMap<String, PendingLogin>,
    accounts: HashMap<String, Person>,
    asked: Vec<&'static str>,
    /// Why nobody can log in.
    closed: Option<String>,
    is_away: bool,
    /// No question is ever answered.
    hangs: bool,
}

impl People {
    /// Gives a person a right in the workspace.
    pub(crate) fn allow(&self, user: &str, verb: &'static str, resource: &'static str) {
        let right = (user.to_owned(), verb, resource);
        self.change(|known| {
            known.allowed.insert(right);
        });
    }

    /// Takes every right from everybody.
    pub(crate) fn deny_all(&self) {
        self.change(|known| known.allowed.clear());
    }

    /// Makes a `LoginRequest`.
    pub(crate) fn request(&self, login: PendingLogin) {
        self.change(|known| drop(known.logins.insert(login.name.clone(), login)));
    }

    /// Makes a ServiceAccount with this token.
    pub(crate) fn account(&self, token: &str, person: Person) {
        self.change(|known| drop(known.accounts.insert(token.to_owned(), person)));
    }

    /// Lets nobody log in, or everybody again.
    pub(crate) fn close(&self, why: Option<&str>) {
        self.change(|known| known.closed = why.map(str::to_owned));
    }

    /// Whether the cluster answers with errors.
    pub(crate) fn away(&self, is_away: bool) {
        self.change(|known| known.is_away = is_away);
    }

    /// From now on no question is answered at all.
    pub(crate) fn hang(&self) {
        self.change(|known| known.hangs = true);
    }

    /// Each question so far, in a word.
    pub(crate) fn asked(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().asked.clone()
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.0.lock().unwrap());
    }

    fn answer<T: Send + 'static>(
        &self,
        word: &'static str,
        answer: impl FnOnce(&mut Known) -> Result<T, AuthorityError>,
    ) -> BoxFuture<'static, Result<T, AuthorityError>> {
        let mut known = self.0.lock().unwrap();
        known.asked.push(word);
        if known.hangs {
            return std::future::pending().boxed();
        }
        if known.is_away {
            let away = AuthorityError::Unavailable {
                doing: word,
                source: "a test wants it away".into(),
            };
            return std::future::ready(Err(away)).boxed();
        }
        let answer = answer(&mut known);
        std::future::ready(answer).boxed()
    }
}

impl Authority for People {
    fn login_request<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<PendingLogin>, AuthorityError>> {
        self.answer("login", |known| {
            let found = known.logins.get(name).filter(|_| namespace == OPERATORS);
            match &known.closed {
                Some(why) if found.is_some() => Err(AuthorityError::Closed(why.clone())),
                Some(_) | None => Ok(found.cloned()),
            }
        })
    }

    fn remove_login_request<'a>(
        &'a self,
        login: &'a PendingLogin,
    ) -> BoxFuture<'a, Result<(), AuthorityError>> {
        self.answer("remove", |known| {
            known.logins.remove(&login.name);
            Ok(())
        })
    }

    fn review_token<'a>(
        &'a self,
        token: &'a SecretString,
    ) -> BoxFuture<'a, Result<Option<Person>, AuthorityError>> {
        self.answer("review", |known| {
            Ok(known.accounts.get(token.expose_secret()).cloned())
        })
    }

    fn may<'a>(
        &'a self,
        person: &'a Person,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<bool, AuthorityError>> {
        self.answer("may", |known| {
            let right = (person.user.clone(), action.verb, action.resource);
            Ok(action.namespace == NAMESPACE && known.allowed.contains(&right))
        })
    }
}
