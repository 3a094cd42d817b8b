//! What the agent says and does, from pi's events to ours, and how its last step ended. One model call with its
//! tools is a "turn" of pi's; ours has many of them.

use std::collections::BTreeMap;

use protocol::{EventBody, FailureClass, TokenUsage, ToolStatus};
use serde_json::Value;

use crate::adapters::calls::Calls;
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::{count, cut, flag, list, text};
use crate::classify;

/// An answer grows no further than this; a result holds less.
const ANSWER_BYTES: usize = 2 * protocol::limits::OUTPUT_BYTES;
/// Models that are told apart; a run names one or two.
const MODELS: usize = 32;

/// What was said and done so far.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Talk {
    calls: Calls,
    /// Pieces of the message that is being said were told.
    streamed: bool,
    active: bool,
    /// The last step: why it ended, and its words.
    last: Option<(String, String)>,
    usage: BTreeMap<String, TokenUsage>,
}

impl Talk {
    /// A piece of a message.
    pub(in crate::adapters) fn piece(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let piece = frame.get("assistantMessageEvent").unwrap_or(&Value::Null);
        let content = text(piece, "delta").to_owned();
        match text(piece, "type") {
            "text_delta" => {
                self.active = true;
                events.push(EventBody::Text { content });
            }
            "thinking_delta" => events.push(EventBody::Thinking { content }),
            _ => return,
        }
        self.streamed = true;
    }

    /// A message begins.
    pub(in crate::adapters) fn begin(&mut self) {
        self.streamed = false;
    }

    /// A message is whole.
    pub(in crate::adapters) fn whole(&mut self, message: &Value, events: &mut Vec<EventBody>) {
        if text(message, "role") != "assistant" || self.streamed {
            return;
        }
        for block in list(message, "content") {
            let content = |key| text(block, key).to_owned();
            match text(block, "type") {
                "text" => {
                    self.active = true;
                    events.push(EventBody::Text {
                        content: content("text"),
                    });
                }
                "thinking" => events.push(EventBody::Thinking {
                    content: content("thinking"),
                }),
                _ => {}
            }
        }
    }

    /// A tool starts.
    pub(in crate::adapters) fn tool(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        self.active = true;
        let input = frame.get("args").cloned().unwrap_or(Value::Null);
        let (id, tool) = (text(frame, "toolCallId"), text(frame, "toolName"));
        self.calls.start(id, tool, input, events);
    }

    /// A tool has ended.
    pub(in crate::adapters) fn tool_ended(&mut self, frame: &Value, events: &mut Vec<EventBody>) {
        let result = frame.get("result").unwrap_or(&Value::Null);
        let output: Vec<_> = list(result, "content")
            .iter()
            .map(|block| text(block, "text"))
            .collect();
        let status = if flag(frame, "isError") {
            ToolStatus::Failed
        } else {
            ToolStatus::Completed
        };
        let id = text(frame, "toolCallId");
        self.calls.end(id, output.join("\n"), status, events);
    }

    /// A step has ended.
    pub(in crate::adapters) fn step(&mut self, message: &Value) {
        let usage = message.get("usage").unwrap_or(&Value::Null);
        let counted = TokenUsage {
            input: count(usage, "input"),
            output: count(usage, "output"),
            cache_read: count(usage, "cacheRead"),
            cache_write: count(usage, "cacheWrite"),
        };
        let model = text(message, "model");
        let known = self.usage.contains_key(model) || self.usage.len() < MODELS;
        if counted != TokenUsage::default() && known {
            let sum = self.usage.entry(model.to_owned()).or_default();
            let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
            add(&mut sum.input, counted.input);
            add(&mut sum.output, counted.output);
            add(&mut sum.cache_read, counted.cache_read);
            add(&mut sum.cache_write, counted.cache_write);
        }
        let reason = text(message, "stopReason");
        let words = if reason == "error" {
            text(message, "errorMessage").to_owned()
        } else {
            let said = list(message, "content").iter();
            let said = said.filter(|block| text(block, "type") == "text");
            said.map(|block| text(block, "text")).collect()
        };
        self.last = Some((reason.to_owned(), cut(words, ANSWER_BYTES)));
    }

    /// The judgement of a run that came to rest. `interrupted`: we asked for its end.
    pub(in crate::adapters) fn judge(&self, interrupted: bool) -> Judgement {
        let fault = |class, message: &str| Err(Fault::new(class, message));
        let (reason, words) = match &self.last {
            Some((reason, words)) => (reason.as_str(), words.as_str()),
            None if interrupted => ("aborted", ""),
            None => ("stop", ""),
        };
        match reason {
            _ if interrupted && reason != "stop" => {
                fault(FailureClass::Cancelled, "the turn was interrupted")
            }
            "stop" => answer(words, self.active),
            "error" if words.is_empty() => fault(
                FailureClass::Unknown,
                "the turn failed, and pi said no more",
            ),
            // All that its HTTP library says of a connection that was cut.
            "error" if words == "terminated" => fault(FailureClass::ProviderNetwork, words),
            "error" => fault(class(words), words),
            "length" => fault(
                FailureClass::EmptyOutput,
                "the answer was cut off at the limit of tokens",
            ),
            "aborted" => fault(
                FailureClass::CliCrashed,
                "the turn was ended from outside, and not by Mooring",
            ),
            other => {
                let message = format!("the turn ended in a way that is not known here ({other})");
                fault(FailureClass::Unknown, &message)
            }
        }
    }

