//! What the agent says and does, from items to events.

use std::collections::VecDeque;

use protocol::{EventBody, LogLevel, ToolStatus};
use serde_json::{Value, json};

use crate::adapters::calls::Calls;
use crate::adapters::frame::{cut, list, log, text};

/// Items whose pieces were told are remembered until they are whole. More are never open at once.
const STREAMED: usize = 64;
/// The answer grows no further than this; a result holds less.
const ANSWER_BYTES: usize = 2 * protocol::limits::OUTPUT_BYTES;

/// What was said and done so far.
#[derive(Debug, Default)]
pub(super) struct Items {
    calls: Calls,
    streamed: VecDeque<String>,
    /// The last message that calls itself the final answer, and the last of any kind.
    answers: (Option<String>, String),
    active: bool,
}

impl Items {
    /// A piece of an item.
    pub(super) fn delta(&mut self, method: &str, params: &Value, events: &mut Vec<EventBody>) {
        let content = text(params, "delta").to_owned();
        let event = match method {
            "item/agentMessage/delta" => EventBody::Text { content },
            "item/reasoning/summaryPartAdded" => {
                // The first part follows nothing.
                if params.get("summaryIndex").and_then(Value::as_u64) == Some(0) {
                    return;
                }
                let content = "\n\n".to_owned();
                EventBody::Thinking { content }
            }
            _ => EventBody::Thinking { content },
        };
        self.active |= matches!(event, EventBody::Text { .. });
        let id = text(params, "itemId");
        if !self.streamed.iter().any(|streamed| streamed == id) {
            if self.streamed.len() == STREAMED {
                self.streamed.pop_front();
            }
            self.streamed.push_back(id.to_owned());
        }
        events.push(event);
    }

    /// An item starts.
    pub(super) fn started(&mut self, item: &Value, events: &mut Vec<EventBody>) {
        if let Some((tool, input)) = call_of(item) {
            self.active = true;
            self.calls.start(text(item, "id"), &tool, input, events);
        }
    }

    /// An item is whole.
    pub(super) fn completed(&mut self, item: &Value, events: &mut Vec<EventBody>) {
        match text(item, "type") {
            "agentMessage" => self.message(item, events),
            "reasoning" => {
                let parts: Vec<_> = ["summary", "content"]
                    .iter()
                    .flat_map(|key| list(item, key))
                    .map(|part| part.as_str().unwrap_or_else(|| text(part, "text")))
                    .filter(|part| !part.is_empty())
                    .collect();
                if !self.was_streamed(item) && !parts.is_empty() {
                    events.push(EventBody::Thinking {
                        content: parts.join("\n\n"),
                    });
                }
            }
            // The prompt comes back.
            "userMessage" => {}
            "contextCompaction" => {
                events.push(log(LogLevel::Info, "the conversation was compacted"))
            }
            _ if call_of(item).is_some() => {
                self.started(item, events);
                let status = match text(item, "status") {
                    "completed" | "" => ToolStatus::Completed,
                    _ => ToolStatus::Failed,
                };
                self.calls
                    .end(text(item, "id"), output_of(item), status, events);
            }
            _ => events.push(log(LogLevel::Debug, item.to_string())),
        }
    }

    /// A tool that may not be used.
    pub(super) fn refused(
        &mut self,
        call: &str,
        tool: &str,
        input: Value,
        why: String,
        events: &mut Vec<EventBody>,
    ) {
        self.active = true;
        self.calls.start(call, tool, input, events);
        self.calls.end(call, why, ToolStatus::Failed, events);
    }

    /// The run is over.
    pub(super) fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }

    /// The agent's answer, and whether it said or did anything.
    pub(super) fn answer(&self) -> (String, bool) {
        let (last_final, last) = &self.answers;
        (last_final.as_ref().unwrap_or(last).clone(), self.active)
    }

    fn message(&mut self, item: &Value, events: &mut Vec<EventBody>) {
        let said = text(item, "text");
        if said.is_empty() {
            return;
        }
        self.active = true;
        if !self.was_streamed(item) {
            events.push(EventBody::Text {
                content: said.to_owned(),
            });
        }
        let said = cut(said.to_owned(), ANSWER_BYTES);
        if text(item, "phase") == "final_answer" {
            self.answers.0 = Some(said.clone());
        }
        self.answers.1 = said;
    }

    fn was_streamed(&mut self, item: &Value) -> bool {
        let id = text(item, "id");
        let at = self.streamed.iter().position(|streamed| streamed == id);
        at.and_then(|at| self.streamed.remove(at)).is_some()
    }
}

/// True for an item that is the use of a tool.
pub(super) fn is_use(item: &Value) -> bool {
    call_of(item).is_some()
}

