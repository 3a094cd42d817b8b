//! Control frames: what the host asks of the CLI, and its answer to whatever the CLI asks. A request that
//! is left unanswered stops the turn, so there is an answer to each.

use protocol::{EventBody, LogLevel};
use serde_json::{Value, json};

use crate::adapters::frame::{flag, log, text};

/// Names the callback before a tool; any string does.
const PRE_TOOL_USE: &str = "pre-tool-use";
/// Names the callbacks that can carry a person's remark.
const REMARK: &str = "remark";

/// Id of our `initialize` request.
const INITIALIZE: &str = "initialize";
/// Id of our `interrupt` request.
const INTERRUPT: &str = "interrupt";

/// A user message.
pub(in crate::adapters) fn user_message(message: &str) -> Vec<u8> {
    line(&json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": message}]},
    }))
}

/// Asks to be called before each tool, which is the one place where a tool's input can be changed while
/// permissions are bypassed. The CLI reads its input in order, so the first message may follow at once.
///
/// And to be called where a person's remark can be put in: behind each tool, and where the turn would end.
pub(in crate::adapters) fn initialize_steered() -> Vec<u8> {
    begin(steered(json!({"hookCallbackIds": [PRE_TOOL_USE]})))
}

/// The same, where the answer may be a person's: the CLI waits for so many seconds. One whose hook fails would use the
/// tool all the same, so it is told not to.
pub(in crate::adapters) fn initialize_gated(seconds: u64) -> Vec<u8> {
    begin(steered(
        json!({"hookCallbackIds": [PRE_TOOL_USE], "timeout": seconds, "onFailure": "block"}),
    ))
}

/// The same for a CLI that is asked for nothing else.
pub(in crate::adapters) fn initialize_asked(seconds: u64) -> Vec<u8> {
    begin(json!({
        "PreToolUse": [{"hookCallbackIds": [PRE_TOOL_USE], "timeout": seconds, "onFailure": "block"}],
    }))
}

/// Whether the CLI takes our `initialize`; `None` for an answer to something else.
pub(in crate::adapters) fn is_begun(frame: &Value) -> Option<bool> {
    let response = frame.get("response")?;
    (text(response, "request_id") == INITIALIZE).then(|| text(response, "subtype") == "success")
}

fn steered(before: Value) -> Value {
    json!({
        "PreToolUse": [before],
        "PostToolUse": [{"hookCallbackIds": [REMARK]}],
        "PostToolUseFailure": [{"hookCallbackIds": [REMARK]}],
        "Stop": [{"hookCallbackIds": [REMARK]}],
    })
}

fn begin(hooks: Value) -> Vec<u8> {
    request(
        INITIALIZE,
        &json!({"subtype": "initialize", "hooks": hooks}),
    )
}

/// Asks to end the running turn.
pub(in crate::adapters) fn interrupt() -> Vec<u8> {
    request(INTERRUPT, &json!({"subtype": "interrupt"}))
}

/// The answer to a `control_request`; `None` when it has no id that could be answered.
pub(in crate::adapters) fn answer(frame: &Value) -> Option<Vec<u8>> {
    let id = frame.get("request_id").and_then(Value::as_str)?;
    let request = frame.get("request").unwrap_or(&Value::Null);
    let response = match text(request, "subtype") {
        "hook_callback" => Some(hook_answer(request.get("input").unwrap_or(&Value::Null))),
        "can_use_tool" => Some(permission(request)),
        _ => None,
    };
    Some(match response {
        Some(response) => success(id, &response),
        None => line(&json!({
            "type": "control_response",
            "response": {"subtype": "error", "request_id": id, "error": "not supported"},
        })),
    })
}

/// The answer to the `control_request` with this id.
pub(in crate::adapters) fn success(id: &str, response: &Value) -> Vec<u8> {
    line(&json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    }))
}

