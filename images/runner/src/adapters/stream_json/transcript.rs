//! What the agent says and does, from `assistant` and `user` frames to events.

use protocol::{EventBody, LogLevel, ToolStatus};
use serde_json::Value;

use super::Meter;
use crate::adapters::calls::Calls;
use crate::adapters::frame::{content_text, flag, is_nested, list, log, text};

/// Model of the frames in which a CLI words a failure of its own as if the agent had said it.
pub(in crate::adapters) const SYNTHETIC: &str = "<synthetic>";

/// A candidate for the answer grows no further than this; a result holds less.
const CANDIDATE_BYTES: usize = 2 * protocol::limits::OUTPUT_BYTES;

/// What was said and done so far.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Transcript {
    calls: Calls,
    candidate: Option<Candidate>,
    /// True once the agent said or did anything in this turn.
    active: bool,
    /// The word for a failure of the provider, from the last synthetic frame of this turn.
    fault: Option<String>,
}

/// The last words of a message without tools: the answer, if the result frame holds none.
#[derive(Debug)]
struct Candidate {
    message: String,
    text: String,
}

/// What a turn leaves for the judgement of its result.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Turn {
    /// The last words of a message without tools.
    pub(in crate::adapters) candidate: String,
    /// True when the agent said or did anything.
    pub(in crate::adapters) active: bool,
    /// The word for a failure of the provider.
    pub(in crate::adapters) fault: Option<String>,
}

impl Transcript {
    /// An `assistant` frame: one block or several of one message.
    pub(in crate::adapters) fn assistant(
        &mut self,
        frame: &Value,
        meter: &mut Meter,
        events: &mut Vec<EventBody>,
    ) {
        let Some(message) = frame.get("message") else {
            events.push(log(LogLevel::Debug, frame.to_string()));
            return;
        };
        if text(message, "model") == SYNTHETIC {
            self.synthetic(frame, message, events);
            return;
        }
        let nested = is_nested(frame);
        if !nested {
            meter.message(message);
        }
        for block in list(message, "content") {
            match text(block, "type") {
                "text" => self.text(text(message, "id"), text(block, "text"), nested, events),
                "thinking" => {
                    let content = text(block, "thinking");
                    if !content.is_empty() && !nested {
                        events.push(EventBody::Thinking {
                            content: content.to_owned(),
                        });
                    }
                }
                // Encrypted: nothing to show, and no sign that the message goes on.
                "redacted_thinking" => {}
                "tool_use" => {
                    self.candidate = None;
                    self.active = true;
                    let input = block.get("input").cloned().unwrap_or(Value::Null);
                    self.calls
                        .start(text(block, "id"), text(block, "name"), input, events);
                }
                _ => {
                    self.candidate = None;
                    events.push(log(LogLevel::Debug, block.to_string()));
                }
            }
        }
    }

    /// A `user` frame: results of tools, or words that the CLI put in for its own ends.
    pub(in crate::adapters) fn user(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let content = frame
            .get("message")
            .and_then(|message| message.get("content"));
        let blocks = content
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let mut answers = false;
        for block in blocks
            .iter()
            .filter(|block| text(block, "type") == "tool_result")
        {
            answers = true;
            let status = if flag(block, "is_error") {
                ToolStatus::Failed
            } else {
                ToolStatus::Completed
            };
            self.calls.end(
                text(block, "tool_use_id"),
                content_text(block.get("content")),
                status,
                events,
            );
        }
        if !answers {
            events.push(log(
                LogLevel::Debug,
                format!("to the agent: {}", content_text(content)),
            ));
        }
    }

    /// The turn is over; what is told next belongs to another one.
    pub(in crate::adapters) fn end_turn(&mut self) -> Turn {
        Turn {
            candidate: self
                .candidate
                .take()
                .map(|candidate| candidate.text)
                .unwrap_or_default(),
            active: std::mem::take(&mut self.active),
            fault: self.fault.take(),
        }
    }