/// Name and arguments of the tool that an item is the use of; none for items of other kinds.
fn call_of(item: &Value) -> Option<(String, Value)> {
    let at = |key: &str| item.get(key).cloned().unwrap_or(Value::Null);
    let kind = text(item, "type");
    Some(match kind {
        "commandExecution" => (
            "exec_command".to_owned(),
            json!({"command": at("command"), "cwd": at("cwd")}),
        ),
        "fileChange" => ("patch_apply".to_owned(), json!({"changes": at("changes")})),
        "mcpToolCall" => (
            format!("{}.{}", text(item, "server"), text(item, "tool")),
            at("arguments"),
        ),
        "webSearch" => ("web_search".to_owned(), json!({"query": at("query")})),
        "dynamicToolCall" => (text(item, "tool").to_owned(), at("arguments")),
        "collabAgentToolCall" | "imageView" | "imageGeneration" | "sleep" => {
            (kind.to_owned(), Value::Null)
        }
        _ => return None,
    })
}

fn output_of(item: &Value) -> String {
    let texts = |parts: &[Value]| {
        let texts: Vec<_> = parts.iter().map(|part| text(part, "text")).collect();
        texts.join("\n")
    };
    match text(item, "type") {
        "commandExecution" => text(item, "aggregatedOutput").to_owned(),
        "mcpToolCall" => match item.get("error") {
            Some(error) if !error.is_null() => text(error, "message").to_owned(),
            _ => item
                .get("result")
                .map(|result| texts(list(result, "content")))
                .unwrap_or_default(),
        },
        "dynamicToolCall" => texts(list(item, "contentItems")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(items: &mut Items, item: &Value) -> Vec<EventBody> {
        let mut events = Vec::new();
        items.completed(item, &mut events);
        events
    }

    #[test]
    fn the_final_answer_is_the_one_that_calls_itself_so() {
        let message = |id: &str, said: &str, phase: Value| json!({"type": "agentMessage", "id": id, "text": said, "phase": phase});
        let mut items = Items::default();
        told(&mut items, &message("1", "first", json!(null)));
        assert_eq!(items.answer(), ("first".to_owned(), true));
        told(
            &mut items,
            &message("2", "the answer", json!("final_answer")),
        );
        told(&mut items, &message("3", "by the way", json!("commentary")));
        assert_eq!(items.answer().0, "the answer");
    }

    #[test]
    fn what_came_in_pieces_is_not_told_again() {
        let mut items = Items::default();
        let mut events = Vec::new();
        let piece = json!({"itemId": "1", "delta": "a"});
        items.delta("item/agentMessage/delta", &piece, &mut events);
        items.delta(
            "item/reasoning/textDelta",
            &json!({"itemId": "2", "delta": "b"}),
            &mut events,
        );
        assert_eq!(events.len(), 2);
        for item in [
            json!({"type": "agentMessage", "id": "1", "text": "a"}),
            json!({"type": "reasoning", "id": "2", "content": ["b"]}),
        ] {
            assert_eq!(told(&mut items, &item), [], "{item}");
        }
        let whole =
            json!({"type": "reasoning", "id": "3", "summary": ["c"], "content": [{"text": "d"}]});
        assert_eq!(
            told(&mut items, &whole),
            [EventBody::Thinking {
                content: "c\n\nd".to_owned()
            }]
        );
    }

    #[test]
    fn tools_are_named_and_paired() {
        for (item, tool, output, status) in [
            (
                json!({"type": "commandExecution", "id": "1", "command": "ls", "aggregatedOutput": "x", "status": "failed"}),
                "exec_command",
                "x",
                ToolStatus::Failed,
            ),
            (
                json!({"type": "mcpToolCall", "id": "1", "server": "s", "tool": "t", "status": "completed",
                    "result": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}),
                "s.t",
                "a\nb",
                ToolStatus::Completed,
            ),
            (
                json!({"type": "mcpToolCall", "id": "1", "server": "s", "tool": "t", "status": "failed", "error": {"message": "no"}}),
                "s.t",
                "no",
                ToolStatus::Failed,
            ),
            (
                json!({"type": "webSearch", "id": "1", "query": "q"}),
                "web_search",
                "",
                ToolStatus::Completed,
            ),
        ] {
            let events = told(&mut Items::default(), &item);
            assert!(
                matches!(&events[0], EventBody::ToolUse { tool: name, .. } if name == tool),
                "{item}"
            );
            let result = EventBody::ToolResult {
                call_id: "1".to_owned(),
                tool: Some(tool.to_owned()),
                output: output.to_owned(),
                status: Some(status),
            };
            assert_eq!(events[1..], [result], "{item}");
        }
    }
}
