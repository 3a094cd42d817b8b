//! What stands before each use of a tool of pi's, where the Agent says which it may use: an extension of ours, which asks
//! over the protocol's own dialogs. Nothing is said to the model before the extension has said that it is there.

use protocol::tools::Judgement;
use serde_json::{Value, json};

use crate::adapter::{Launch, Output};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{flag, parse, text};
use crate::adapters::guard::{Guard, Held};
use crate::adapters::own::Own;

/// The extension.
pub(super) const EXTENSION: &str = include_str!("gate.js");
/// What it says once it is there, and as it asks.
const THERE: &str = "mooring: the gate is there";
const MAY_IT: &str = "mooring: may it?";
/// The one answer with which a tool runs.
const YES: &str = "yes";
/// Fields of an input in which pi's tools take a path.
const PATHS: [&str; 2] = ["path", "file_path"];

/// The gate of one run. Without a policy it is open.
#[derive(Debug, Default)]
pub(super) struct Gate {
    guard: Guard<()>,
    there: bool,
}

/// What a frame of an extension is.
pub(super) enum Frame {
    /// The gate is there.
    There,
    /// It was answered, or will be.
    Taken,
    /// Nothing that waits.
    Other,
}

impl Gate {
    /// For one run. No tool is for pi's settings, which it reads anew while it runs.
    pub(super) fn of(launch: &Launch) -> Self {
        let guard = Guard::new(launch.tools.clone(), &launch.cwd);
        Self {
            guard: guard.without(Own::of(launch, &[])),
            there: false,
        }
    }

    /// False while a tool could be used without being looked at.
    pub(super) fn stands(&self) -> bool {
        self.there || !self.guard.holds()
    }

    /// Takes what an extension wants of a person.
    pub(super) fn takes(&mut self, frame: &Value, out: &mut Vec<Output>) -> Frame {
        let id = text(frame, "id");
        let (method, title) = (text(frame, "method"), text(frame, "title"));
        match method {
            "notify" if self.guard.holds() && text(frame, "message") == THERE => {
                self.there = true;
                Frame::There
            }
            "input" if self.guard.holds() && title == MAY_IT => {
                self.asked(id, text(frame, "placeholder"), out);
                Frame::Taken
            }
            // Nobody is there to be asked.
            "select" | "confirm" | "input" | "editor" => {
                let cancelled =
                    json!({"type": "extension_ui_response", "id": id, "cancelled": true});
                out.push(Output::Write(line(&cancelled)));
                Frame::Taken
            }
            _ => Frame::Other,
        }
    }

    fn asked(&mut self, id: &str, said: &str, out: &mut Vec<Output>) {
        let refuse = |why: &str, out: &mut Vec<Output>| out.push(Output::Write(answer(id, why)));
        let Some(said) = parse(said) else {
            refuse("what the tool is given cannot be read", out);
            return;
        };
        let (call, tool) = (text(&said, "call"), text(&said, "tool"));
        let input = said.get("input").cloned().unwrap_or(Value::Null);
        if inherits(&input) {
            refuse("an input has no field of the name __proto__", out);
            return;
        }
        let now = said.get("cwd").and_then(Value::as_str);
        let judgement = self.guard.judge(call, tool, &input, now);
        if let Some(why) = odd_path(tool, &input) {
            refuse(why, out);
            return;
        }
        match judgement {
            Judgement::Allow => refuse(YES, out),
            Judgement::Deny(why) => refuse(&why, out),
            Judgement::Ask(why) => {
                let held = Held {
                    way: (),
                    call: call.to_owned(),
                    input,
                };
                if self.guard.ask(id, tool, why, held, out).is_some() {
                    refuse("a request with this id was asked already", out);
                }
            }
        }
    }

    /// The answer for pi, of a question that waits.
    pub(super) fn decide(&mut self, id: &str, allow: bool, why: Option<&str>) -> Option<Vec<u8>> {
        self.guard.decided(id)?;
        let words = if allow {
            YES
        } else {
            why.filter(|why| !why.is_empty() && *why != YES)
                .unwrap_or("it may not be used")
        };
        Some(answer(id, words))
    }

