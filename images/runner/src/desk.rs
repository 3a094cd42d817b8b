//! An MCP server with one tool, by which the hook of a coding agent's program asks whether it may use another one.
//!
//! It knows nothing itself: it asks the client of the program, which is the runner, and says what that one said.
//! It is started by the program, so the agent can end it. Then the program goes on without an answer, which the runner sees.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _, Write};

use protocol::limits;
use serde_json::{Value, json};

/// The tool.
pub const TOOL: &str = "may";
/// Fields of the runner's answer: what it says, and what the tool is to be given instead.
pub const ANSWER: &str = "answer";
/// The same, of the tool's input, as JSON in a text.
pub const INPUT: &str = "input";
/// The answer with which the tool is used. Any other says why not.
pub const YES: &str = "yes";

/// The version of the protocol, where the client names none.
const VERSION: &str = "2025-06-18";
/// Code of the answer to a method that is not served here.
const METHOD_NOT_FOUND: i64 = -32601;
/// Questions that may wait. Who asks one more is told no.
const OPEN: usize = 256;

/// Serves until its input ends.
///
/// # Errors
/// When it cannot be read from or written to.
pub fn serve(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut desk = Desk::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = limits::LINE_BYTES as u64;
        if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(frame) = serde_json::from_slice(&line)
            .ok()
            .and_then(|frame| desk.hears(&frame))
        {
            writeln!(output, "{frame}")?;
            output.flush()?;
        }
    }
}

/// What it knows between two lines.
#[derive(Debug, Default)]
struct Desk {
    /// Calls of the tool that wait, by the id of our question.
    open: BTreeMap<String, Value>,
    asked: u64,
}

impl Desk {
    /// What is said to this frame.
    fn hears(&mut self, frame: &Value) -> Option<Value> {
        let id = frame.get("id").filter(|id| !id.is_null())?;
        let params = frame.get("params").unwrap_or(&Value::Null);
        let Some(method) = frame.get("method").and_then(Value::as_str) else {
            return self.answered(id, frame);
        };
        let result = match method {
            "initialize" => {
                let version = params.get("protocolVersion").and_then(Value::as_str);
                json!({
                    "protocolVersion": version.unwrap_or(VERSION), "capabilities": {"tools": {}},
                    "serverInfo": {"name": "mooring", "version": env!("CARGO_PKG_VERSION")},
                })
            }
            "ping" => json!({}),
            "tools/list" => json!({"tools": [{
                "name": TOOL, "description": "Not for you.", "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true},
            }]}),
            "tools/call" if self.open.len() < OPEN => return Some(self.asks(id, params)),
            "tools/call" => said("too many questions wait already", None),
            _ => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": format!("not served here: {method}")});
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn asks(&mut self, call: &Value, params: &Value) -> Value {
        self.asked += 1;
        let id = format!("may-{}", self.asked);
        self.open.insert(id.clone(), call.clone());
        let arguments = params.get("arguments").unwrap_or(&Value::Null);
        let fields = json!({ANSWER: {"type": "string"}, INPUT: {"type": "string"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
            "message": arguments.to_string(), "requestedSchema": {"type": "object", "properties": fields},
        }})
    }

    fn answered(&mut self, id: &Value, frame: &Value) -> Option<Value> {
        let call = self.open.remove(id.as_str()?)?;
        let content = frame.pointer("/result/content").unwrap_or(&Value::Null);
        let word = content
            .get(ANSWER)
            .and_then(Value::as_str)
            .unwrap_or("it may not be used");
        let input = content.get(INPUT).and_then(Value::as_str);
        let input = input.and_then(|input| serde_json::from_str(input).ok());
        Some(json!({"jsonrpc": "2.0", "id": call, "result": said(word, input)}))
    }
}

/// The result of the tool, in the form of a hook's output.
fn said(word: &str, input: Option<Value>) -> Value {
    let output = match (word, input) {
        (YES, None) => json!({}),
        (YES, Some(input)) => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input,
        }}),
        (why, _) => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        }}),
    };
    json!({"content": [{"type": "text", "text": output.to_string()}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it writes to these lines.
    fn served(lines: &[Value]) -> Vec<Value> {
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        let lines = output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    fn decision(frame: &Value) -> Value {
        let text = frame["result"]["content"][0]["text"].as_str().unwrap();
        serde_json::from_str::<Value>(text).unwrap()["hookSpecificOutput"].clone()
    }

    #[test]
    fn it_is_greeted_and_names_its_tool() {
        let said = served(&[
            json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2030-01-01"}}),
            json!({"method": "notifications/initialized"}),
            json!({"id": 1, "method": "tools/list"}),
            json!({"id": 2, "method": "resources/list"}),
        ]);
        assert_eq!(said[0]["result"]["protocolVersion"], "2030-01-01");
        assert_eq!(said[1]["result"]["tools"][0]["name"], TOOL);
        assert_eq!(
            (said.len(), &said[2]["error"]["code"]),
            (3, &json!(METHOD_NOT_FOUND))
        );
    }

    #[test]
    fn it_says_what_it_is_told() {
        let arguments = json!({"call": "a", "tool": "Bash", "input": {"command": "ls"}});
        for (result, wanted) in [
            (
                json!({"action": "accept", "content": {ANSWER: YES}}),
                Value::Null,
            ),
            (
                json!({"action": "accept", "content": {ANSWER: YES, INPUT: "{\"command\": \"pwd\"}"}}),
                json!({"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "pwd"}}),
            ),
            (
                json!({"action": "accept", "content": {ANSWER: "because"}}),
                json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "because"}),
            ),
            (
                json!({"action": "decline"}),
                json!({"hookEventName": "PreToolUse", "permissionDecision": "deny",
                    "permissionDecisionReason": "it may not be used"}),
            ),
        ] {
            let said = served(&[
                json!({"id": 7, "method": "tools/call", "params": {"name": TOOL, "arguments": arguments}}),
                json!({"id": "may-1", "result": result}),
                // Once.
                json!({"id": "may-1", "result": result}),
            ]);
            assert_eq!(
                (said.len(), &said[0]["method"]),
                (2, &json!("elicitation/create"))
            );
            assert_eq!(said[0]["params"]["message"], arguments.to_string());
            assert_eq!((&said[1]["id"], decision(&said[1])), (&json!(7), wanted));
        }
        let error = served(&[
            json!({"id": 7, "method": "tools/call", "params": {}}),
            json!({"id": "may-1", "error": {"code": 1, "message": "no"}}),
        ]);
        assert_eq!(decision(&error[1])["permissionDecision"], "deny");
    }

    #[test]
    fn questions_are_bounded() {
        let call = |id: usize| json!({"id": id, "method": "tools/call", "params": {}});
        let calls: Vec<_> = (0..=OPEN).map(call).collect();
        let said = served(&calls);
        assert_eq!(said[OPEN - 1]["method"], "elicitation/create");
        assert_eq!(decision(&said[OPEN])["permissionDecision"], "deny");
    }
}
