//! Typed HTTP client of the API, used by the runner and by `moor`. It trusts the one CA that it is given,
//! takes no proxy from the environment, follows no redirect, and never repeats a request: when to try again
//! is the caller's decision, and [`Error::retry`] says whether that can help.

mod approvals;
mod board;
mod chat;
mod defined;
mod error;
mod follow;
mod http;
mod live;
mod look;
mod person;
mod settings;
mod workspace;

use std::net::IpAddr;
use std::time::Duration;

use protocol::runner::{
    ControlQuery, ControlResponse, EventsRequest, EventsResponse, FinishRequest, FinishResponse,
    OpenRequest, OpenResponse, RawPart, StartedRequest, SteeredRequest, TaskView, TextRequest,
    TextResponse, WhoAmI,
};
use protocol::{TaskId, limits};
use secrecy::SecretString;
use serde::de::IgnoredAny;

pub use board::{Board, EventQuery, PageQuery};
pub use error::Error;
pub use follow::{Follow, Told};
pub use http::Download;
pub use live::Live;
pub use person::Caller;
pub use settings::Settings;
pub use workspace::Workspace;

/// A request is given up after this long; one that is held, this long after it should have been answered.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// A client of one API. Cheap to clone; connections are shared.
#[derive(Clone, Debug)]
pub struct Client {
    http: http::Http,
}

impl Client {
    /// A client of the API of these settings.
    ///
    /// # Errors
    /// [`Error::Settings`] when the address is no https URL, or the CA no certificate.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            http: http::Http::new(settings, None)?,
        })
    }

    /// A client that connects to `address` whatever the API's name resolves to, and still checks that the
    /// certificate is for the name: for an API that is reached through a forwarded port.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn at(settings: &Settings, address: IpAddr) -> Result<Self, Error> {
        Ok(Self {
            http: http::Http::new(settings, Some(address))?,
        })
    }

    /// The board of a workspace, for whoever has this token.
    #[must_use]
    pub fn board<'a>(&'a self, token: &'a SecretString, workspace: &'a Workspace) -> Board<'a> {
        Board {
            http: &self.http,
            token,
            workspace,
        }
    }

    /// `POST runner/open`: the package, for the task's token. Asking again with the same nonce is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn open(
        &self,
        token: &SecretString,
        request: &OpenRequest,
    ) -> Result<OpenResponse, Error> {
        self.http
            .post("runner/open", token, request, REQUEST_TIMEOUT)
            .await
    }

    /// `POST runner/started`: the workdir stands and the CLI's process runs.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn started(&self, credential: &SecretString) -> Result<(), Error> {
        let request = StartedRequest::default();
        let answer: Result<IgnoredAny, Error> = self
            .http
            .post("runner/started", credential, &request, REQUEST_TIMEOUT)
            .await;
        answer.map(|IgnoredAny| ())
    }

    /// `POST runner/events`: appends a batch. Sending one again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn events(
        &self,
        credential: &SecretString,
        request: &EventsRequest,
    ) -> Result<EventsResponse, Error> {
        self.http
            .post("runner/events", credential, request, REQUEST_TIMEOUT)
            .await
    }

    /// `POST runner/texts`: the whole of what a tool gave. Sending it again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn keep_text(
        &self,
        credential: &SecretString,
        request: &TextRequest,
    ) -> Result<TextResponse, Error> {
        self.http
            .post("runner/texts", credential, request, REQUEST_TIMEOUT)
            .await
    }

    /// `POST runner/raw`: a part of what the agent's program wrote. Sending it again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn keep_raw(&self, credential: &SecretString, part: &RawPart) -> Result<(), Error> {
        let answer: Result<IgnoredAny, Error> = self
            .http
            .post("runner/raw", credential, part, REQUEST_TIMEOUT)
            .await;
        answer.map(|IgnoredAny| ())
    }

    /// `GET runner/control`: the commands after a number; held while there are none.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn control(
        &self,
        credential: &SecretString,
        query: ControlQuery,
    ) -> Result<ControlResponse, Error> {
        let path = format!("runner/control?after={}", query.after);
        let timeout = limits::CONTROL_HOLD + REQUEST_TIMEOUT;
        self.http.get(&path, credential, timeout).await
    }

    /// `POST runner/steered`: what became of a person's remark. Sending it again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn steered(
        &self,
        credential: &SecretString,
        request: &SteeredRequest,
    ) -> Result<(), Error> {
        let answer: Result<IgnoredAny, Error> = self
            .http
            .post("runner/steered", credential, request, REQUEST_TIMEOUT)
            .await;
        answer.map(|IgnoredAny| ())
    }

    /// `POST runner/finish`: the one result. Sending it again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn finish(
        &self,
        credential: &SecretString,
        request: &FinishRequest,
    ) -> Result<FinishResponse, Error> {
        self.http
            .post("runner/finish", credential, request, REQUEST_TIMEOUT)
            .await
    }

    /// `GET whoami`: whose token this is.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn whoami(&self, token: &SecretString) -> Result<WhoAmI, Error> {
        self.http.get("whoami", token, REQUEST_TIMEOUT).await
    }

    /// `GET tasks/{id}`: a task that the caller may see.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn task(&self, token: &SecretString, id: TaskId) -> Result<TaskView, Error> {
        let path = format!("tasks/{id}");
        self.http.get(&path, token, REQUEST_TIMEOUT).await
    }
}
