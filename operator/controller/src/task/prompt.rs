//! The prompt of a task that takes it from a `ConfigMap`: read once, when the task is taken in, so that every attempt
//! is asked the same.

use std::time::Duration;

use crds::{AgentTask, ConfigMapKeyRef};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use protocol::limits;

use crate::context::Context;
use crate::error::Error;
use crate::kube_reads;

/// Where the text is not there it is looked for again after this long. To watch every `ConfigMap` of the cluster for
/// the few that a task names would cost more.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The prompt that the object takes from elsewhere; `Ok(None)` where it has its own, and what is wrong where there is
/// none to be had.
///
/// # Errors
/// [`Error::Read`], [`Error::NoAnswer`].
pub(super) async fn taken(
    ctx: &Context,
    object: &AgentTask,
) -> Result<Result<Option<String>, String>, Error> {
    let Some(from) = &object.spec.prompt_from else {
        return Ok(Ok(None));
    };
    let from = &from.config_map_key_ref;
    let namespace = object.namespace().unwrap_or_default();
    let what = "the ConfigMap of a prompt";
    let found = kube_reads::get::<ConfigMap>(&ctx.client, what, &namespace, &from.name).await?;
    Ok(text(found, from).map(Some))
}

/// The text under the key, if it can be a prompt.
fn text(found: Option<ConfigMap>, from: &ConfigMapKeyRef) -> Result<String, String> {
    let ConfigMapKeyRef { name, key } = from;
    let found = found.ok_or_else(|| format!("There is no ConfigMap {name}: create it."))?;
    let text = found.data.unwrap_or_default().remove(key);
    let text =
        text.ok_or_else(|| format!("ConfigMap {name} has no text under the key {key}: add it."))?;
    if text.trim().is_empty() {
        return Err(format!(
            "The key {key} of ConfigMap {name} is empty: say there what the agent is asked."
        ));
    }
    if text.len() > limits::PROMPT_BYTES || text.contains('\0') {
        return Err(format!(
            "The key {key} of ConfigMap {name} is no prompt: it may have {} bytes of text without NUL, and has {}.",
            limits::PROMPT_BYTES,
            text.len()
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_text_of_bounded_length() {
        let from = ConfigMapKeyRef {
            name: "prompts".to_owned(),
            key: "night".to_owned(),
        };
        let map = |key: &str, text: &str| ConfigMap {
            data: Some([(key.to_owned(), text.to_owned())].into()),
            ..ConfigMap::default()
        };
        assert_eq!(text(Some(map("night", "Go.\n")), &from).unwrap(), "Go.\n");
        let most = "x".repeat(limits::PROMPT_BYTES);
        assert!(text(Some(map("night", &most)), &from).is_ok());
        for (found, wanted) in [
            (None, "create it"),
            (Some(ConfigMap::default()), "add it"),
            (Some(map("day", "Go.")), "add it"),
            (Some(map("night", " \n")), "is empty"),
            (Some(map("night", &format!("{most}x"))), "65536 bytes"),
            (Some(map("night", "a\0")), "without NUL"),
        ] {
            let why = text(found, &from).unwrap_err();
            assert!(why.contains(wanted), "{why}");
        }
    }
}
