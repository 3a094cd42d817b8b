//! Reading frames without trusting their shape: a missing or odd field reads as empty, so that a new version
//! of a CLI cannot break a run by what it adds.

use protocol::{EventBody, LogLevel};
use serde_json::Value;

/// Bytes of a remark for the log; whole frames can be megabytes.
const LOG_BYTES: usize = 2048;

/// The frame in a line of output. `None` when it is no JSON object, which CLIs print when they break.
pub(in crate::adapters) fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// The string at `key`, empty when there is none.
pub(in crate::adapters) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The list at `key`, empty when there is none.
pub(in crate::adapters) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The count at `key`, zero when there is none.
pub(in crate::adapters) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// True only when `true` stands at `key`.
pub(in crate::adapters) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// True for what a nested agent says or does.
pub(in crate::adapters) fn is_nested(frame: &Value) -> bool {
    frame
        .get("parent_tool_use_id")
        .is_some_and(|parent| !parent.is_null())
}

/// The text of `content`, which is a string, a list of blocks or absent. Blocks that are no text are named.
pub(in crate::adapters) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let parts: Vec<_> = blocks
                .iter()
                .map(|block| match text(block, "type") {
                    "text" => text(block, "text").to_owned(),
                    other => format!("[{other}]"),
                })
                .collect();
            parts.join("\n")
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The turn runs, in this conversation.
pub(in crate::adapters) fn running(session: Option<&str>) -> EventBody {
    EventBody::Status {
        status: "running".to_owned(),
        session_id: session.map(str::to_owned),
    }
}

/// A remark for the log, cut at a character boundary.
pub(in crate::adapters) fn log(level: LogLevel, content: impl Into<String>) -> EventBody {
    EventBody::Log {
        level,
        content: cut(content.into(), LOG_BYTES),
    }
}

/// `text`, no longer than `bytes`, with a mark where something was cut off.
pub(in crate::adapters) fn cut(mut text: String, bytes: usize) -> String {
    const MARK: &str = "…";
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes.saturating_sub(MARK.len())));
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_comes_in_three_forms() {
        for (content, read) in [
            (json!("a"), "a"),
            (
                json!([{"type": "text", "text": "a"}, {"type": "image", "data": "x"}]),
                "a\n[image]",
            ),
            (json!(null), ""),
            (json!(7), "7"),
        ] {
            assert_eq!(content_text(Some(&content)), read);
        }
        assert_eq!(content_text(None), "");
    }

    #[test]
    fn what_is_cut_says_so_and_keeps_whole_characters() {
        assert_eq!(cut("äöü".to_owned(), 6), "äöü");
        assert_eq!(cut("äöüä".to_owned(), 6), "ä…");
    }

    #[test]
    fn only_objects_are_frames() {
        assert!(parse("{\"a\": 1}").is_some());
        for line in ["", "x", "1", "[1]", "{", "\"{}\""] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
