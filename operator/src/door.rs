//! What people need to find the API and to log in, and what their logins leave behind.
//!
//! The chart makes the ConfigMap `mooring-api`, which everybody who is known to the cluster may read; the CA
//! stands in it only when the operator has put it there. A `LoginRequest` that was never exchanged is removed
//! here.

use std::time::Duration;

use anyhow::Context as _;
use crds::LoginRequest;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Name of the ConfigMap, in the operator's own namespace.
const CONFIG_MAP: &str = "mooring-api";
/// Its key of the CA.
const CA: &str = "ca.crt";
/// Between two rounds.
const EVERY: Duration = Duration::from_secs(5 * 60);
/// A round is given up after this long; the next one goes on.
const ROUND: Duration = Duration::from_secs(60);
/// What is older than this can be exchanged by no clock that is right to some minutes.
const KEPT: Duration = Duration::from_secs(15 * 60);
/// Objects that are listed at a time.
const PAGE: u32 = 200;
/// Objects that one round removes at most.
const MOST: usize = 5000;

/// Keeps both in order.
pub(crate) struct Door {
    pub(crate) client: Client,
    /// The operator's own.
    pub(crate) namespace: String,
    pub(crate) ca_pem: String,
    pub(crate) now: api::Now,
}

impl Door {
    /// Until the shutdown.
    pub(crate) async fn keep(self, shutdown: CancellationToken) {
        let rounds = async {
            let mut ticks = tokio::time::interval(EVERY);
            loop {
                ticks.tick().await;
                match tokio::time::timeout(ROUND, self.publish()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(
                        error = format!("{error:#}"),
                        "people cannot find the CA of the API: the ConfigMap {CONFIG_MAP} was not written"
                    ),
                    Err(_) => tracing::warn!("the cluster did not take the CA of the API in time"),
                }
                match tokio::time::timeout(ROUND, self.sweep()).await {
                    Ok(Ok(0)) => {}
                    Ok(Ok(removed)) => {
                        tracing::info!(removed, "LoginRequests that nobody used are gone")
                    }
                    Ok(Err(error)) => tracing::warn!(
                        error = format!("{error:#}"),
                        "old LoginRequests were not removed"
                    ),
                    Err(_) => tracing::warn!("old LoginRequests were not removed in time"),
                }
            }
        };
        shutdown.run_until_cancelled(rounds).await;
    }

    /// Puts the CA into the ConfigMap, where it is not there yet or not any more.
    async fn publish(&self) -> anyhow::Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let there = maps.get(CONFIG_MAP).await.context("read it")?;
        if there.data.and_then(|mut data| data.remove(CA)).as_ref() == Some(&self.ca_pem) {
            return Ok(());
        }
        let patch = Patch::Merge(json!({"data": {CA: self.ca_pem}}));
        maps.patch(CONFIG_MAP, &PatchParams::default(), &patch)
            .await
            .context("write it")?;
        Ok(())
    }

    /// Removes what nobody can exchange any more, and says how many that were.
    async fn sweep(&self) -> anyhow::Result<usize> {
        let requests: Api<LoginRequest> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut page = ListParams::default().limit(PAGE);
        let mut removed = 0;
        loop {
            let found = requests.list(&page).await.context("list them")?;
            for request in found.items.iter().filter(|one| is_old(one, (self.now)())) {
                remove(&requests, request).await?;
                removed += 1;
            }
            match found.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if removed < MOST => page = page.continue_token(&token),
                Some(_) | None => return Ok(removed),
            }
        }
    }
}

fn is_old(request: &LoginRequest, now: Timestamp) -> bool {
    let made = request.creation_timestamp().map(|time| time.0);
    let age = made.map(|made| now.duration_since(made));
    age.is_none_or(|age| !age.is_negative() && age.unsigned_abs() > KEPT)
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

    fn map(ca: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {CA: ca}})
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
        let (read, write) = (format!("GET {MAP}"), format!("PATCH {MAP}?"));
        cluster.answer(Method::PATCH, &format!("{MAP}?"), 200, map("CA"));
        cluster.answer(Method::GET, MAP, 200, map("another"));
        door(&cluster).publish().await.unwrap();
        let body = cluster.asked().pop().unwrap().1;
        assert_eq!(body, json!({"data": {"ca.crt": "CA"}}));
        cluster.answer(Method::GET, MAP, 200, map("CA"));
        door(&cluster).publish().await.unwrap();
        let fresh = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
        cluster.answer(Method::GET, MAP, 200, fresh);
        door(&cluster).publish().await.unwrap();
        let wanted = [&read, &write, &read, &read, &write].map(Clone::clone);
        assert_eq!(asked(&cluster), wanted);
        cluster.remove(MAP);
        assert!(door(&cluster).publish().await.is_err());
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
            request("young", "2027-01-15T07:45:00Z"),
            request("ahead", "2027-01-15T09:00:00Z"),
        ]);
        let second = json!([request("older", "2027-01-14T08:00:00Z")]);
        let list = |query: &str| format!("{REQUESTS}?&limit=200{query}");
        cluster.answer(Method::GET, &list(""), 200, page("next", first));
        cluster.answer(Method::GET, &list("&continue=next"), 200, page("", second));
        let gone = |name: &str| format!("{REQUESTS}/{name}?");
        cluster.answer(Method::DELETE, &gone("old"), 200, failure(200, "Success"));
        assert_eq!(door(&cluster).sweep().await.unwrap(), 2);
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
