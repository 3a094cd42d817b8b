//! What people need to find the API and to log in, and what their logins leave behind.
//!
//! The chart makes the ConfigMap `mooring-api`, which everybody who is known to the cluster may read; the CA
//! stands in it only when the operator has put it there. A `LoginRequest` that was never exchanged is removed
//! here.

use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use crds::LoginRequest;
use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Name of the ConfigMap, in the operator's own namespace.
const CONFIG_MAP: &str = "mooring-api";
/// Its key of the CA.
const CA: &str = "ca.crt";
/// A write that failed is tried again after this long.
const AGAIN: Duration = Duration::from_secs(30);
/// A write or a sweep is given up after this long.
const LIMIT: Duration = Duration::from_secs(60);
/// What is older than this can be exchanged by no clock that is right to some minutes.
const KEPT: Duration = Duration::from_secs(15 * 60);
/// Objects that are listed at a time.
const PAGE: u32 = 200;
/// Objects that one sweep removes at most.
const MOST: usize = 5000;

/// Keeps both in order. Follows watches: where nobody logs in, nothing is asked.
pub(crate) struct Door {
    pub(crate) client: Client,
    /// The operator's own.
    pub(crate) namespace: String,
    pub(crate) ca_pem: String,
    pub(crate) now: api::Now,
}

/// What a sweep did.
#[derive(Debug, PartialEq, Eq)]
struct Swept {
    removed: usize,
    /// When the next object will be too old; `None` when none is left.
    next: Option<Duration>,
}

impl Door {
    /// Until the shutdown.
    pub(crate) async fn keep(self, shutdown: CancellationToken) {
        let both = Box::pin(async { tokio::join!(self.keep_published(), self.keep_swept()) });
        shutdown.run_until_cancelled(both).await;
    }

    async fn keep_published(&self) {
        let only = watcher::Config::default().fields(&format!("metadata.name={CONFIG_MAP}"));
        let mut maps = pin!(seen(watcher(self.maps(), only)));
        while let Some(map) = maps.next().await {
            while let Err(error) = within(self.publish(&map)).await {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "people cannot find the CA of the API: the ConfigMap {CONFIG_MAP} was not written"
                );
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    async fn keep_swept(&self) {
        let mut requests = pin!(seen(watcher(self.requests(), watcher::Config::default())));
        let mut due: Option<Instant> = None;
        loop {
            tokio::select! {
                request = requests.next() => {
                    let Some(request) = request else { return };
                    let at = Instant::now() + left(&request, (self.now)());
                    due = Some(due.map_or(at, |due| due.min(at)));
                }
                () = until(due) => due = self.sweep_now().await.map(|next| Instant::now() + next),
            }
        }
    }

    /// Sweeps and says when to do so again.
    async fn sweep_now(&self) -> Option<Duration> {
        match within(self.sweep()).await {
            Ok(Swept { removed, next }) => {
                if removed > 0 {
                    tracing::info!(removed, "LoginRequests that nobody used are gone");
                }
                next
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "old LoginRequests were not removed");
                Some(AGAIN)
            }
        }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn requests(&self) -> Api<LoginRequest> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Puts the CA into the ConfigMap, where it is not there yet or not any more.
    async fn publish(&self, there: &ConfigMap) -> anyhow::Result<()> {
        let ca = there.data.as_ref().and_then(|data| data.get(CA));
        if ca == Some(&self.ca_pem) {
            return Ok(());
        }
        let patch = Patch::Merge(json!({"data": {CA: self.ca_pem}}));
        match self
            .maps()
            .patch(CONFIG_MAP, &PatchParams::default(), &patch)
            .await
        {
            // When it is made again, the watch says so.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            other => other.map(drop).context("write it"),
        }
    }

    /// Removes what nobody can exchange any more.
    async fn sweep(&self) -> anyhow::Result<Swept> {
        let requests = self.requests();
        let mut page = ListParams::default().limit(PAGE);
        let (mut removed, mut next) = (0, None::<Duration>);
        loop {
            let found = requests.list(&page).await.context("list them")?;
            for request in &found.items {
                let left = left(request, (self.now)());
                if left.is_zero() {
                    remove(&requests, request).await?;
                    removed += 1;
                } else {
                    next = Some(next.map_or(left, |next| next.min(left)));
                }
            }
            match found.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(_) if removed >= MOST => {
                    let next = Some(Duration::ZERO);
                    return Ok(Swept { removed, next });
                }
                Some(token) => page = page.continue_token(&token),
                None => return Ok(Swept { removed, next }),
            }
        }
    }
}

/// Objects as they are now and whenever they change. Errors of a watch are tried again by itself.
fn seen<K: Clone>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>>,
) -> impl Stream<Item = K> {
    events
        .default_backoff()
        .filter_map(async |event| match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => Some(object),
            Ok(Event::Delete(_) | Event::Init | Event::InitDone) => None,
            Err(error) => {
                tracing::debug!(%error, "a watch begins anew");
                None
            }
        })
}

