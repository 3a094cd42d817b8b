//! Objects of the demo's namespace, read and written with kubectl as its watchers would.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::{Cluster, command};
use serde_json::Value;

/// The workspace that the demo makes.
pub(super) const NAMESPACE: &str = "mooring-demo";
const LIMIT: Duration = Duration::from_secs(90);

/// kubectl in the demo's namespace.
pub(super) struct Objects<'a> {
    cluster: &'a Cluster,
}

impl<'a> Objects<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        Self { cluster }
    }

    /// kubectl, to be completed.
    pub(super) fn kubectl(&self) -> Command {
        let mut kubectl = self.cluster.kubectl();
        kubectl.args(["--namespace", NAMESPACE]);
        kubectl
    }

    /// Applies YAML.
    pub(super) fn apply(&self, yaml: &str) -> Result<()> {
        command::capture_with(
            self.kubectl().args(["apply", "--server-side", "-f", "-"]),
            yaml,
        )
        .map(drop)
    }

    /// Creates an object and returns it as the apiserver has it.
    pub(super) fn create(&self, yaml: &str) -> Result<Value> {
        let made = command::capture_with(
            self.kubectl().args(["create", "-f", "-", "-o", "json"]),
            yaml,
        )?;
        serde_json::from_str(&made).context("read what kubectl created")
    }

    /// An object, if there is one.
    pub(super) fn find(&self, kind: &str, name: &str) -> Result<Option<Value>> {
        let found = command::capture(self.kubectl().args([
            "get",
            kind,
            name,
            "-o",
            "json",
            "--ignore-not-found",
        ]))?;
        if found.is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&found)
            .map(Some)
            .context("read an object")
    }

    /// Changes a part of an object.
    pub(super) fn patch(&self, kind: &str, name: &str, patch: &str) -> Result<()> {
        let mut kubectl = self.kubectl();
        kubectl.args(["patch", kind, name, "--type", "merge", "--patch", patch]);
        command::capture(&mut kubectl).map(drop)
    }

    /// A value of a Secret.
    pub(super) fn secret(&self, name: &str, key: &str) -> Result<String> {
        let template = format!("go-template={{{{index .data {key:?} | base64decode}}}}");
        command::capture(
            self.kubectl()
                .args(["get", "secret", name, "-o", &template]),
        )
    }

    /// All objects of a kind.
    pub(super) fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let found = command::capture(self.kubectl().args(["get", kind, "-o", "json"]))?;
        let mut list: Value = serde_json::from_str(&found).context("read objects")?;
        serde_json::from_value(list["items"].take()).context("read objects")
    }

    /// Looks again and again until there is something to return.
    pub(super) fn until<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut found = None;
        command::wait_until(what, LIMIT, || {
            found = look(self)?;
            Ok(found.is_some())
        })?;
        found.with_context(|| format!("{what}: nothing was found"))
    }
}

/// The text at a JSON pointer; empty when there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether an object belongs to the one with this UID.
pub(super) fn is_owned_by(object: &Value, uid: &str) -> bool {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == uid))
}

/// Status and reason of a condition.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    found.map_or(("", ""), |condition| {
        (text(condition, "/status"), text(condition, "/reason"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read() {
        let task = json!({
            "metadata": {"ownerReferences": [{"uid": "u1"}]},
            "status": {"conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}]},
        });
        assert!(is_owned_by(&task, "u1"));
        assert!(!is_owned_by(&task, "u2"));
        assert_eq!(condition(&task, "Finished"), ("True", "Succeeded"));
        assert_eq!(condition(&task, "Accepted"), ("", ""));
        assert_eq!(text(&task, "/status/podName"), "");
    }
}
