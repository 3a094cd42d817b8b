//! Objects for unit tests, as a person would have typed them.

use crds::Runtime;
use protocol::InstallationId;
use serde_json::json;

/// A Runtime of this name that asks for nothing special.
pub(crate) fn runtime(name: &str) -> Runtime {
    let object = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Runtime",
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "generation": 1},
        "spec": {"provider": "claude", "image": "agent:1"},
    });
    serde_json::from_value(object).unwrap()
}

/// The installation of every fixture.
pub(crate) fn installation() -> InstallationId {
    "00000000-0000-4000-8000-00000000000f".parse().unwrap()
}