    /// True when the last step failed.
    pub(in crate::adapters) fn failed(&self) -> bool {
        self.last
            .as_ref()
            .is_some_and(|(reason, _)| reason == "error")
    }

    /// The run is over.
    pub(in crate::adapters) fn close(&mut self, events: &mut Vec<EventBody>) {
        self.calls.close(events);
    }

    /// Tokens by model.
    pub(in crate::adapters) fn usage(&mut self) -> BTreeMap<String, TokenUsage> {
        std::mem::take(&mut self.usage)
    }
}

/// The words begin with the provider's status where there was one; what follows is its own.
fn class(words: &str) -> FailureClass {
    let status = words.split(|c: char| !c.is_ascii_digit()).next();
    let of_status = status
        .and_then(|status| status.parse().ok())
        .and_then(classify::of_status);
    classify::hinted(of_status, words)
}

fn answer(words: &str, active: bool) -> Judgement {
    if let Some(class) = classify::of_poisoned_output(words) {
        return Err(Fault::of_spent(class, words));
    }
    if words.is_empty() && !active {
        return Err(Fault::new(
            FailureClass::EmptyOutput,
            "the agent said nothing and did nothing",
        ));
    }
    Ok(words.to_owned())
}

#[cfg(test)]
mod tests {
    use FailureClass as C;
    use serde_json::json;

    use super::*;

    fn judged(reason: &str, words: &str, interrupted: bool) -> Result<String, C> {
        let mut talk = Talk::default();
        let content = json!([{"type": "text", "text": words}]);
        talk.step(&json!({"stopReason": reason, "errorMessage": words, "content": content}));
        talk.judge(interrupted).map_err(|fault| fault.class)
    }

    #[test]
    fn reasons() {
        for (reason, words, interrupted, wanted) in [
            ("stop", "Done.", false, Ok("Done.".to_owned())),
            ("stop", "Done.", true, Ok("Done.".to_owned())),
            ("stop", "", false, Err(C::EmptyOutput)),
            (
                "stop",
                "I reached the iteration limit",
                false,
                Err(C::IterationLimit),
            ),
            (
                "error",
                "401 invalid x-api-key",
                false,
                Err(C::ProviderAuth),
            ),
            ("error", "terminated", false, Err(C::ProviderNetwork)),
            ("error", "", false, Err(C::Unknown)),
            (
                "error",
                "404 {\"type\":\"error\"}",
                false,
                Err(C::ModelNotFound),
            ),
            ("error", "400: odd", false, Err(C::Unknown)),
            (
                "error",
                "503 the access token service is down",
                false,
                Err(C::ProviderServerError),
            ),
            ("error", "429 quota exceeded", false, Err(C::ProviderQuota)),
            ("length", "Do", false, Err(C::EmptyOutput)),
            ("aborted", "", true, Err(C::Cancelled)),
            ("aborted", "", false, Err(C::CliCrashed)),
            ("brand_new", "Done.", false, Err(C::Unknown)),
        ] {
            assert_eq!(
                judged(reason, words, interrupted),
                wanted,
                "{reason} {words}"
            );
        }
        let nothing = Talk::default();
        assert_eq!(nothing.judge(true).unwrap_err().class, C::Cancelled);
        assert_eq!(nothing.judge(false).unwrap_err().class, C::EmptyOutput);
    }

    #[test]
    fn steps_add_up_by_model() {
        let mut talk = Talk::default();
        for (model, input) in [("a", 100), ("b", 7), ("a", u64::MAX)] {
            talk.step(&json!({"model": model, "usage": {"input": input, "output": 1, "cacheRead": 2, "cacheWrite": 3}}));
        }
        talk.step(&json!({"model": "c", "usage": {"input": -1}}));
        let usage = talk.usage();
        let counted: Vec<_> = usage
            .values()
            .map(|usage| {
                (
                    usage.input,
                    usage.output,
                    usage.cache_read,
                    usage.cache_write,
                )
            })
            .collect();
        assert_eq!(counted, [(u64::MAX, 2, 4, 6), (7, 1, 2, 3)]);
    }

    #[test]
    fn a_message_is_told_once_in_pieces_or_whole() {
        let whole = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]});
        let piece = json!({"assistantMessageEvent": {"type": "text_delta", "delta": "a"}});
        for (pieces, wanted) in [(vec![], 2), (vec![&piece], 1)] {
            let (mut talk, mut events) = (Talk::default(), Vec::new());
            talk.begin();
            for piece in pieces {
                talk.piece(piece, &mut events);
            }
            talk.whole(&whole, &mut events);
            talk.whole(
                &json!({"role": "user", "content": [{"type": "text", "text": "x"}]}),
                &mut events,
            );
            assert_eq!(events.len(), wanted);
        }
    }
}
