//! A server that stories need beside Mooring: one pod behind a Service, in a namespace of its own, since nothing may
//! connect into a workspace.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::wait::{self, USUAL};
use crate::workspace::{MARK, Workspace};

/// Where its files are.
pub const FILES: &str = "/files";

/// What runs.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Name of pod and Service.
    pub name: &'a str,
    /// Image of the pod.
    pub image: &'a str,
    /// The port on which it listens.
    pub port: u16,
    /// Arguments of the container.
    pub args: &'a [&'a str],
    /// Variables of the container, as Kubernetes writes them.
    pub env: Value,
    /// Files under [`FILES`], by name.
    pub files: Value,
}

/// A running one.
#[derive(Clone, Debug)]
pub struct Server {
    host: String,
    namespace: String,
    port: u16,
    pod_address: String,
    service_address: String,
}

impl Server {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// When the apiserver refuses it, or it does not become ready.
    pub async fn start(workspace: &Workspace, plan: &Plan<'_>) -> Result<Self> {
        let client = workspace.cluster.client.clone();
        let namespace: Namespace = serde_json::from_value(json!({
            "metadata": {"generateName": format!("e2e-{}-", plan.name), "labels": {
                MARK: "test", "pod-security.kubernetes.io/enforce": "restricted",
            }},
        }))?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let post = PostParams::default();
        let namespace = namespaces.create(&post, &namespace).await?.name_any();
        let files: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": "files"}, "data": plan.files,
        }))?;
        Api::namespaced(client.clone(), &namespace)
            .create(&post, &files)
            .await?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        pods.create(&post, &serde_json::from_value(pod(plan))?)
            .await?;
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": plan.name},
            "spec": {"selector": {"app": plan.name}, "ports": [{"port": plan.port}]},
        }))?;
        let service: Service = Api::namespaced(client, &namespace)
            .create(&post, &service)
            .await?;
        let pod_address = wait::object(&pods, plan.name, "is ready", USUAL, address).await?;
        Ok(Self {
            host: format!("{}.{namespace}.svc.cluster.local", plan.name),
            namespace,
            port: plan.port,
            pod_address,
            service_address: service
                .spec
                .and_then(|spec| spec.cluster_ip)
                .context("a Service has an address")?,
        })
    }

    /// Its name for a pod, with the port.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Its address for this machine, with the port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}:{}", self.pod_address, self.port)
    }

    /// What a Runtime's `network.allow` must list, so that its pods reach it: before and after translation.
    #[must_use]
    pub fn peers(&self) -> Value {
        json!([
            {"cidr": format!("{}/32", self.pod_address), "port": self.port},
            {"cidr": format!("{}/32", self.service_address), "port": self.port},
        ])
    }

    /// Takes it away.
    ///
    /// # Errors
    /// When the apiserver refuses it.
    pub async fn stop(&self, workspace: &Workspace) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(workspace.cluster.client.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await?;
        Ok(())
    }
}

fn address(pod: Option<&Pod>) -> Option<String> {
    let status = pod?.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
    ready.then(|| status.pod_ip.clone()).flatten()
}

fn pod(plan: &Plan<'_>) -> Value {
    json!({
        "metadata": {"name": plan.name, "labels": {"app": plan.name}},
        "spec": {
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": plan.name,
                "image": plan.image,
                "imagePullPolicy": "IfNotPresent",
                "args": plan.args,
                "env": plan.env,
                "readinessProbe": {"tcpSocket": {"port": plan.port}, "periodSeconds": 1},
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "files", "mountPath": FILES}, {"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [{"name": "files", "configMap": {"name": "files"}}, {"name": "tmp", "emptyDir": {}}],
        },
    })
}
