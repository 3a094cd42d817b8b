//! Who one is, logging in, and one's own tokens.

use protocol::TokenId;
use protocol::board::{
    AccessToken, LoginAnswer, LoginExchange, MintedToken, NewAccessToken, Page, PersonView,
};
use protocol::runner::WhoAmI;
use reqwest::Method;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{Client, Error, PageQuery, REQUEST_TIMEOUT};

/// Whose token it is. Written as what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Caller {
    /// An agent's, in one of its tasks.
    Agent(WhoAmI),
    /// A person's.
    Person(PersonView),
}

impl Client {
    /// `GET whoami`, for whoever asks.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn caller(&self, token: &SecretString) -> Result<Caller, Error> {
        self.http.get("whoami", token, REQUEST_TIMEOUT).await
    }

    /// `POST login`: turns the nonce of a `LoginRequest` into a token, once.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn login(&self, exchange: &LoginExchange) -> Result<LoginAnswer, Error> {
        self.http.send(Method::POST, "login", None, exchange).await
    }

    /// `GET tokens`: one's own, without what makes them tokens.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn tokens(
        &self,
        token: &SecretString,
        query: &PageQuery,
    ) -> Result<Page<AccessToken>, Error> {
        self.http.list("tokens", token, query).await
    }

    /// `POST tokens`: a further token of one's own.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn mint_token(
        &self,
        token: &SecretString,
        new: &NewAccessToken,
    ) -> Result<MintedToken, Error> {
        self.http
            .send(Method::POST, "tokens", Some(token), new)
            .await
    }

    /// `DELETE tokens/{id}`: it is good for nothing from then on.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn revoke_token(&self, token: &SecretString, id: TokenId) -> Result<(), Error> {
        self.http
            .tell(Method::DELETE, &format!("tokens/{id}"), token)
            .await
    }
}
