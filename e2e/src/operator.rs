//! The installed operator: away and back, killed, and what it says.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, LogParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use rustix::process::Signal;
use serde_json::json;

use crate::cluster::Cluster;
use crate::{node, wait};

/// Where Mooring is installed.
pub const NAMESPACE: &str = "mooring-system";
/// The release and the names that the chart derives from it.
pub const NAME: &str = "mooring";
/// The operator's user, as the audit log names it.
pub const USER: &str = "system:serviceaccount:mooring-system:mooring";

const SELECTOR: &str = "app.kubernetes.io/name=mooring";
const START: Duration = Duration::from_secs(60);

/// The operator's Deployment.
#[derive(Clone)]
pub struct Operator {
    pods: Api<Pod>,
    deployments: Api<Deployment>,
}

impl Operator {
    /// The operator of a cluster.
    #[must_use]
    pub fn new(cluster: &Cluster) -> Self {
        let client = cluster.client.clone();
        Self {
            pods: Api::namespaced(client.clone(), NAMESPACE),
            deployments: Api::namespaced(client, NAMESPACE),
        }
    }

    /// Its pod.
    ///
    /// # Errors
    /// When there is none.
    pub async fn pod(&self) -> Result<Pod> {
        let mut pods = self
            .pods
            .list(&ListParams::default().labels(SELECTOR))
            .await?
            .items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.pop().context("the operator has no pod")
    }

    /// Ends it and waits until it is gone.
    ///
    /// # Errors
    /// When it does not go away.
    pub async fn away(&self) -> Result<()> {
        let pod = self.pod().await?;
        self.scale(0).await?;
        self.gone(&pod).await
    }

    /// Brings it back and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready.
    pub async fn back(&self) -> Result<()> {
        self.scale(1).await?;
        self.ready().await
    }

    /// Kills its process in the middle of whatever it does. A new pod comes by itself; [`Operator::ready`] waits for it.
    ///
    /// # Errors
    /// When it does not die.
    pub async fn kill(&self) -> Result<()> {
        let pod = self.pod().await?;
        let uid = pod.uid().context("a pod has a UID")?;
        for process in node::processes(&uid)? {
            node::signal(&process, Signal::KILL)?;
        }
        // The kubelet would start it again ever more slowly: a new pod starts at once, however often this is done.
        let now = DeleteParams {
            grace_period_seconds: Some(1),
            ..DeleteParams::default()
        };
        self.pods.delete(&pod.name_any(), &now).await?;
        self.gone(&pod).await
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready; the message holds what it said last.
    pub async fn ready(&self) -> Result<()> {
        let ready = wait::object(
            &self.deployments,
            NAME,
            "the operator is ready",
            START,
            |deployment| {
                let status = deployment?.status.as_ref()?;
                let current = status.observed_generation >= deployment?.metadata.generation;
                (current && status.ready_replicas == Some(1)).then_some(())
            },
        );
        match ready.await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.log().await.unwrap_or_default())),
        }
    }

    /// What its running pod has said so far.
    ///
    /// # Errors
    /// When there is no pod or no log.
    pub async fn log(&self) -> Result<String> {
        Ok(self
            .pods
            .logs(&self.pod().await?.name_any(), &LogParams::default())
            .await?)
    }

    async fn scale(&self, replicas: i32) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.deployments
            .patch_scale(NAME, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    async fn gone(&self, pod: &Pod) -> Result<()> {
        wait::object(
            &self.pods,
            &pod.name_any(),
            "the operator's pod is gone",
            START,
            |now| (now.is_none_or(|now| now.uid() != pod.uid())).then_some(()),
        )
        .await
    }
}
