//! What a person adds while Claude Code works: put into the answer to the next of its hooks. The CLI waits for that answer,
//! so the point where it is read is known: behind a tool, or where the turn would have ended. It was read once the model
//! has begun another message; a CLI that dies before has kept it from the model.

use serde_json::{Value, json};

use crate::adapter::Output;
use crate::adapters::frame::{is_nested, text};
use crate::adapters::stream_json::{SYNTHETIC, control};

/// The remarks that wait for a hook, or for the model.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    waiting: Vec<(String, String)>,
    /// Went with an answer, and the model has begun no message since.
    given: Vec<String>,
    /// The model's newest message.
    message: String,
    /// The turn was let to its end.
    over: bool,
}

impl Remarks {
    /// Takes one, unless the turn is over.
    pub(super) fn add(&mut self, id: &str, text: &str, out: &mut Vec<Output>) {
        if self.over {
            out.push(Output::Steered {
                id: id.to_owned(),
                taken: Err("the turn was over already".to_owned()),
            });
        } else {
            self.waiting.push((id.to_owned(), text.to_owned()));
        }
    }

    /// A new turn has begun in the same process.
    pub(super) fn begin(&mut self) {
        self.over = false;
    }

    /// Answers a hook with what waits; false where it is none that can carry it, or nothing waits.
    pub(super) fn answer(&mut self, frame: &Value, out: &mut Vec<Output>) -> bool {
        let request = frame.get("request").unwrap_or(&Value::Null);
        let input = request.get("input").unwrap_or(&Value::Null);
        let id = text(frame, "request_id");
        // What nested agents do is not the turn.
        let nested = input.get("agent_id").is_some_and(|agent| !agent.is_null());
        if text(request, "subtype") != "hook_callback" || id.is_empty() || nested {
            return false;
        }
        let event = text(input, "hook_event_name");
        let stops = event == "Stop";
        if self.waiting.is_empty() {
            self.over |= stops;
            return false;
        }
        let words: Vec<_> = self.waiting.iter().map(|(_, text)| text.as_str()).collect();
        let words = words.join("\n\n");
        let answer = match event {
            "Stop" => json!({"decision": "block", "reason": words}),
            "PostToolUse" | "PostToolUseFailure" => json!({
                "hookSpecificOutput": {"hookEventName": event, "additionalContext": words},
            }),
            _ => return false,
        };
        out.push(Output::Write(control::success(id, &answer)));
        self.given.extend(self.waiting.drain(..).map(|(id, _)| id));
        true
    }

    /// The model says something. The blocks of one message come in frames of their own, and some of them behind the
    /// hook of a tool that another one used.
    pub(super) fn spoken(&mut self, frame: &Value, out: &mut Vec<Output>) {
        let message = frame.get("message").unwrap_or(&Value::Null);
        let id = text(message, "id");
        let by_model = !is_nested(frame) && text(message, "model") != SYNTHETIC;
        if !by_model || id.is_empty() || id == self.message {
            return;
        }
        id.clone_into(&mut self.message);
        let taken = |id| Output::Steered { id, taken: Ok(()) };
        out.extend(self.given.drain(..).map(taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(event: &str, agent: Option<&str>) -> Value {
        json!({"type": "control_request", "request_id": "r", "request": {
            "subtype": "hook_callback", "input": {"hook_event_name": event, "agent_id": agent},
        }})
    }

    fn given(remarks: &mut Remarks, frame: &Value) -> Option<Value> {
        let mut out = Vec::new();
        if !remarks.answer(frame, &mut out) {
            assert_eq!(out, []);
            return None;
        }
        let [Output::Write(line)] = &out[..] else {
            panic!("{out:?}");
        };
        let frame: Value = serde_json::from_slice(line).unwrap();
        Some(frame["response"]["response"].clone())
    }

    #[test]
    fn a_remark_goes_with_the_next_hook_that_can_carry_it() {
        for (event, key) in [
            ("PostToolUse", "/hookSpecificOutput/additionalContext"),
            (
                "PostToolUseFailure",
                "/hookSpecificOutput/additionalContext",
            ),
            ("Stop", "/reason"),
        ] {
            let mut remarks = Remarks::default();
            remarks.add("1", "only Safari", &mut Vec::new());
            assert_eq!(given(&mut remarks, &hook("PreToolUse", None)), None);
            assert_eq!(given(&mut remarks, &hook(event, Some("nested"))), None);
            let answer = given(&mut remarks, &hook(event, None)).unwrap();
            assert_eq!(answer.pointer(key).unwrap(), "only Safari", "{answer}");
            assert_eq!(given(&mut remarks, &hook(event, None)), None, "once");
        }
    }

    fn taken(
        remarks: &mut Remarks,
        message: &str,
        model: &str,
        within: Option<&str>,
    ) -> Vec<String> {
        let mut out = Vec::new();
        let message = json!({"id": message, "model": model});
        let frame = json!({"type": "assistant", "message": message, "parent_tool_use_id": within});
        remarks.spoken(&frame, &mut out);
        let ids = out.into_iter().map(|output| {
            let Output::Steered { id, taken: Ok(()) } = output else {
                panic!("{output:?}");
            };
            id
        });
        ids.collect()
    }

    #[test]
    fn a_remark_is_taken_in_once_the_model_has_begun_another_message() {
        let mut remarks = Remarks::default();
        let none: [&str; 0] = [];
        assert_eq!(taken(&mut remarks, "m1", "opus", None), none);
        remarks.add("1", "only Safari", &mut Vec::new());
        assert_eq!(taken(&mut remarks, "m2", "opus", None), none);
        given(&mut remarks, &hook("PostToolUse", None)).unwrap();
        for (message, model, within) in [
            ("m2", "opus", None),
            ("m3", "opus", Some("toolu_1")),
            ("m3", SYNTHETIC, None),
            ("", "opus", None),
        ] {
            assert_eq!(
                taken(&mut remarks, message, model, within),
                none,
                "{message} {model}"
            );
        }
        assert_eq!(taken(&mut remarks, "m3", "opus", None), ["1"]);
        assert_eq!(taken(&mut remarks, "m4", "opus", None), none);
    }

    #[test]
    fn a_turn_that_was_let_to_its_end_takes_none() {
        let mut remarks = Remarks::default();
        assert_eq!(given(&mut remarks, &hook("Stop", None)), None);
        let mut out = Vec::new();
        remarks.add("1", "late", &mut out);
        assert!(matches!(&out[..], [Output::Steered { taken: Err(_), .. }]));
        remarks.begin();
        out.clear();
        remarks.add("1", "again", &mut out);
        assert_eq!(out, []);
    }
}
