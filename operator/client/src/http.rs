//! One request and its answer.

use std::sync::Arc;
use std::time::Duration;

use protocol::{ErrorBody, limits};
use reqwest::{Method, RequestBuilder, Response, Url, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Settings};

/// Making a connection is given up after this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Answers are small; the largest holds a prompt and instructions.
const ANSWER_BYTES: usize = limits::BODY_BYTES;

#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
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
        let client = reqwest::Client::builder()
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
        let request = self.request(Method::POST, path, credential, timeout)?;
        answer(request.json(body)).await
    }

    pub(crate) async fn get<A: DeserializeOwned>(
        &self,
        path: &str,
        credential: &SecretString,
        timeout: Duration,
    ) -> Result<A, Error> {
        answer(self.request(Method::GET, path, credential, timeout)?).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        credential: &SecretString,
        timeout: Duration,
    ) -> Result<RequestBuilder, Error> {
        let url = self
            .base
            .join(path)
            .map_err(|error| Error::Settings(error.to_string()))?;
        let request = self.client.request(method, url).timeout(timeout);
        Ok(request.bearer_auth(credential.expose_secret()))
    }
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

async fn answer<A: DeserializeOwned>(request: RequestBuilder) -> Result<A, Error> {
    let response = request.send().await.map_err(Error::Connection)?;
    let status = response.status();
    let body = read(response).await?;
    if status.is_success() {
        return serde_json::from_slice(&body).map_err(Error::Malformed);
    }
    Err(refusal(status.as_u16(), &body))
}

/// Reads a body, but never more than the limit.
async fn read(mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Error::Connection)? {
        if body.len() + chunk.len() > ANSWER_BYTES {
            return Err(Error::TooLong {
                limit: ANSWER_BYTES,
            });
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