/// What a reader should know of a `control_response`: that the CLI refused what we asked.
pub(in crate::adapters) fn refusal(frame: &Value) -> Option<EventBody> {
    let response = frame.get("response")?;
    (text(response, "subtype") == "error").then(|| {
        let (id, error) = (text(response, "request_id"), text(response, "error"));
        log(
            LogLevel::Warn,
            format!("the request {id} was refused: {error}"),
        )
    })
}

/// No opinion, except on work in the background: nobody would be there when it ends.
fn hook_answer(input: &Value) -> Value {
    if text(input, "hook_event_name") != "PreToolUse" {
        return json!({});
    }
    match in_foreground(input.get("tool_input")) {
        Some(updated) => json!({
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": updated},
        }),
        None => json!({}),
    }
}

fn permission(request: &Value) -> Value {
    if text(request, "tool_name") == "AskUserQuestion" {
        return json!({"behavior": "deny", "message": "nobody can be asked in this run: decide, and say what you assumed"});
    }
    let input = request.get("input");
    let input = in_foreground(input)
        .or_else(|| input.cloned())
        .unwrap_or_else(|| json!({}));
    json!({"behavior": "allow", "updatedInput": input})
}

/// The input with its tool brought to the foreground; `None` when it is there already.
pub(super) fn in_foreground(input: Option<&Value>) -> Option<Value> {
    const KEY: &str = "run_in_background";
    let mut input = input.filter(|input| flag(input, KEY))?.clone();
    input
        .as_object_mut()?
        .insert(KEY.to_owned(), Value::Bool(false));
    Some(input)
}

/// A question of ours, under an id of its own.
pub(in crate::adapters) fn request(id: &str, request: &Value) -> Vec<u8> {
    line(&json!({"type": "control_request", "request_id": id, "request": request}))
}

fn line(frame: &Value) -> Vec<u8> {
    let mut line = frame.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &Value) -> Value {
        let bytes =
            answer(&json!({"type": "control_request", "request_id": "r", "request": request}))
                .unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        let frame: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(frame["response"]["request_id"], "r");
        frame["response"].clone()
    }

    #[test]
    fn what_would_run_in_the_background_is_brought_to_the_foreground() {
        let hook = |event: &str, input: Value| {
            let request = json!({"subtype": "hook_callback", "callback_id": "x",
                "input": {"hook_event_name": event, "tool_input": input}});
            answered(&request)["response"].clone()
        };
        let behind = json!({"command": "make", "run_in_background": true});
        assert_eq!(
            hook("PreToolUse", behind.clone()),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
                "updatedInput": {"command": "make", "run_in_background": false}}})
        );
        assert_eq!(hook("PreToolUse", json!({"command": "make"})), json!({}));
        assert_eq!(hook("PreToolUse", Value::Null), json!({}));
        assert_eq!(hook("Stop", behind), json!({}));
    }

    #[test]
    fn permissions_are_given_and_questions_refused() {
        let ask = |tool: &str, input: Value| {
            answered(&json!({"subtype": "can_use_tool", "tool_name": tool, "input": input}))["response"].clone()
        };
        assert_eq!(
            ask("Write", json!({"file_path": "a"})),
            json!({"behavior": "allow", "updatedInput": {"file_path": "a"}})
        );
        assert_eq!(
            ask("Bash", json!({"run_in_background": true}))["updatedInput"]["run_in_background"],
            false
        );
        assert_eq!(ask("AskUserQuestion", json!({}))["behavior"], "deny");
    }

    #[test]
    fn what_is_not_known_is_refused_and_nothing_is_left_open() {
        for subtype in [
            "mcp_message",
            "elicitation",
            "request_user_dialog",
            "brand_new",
            "",
        ] {
            assert_eq!(
                answered(&json!({"subtype": subtype}))["subtype"],
                "error",
                "{subtype}"
            );
        }
        assert_eq!(answered(&Value::Null)["subtype"], "error");
        assert_eq!(answer(&json!({"type": "control_request"})), None);
    }
}
