//! What stands before each use of a tool, where the Agent says which it may use.
//!
//! Permissions are bypassed, so the CLI asks nobody by itself; but it calls our hook before every tool, and waits for the
//! answer. What a person approved is given back as the tool's input: nothing else runs, whatever was changed meanwhile.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::tools::{Judgement, ToolPolicy};
use serde_json::{Value, json};

use super::control;
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::{flag, list, text};
use crate::adapters::guard::{Guard, Held};
use crate::adapters::own::Own;

/// Approvals that are remembered.
const APPROVED: usize = 16_384;

/// The gate of one run. Without a policy it is open and sees nothing.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Gate {
    guard: Guard<Way>,
    /// What a person approved, by the call. Asked about it in another way, the CLI hears the same.
    approved: BTreeMap<String, Value>,
}

/// In which way the CLI asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Hook,
    Permission,
}

impl Gate {
    /// True when there is something to be held to.
    pub(in crate::adapters) fn holds(&self) -> bool {
        self.guard.holds()
    }

    /// For one run in this working directory.
    pub(in crate::adapters) fn new(policy: ToolPolicy, work: &Path) -> Self {
        Self {
            guard: Guard::new(policy, work),
            ..Self::default()
        }
    }

    /// The same, and no tool is for what is the CLI's own.
    pub(in crate::adapters) fn without(self, own: Own) -> Self {
        Self {
            guard: self.guard.without(own),
            ..self
        }
    }

    /// Takes a request of the CLI. False when it is none of a tool, or the tool may be used: then it is answered as if
    /// there were no gate.
    pub(in crate::adapters) fn takes(&mut self, frame: &Value, out: &mut Vec<Output>) -> bool {
        let Some(asked) = self.asked(frame) else {
            return false;
        };
        let (id, call, tool, input) = (asked.id, asked.call, asked.tool, asked.input);
        let input = control::in_foreground(Some(input)).unwrap_or_else(|| input.clone());
        let held = Held {
            way: asked.way,
            call: call.to_owned(),
            input,
        };
        let refused = match self.guard.judge(call, tool, &held.input, asked.now) {
            Judgement::Allow => return false,
            Judgement::Deny(why) => Some((held, why)),
            Judgement::Ask(_) if self.approved.get(call) == Some(&held.input) => {
                out.push(Output::Write(answer(&held, id, true, None)));
                None
            }
            Judgement::Ask(why) => self.guard.ask(id, tool, why, held, out).map(|held| {
                let why = "a request with this id was asked already";
                (held, why.to_owned())
            }),
        };
        if let Some((held, why)) = refused {
            out.push(Output::Write(answer(&held, id, false, Some(&why))));
        }
        true
    }

    /// The answer for the CLI, of a question that waits.
    pub(in crate::adapters) fn decide(
        &mut self,
        id: &str,
        allow: bool,
        why: Option<&str>,
    ) -> Option<Vec<u8>> {
        let held = self.guard.decided(id)?;
        let answer = answer(&held, id, allow, why);
        if allow && self.approved.len() < APPROVED {
            self.approved.insert(held.call, held.input);
        }
        Some(answer)
    }

    /// The CLI takes a question back.
    pub(in crate::adapters) fn cancelled(&mut self, frame: &Value, out: &mut Vec<Output>) {
        self.guard.withdraw(text(frame, "request_id"), out);
    }

    /// Looks for tools in a `user` frame that were used without having come by here: then nothing holds an agent to its
    /// tools any more. One that failed has done something too, but for those that the CLI itself did not begin.
    pub(in crate::adapters) fn passed_by(&self, frame: &Value) -> Option<Fault> {
        let message = frame.get("message").unwrap_or(&Value::Null);
        let results = list(message, "content").iter();
        results
            .filter(|block| text(block, "type") == "tool_result" && !not_begun(block))
            .find_map(|block| self.guard.passed(text(block, "tool_use_id")))
    }

