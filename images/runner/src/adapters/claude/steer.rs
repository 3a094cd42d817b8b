//! What a person adds while Claude Code works: put into the answer to the next of its hooks. The CLI waits for that answer,
//! so the point where it is read is known: behind a tool, or where the turn would have ended.

use serde_json::{Value, json};

use crate::adapter::Output;
use crate::adapters::frame::text;
use crate::adapters::stream_json::control;

/// The remarks that wait for a hook.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    waiting: Vec<(String, String)>,
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
        let taken = |(id, _)| Output::Steered { id, taken: Ok(()) };
        out.extend(self.waiting.drain(..).map(taken));
        true
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
        let Some(Output::Write(line)) = out.first() else {
            panic!("{out:?}");
        };
        assert!(matches!(&out[1..], [Output::Steered { id, taken: Ok(()) }] if id == "1"));
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