    /// The end of the run, when a tool was used that nobody had looked at. One that pi did not begin has no duration.
    pub(super) fn passed_by(&self, frame: &Value) -> Option<Fault> {
        let ran = !flag(frame, "isError") || frame.get("durationMs").is_some();
        let passed = self.guard.passed(text(frame, "toolCallId"));
        passed.filter(|_| ran)
    }
}

/// True where something is given as what another thing inherits.
fn inherits(input: &Value) -> bool {
    match input {
        Value::Object(fields) => {
            (fields.iter()).any(|(name, value)| name == "__proto__" || inherits(value))
        }
        Value::Array(values) => values.iter().any(inherits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Why a path of pi's own tools is refused: it stands for another one.
fn odd_path(tool: &str, input: &Value) -> Option<&'static str> {
    if tool.starts_with("mcp__") {
        return None;
    }
    let is_odd = |path: &str| {
        let spaced = path.chars().any(|c| c.is_whitespace() && c != ' ');
        spaced || path.starts_with(['@', '~']) || path.starts_with("file:")
    };
    let odd = PATHS.iter().any(|name| is_odd(text(input, name)));
    odd.then_some("write the path as it is: whole, or from the working directory")
}

fn answer(id: &str, words: &str) -> Vec<u8> {
    line(&json!({"type": "extension_ui_response", "id": id, "value": words}))
}

fn line(frame: &Value) -> Vec<u8> {
    let mut line = frame.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;

    fn gate() -> Gate {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let launch = Launch {
            tools: ToolPolicy {
                deny: words(&["write(docs/*)"]),
                require_approval: words(&["bash(git push:*)"]),
                approval_seconds: 60,
                ..ToolPolicy::default()
            },
            ..crate::testing::launch()
        };
        Gate::of(&launch)
    }

    fn ask(id: &str, call: &str, tool: &str, input: &Value) -> Value {
        let said = json!({"call": call, "tool": tool, "input": input, "cwd": "/workspace/work"});
        json!({"type": "extension_ui_request", "id": id, "method": "input", "title": MAY_IT,
            "placeholder": said.to_string()})
    }

    fn said(out: &[Output]) -> String {
        let [Output::Write(line)] = out else {
            panic!("{out:?}")
        };
        let frame: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(frame["type"], "extension_ui_response");
        frame["value"].as_str().unwrap_or("cancelled").to_owned()
    }

    fn answered(gate: &mut Gate, frame: &Value) -> String {
        let mut out = Vec::new();
        assert!(matches!(gate.takes(frame, &mut out), Frame::Taken));
        said(&out)
    }

    #[test]
    fn the_extension_says_what_is_listened_for() {
        assert!(EXTENSION.contains(&format!("notify({THERE:?})")));
        assert!(EXTENSION.contains(&format!("input({MAY_IT:?}, said")));
        assert!(EXTENSION.contains(&format!("answer !== {YES:?}")));
    }

    /// What an input has of that name would else become what it inherits, and run without being looked at.
    #[test]
    fn what_runs_has_no_fields_but_its_own() {
        assert!(
            EXTENSION.contains("Object.defineProperty") && !EXTENSION.contains("Object.assign")
        );
        let mut gate = gate();
        for input in [
            json!({"__proto__": {"path": "docs/a"}}),
            json!({"path": "src/a", "edits": [{"__proto__": {}}]}),
        ] {
            let why = answered(&mut gate, &ask("1", "a", "write", &input));
            assert!(why.contains("__proto__"), "{why}");
        }
    }

    #[test]
    fn it_stands_once_it_has_said_so() {
        let mut gate = gate();
        assert!(!gate.stands());
        let other = json!({"method": "notify", "message": "hello"});
        assert!(matches!(gate.takes(&other, &mut Vec::new()), Frame::Other));
        assert!(!gate.stands());
        let there = json!({"method": "notify", "message": THERE});
        assert!(matches!(gate.takes(&there, &mut Vec::new()), Frame::There));
        assert!(gate.stands());
        assert!(Gate::default().stands());
    }

    #[test]
    fn each_use_has_its_answer() {
        let mut gate = gate();
        let ls = json!({"command": "ls"});
        assert_eq!(answered(&mut gate, &ask("1", "a", "bash", &ls)), YES);
        let docs = json!({"path": "docs/a", "content": "x"});
        let why = answered(&mut gate, &ask("2", "b", "write", &docs));
        assert!(why.contains("is denied"), "{why}");
        for (number, (allow, why, wanted)) in [
            (true, Some("because"), YES),
            (false, Some("because"), "because"),
            // Words of a person that happen to be the answer.
            (false, Some(YES), "it may not be used"),
            (false, None, "it may not be used"),
        ]
        .into_iter()
        .enumerate()
        {
            let question = format!("question-{number}");
            let mut out = Vec::new();
            let push = json!({"command": "git push"});
            gate.takes(&ask(&question, "c", "bash", &push), &mut out);
            let [Output::Ask { id, input, .. }] = &out[..] else {
                panic!("{out:?}")
            };
            assert_eq!((id.as_str(), input), (question.as_str(), &push));
            let again = answered(&mut gate, &ask(&question, "c", "bash", &push));
            assert!(again.contains("asked already"), "{again}");
            let answer = gate.decide(&question, allow, why).unwrap();
            assert_eq!(said(&[Output::Write(answer)]), wanted);
            assert_eq!(gate.decide(&question, true, None), None, "once");
        }
    }

    #[test]
    fn what_cannot_be_read_may_not_be_used() {
        let mut frame = ask("1", "a", "bash", &Value::Null);
        frame["placeholder"] = json!("{\"input\":\"\\ud800\"}");
        assert!(answered(&mut gate(), &frame).contains("cannot be read"));
    }

    #[test]
    fn a_path_stands_for_itself_and_for_nothing_of_pis_own() {
        for (tool, path, allowed) in [
            ("write", "src/a", true),
            ("write", "a file", true),
            ("write", "@docs/a", false),
            ("read", "~/x", false),
            ("write", "file:///workspace/work/docs/a", false),
            ("write", "docs\u{a0}a", false),
            ("read", "/proc/self/environ", false),
            ("write", "/run/mooring/cli/pi-1/auth.json", false),
            ("write", "/run//mooring/./cli/pi-1/auth.json", false),
            ("write", "/run/mooring/x/../cli/pi-1/auth.json", false),
            ("write", "../../run/mooring/cli/pi-1/auth.json", false),
            ("read", "//proc/self/environ", false),
            ("read", "../../proc/1/environ", false),
            ("read", "/proc/cpuinfo", true),
            ("mcp__files__write", "@docs/a", true),
        ] {
            let frame = ask("1", "a", tool, &json!({"path": path}));
            let answer = answered(&mut gate(), &frame);
            assert_eq!(answer == YES, allowed, "{tool} {path}: {answer}");
        }
    }

    #[test]
    fn other_dialogs_are_cancelled() {
        for method in ["select", "confirm", "input", "editor"] {
            let frame = json!({"id": "1", "method": method, "title": "Sure?"});
            assert_eq!(answered(&mut gate(), &frame), "cancelled");
            // Without a policy also one that looks like ours.
            let frame = json!({"id": "1", "method": method, "title": MAY_IT});
            assert_eq!(answered(&mut Gate::default(), &frame), "cancelled");
        }
    }

    #[test]
    fn a_tool_that_came_past_the_gate_ends_the_run() {
        let mut gate = gate();
        gate.takes(&ask("1", "a", "read", &Value::Null), &mut Vec::new());
        for (call, is_error, ran, passed) in [
            ("a", false, true, false),
            ("a", true, true, false),
            ("b", false, true, true),
            ("b", true, true, true),
            // A tool that is not there, or an input that is none.
            ("b", true, false, false),
        ] {
            let mut frame = json!({"toolCallId": call, "isError": is_error});
            if ran {
                frame["durationMs"] = json!(3);
            }
            assert_eq!(gate.passed_by(&frame).is_some(), passed, "{frame}");
            assert!(Gate::default().passed_by(&frame).is_none());
        }
    }
}