async fn within<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(LIMIT, work)
        .await
        .context("the cluster did not answer in time")?
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// How long a request is kept still; one that lies ahead of our clock, the whole time.
fn left(request: &LoginRequest, now: Timestamp) -> Duration {
    let made = request.creation_timestamp().map(|time| time.0);
    let age = made.map_or(KEPT, |made| {
        Duration::try_from(now.duration_since(made)).unwrap_or_default()
    });
    KEPT.saturating_sub(age)
}

async fn remove(requests: &Api<LoginRequest>, request: &LoginRequest) -> anyhow::Result<()> {
    let only_this = Preconditions {
        uid: request.uid(),
        resource_version: None,
    };
    let parameters = DeleteParams::default().preconditions(only_this);
    match requests.delete(&request.name_any(), &parameters).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(error).context("remove one"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Method;
    use serde_json::Value;

    use super::*;
    use crate::scripted::{Scripted, failure};

    const MAP: &str = "/api/v1/namespaces/mooring-system/configmaps/mooring-api";
    const REQUESTS: &str = "/apis/mooring.dev/v1alpha1/namespaces/mooring-system/loginrequests";

    fn door(cluster: &Scripted) -> Door {
        let now: Timestamp = "2027-01-15T08:00:00Z".parse().unwrap();
        Door {
            client: cluster.client(),
            namespace: "mooring-system".to_owned(),
            ca_pem: "CA".to_owned(),
            now: Arc::new(move || now),
        }
    }

    fn map(ca: Option<&str>) -> ConfigMap {
        let data = ca.map(|ca| (CA.to_owned(), ca.to_owned()));
        ConfigMap {
            data: Some(data.into_iter().collect()),
            ..ConfigMap::default()
        }
    }

    fn asked(cluster: &Scripted) -> Vec<String> {
        cluster
            .asked()
            .into_iter()
            .map(|(asked, _)| asked)
            .collect()
    }

    #[tokio::test]
    async fn the_ca_is_written_where_it_is_not_there() {
        let cluster = Scripted::default();
        let door = door(&cluster);
        let write = format!("PATCH {MAP}?");
        cluster.answer(
            Method::PATCH,
            &format!("{MAP}?"),
            200,
            json!({"metadata": {}}),
        );
        door.publish(&map(Some("another"))).await.unwrap();
        let body = cluster.asked().pop().unwrap().1;
        assert_eq!(body, json!({"data": {"ca.crt": "CA"}}));
        door.publish(&map(Some("CA"))).await.unwrap();
        door.publish(&map(None)).await.unwrap();
        assert_eq!(asked(&cluster), [&write, &write].map(Clone::clone));
        cluster.answer(
            Method::PATCH,
            &format!("{MAP}?"),
            403,
            failure(403, "Forbidden"),
        );
        assert!(door.publish(&map(None)).await.is_err());
    }

    #[tokio::test]
    async fn only_what_nobody_can_use_is_swept_over_all_pages() {
        let cluster = Scripted::default();
        let request = |name: &str, made: &str| {
            json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "LoginRequest",
                "metadata": {"name": name, "uid": format!("u-{name}"), "creationTimestamp": made},
                "spec": {"user": "ada", "groups": ["g"], "nonceHash": "0".repeat(64)},
            })
        };
        let page = |more: &str, items: Value| {
            json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "LoginRequestList",
                "metadata": {"continue": more}, "items": items,
            })
        };
        let first = json!([
            request("old", "2027-01-15T07:44:59Z"),
            request("young", "2027-01-15T07:45:01Z"),
            request("ahead", "2027-01-15T09:00:00Z"),
        ]);
        let second = json!([request("older", "2027-01-14T08:00:00Z")]);
        let list = |query: &str| format!("{REQUESTS}?&limit=200{query}");
        cluster.answer(Method::GET, &list(""), 200, page("next", first));
        cluster.answer(Method::GET, &list("&continue=next"), 200, page("", second));
        let gone = |name: &str| format!("{REQUESTS}/{name}?");
        cluster.answer(Method::DELETE, &gone("old"), 200, failure(200, "Success"));
        let swept = Swept {
            removed: 2,
            // One that is just old enough to be kept goes with the next second, one ahead of us after the whole time.
            next: Some(Duration::from_secs(1)),
        };
        assert_eq!(door(&cluster).sweep().await.unwrap(), swept);
        let writes: Vec<_> = cluster
            .asked()
            .into_iter()
            .filter(|(asked, _)| !asked.starts_with("GET"))
            .collect();
        let of = |name: &str| {
            let only_this = json!({"preconditions": {"uid": format!("u-{name}")}});
            (format!("DELETE {}", gone(name)), only_this)
        };
        assert_eq!(writes, [of("old"), of("older")]);
    }
}
