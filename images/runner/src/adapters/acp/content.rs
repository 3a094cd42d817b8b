//! Reading updates, whose fields agents spell and nest in ways of their own.

use serde_json::Value;

use crate::adapters::frame::{list, text};

/// Where a change of a file is shown as a patch.
const PATCH: &str = "/_meta/jetbrains/air/diffPatch/text";

/// What kind an update is, without regard to how it is spelled, and its fields. Some wrap them.
pub(super) fn kind_of(update: &Value) -> (String, &Value) {
    let plain = |kind: &str| kind.replace(['_', '-'], "").to_lowercase();
    for key in ["sessionUpdate", "type"] {
        let kind = text(update, key);
        if !kind.is_empty() {
            return (plain(kind), update);
        }
    }
    match update
        .as_object()
        .map(|fields| (fields.len(), fields.iter().next()))
    {
        Some((1, Some((kind, fields)))) => (plain(kind), fields),
        _ => (String::new(), update),
    }
}

/// The words of an update.
pub(super) fn content(update: &Value) -> String {
    block(update.get("content").unwrap_or(&Value::Null))
}

fn block(block: &Value) -> String {
    match text(block, "type") {
        "text" => text(block, "text").to_owned(),
        "" => block.as_str().unwrap_or_default().to_owned(),
        other => format!("[{other}]"),
    }
}

/// The words in the content of a call.
pub(super) fn content_words(update: &Value) -> String {
    let words: Vec<_> = list(update, "content")
        .iter()
        .map(|part| match text(part, "type") {
            "content" => content(part),
            // One that shows a patch in place of both.
            "diff" if part.pointer(PATCH).is_some() => {
                let patch = part.pointer(PATCH).and_then(Value::as_str);
                patch.unwrap_or_default().to_owned()
            }
            "diff" => {
                let bytes = |key| text(part, key).len();
                let (old, new) = (bytes("oldText"), bytes("newText"));
                format!(
                    "{}: {old} bytes before, {new} bytes after",
                    text(part, "path")
                )
            }
            _ => String::new(),
        })
        .filter(|words| !words.is_empty())
        .collect();
    words.join("\n")
}

/// Output of a terminal that the agent keeps itself.
pub(super) fn terminal_output(update: &Value) -> String {
    let meta = update
        .get("_meta")
        .and_then(|meta| meta.get("terminal_output_delta"));
    meta.map(|delta| text(delta, "data").to_owned())
        .unwrap_or_default()
}
