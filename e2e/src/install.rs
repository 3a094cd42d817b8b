//! Mooring, installed by its own charts, once for all stories.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::cluster::{Cluster, run};
use crate::operator::{NAME, NAMESPACE, Operator};
use crate::settings::{Images, checkout};
use crate::wait::now;
use crate::workspace::MARK;

/// What a failed story left is kept this long for whoever looks, unless another operator is installed.
const KEEP: SignedDuration = SignedDuration::from_mins(15);

/// Once per process; other processes find it done.
static DONE: OnceCell<()> = OnceCell::const_new();

/// Installs the charts, or upgrades what is installed when charts or images changed, and waits for the operator.
///
/// # Errors
/// When helm fails or the operator does not become ready.
pub async fn ensure(cluster: &Cluster) -> Result<()> {
    DONE.get_or_try_init(|| install(cluster)).await.map(drop)
}

async fn install(cluster: &Cluster) -> Result<()> {
    let charts = checkout().join("charts");
    let content = fingerprint(&charts, &cluster.settings.images)?;
    let is_new = installed(cluster).await? != Some(content.clone());
    remove_leftovers(cluster, is_new).await?;
    if is_new {
        let values = values(&cluster.settings.images);
        upgrade(
            cluster,
            "mooring-crds",
            &charts.join("mooring-crds"),
            &content,
            &[],
        )
        .await?;
        upgrade(cluster, NAME, &charts.join("mooring"), &content, &values).await?;
    }
    Operator::new(cluster).ready().await
}

/// The values that differ from the chart's defaults.
#[must_use]
pub fn values(images: &Images) -> Vec<String> {
    vec![
        format!("image.operator={}", images.operator),
        format!("image.runner={}", images.runner),
    ]
}

async fn upgrade(
    cluster: &Cluster,
    release: &str,
    chart: &Path,
    content: &str,
    values: &[String],
) -> Result<()> {
    let mut helm = cluster.helm();
    helm.args(["upgrade", "--install", release]).arg(chart);
    helm.args([
        "--namespace",
        NAMESPACE,
        "--create-namespace",
        "--description",
        content,
        "--timeout",
        "2m",
    ]);
    for value in values {
        helm.args(["--set-string", value]);
    }
    run(helm).await.map(drop)
}

/// What the installed release was made of; `None` when there is none, or it failed.
async fn installed(cluster: &Cluster) -> Result<Option<String>> {
    let mut helm = cluster.helm();
    helm.args([
        "list",
        "--namespace",
        NAMESPACE,
        "--filter",
        &format!("^{NAME}$"),
        "--output",
        "json",
    ]);
    let releases: Value = serde_json::from_str(&run(helm).await?)?;
    if releases[0]["status"] != "deployed" {
        return Ok(None);
    }
    let mut helm = cluster.helm();
    helm.args(["status", NAME, "--namespace", NAMESPACE, "--output", "json"]);
    let status: Value = serde_json::from_str(&run(helm).await?)?;
    Ok(status["info"]["description"].as_str().map(str::to_owned))
}

/// Names everything that an installation is made of.
fn fingerprint(charts: &Path, images: &Images) -> Result<String> {
    let mut sum = Sha256::new();
    for value in values(images) {
        sum.update(value);
    }
    add_folder(&mut sum, charts)?;
    Ok(format!("content {}", &hex::encode(sum.finalize())[..16]))
}

fn add_folder(sum: &mut Sha256, folder: &Path) -> Result<()> {
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("read {}", folder.display()))?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            add_folder(sum, &path)?;
        } else {
            sum.update(path.to_string_lossy().as_bytes());
            sum.update(fs::read(&path)?);
        }
    }
    Ok(())
}

async fn remove_leftovers(cluster: &Cluster, all: bool) -> Result<()> {
    let namespaces = Api::<Namespace>::all(cluster.client.clone());
    for namespace in namespaces.list(&ListParams::default().labels(MARK)).await? {
        let created = namespace
            .creation_timestamp()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let is_going = namespace.metadata.deletion_timestamp.is_some();
        if !is_going && (all || now().duration_since(created) > KEEP) {
            namespaces
                .delete(&namespace.name_any(), &DeleteParams::default())
                .await?;
        }
    }
    Ok(())
}
