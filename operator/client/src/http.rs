//! One request and its answer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use protocol::{ErrorBody, limits};
use reqwest::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Upgraded, Url, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake;
use uuid::Uuid;

use crate::{Error, REQUEST_TIMEOUT, Settings};

/// Making a connection is given up after this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most answers are small; the largest holds a prompt and instructions.
const ANSWER_BYTES: usize = limits::BODY_BYTES;
/// A page of long comments is more. Whoever meets this limit asks for a shorter page.
const PAGE_BYTES: usize = 32 * 1024 * 1024;

/// What is to be made once is asked for so often when no answer comes.
const ONCE_TRIES: u32 = 3;

/// A content, which may be long, comes or goes in this time.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(320);

/// A content on its way.
#[derive(Debug)]
pub struct Download(Response);

impl Download {
    /// What the API says that its SHA-256 is, in hex.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        let tag = self.0.headers().get(reqwest::header::ETAG)?.to_str().ok()?;
        tag.strip_prefix('"')?.strip_suffix('"')
    }

    /// The next part; `None` at its end.
    ///
    /// # Errors
    /// [`Error::Connection`] when it breaks off.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let chunk = self.0.chunk().await.map_err(Error::Connection)?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
}

impl Http {
    /// With an `address`, connections go there whatever the name of the API resolves to; the certificate is
    /// still checked against the name.
    pub(crate) fn new(settings: &Settings, address: Option<IpAddr>) -> Result<Self, Error> {
        let base = format!("{}/api/v1/", settings.api.trim_end_matches('/'));
        let base = Url::parse(&base)
            .ok()
            .filter(|url| url.scheme() == "https" && url.has_host())
            .ok_or_else(|| {
                Error::Settings(format!(
                    "{:?} is not the address of an API: it must be https://host:port",
                    settings.api
                ))
            })?;
        let mut builder = reqwest::Client::builder();
        if let (Some(address), Some(host)) = (address, base.host_str()) {
            // The port of the URL counts, not this one.
            builder = builder.resolve(host, SocketAddr::new(address, 0));
        }
        let client = builder
            .tls_backend_preconfigured(tls(&settings.ca)?)
            .https_only(true)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("mooring/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Error::Connection)?;
        Ok(Self { client, base })
    }

    pub(crate) async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<A, Error> {
        let request = self.request(Method::POST, path, timeout)?;
        let request = request.bearer_auth(credential.expose_secret()).json(body);
        answer(request, ANSWER_BYTES).await
    }

    pub(crate) async fn get<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        timeout: Duration,
    ) -> Result<A, Error> {
        let request = self.request(Method::GET, path, timeout)?;
        answer(
            request.bearer_auth(credential.expose_secret()),
            ANSWER_BYTES,
        )
        .await
    }

