//! Whether a `LoginRequest` can have been made by nobody but whom it names.
//!
//! That holds while the policy stands in the cluster, bound, word for word as it is compiled in here. It has to
//! have stood so when the object was made, not only now: an object from a moment without it may name anybody.

use std::time::Duration;

use crds::login_policy;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde::Serialize;

/// The apiservers take this long at most to act by a policy that was just made or changed.
const SETTLE: Duration = Duration::from_secs(5);

/// Policy and binding, as the cluster has them.
pub(super) struct Standing<'a> {
    pub(super) policy: Option<&'a DynamicObject>,
    pub(super) binding: Option<&'a DynamicObject>,
    /// The name of both.
    pub(super) name: &'a str,
}

impl Standing<'_> {
    /// Fails, with a sentence for whoever logs in, unless policy and binding guarded what was made at an instant.
    pub(super) fn guarded(&self, made: Timestamp) -> Result<(), String> {
        let name = self.name;
        let policy = since(
            "ValidatingAdmissionPolicy",
            name,
            self.policy,
            &login_policy::policy(),
        )?;
        let binding = since(
            "ValidatingAdmissionPolicyBinding",
            name,
            self.binding,
            &login_policy::binding(name),
        )?;
        let settled = policy.max(binding).checked_add(SETTLE);
        if settled.is_ok_and(|settled| made >= settled) {
            return Ok(());
        }
        Err(format!(
            "the policy {name} was installed or changed just before this login began: log in again after {} seconds",
            SETTLE.as_secs()
        ))
    }
}

/// Since when an object is what it has to be.
fn since(
    kind: &str,
    name: &str,
    object: Option<&DynamicObject>,
    wanted: &impl Serialize,
) -> Result<Timestamp, String> {
    let closed = |what: &str| {
        Err(format!(
            "nobody can log in: the {kind} {name} {what}; bring it back as Mooring's chart has it (helm upgrade, with the chart of the operator's version)"
        ))
    };
    let Some(object) = object else {
        return closed("is not there");
    };
    if object.metadata.deletion_timestamp.is_some() {
        return closed("is being deleted");
    }
    let wanted = serde_json::to_value(wanted).map_err(|error| error.to_string())?;
    if object.data.get("spec") != Some(&wanted) {
        return closed("is not as it should be");
    }
    match last_change(object) {
        Some(changed) => Ok(changed),
        None => closed("does not say when it was made"),
    }
}

/// When the object was made or last changed. What others note in its status does not count.
fn last_change(object: &DynamicObject) -> Option<Timestamp> {
    let created = object.creation_timestamp()?.0;
    let writes = object.managed_fields().iter();
    let changed = writes
        .filter(|write| write.subresource.as_deref().is_none_or(str::is_empty))
        .filter_map(|write| write.time.as_ref());
    Some(changed.map(|time| time.0).fold(created, Timestamp::max))
}
