//! Mooring, installed by its own charts, once for all stories.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::cluster::{Cluster, run};
use crate::operator::{NAME, NAMESPACE, Operator};
use crate::settings::{Images, checkout};
use crate::wait::{self, USUAL, now};
use crate::workspace::MARK;

/// What a failed story left is kept this long for whoever looks, unless another operator is installed.
const KEEP: SignedDuration = SignedDuration::from_mins(15);

/// Annotation of the operator's namespace: what is installed, and since when.
const SINCE: &str = "mooring.dev/e2e-installed";

/// Once per process; other processes find it done.
static DONE: OnceCell<()> = OnceCell::const_new();
/// As [`DONE`], of the custom resources alone.
static CRDS: OnceCell<()> = OnceCell::const_new();

/// The release of the custom resources.
pub const CRDS_NAME: &str = "mooring-crds";

/// Installs the charts, or upgrades what is installed when charts or images changed, and waits for the operator.
///
/// # Errors
/// When helm fails or the operator does not become ready.
pub async fn ensure(cluster: &Cluster) -> Result<()> {
    DONE.get_or_try_init(|| install(cluster)).await.map(drop)
}

/// Installs the custom resources alone, or upgrades them when their chart changed.
///
/// # Errors
/// When helm fails or the apiserver does not serve them.
pub async fn crds(cluster: &Cluster) -> Result<()> {
    CRDS.get_or_try_init(|| install_crds(cluster))
        .await
        .map(drop)
}

async fn install(cluster: &Cluster) -> Result<()> {
    crds(cluster).await?;
    let is_new = install_operator(cluster).await?;
    remove_leftovers(cluster, is_new).await
}

/// True when it was not the one that is wanted now.
async fn install_operator(cluster: &Cluster) -> Result<bool> {
    let chart = checkout().join("charts").join(NAME);
    let values = values(&cluster.settings.images);
    let content = fingerprint(&chart, &values)?;
    let is_new = installed(cluster, NAME).await? != Some(content.clone());
    if is_new {
        upgrade(cluster, NAME, &chart, &content, &values).await?;
        record(cluster, &content).await?;
    }
    Operator::new(cluster).ready().await?;
    Ok(is_new)
}

/// Notes when this operator with these rights was first installed; the namespace outlives a release.
async fn record(cluster: &Cluster, content: &str) -> Result<()> {
    let namespaces = Api::<Namespace>::all(cluster.client.clone());
    let namespace = namespaces.get(NAMESPACE).await?;
    let known = namespace.annotations().get(SINCE);
    if known.is_some_and(|known| known.starts_with(content)) {
        return Ok(());
    }
    let note = json!({"metadata": {"annotations": {SINCE: format!("{content} {}", now())}}});
    let parameters = PatchParams::default();
    namespaces
        .patch(NAMESPACE, &parameters, &Patch::Merge(note))
        .await?;
    Ok(())
}

/// Since when the operator is the one that is installed now.
///
/// # Errors
/// When none was installed by these tests.
pub async fn since(cluster: &Cluster) -> Result<Timestamp> {
    let namespaces = Api::<Namespace>::all(cluster.client.clone());
    let namespace = namespaces.get(NAMESPACE).await?;
    let note = namespace.annotations().get(SINCE);
    let note = note.context("nobody noted when the operator was installed")?;
    Ok(note.rsplit(' ').next().unwrap_or_default().parse()?)
}

/// Installs both charts again after [`remove`], and waits for the operator.
///
/// # Errors
/// As [`ensure`].
pub async fn again(cluster: &Cluster) -> Result<()> {
    install_crds(cluster).await?;
    install_operator(cluster).await.map(drop)
}

/// Removes both releases, as somebody does who is done with Mooring.
///
/// # Errors
/// When helm fails.
pub async fn remove(cluster: &Cluster) -> Result<()> {
    let mut helm = cluster.helm();
    helm.args(["uninstall", NAME, CRDS_NAME, "--namespace", NAMESPACE]);
    helm.args(["--wait", "--timeout", "1m"]);
    run(helm).await.map(drop)
}

/// As [`crds`], every time.
///
/// # Errors
/// As [`crds`].
pub async fn install_crds(cluster: &Cluster) -> Result<()> {
    let chart = checkout().join("charts").join(CRDS_NAME);
    let content = fingerprint(&chart, &[])?;
    if installed(cluster, CRDS_NAME).await? != Some(content.clone()) {
        upgrade(cluster, CRDS_NAME, &chart, &content, &[]).await?;
    }
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client.clone());
    for definition in ::crds::all() {
        let name = definition.name_any();
        wait::object(&definitions, &name, "is served", USUAL, |definition| {
            let status = definition?.status.as_ref()?;
            let conditions = status.conditions.iter().flatten();
            let mut established =
                conditions.filter(|one| one.type_ == "Established" && one.status == "True");
            established.next().map(drop)
        })
        .await?;
    }
    Ok(())
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
        // What somebody has applied by hand becomes part of the release.
        "--take-ownership",
        "--force-conflicts",
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
async fn installed(cluster: &Cluster, release: &str) -> Result<Option<String>> {
    let mut helm = cluster.helm();
    helm.args([
        "list",
        "--namespace",
        NAMESPACE,
        "--filter",
        &format!("^{release}$"),
        "--output",
        "json",
    ]);
    let releases: Value = serde_json::from_str(&run(helm).await?)?;
    if releases[0]["status"] != "deployed" {
        return Ok(None);
    }
    let mut helm = cluster.helm();
    helm.args([
        "status",
        release,
        "--namespace",
        NAMESPACE,
        "--output",
        "json",
    ]);
    let status: Value = serde_json::from_str(&run(helm).await?)?;
    Ok(status["info"]["description"].as_str().map(str::to_owned))
}

/// Names everything that an installation is made of.
fn fingerprint(chart: &Path, values: &[String]) -> Result<String> {
    let mut sum = Sha256::new();
    for value in values {
        sum.update(value);
    }
    add_folder(&mut sum, chart)?;
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
