//! The way to the cluster.

use anyhow::Context as _;

/// A client that repeats nothing by itself: every write has its own crash and error story.
pub(crate) async fn client() -> anyhow::Result<kube::Client> {
    let mut config = kube::Config::infer().await.context("find the cluster")?;
    config.default_retry = false;
    kube::Client::try_from(config).context("make a client of the cluster")
}
