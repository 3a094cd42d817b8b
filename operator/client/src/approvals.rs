//! Uses of tools for which a person is asked: who asks, and who decides.

use protocol::ApprovalId;
use protocol::board::{Approval, ApprovalQuery, Decision, Page};
use protocol::runner::{AskRequest, AskResponse, SettleRequest, SettleResponse};
use reqwest::Method;
use secrecy::SecretString;

use crate::{Board, Client, Error, REQUEST_TIMEOUT};

/// The runner's side.
impl Client {
    /// `POST runner/approvals`: asks. Asking the same again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn ask(
        &self,
        credential: &SecretString,
        request: &AskRequest,
    ) -> Result<AskResponse, Error> {
        self.http
            .post("runner/approvals", credential, request, REQUEST_TIMEOUT)
            .await
    }

    /// `POST runner/approvals/settle`: says that nobody is waited for any more, and hears what stands. Safe to repeat.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn settle(
        &self,
        credential: &SecretString,
        request: &SettleRequest,
    ) -> Result<SettleResponse, Error> {
        self.http
            .post(
                "runner/approvals/settle",
                credential,
                request,
                REQUEST_TIMEOUT,
            )
            .await
    }
}

/// People's side.
impl Board<'_> {
    /// `GET approvals`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn approvals(&self, query: &ApprovalQuery) -> Result<Page<Approval>, Error> {
        self.list("approvals", query).await
    }

    /// `GET approvals/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn approval(&self, id: ApprovalId) -> Result<Approval, Error> {
        self.get(&format!("approvals/{id}")).await
    }

    /// `POST approvals/{id}/approve` or `deny`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn decide(
        &self,
        id: ApprovalId,
        allow: bool,
        decision: &Decision,
    ) -> Result<Approval, Error> {
        let word = if allow { "approve" } else { "deny" };
        self.send(Method::POST, &format!("approvals/{id}/{word}"), decision)
            .await
    }
}
