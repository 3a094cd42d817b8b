//! Mooring in the cluster: two charts, installed once and upgraded when charts or images change.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use cluster::images::Image;
use cluster::progress::step;
use cluster::{Cluster, command};

/// Where the operator runs.
pub(super) const NAMESPACE: &str = "mooring-system";
/// The release, and the Deployment that comes of it.
pub(super) const RELEASE: &str = "mooring";

/// Installs the charts and waits until the operator is ready.
pub(super) fn charts(cluster: &Cluster, checkout: &Path, images: &[(&str, Image)]) -> Result<()> {
    let charts = checkout.join("charts");
    step("helm upgrade mooring-crds", || {
        upgrade(cluster, "mooring-crds", &charts.join("mooring-crds"), &[])
    })?;
    let values: Vec<String> = images
        .iter()
        .filter(|(key, _)| ["operator", "runner"].contains(key))
        .map(|(key, image)| format!("image.{key}={}", image.reference))
        .collect();
    step("helm upgrade mooring", || {
        upgrade(cluster, RELEASE, &charts.join("mooring"), &values)
    })?;
    step("waiting for the operator", || {
        let mut wait = cluster.kubectl();
        wait.args([
            "rollout",
            "status",
            "--namespace",
            NAMESPACE,
            "--timeout=120s",
        ]);
        command::run(wait.arg(format!("deployment/{RELEASE}")))
    })
}

fn upgrade(cluster: &Cluster, release: &str, chart: &Path, values: &[String]) -> Result<()> {
    let mut helm = Command::new(cluster.programs().join("helm"));
    helm.arg("--kubeconfig").arg(cluster.kubeconfig());
    helm.args(["upgrade", "--install", release]).arg(chart);
    helm.args([
        "--namespace",
        NAMESPACE,
        "--create-namespace",
        "--timeout",
        "2m",
    ]);
    helm.args(values.iter().flat_map(|value| ["--set-string", value]));
    command::run(&mut helm)
}