    fn asked<'f>(&self, frame: &'f Value) -> Option<Asked<'f>> {
        if !self.guard.holds() {
            return None;
        }
        let id = frame.get("request_id").and_then(Value::as_str)?;
        let request = frame.get("request")?;
        let (way, of, name, input) = match text(request, "subtype") {
            "hook_callback" => {
                let of = request.get("input")?;
                if text(of, "hook_event_name") != "PreToolUse" {
                    return None;
                }
                (Way::Hook, of, "tool_name", "tool_input")
            }
            "can_use_tool" => (Way::Permission, request, "tool_name", "input"),
            _ => return None,
        };
        let input = of.get(input).unwrap_or(&Value::Null);
        // Some name the call beside what the hook is given.
        let call = match text(of, "tool_use_id") {
            "" => text(request, "tool_use_id"),
            call => call,
        };
        Some(Asked {
            id,
            way,
            tool: text(of, name),
            call,
            input,
            now: of.get("cwd").and_then(Value::as_str),
        })
    }
}

/// What the CLI asks about a tool.
struct Asked<'f> {
    id: &'f str,
    way: Way,
    tool: &'f str,
    call: &'f str,
    input: &'f Value,
    /// Where the CLI is.
    now: Option<&'f str>,
}

/// True for the result of a call that the CLI refused before it came to the tool: one that it does not know, or with an
/// input that is none. What a tool prints never begins so: a command that fails begins with its exit code.
fn not_begun(block: &Value) -> bool {
    let content = block.get("content").unwrap_or(&Value::Null);
    let words = content.as_str().or_else(|| {
        let first = content.as_array()?.first()?;
        first.get("text")?.as_str()
    });
    let words = words.and_then(|words| words.strip_prefix("<tool_use_error>"));
    flag(block, "is_error") && words.is_some_and(|words| !words.starts_with("Error calling tool"))
}

