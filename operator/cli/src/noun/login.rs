//! `moor login`.

use std::fs;

use clap::Args;
use client::{Client, Workspace};
use serde::Serialize;

use crate::cluster::{Cluster, Forward, Point};
use crate::config::{self, Config, Way};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::{at, through};
use crate::settings::{Server, Settings};
use crate::table::fields;
use crate::text;

/// Where the operator runs unless it is said otherwise.
const NAMESPACE: &str = "mooring-system";

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Context of the kubeconfig; without one, the current one.
    #[arg(long)]
    context: Option<String>,
    /// Namespace in which the operator runs.
    #[arg(long, value_name = "NAME", default_value = NAMESPACE)]
    operator_namespace: String,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Done {
    user: String,
    expires: String,
    workspace: Option<String>,
    file: String,
}

impl Login {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        if settings.token_file.is_some() {
            return Err(Failure::Usage(
                "there is a token's file already, and with it no login is looked at".to_owned(),
            ));
        }
        let path = config::path(settings)?;
        let cluster = Cluster::connect(self.context.as_deref(), &self.operator_namespace).await?;
        let point = cluster.point().await?;
        // The way is opened first: where there is none, nothing is left behind in the cluster.
        let (client, way, _forward) = reach(settings, &cluster, &point).await?;
        let exchange = cluster.request_login().await?;
        let minted = client.login(&exchange).await?;
        let workspace = settings.workspace.clone().or_else(|| workspace(&cluster));
        let config = Config {
            user: minted.user,
            token: minted.token.into(),
            expires: minted.record.expires,
            workspace,
            way,
        };
        config::write(&path, &config)?;
        let done = Done {
            user: config.user,
            expires: text::time(config.expires),
            workspace: config.workspace.map(|name| name.to_string()),
            file: path.display().to_string(),
        };
        out.show(&done, |done| done.user.clone(), describe)
    }
}

/// The namespace of the context, as for kubectl.
fn workspace(cluster: &Cluster) -> Option<Workspace> {
    cluster.workspace.as_deref()?.parse().ok()
}

async fn reach(
    settings: &Settings,
    cluster: &Cluster,
    point: &Point,
) -> Result<(Client, Way, Option<Forward>), Failure> {
    let Some(url) = settings.server.clone() else {
        let (client, forward) = through(cluster, point, &point.ca).await?;
        let way = Way::Cluster {
            context: cluster.context.clone(),
            namespace: cluster.namespace.clone(),
            ca: point.ca.clone(),
        };
        return Ok((client, way, Some(forward)));
    };
    let ca = match &settings.ca {
        Some(path) => fs::read_to_string(path).map_err(|cause| Failure::Input {
            path: path.clone(),
            cause,
        })?,
        None => point.ca.clone(),
    };
    let server = Server {
        url,
        tls_name: settings.tls_name.clone(),
        ca,
    };
    Ok((at(&server).await?, Way::Server(server), None))
}

fn describe(done: &Done) -> String {
    let workspace = done.workspace.clone();
    fields(&[
        ("Logged in", done.user.clone()),
        ("Until", done.expires.clone()),
        (
            "Workspace",
            workspace.unwrap_or_else(|| "none yet: `moor config workspace NAME`".to_owned()),
        ),
        ("Kept in", done.file.clone()),
    ])
}
