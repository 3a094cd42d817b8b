//! A task's token in the hands of somebody who kept a copy, and the API as it answers him.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use kube::{Api, ResourceExt as _};
use protocol::{paths, webhook};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::operator::NAMESPACE;
use crate::wait::{self, Record};

/// Between two calls of a poller.
const PAUSE: Duration = Duration::from_millis(20);
/// A poller keeps no more answers than this; no story takes so long.
const MOST_ANSWERS: usize = 20_000;

/// The API's address as the pods of a task are told it, spoken to over its Service.
#[derive(Clone, Debug)]
pub struct ApiClient {
    http: reqwest::Client,
    base: String,
}

impl ApiClient {
    /// Learns the address from a pod, and the CA from a task's Secret.
    ///
    /// # Errors
    /// When the pod names no address, or the address is not that of a Service.
    pub async fn from_pod(cluster: &Cluster, pod: &Pod, secret: &Secret) -> Result<Self> {
        let container = pod
            .spec
            .iter()
            .flat_map(|spec| &spec.containers)
            .find(|c| c.name == paths::AGENT_CONTAINER);
        let env = container
            .and_then(|container| container.env.as_ref())
            .context("the agent has no environment")?;
        let base = env
            .iter()
            .find(|env| env.name == paths::ENV_API)
            .and_then(|env| env.value.clone());
        let base = base.with_context(|| format!("the pod lacks {}", paths::ENV_API))?;
        let host = base
            .trim_start_matches("https://")
            .split([':', '/'])
            .next()
            .unwrap_or_default()
            .to_owned();
        Self::over_service(cluster, base, &host, &entry(secret, paths::SECRET_CA_KEY)?).await
    }

    /// Learns address and CA from the ConfigMap that everybody may read.
    ///
    /// # Errors
    /// When it does not hold them.
    pub async fn published(cluster: &Cluster) -> Result<Self> {
        let map: ConfigMap = Api::namespaced(cluster.client.clone(), NAMESPACE)
            .get("mooring-api")
            .await?;
        let data = map.data.context("the ConfigMap is empty")?;
        let value = |key: &str| {
            let value = data.get(key);
            value.with_context(|| format!("the ConfigMap lacks {key}"))
        };
        let host = format!("{}.{NAMESPACE}.svc", value("service")?);
        let base = format!("https://{host}:{}", value("port")?);
        Self::over_service(cluster, base, &host, value("ca.crt")?.as_bytes()).await
    }

    async fn over_service(
        cluster: &Cluster,
        base: String,
        host: &str,
        ca_pem: &[u8],
    ) -> Result<Self> {
        let mut parts = host.split('.');
        let (name, namespace) = (
            parts.next().unwrap_or_default(),
            parts.next().context("not a Service's name")?,
        );
        let service = Api::<Service>::namespaced(cluster.client.clone(), namespace)
            .get(name)
            .await?;
        let address: IpAddr = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("no address")?
            .parse()?;
        let ca = reqwest::Certificate::from_pem(ca_pem)?;
        let http = reqwest::Client::builder()
            .tls_certs_only([ca])
            .resolve(host, SocketAddr::new(address, 0))
            .timeout(Duration::from_secs(5))
            .build()?;
        Ok(Self { http, base })
    }

    /// Calls a route and gives back the code and the body of the answer.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn call(
        &self,
        method: reqwest::Method,
        path: &str,
        token: &SecretString,
        body: Option<&serde_json::Value>,
    ) -> Result<(u16, String)> {
        self.send(method, path, Some(token), body).await
    }

    /// As [`ApiClient::call`], also without a token.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn send(
        &self,
        method: reqwest::Method,
        path: &str,
        token: Option<&SecretString>,
        body: Option<&serde_json::Value>,
    ) -> Result<(u16, String)> {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = match token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        };
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Delivers a body to a webhook, signed with its key at a time, and gives back the code of the answer.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn deliver(
        &self,
        path: &str,
        key: &SecretString,
        (id, seconds): (&str, i64),
        body: &str,
    ) -> Result<u16> {
        let request = self
            .http
            .post(format!("{}{path}", self.base))
            .header(webhook::DELIVERY, id)
            .header(webhook::TIMESTAMP, seconds)
            .header(
                webhook::SIGNATURE,
                webhook::signature(key, seconds, id, body.as_bytes()),
            );
        let answer = request.body(body.to_owned()).send().await?;
        Ok(answer.status().as_u16())
    }

    /// Asks who the token's bearer is: 200 while it lives, 401 afterwards.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn whoami(&self, token: &SecretString) -> Result<u16> {
        Ok(self
            .call(reqwest::Method::GET, "/api/v1/whoami", token, None)
            .await?
            .0)
    }
}

/// The bytes under a key of a Secret.
///
/// # Errors
/// When there are none.
pub fn entry(secret: &Secret, key: &str) -> Result<Vec<u8>> {
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    Ok(data
        .with_context(|| format!("{} has no {key}", secret.name_any()))?
        .0
        .clone())
}

/// The token in a task's Secret.
///
/// # Errors
/// When it holds none.
pub fn token(secret: &Secret) -> Result<SecretString> {
    Ok(String::from_utf8(entry(secret, paths::SECRET_TOKEN_KEY)?)
        .context("a token is text")?
        .into())
}

/// Waits for the Secret of the task with this UID.
///
/// # Errors
/// When none comes.
pub async fn secret_of(secrets: &Record<Secret>, task_uid: &str) -> Result<Secret> {
    let seen = secrets.first("the task's Secret", wait::USUAL, |seen| {
        !seen.gone && is_owned_by(&seen.object, task_uid)
    });
    Ok(seen.await?.object)
}

/// True when the object with this UID is an owner of the Secret.
#[must_use]
pub fn is_owned_by(secret: &Secret, uid: &str) -> bool {
    secret
        .owner_references()
        .iter()
        .any(|owner| owner.uid == uid)
}

/// One answer of the API. Debug shows no token, since there is none in it.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// When the question was sent.
    pub asked: Instant,
    /// The code; `None` when there was no answer.
    pub code: Option<u16>,
}

/// Asks `whoami` with a copy of the token, again and again, until it is stopped.
#[derive(Debug)]
pub struct Poller {
    answers: Arc<Mutex<Vec<Answer>>>,
    task: JoinHandle<()>,
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Poller {
    /// Starts to ask.
    #[must_use]
    pub fn start(api: ApiClient, token: SecretString) -> Self {
        let answers = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&answers);
        let task = tokio::spawn(async move {
            let mut turn = tokio::time::interval(PAUSE);
            for _ in 0..MOST_ANSWERS {
                turn.tick().await;
                let asked = Instant::now();
                let code = api.whoami(&token).await.ok();
                written
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(Answer { asked, code });
            }
        });
        Self { answers, task }
    }

    /// All answers so far.
    #[must_use]
    pub fn answers(&self) -> Vec<Answer> {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for an answer with this code to a question sent after an instant.
    ///
    /// # Errors
    /// When none comes.
    pub async fn answer(&self, code: u16, after: Instant) -> Result<Answer> {
        wait::polled(format!("an answer {code}"), wait::USUAL, async || {
            Ok(self
                .answers()
                .into_iter()
                .find(|answer| answer.asked >= after && answer.code == Some(code)))
        })
        .await
    }
}