    /// The run is over.
    pub(in crate::adapters) fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }

    fn text(&mut self, message: &str, said: &str, nested: bool, events: &mut Vec<EventBody>) {
        if nested {
            // A nested agent answers its caller, who will say what of it matters.
            events.push(log(LogLevel::Debug, format!("nested agent: {said}")));
            return;
        }
        if said.is_empty() {
            return;
        }
        self.active = true;
        match &mut self.candidate {
            Some(candidate) if candidate.message == message => {
                if candidate.text.len() + said.len() <= CANDIDATE_BYTES {
                    candidate.text.push_str(said);
                }
            }
            _ => {
                self.candidate = Some(Candidate {
                    message: message.to_owned(),
                    text: said.to_owned(),
                })
            }
        }
        events.push(EventBody::Text {
            content: said.to_owned(),
        });
    }

    fn synthetic(&mut self, frame: &Value, message: &Value, events: &mut Vec<EventBody>) {
        let content = content_text(message.get("content"));
        let fault = text(frame, "error");
        if fault.is_empty() {
            events.push(log(LogLevel::Debug, content));
        } else {
            self.fault = Some(fault.to_owned());
            events.push(EventBody::Error { content });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assistant(id: &str, content: Value) -> Value {
        json!({"type": "assistant", "message": {"id": id, "model": "m", "content": content}})
    }

    /// The candidate after these frames of the agent.
    fn candidate(frames: &[Value]) -> String {
        let mut transcript = Transcript::default();
        let mut meter = Meter::new(false);
        for frame in frames {
            transcript.assistant(frame, &mut meter, &mut Vec::new());
        }
        transcript.end_turn().candidate
    }

    #[test]
    fn the_candidate_is_the_last_text_without_tools() {
        let said = |id, words: &str| assistant(id, json!([{"type": "text", "text": words}]));
        let tool = |id| {
            assistant(
                id,
                json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
            )
        };
        let thought = |id| assistant(id, json!([{"type": "thinking", "thinking": "hm"}]));
        let odd = |id| assistant(id, json!([{"type": "new_block"}]));
        for (frames, answer) in [
            (vec![said("1", "a"), said("2", "b")], "b"),
            (vec![said("1", "a"), said("1", "b")], "ab"),
            (vec![said("1", "a"), tool("1")], ""),
            (vec![said("1", "a"), tool("2"), said("3", "c")], "c"),
            (vec![said("1", "a"), thought("2")], "a"),
            (vec![said("1", "a"), odd("2")], ""),
        ] {
            assert_eq!(candidate(&frames), answer, "{frames:?}");
        }
    }

    #[test]
    fn a_nested_agent_shows_its_tools_and_never_answers() {
        let mut nested = assistant(
            "1",
            json!([{"type": "text", "text": "inner"}, {"type": "tool_use", "id": "t", "name": "Read", "input": {}}]),
        );
        nested["parent_tool_use_id"] = json!("outer");
        let mut transcript = Transcript::default();
        let mut meter = Meter::new(false);
        let mut events = Vec::new();
        transcript.assistant(&nested, &mut meter, &mut events);
        assert_eq!(
            events,
            [
                log(LogLevel::Debug, "nested agent: inner"),
                EventBody::ToolUse {
                    tool: "Read".to_owned(),
                    call_id: "t".to_owned(),
                    input: json!({})
                },
            ]
        );
        assert_eq!(transcript.end_turn().candidate, "");
        assert!(meter.total().is_empty());
    }

    #[test]
    fn a_turn_starts_with_nothing_of_the_last() {
        let mut transcript = Transcript::default();
        let frame = assistant("1", json!([{"type": "text", "text": "a"}]));
        transcript.assistant(&frame, &mut Meter::new(false), &mut Vec::new());
        assert!(transcript.end_turn().active);
        let next = transcript.end_turn();
        assert!(!next.active && next.candidate.is_empty());
    }
}