fn answer(held: &Held<Way>, id: &str, allow: bool, why: Option<&str>) -> Vec<u8> {
    let why = why.unwrap_or("it may not be used");
    let response = match (held.way, allow) {
        (Way::Hook, true) => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": held.input,
        }}),
        (Way::Hook, false) => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        }}),
        (Way::Permission, true) => json!({"behavior": "allow", "updatedInput": held.input}),
        (Way::Permission, false) => json!({"behavior": "deny", "message": why}),
    };
    control::success(id, &response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Gate::new(
            ToolPolicy {
                deny: words(&["WebFetch"]),
                require_approval: words(&["Bash(git push:*)"]),
                approval_seconds: 60,
                ..ToolPolicy::default()
            },
            Path::new("/workspace/work"),
        )
    }

    fn hook(id: &str, call: &str, tool: &str, input: &Value) -> Value {
        json!({"type": "control_request", "request_id": id, "request": {"subtype": "hook_callback", "input": {
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": call, "tool_input": input,
        }}})
    }

    fn written(out: &[Output]) -> Value {
        let [Output::Write(line)] = out else {
            panic!("{out:?}")
        };
        serde_json::from_slice::<Value>(line).unwrap()["response"]["response"].clone()
    }

    #[test]
    fn what_is_denied_is_refused_and_what_is_neither_passes() {
        let mut gate = gate();
        let mut out = Vec::new();
        let push = json!({"command": "git status"});
        assert!(!gate.takes(&hook("1", "a", "Bash", &push), &mut out));
        assert_eq!(out, []);
        assert!(gate.takes(&hook("2", "b", "WebFetch", &json!({"url": "x"})), &mut out));
        let refused = &written(&out)["hookSpecificOutput"];
        assert_eq!(refused["permissionDecision"], "deny");
        assert!(
            refused["permissionDecisionReason"]
                .as_str()
                .unwrap()
                .contains("WebFetch is denied")
        );
    }

    #[test]
    fn what_was_approved_is_what_runs() {
        let push = json!({"command": "git push", "run_in_background": true});
        let shown = json!({"command": "git push", "run_in_background": false});
        for allow in [true, false] {
            let mut gate = gate();
            let mut out = Vec::new();
            assert!(gate.takes(&hook("1", "a", "Bash", &push), &mut out));
            let [
                Output::Ask {
                    id, tool, input, ..
                },
            ] = &out[..]
            else {
                panic!("{out:?}")
            };
            assert_eq!((id.as_str(), tool.as_str(), input), ("1", "Bash", &shown));
            let answer = gate.decide("1", allow, Some("ada said so")).unwrap();
            let answer = &written(&[Output::Write(answer)])["hookSpecificOutput"];
            if allow {
                assert_eq!(
                    (&answer["permissionDecision"], &answer["updatedInput"]),
                    (&json!("allow"), &shown)
                );
            } else {
                assert_eq!(
                    (
                        &answer["permissionDecision"],
                        &answer["permissionDecisionReason"]
                    ),
                    (&json!("deny"), &json!("ada said so"))
                );
            }
            assert_eq!(gate.decide("1", true, None), None, "once");
        }
    }

    #[test]
    fn another_input_is_asked_about_again() {
        let mut gate = gate();
        let permission = |id: &str, command: &str| {
            json!({"type": "control_request", "request_id": id, "request": {
                "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "a", "input": {"command": command},
            }})
        };
        let mut out = Vec::new();
        gate.takes(
            &hook("1", "a", "Bash", &json!({"command": "git push"})),
            &mut out,
        );
        gate.decide("1", true, None).unwrap();
        out.clear();
        assert!(gate.takes(&permission("2", "git push"), &mut out));
        assert_eq!(written(&out)["behavior"], "allow");
        out.clear();
        assert!(gate.takes(&permission("3", "git push --force"), &mut out));
        assert!(
            matches!(&out[..], [Output::Ask { id, .. }] if id == "3"),
            "{out:?}"
        );
    }

    #[test]
    fn what_is_taken_back_waits_no_more() {
        let mut gate = gate();
        let mut out = Vec::new();
        gate.takes(
            &hook("1", "a", "Bash", &json!({"command": "git push"})),
            &mut out,
        );
        out.clear();
        for _ in 0..2 {
            gate.cancelled(
                &json!({"type": "control_cancel_request", "request_id": "1"}),
                &mut out,
            );
        }
        assert_eq!(out, [Output::Withdrawn { id: "1".to_owned() }]);
        assert_eq!(gate.decide("1", true, None), None);
    }

    #[test]
    fn a_tool_that_came_past_the_gate_ends_the_run() {
        let result = |call: &str, is_error: bool, content: &str| {
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": call, "is_error": is_error, "content": content},
            ]}})
        };
        const UNKNOWN: &str = "<tool_use_error>Error: No such tool available: X</tool_use_error>";
        let mut gate = gate();
        gate.takes(&hook("1", "a", "Read", &Value::Null), &mut Vec::new());
        for (call, is_error, content, passed) in [
            ("a", false, "done", false),
            ("a", true, "Exit code 1", false),
            ("b", false, "done", true),
            ("b", true, "Exit code 1\npushed", true),
            ("b", true, "", true),
            ("b", false, UNKNOWN, true),
            // It did nothing.
            ("b", true, UNKNOWN, false),
            ("b", true, "<tool_use_error>Error calling tool: x", true),
        ] {
            let frame = result(call, is_error, content);
            assert_eq!(gate.passed_by(&frame).is_some(), passed, "{frame}");
            assert!(Gate::default().passed_by(&frame).is_none());
        }
    }

    #[test]
    fn a_second_request_with_an_id_that_waits_is_refused() {
        let mut gate = gate();
        let mut out = Vec::new();
        let push = json!({"command": "git push"});
        gate.takes(&hook("1", "a", "Bash", &push), &mut out);
        out.clear();
        let other = json!({"command": "git push --force"});
        assert!(gate.takes(&hook("1", "b", "Bash", &other), &mut out));
        assert_eq!(
            written(&out)["hookSpecificOutput"]["permissionDecision"],
            "deny"
        );
        let answer = gate.decide("1", true, None).unwrap();
        let answer = &written(&[Output::Write(answer)])["hookSpecificOutput"];
        assert_eq!(answer["updatedInput"], push);
    }

    #[test]
    fn paths_count_from_where_the_program_is() {
        let mut gate = Gate::new(
            ToolPolicy {
                deny: vec!["Edit(docs/*)".to_owned()],
                ..ToolPolicy::default()
            },
            Path::new("/workspace/work"),
        );
        for (now, path, denied) in [
            ("/workspace/work", "/workspace/work/docs/a", true),
            ("/workspace/work/docs", "a", true),
            ("/workspace/work", "a", false),
        ] {
            let mut frame = hook("1", "a", "Edit", &json!({"file_path": path}));
            frame["request"]["input"]["cwd"] = now.into();
            assert_eq!(gate.takes(&frame, &mut Vec::new()), denied, "{now} {path}");
        }
    }
}
