//! The store's file, read beside the operator: what it knows of tasks that no status tells.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use protocol::{Event, TaskId};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};

use crate::cluster::Cluster;
use crate::operator;

/// The file's name on the operator's volume.
pub const FILE: &str = "mooring.db";

/// One event of a timeline.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its place in the task, from 1 without gaps.
    pub position: u64,
    /// Whose event it is.
    pub attempt: u32,
    /// What the runner sent.
    pub event: Event,
}

/// A reader of the operator's SQLite file.
#[derive(Clone, Debug)]
pub struct StoreReader {
    pool: SqlitePool,
}

/// The folder of the operator's volume on this machine.
///
/// # Errors
/// When the operator has no volume, or it is not a folder of this machine.
pub async fn folder(cluster: &Cluster) -> Result<PathBuf> {
    let claims: Api<PersistentVolumeClaim> =
        Api::namespaced(cluster.client.clone(), operator::NAMESPACE);
    let claims = claims.list(&ListParams::default()).await?;
    let claim = claims
        .items
        .first()
        .context("the operator has no volume claim")?;
    let volume = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_ref());
    volume_folder(
        cluster,
        volume.with_context(|| format!("{} is not bound", claim.name_any()))?,
    )
    .await
}

/// The folder of a volume on this machine.
///
/// # Errors
/// When there is no such volume, or it is not a folder of this machine.
pub async fn volume_folder(cluster: &Cluster, volume: &str) -> Result<PathBuf> {
    let volumes: Api<PersistentVolume> = Api::all(cluster.client.clone());
    let spec = volumes.get(volume).await?.spec.unwrap_or_default();
    let local = spec
        .local
        .map(|local| local.path)
        .or(spec.host_path.map(|host| host.path));
    Ok(local
        .with_context(|| format!("{volume} is not a folder of this machine"))?
        .into())
}

impl StoreReader {
    /// Opens the file of the installed operator.
    ///
    /// # Errors
    /// When it cannot be found or opened.
    pub async fn open(cluster: &Cluster) -> Result<Self> {
        Self::at(&folder(cluster).await?.join(FILE)).await
    }

    async fn at(file: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new().filename(file).read_only(true);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options)
            .await;
        Ok(Self {
            pool: pool.with_context(|| format!("open {}", file.display()))?,
        })
    }

    /// Everything in a task's timeline, by position.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn timeline(&self, task: TaskId) -> Result<Vec<Stored>> {
        let rows: Vec<(i64, i64, i64, i64, String)> = sqlx::query_as(TIMELINE)
            .bind(task.0)
            .fetch_all(&self.pool)
            .await?;
        rows.into_iter()
            .map(|(position, attempt, seq, at, body)| {
                Ok(Stored {
                    position: u64::try_from(position)?,
                    attempt: u32::try_from(attempt)?,
                    event: Event {
                        seq: u64::try_from(seq)?,
                        at: Timestamp::from_microsecond(at)?,
                        body: serde_json::from_str(&body).context("an event's body")?,
                    },
                })
            })
            .collect()
    }

    /// When the agent's process of a task's last attempt began, to the microsecond.
    ///
    /// # Errors
    /// When the file cannot be read, or none has begun.
    pub async fn started(&self, task: TaskId) -> Result<Timestamp> {
        let at: Option<i64> = sqlx::query_scalar(STARTED)
            .bind(task.0)
            .fetch_one(&self.pool)
            .await?;
        Ok(Timestamp::from_microsecond(
            at.context("no process has begun")?,
        )?)
    }

    /// How many tokens of a task are alive.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn tokens(&self, task: TaskId) -> Result<i64> {
        Ok(sqlx::query_scalar(TOKENS)
            .bind(task.0)
            .fetch_one(&self.pool)
            .await?)
    }
}

/// Reads the id that a status shows.
///
/// # Errors
/// When it is none.
pub fn task_id(text: &str) -> Result<TaskId> {
    TaskId::from_str(text).with_context(|| format!("not a task's id: {text}"))
}

const TIMELINE: &str =
    "SELECT position, attempt, seq, at, body FROM timeline WHERE task = $1 ORDER BY position";
/// When the last attempt began.
const STARTED: &str =
    "SELECT started_at FROM attempts WHERE task = $1 ORDER BY number DESC LIMIT 1";
const TOKENS: &str = "SELECT count(*) FROM tokens WHERE task = $1";