    /// A list, or a part of one: what is absent in the query is not asked for.
    pub(crate) async fn list<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        query: &impl Serialize,
    ) -> Result<A, Error> {
        let mut url = self.url(path)?;
        add(&mut url, query)?;
        let request = self.client.get(url).timeout(REQUEST_TIMEOUT);
        answer(request.bearer_auth(credential.expose_secret()), PAGE_BYTES).await
    }

    /// A text as it is.
    pub(crate) async fn text(
        &self,
        path: &str,
        credential: &SecretString,
    ) -> Result<String, Error> {
        let request = self.request(Method::GET, path, REQUEST_TIMEOUT)?;
        let request = request.bearer_auth(credential.expose_secret());
        let body = body(request, ANSWER_BYTES).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Any method, with a body.
    pub(crate) async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        credential: Option<&SecretString>,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        let mut request = self.request(method, path, REQUEST_TIMEOUT)?.json(body);
        if let Some(credential) = credential {
            request = request.bearer_auth(credential.expose_secret());
        }
        answer(request, ANSWER_BYTES).await
    }

    /// Makes something, once. Where no answer comes it is asked again under the same key: the API makes nothing
    /// twice for it.
    pub(crate) async fn send_once<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        let key = Uuid::now_v7().to_string();
        let mut tries = 1;
        loop {
            let request = self.request(Method::POST, path, REQUEST_TIMEOUT)?;
            let request = request
                .bearer_auth(credential.expose_secret())
                .header(limits::IDEMPOTENCY_KEY, &key)
                .json(body);
            match answer(request, ANSWER_BYTES).await {
                // Nothing was heard of it: it may have been done, or not.
                Err(Error::Connection(_)) if tries < ONCE_TRIES => tries += 1,
                answered => return answered,
            }
        }
    }

    /// Any method, without a body.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        credential: &SecretString,
    ) -> Result<A, Error> {
        let request = self.request(method, path, REQUEST_TIMEOUT)?;
        answer(
            request.bearer_auth(credential.expose_secret()),
            ANSWER_BYTES,
        )
        .await
    }

    /// Sends what is no JSON, with a query.
    pub(crate) async fn upload<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        query: &impl Serialize,
        (media_type, content): (&str, Vec<u8>),
    ) -> Result<A, Error> {
        let mut url = self.url(path)?;
        add(&mut url, query)?;
        let request = self.client.post(url).timeout(CONTENT_TIMEOUT);
        let request = request
            .header(reqwest::header::CONTENT_TYPE, media_type)
            .body(content);
        answer(
            request.bearer_auth(credential.expose_secret()),
            ANSWER_BYTES,
        )
        .await
    }

    /// Asks for what is no JSON.
    pub(crate) async fn download(
        &self,
        path: &str,
        credential: &SecretString,
    ) -> Result<Download, Error> {
        let request = self.request(Method::GET, path, CONTENT_TIMEOUT)?;
        let request = request.bearer_auth(credential.expose_secret());
        let response = request.send().await.map_err(Error::Connection)?;
        let status = response.status();
        if status.is_success() {
            return Ok(Download(response));
        }
        let body = read(response, ANSWER_BYTES).await?;
        Err(refusal(status.as_u16(), &body))
    }

    /// Asks for a WebSocket, and gives the connection on which it is spoken.
    pub(crate) async fn switch(
        &self,
        path: &str,
        credential: &SecretString,
    ) -> Result<Upgraded, Error> {
        let key = handshake::client::generate_key();
        let request = self.request(Method::GET, path, REQUEST_TIMEOUT)?;
        let request = request
            .bearer_auth(credential.expose_secret())
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(Error::Connection)?;
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS {
            let body = read(response, ANSWER_BYTES).await?;
            return Err(if status.is_success() {
                Error::NotLive
            } else {
                refusal(status.as_u16(), &body)
            });
        }
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
        let wanted = handshake::derive_accept_key(key.as_bytes());
        if accepted.is_none_or(|accepted| accepted.as_bytes() != wanted.as_bytes()) {
            return Err(Error::NotLive);
        }
        response.upgrade().await.map_err(Error::Connection)
    }

    /// As [`Http::ask`], and what is answered does not matter.
    pub(crate) async fn tell(
        &self,
        method: Method,
        path: &str,
        credential: &SecretString,
    ) -> Result<(), Error> {
        let request = self.request(method, path, REQUEST_TIMEOUT)?;
        body(
            request.bearer_auth(credential.expose_secret()),
            ANSWER_BYTES,
        )
        .await
        .map(drop)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        timeout: Duration,
    ) -> Result<RequestBuilder, Error> {
        Ok(self
            .client
            .request(method, self.url(path)?)
            .timeout(timeout))
    }

    fn url(&self, path: &str) -> Result<Url, Error> {
        self.base
            .join(path)
            .map_err(|error| Error::Settings(error.to_string()))
    }
}

/// Adds a query, written as JSON knows it: strings as they are, everything else as JSON writes it.
fn add(url: &mut Url, query: &impl Serialize) -> Result<(), Error> {
    let bad = |error: &dyn std::fmt::Display| Error::Settings(format!("the query: {error}"));
    let query = serde_json::to_value(query).map_err(|error| bad(&error))?;
    let Value::Object(query) = query else {
        return Err(bad(&"it has no names"));
    };
    if query.is_empty() {
        return Ok(());
    }
    let mut pairs = url.query_pairs_mut();
    for (name, value) in query {
        match value {
            Value::String(value) => pairs.append_pair(&name, &value),
            value @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => pairs.append_pair(&name, &value.to_string()),
        };
    }
    Ok(())
}

/// TLS that trusts the given CA and nothing else, whatever the image brings along.
fn tls(ca: &[u8]) -> Result<ClientConfig, Error> {
    let bad = |error: &dyn std::fmt::Display| {
        Error::Settings(format!("the CA is not a certificate in PEM: {error}"))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca) {
        let certificate = certificate.map_err(|error| bad(&error))?;
        roots.add(certificate).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"there is none in it"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(&error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

async fn answer<A: DeserializeOwned>(request: RequestBuilder, limit: usize) -> Result<A, Error> {
    let body = body(request, limit).await?;
    serde_json::from_slice(&body).map_err(Error::Malformed)
}

/// The body of a success.
async fn body(request: RequestBuilder, limit: usize) -> Result<Vec<u8>, Error> {
    let response = request.send().await.map_err(Error::Connection)?;
    let status = response.status();
    let body = read(response, limit).await?;
    if status.is_success() {
        return Ok(body);
    }
    Err(refusal(status.as_u16(), &body))
}

/// Reads a body, but never more than the limit.
async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Error::Connection)? {
        if body.len() + chunk.len() > limit {
            return Err(Error::TooLong { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn refusal(status: u16, body: &[u8]) -> Error {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error }) => Error::Refused {
            status,
            code: error.code,
            message: error.message,
            request_id: error.request_id,
        },
        // Not the API's own words: a proxy, or a server that is none of ours.
        Err(_) => Error::Refused {
            status,
            code: format!("http{status}"),
            message: format!("answered with status {status}"),
            request_id: "unknown".to_owned(),
        },
    }
}
