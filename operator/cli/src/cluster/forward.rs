//! A port of this machine that leads to a pod of the operator, for as long as the command runs.
//!
//! Whoever on this machine connects to it still needs a token: it leads to the API's TLS and no further.

use std::net::{Ipv4Addr, SocketAddr};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Portforwarder};
use kube::core::{ApiResource, NotUsed, Object};
use kube::{Api, ResourceExt as _};
use serde::{Deserialize, Serialize};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::{Cluster, Error, Point};

/// Pods of the operator that are looked at; there are one or two.
const PODS: u32 = 20;
/// Connections at the same time. One command makes one; a further one waits to be accepted.
const CONNECTIONS: usize = 8;

/// What is read of a pod. The whole type would be a good part of this program.
type Seen = Object<NotUsed, Status>;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// The forwarded port. Ends with this value.
pub(crate) struct Forward {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Forward {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Cluster {
    /// Forwards a port to a ready pod. The first connection is made at once, so that a missing right is told here
    /// and not as an API that cannot be reached.
    pub(crate) async fn forward(&self, point: &Point) -> Result<Forward, Error> {
        let kind = ApiResource::erase::<Pod>(&());
        let seen: Api<Seen> = Api::namespaced_with(self.client.clone(), &self.namespace, &kind);
        let listed = ListParams::default().labels(&point.selector).limit(PODS);
        let found = seen.list(&listed).await.map_err(Error::asked(
            "list the operator's pods; `moor login --server URL` goes another way",
        ))?;
        let pod = found.items.iter().find(|pod| is_ready(pod));
        let way = Way {
            pod: pod.ok_or(Error::NoReadyPod)?.name_any(),
            pods: Api::namespaced(self.client.clone(), &self.namespace),
            port: point.port,
        };
        let first = way.connect().await.map_err(Error::asked(
            "forward a port to the operator's pod; `moor login --server URL` goes another way",
        ))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(Error::Bind)?;
        let address = listener.local_addr().map_err(Error::Bind)?;
        let task = tokio::spawn(accept(listener, way, first));
        Ok(Forward { address, task })
    }
}

struct Way {
    pods: Api<Pod>,
    pod: String,
    port: u16,
}

impl Way {
    async fn connect(&self) -> Result<Portforwarder, kube::Error> {
        self.pods.portforward(&self.pod, &[self.port]).await
    }
}

async fn accept(listener: TcpListener, way: Way, first: Portforwarder) {
    let mut first = Some(first);
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let forwarder = match first.take() {
            Some(forwarder) => forwarder,
            // Dropping the connection tells the client, which says that the API cannot be reached.
            None => match way.connect().await {
                Ok(forwarder) => forwarder,
                Err(_) => continue,
            },
        };
        connections.spawn(carry(stream, forwarder, way.port));
    }
}

async fn carry(mut here: TcpStream, mut forwarder: Portforwarder, port: u16) {
    if let Some(mut there) = forwarder.take_stream(port) {
        // How a connection ended is seen at its ends.
        let _ = copy_bidirectional(&mut here, &mut there).await;
    }
    forwarder.abort();
}

fn is_ready(pod: &Seen) -> bool {
    let is_true = |each: &Condition| each.kind == "Ready" && each.status == "True";
    pod.metadata.deletion_timestamp.is_none()
        && pod
            .status
            .as_ref()
            .is_some_and(|status| status.conditions.iter().any(is_true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_ready_pod_that_stays_is_used() {
        let pod = |ready: &str, going: Option<&str>| -> Seen {
            serde_json::from_value(json!({
                "apiVersion": "v1", "kind": "Pod", "spec": {"containers": []},
                "metadata": {"name": "a", "deletionTimestamp": going},
                "status": {"conditions": [
                    {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready},
                ]},
            }))
            .unwrap()
        };
        assert!(is_ready(&pod("True", None)));
        assert!(!is_ready(&pod("False", None)));
        assert!(!is_ready(&pod("True", Some("2026-01-01T00:00:00Z"))));
        let new = json!({"metadata": {"name": "a"}, "spec": {}});
        assert!(!is_ready(&serde_json::from_value(new).unwrap()));
    }
}
