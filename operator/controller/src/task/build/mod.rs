//! The objects that belong to a task, from validated values: pure, whole, with name, namespace, labels and
//! owner set by one helper.

mod claim;
mod environment;
mod pod;
mod resources;
mod secret;
mod session;
mod task;

use std::collections::BTreeMap;

use crds::labels;
use crds::names::{ClaimName, SecretName, SessionName};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use protocol::{AttemptId, InstallationId};

pub use claim::claim;
pub use pod::{Install, PodParts, backstop_seconds, pod};
pub(crate) use pod::{cli_mount, cli_volume, hardened};
pub use secret::secret;
pub use session::session;
pub(crate) use task::TTL_SECONDS;
pub use task::task;

/// Who a child belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kin {
    /// The installation that makes it.
    pub installation: InstallationId,
    /// Namespace of the task.
    pub namespace: String,
    /// Name of the session, and of its pod.
    pub session: SessionName,
    /// Name of the Agent.
    pub agent: String,
}

/// Names of an attempt's own children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptNames {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its Secret.
    pub secret: SecretName,
    /// The volume claim it uses.
    pub claim: ClaimName,
}

/// Metadata of a child: the one place that sets name, namespace, labels and owner.
fn meta(
    kin: &Kin,
    name: &str,
    more: &[(&str, String)],
    owner: Option<OwnerReference>,
) -> ObjectMeta {
    let mut all = BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned()),
        (
            labels::INSTALLATION.to_owned(),
            kin.installation.to_string(),
        ),
        (labels::SESSION.to_owned(), kin.session.to_string()),
        (labels::AGENT.to_owned(), kin.agent.clone()),
    ]);
    all.extend(
        more.iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone())),
    );
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(kin.namespace.clone()),
        labels: Some(all),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn attempt_labels(attempt: AttemptId) -> [(&'static str, String); 2] {
    [
        (labels::TASK_ID, attempt.task.to_string()),
        (labels::ATTEMPT, attempt.number.to_string()),
    ]
}

/// A reference that makes `owner` take a child with it. It never blocks the owner's own deletion.
#[must_use]
pub fn owner<K: Resource<DynamicType = ()>>(owner: &K) -> Option<OwnerReference> {
    let meta = owner.meta();
    Some(OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: meta.name.clone()?,
        uid: meta.uid.clone()?,
        controller: Some(true),
        block_owner_deletion: None,
    })
}

#[cfg(test)]
mod tests;
