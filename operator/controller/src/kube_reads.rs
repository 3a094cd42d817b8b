//! The few reads that the watch caches cannot answer.

use std::time::Duration;

use kube::api::ListParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::kube_writes::Namespaced;

/// How long one read may take. The client itself would wait for ever for a connection that died silently,
/// and the key of the pass that reads would never be looked at again.
const READ_DEADLINE: Duration = Duration::from_secs(10);

/// What the apiserver has under this name.
///
/// # Errors
/// [`Error::Read`], [`Error::NoAnswer`].
pub(crate) async fn get<K: Namespaced>(
    client: &Client,
    what: &'static str,
    namespace: &str,
    name: &str,
) -> Result<Option<K>, Error> {
    let api = Api::<K>::namespaced(client.clone(), namespace);
    match tokio::time::timeout(READ_DEADLINE, api.get_opt(name)).await {
        Ok(answer) => answer.map_err(|source| Error::Read {
            what,
            source: Box::new(source),
        }),
        Err(_) => Err(Error::NoAnswer { what }),
    }
}

/// What a list holds, as far as its own limit goes.
///
/// # Errors
/// [`Error::Read`], [`Error::NoAnswer`].
pub(crate) async fn list<K>(
    api: &Api<K>,
    what: &'static str,
    only: &ListParams,
) -> Result<Vec<K>, Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    match tokio::time::timeout(READ_DEADLINE, api.list(only)).await {
        Ok(Ok(list)) => Ok(list.items),
        Ok(Err(source)) => Err(Error::Read {
            what,
            source: Box::new(source),
        }),
        Err(_) => Err(Error::NoAnswer { what }),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_apiserver_that_does_not_answer_is_not_waited_for() {
        let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
        });
        let client = Client::new(silent, "default");
        let answer = tokio::time::timeout(
            Duration::from_secs(11),
            get::<Pod>(&client, "a pod", "team", "hello"),
        );
        let answer = answer.await.expect("it gives up by itself");
        assert!(matches!(answer, Err(Error::NoAnswer { what: "a pod" })));
    }
}
