//! The objects of stories, written as users write them: as data, with what differs set by its path.

use std::marker::PhantomData;

use anyhow::{Context as _, Result};
use crds::{Agent, AgentTask, Runtime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::script::Script;

/// Name of the usual Runtime.
pub const RUNTIME: &str = "fake";
/// Name of the usual Agent.
pub const AGENT: &str = "worker";

/// An object that does not exist yet.
#[derive(Clone, Debug)]
pub struct Draft<K> {
    value: Value,
    kind: PhantomData<K>,
}

impl<K: DeserializeOwned> Draft<K> {
    /// Sets the value at a JSON pointer; objects on the way are made.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut place = &mut self.value;
        for key in pointer.trim_start_matches('/').split('/') {
            place = match key.parse::<usize>() {
                Ok(index) => &mut place[index],
                Err(_) => &mut place[key],
            };
        }
        *place = value.into();
        self
    }

    /// The object as its type has it.
    ///
    /// # Errors
    /// When the type cannot hold it: a test of bad input sends [`Draft::value`].
    pub fn object(&self) -> Result<K> {
        serde_json::from_value(self.value.clone())
            .with_context(|| format!("not of the type: {}", self.value))
    }

    /// The object as it was written.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// An object of a kind that has no function of its own here.
#[must_use]
pub fn draft<K>(value: Value) -> Draft<K> {
    Draft {
        value,
        kind: PhantomData,
    }
}

/// A Runtime with the stand-in's image: small, quick to give up, room for ten pods.
#[must_use]
pub fn runtime(name: &str, image: &str) -> Draft<Runtime> {
    draft(json!({
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "Runtime",
        "metadata": {"name": name},
        "spec": {
            "provider": "claude",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "pod": {
                "resources": {
                    "requests": {"cpu": "10m", "memory": "32Mi"},
                    "limits": {"memory": "256Mi"},
                },
                "runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001,
            },
            "network": {"egress": "Allowlist"},
            "workdir": {"size": "64Mi", "storageClassName": "local-path", "accessMode": "ReadWriteOncePod"},
            "timeouts": {"graceSeconds": 2},
            "capacity": {"maxPods": 10},
        },
    }))
}

/// An Agent on a Runtime.
#[must_use]
pub fn agent(name: &str, runtime: &str) -> Draft<Agent> {
    draft(json!({
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "Agent",
        "metadata": {"name": name},
        "spec": {
            "displayName": "Worker",
            "instructions": "Do as the script says.",
            "runtimeRefs": [{"name": runtime}],
            "maxConcurrentTasks": 40,
        },
    }))
}

/// A task of the usual Agent on a subject.
#[must_use]
pub fn task(name: &str, subject: &str, script: &Script) -> Draft<AgentTask> {
    draft(json!({
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "AgentTask",
        "metadata": {"name": name},
        "spec": {
            "agentRef": {"name": AGENT},
            "subject": {"kind": "Key", "name": subject},
            "prompt": script.prompt(),
        },
    }))
}

/// What stands at a JSON pointer of an object; null where nothing does.
#[must_use]
pub fn at<K: Serialize>(object: &K, pointer: &str) -> Value {
    let value = serde_json::to_value(object).unwrap_or_default();
    value.pointer(pointer).cloned().unwrap_or_default()
}

/// The text at a JSON pointer of an object.
///
/// # Errors
/// When there is none; the message shows the object.
pub fn text<K: Serialize>(object: &K, pointer: &str) -> Result<String> {
    let found = at(object, pointer).as_str().map(str::to_owned);
    match found {
        Some(found) => Ok(found),
        None => anyhow::bail!("no text at {pointer}:\n{}", serde_yaml::to_string(object)?),
    }
}

/// Status and reason of a condition, as in `True Finished`; `None` while it is not there.
#[must_use]
pub fn condition<K: Serialize>(object: &K, kind: &str) -> Option<(String, String)> {
    let conditions = at(object, "/status/conditions");
    let condition = conditions
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)?;
    let field = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
    Some((field("status"), field("reason")))
}

/// True when a condition is there and true.
#[must_use]
pub fn is_true<K: Serialize>(object: &K, kind: &str) -> bool {
    condition(object, kind).is_some_and(|(status, _)| status == "True")
}
