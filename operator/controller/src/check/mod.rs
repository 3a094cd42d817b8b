//! The invariant checker: holds what the store says against what the cluster shows.
//!
//! Of design §6 it reads 1, 2, 4, 5, 8, 9 and 10, as far as they can be read off. Between two writes of a pass a promise may look broken for a moment;
//! what is still broken a few seconds later is a bug.
//!
//! It asks only for what the operator itself may list. Secrets are not among that: that an attempt's Secret
//! is gone is read off the store, where it was noted after the deletion.

mod rules;

use std::collections::HashMap;
use std::fmt;

use crds::AgentTask;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt as _};
use protocol::{AttemptId, TaskId};
use serde::de::DeserializeOwned;
use store::{AttemptRow, SessionRow, Store, TaskRow};

use crate::error::Error;

/// Objects of one page.
const PAGE: u32 = 500;

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise, in a sentence.
    pub rule: &'static str,
    /// What breaks it.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// What the cluster shows.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Every AgentTask.
    pub tasks: Vec<AgentTask>,
    /// Pods of ours.
    pub pods: Vec<Pod>,
    /// Volume claims of ours.
    pub claims: Vec<PersistentVolumeClaim>,
    /// Network policies of ours.
    pub policies: Vec<NetworkPolicy>,
}

/// What the store says about it.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// By the UID of their object.
    pub by_object: HashMap<String, TaskId>,
    /// Tasks that were asked for.
    pub tasks: HashMap<TaskId, TaskRow>,
    /// Attempts that were asked for.
    pub attempts: HashMap<AttemptId, AttemptRow>,
    /// Sessions with a holder.
    pub held: Vec<SessionRow>,
}

/// Every promise that does not hold.
///
/// # Errors
/// [`Error::Store`], [`Error::Read`].
pub async fn check(store: &Store, client: &Client) -> Result<Vec<Violation>, Error> {
    let own = store.violations().await?;
    let mut found: Vec<Violation> = own
        .into_iter()
        .map(|broken| Violation {
            rule: broken.rule,
            what: broken.what,
        })
        .collect();
    // The cluster first: a pod that came later than the row is no violation, the other way round it would be.
    let listing = list(client).await?;
    let rows = read(store, &listing).await?;
    found.extend(rules::violations(&rows, &listing));
    Ok(found)
}

async fn list(client: &Client) -> Result<Listing, Error> {
    let ours = format!("{}={}", crds::labels::MANAGED_BY, crds::labels::MANAGER);
    Ok(Listing {
        tasks: all(client, "AgentTasks", None).await?,
        pods: all(client, "pods", Some(&ours)).await?,
        claims: all(client, "volume claims", Some(&ours)).await?,
        policies: all(client, "network policies", Some(&ours)).await?,
    })
}

async fn all<K>(
    client: &Client,
    what: &'static str,
    selector: Option<&str>,
) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    let api = Api::<K>::all(client.clone());
    let mut params = ListParams::default().limit(PAGE);
    params.label_selector = selector.map(str::to_owned);
    let mut found = Vec::new();
    loop {
        let page = api.list(&params).await.map_err(|source| Error::Read {
            what,
            source: Box::new(source),
        })?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

async fn read(store: &Store, listing: &Listing) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    let mut wanted: Vec<TaskId> = Vec::new();
    for object in &listing.tasks {
        let uid = object.uid().unwrap_or_default();
        if let Some(task) = store.task_by_object(&uid).await? {
            rows.by_object.insert(uid, task);
            wanted.push(task);
        }
    }
    wanted.extend(
        listing
            .pods
            .iter()
            .filter_map(rules::attempt_of)
            .map(|attempt| attempt.task),
    );
    let mut after = None;
    loop {
        let page = store.open_tasks(after, PAGE).await?;
        wanted.extend(&page);
        match page.last() {
            Some(last) => after = Some(*last),
            None => break,
        }
    }
    let mut after = None;
    loop {
        let page = store.held_sessions(after, PAGE).await?;
        match page.last() {
            Some(last) => after = Some(last.id),
            None => break,
        }
        rows.held.extend(page);
    }
    wanted.sort_unstable();
    wanted.dedup();
    for task in wanted {
        let Some(row) = store.task(task).await? else {
            continue;
        };
        for number in 1..=row.attempt {
            let attempt = AttemptId { task, number };
            if let Some(attempt) = store.attempt(attempt).await? {
                rows.attempts.insert(attempt.id, attempt);
            }
        }
        rows.tasks.insert(task, row);
    }
    Ok(rows)
}
