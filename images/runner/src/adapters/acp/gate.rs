//! What stands before each tool of an agent that asks for each use over ACP, with all that the tool is given: its own questions
//! are about what it takes for dangerous alone, so a part of ours inside it asks these.

use protocol::FailureClass;
use protocol::tools::Judgement;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::run::Run;
use crate::adapter::{Launch, LaunchLink, Output};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{flag, text};
use crate::adapters::guard::{Guard, Held};
use crate::adapters::own::Own;

/// Says that what asks is there.
pub(super) const THERE: &str = "_mooring/there";
/// What such a question says of itself.
const MAY_IT: &str = "may it?";
/// Why nothing is let in any more.
const STOPS: &str = "the turn is to end";
/// Fields of an input in which a tool takes a path.
const PATHS: [&str; 3] = ["path", "file_path", "workdir"];

/// How an agent is gated.
#[derive(Clone, Copy)]
pub(super) struct Gated {
    /// What in its folder in memory leads out of it again.
    pub(super) links: fn(&Launch) -> Vec<LaunchLink>,
    /// Why a tool is refused whatever the policy says.
    pub(super) odd: fn(tool: &str, input: &Value) -> Option<&'static str>,
}

/// The gate of one run. Without a policy it is open.
#[derive(Debug, Default)]
pub(super) struct Gate {
    guard: Guard<Question>,
    /// What asks is there.
    pub(super) there: bool,
    /// Ids of the questions that wait.
    waits: Vec<String>,
    /// Uses that were let in of those that are shown, and those that were.
    let_in: usize,
    begun: usize,
}

/// A question as it came.
#[derive(Debug)]
struct Question {
    request: Value,
    tool: String,
    /// Its beginning is told.
    shown: bool,
}

/// What a person or the policy said.
struct Answer {
    request: Value,
    call: String,
    tool: String,
    input: Value,
    /// Why it may not be used.
    refused: Option<String>,
}

impl Gate {
    /// For one run.
    pub(super) fn of(dialect: &Dialect, launch: &Launch) -> Self {
        let Some(gated) = dialect.gated.filter(|_| !launch.tools.is_empty()) else {
            return Self::default();
        };
        let guard = Guard::new(launch.tools.clone(), &launch.cwd);
        Self {
            guard: guard.without(Own::of(launch, &(gated.links)(launch))),
            ..Self::default()
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.guard.holds()
    }

    /// A question: its answer, unless it waits for a person.
    fn asks(
        &mut self,
        gated: Gated,
        request: &Value,
        params: &Value,
        stopping: bool,
        out: &mut Vec<Output>,
    ) -> Option<Answer> {
        let asked = params.pointer("/toolCall").unwrap_or(&Value::Null);
        let call = text(asked, "toolCallId").to_owned();
        let asked = asked.get("rawInput").unwrap_or(&Value::Null);
        let tool = text(asked, "tool").to_owned();
        let shown = flag(asked, "shown");
        let input = asked.get("input").cloned().unwrap_or(Value::Null);
        let judgement = self.guard.judge(&call, &tool, &input, None);
        let odd = stopping
            .then_some(STOPS)
            .or_else(|| (gated.odd)(&tool, &input));
        let odd = odd.or_else(|| odd_path(&input));
        let refused = match (odd, judgement) {
            (Some(why), _) => Some(why.to_owned()),
            (None, Judgement::Allow) => None,
            (None, Judgement::Deny(why)) => Some(why),
            (None, Judgement::Ask(why)) => {
                let id = request.to_string();
                let (request, named) = (request.clone(), tool.clone());
                let way = Question {
                    request,
                    tool: named,
                    shown,
                };
                let held = Held { way, call, input };
                let Some(held) = self.guard.ask(&id, &tool, why, held, out) else {
                    self.waits.push(id);
                    return None;
                };
                let why = "a request with this id was asked already".to_owned();
                return Some(self.answer(held, Some(why)));
            }
        };
        let way = Question {
            request: request.clone(),
            tool,
            shown,
        };
        Some(self.answer(Held { way, call, input }, refused))
    }

    fn answer(&mut self, held: Held<Question>, refused: Option<String>) -> Answer {
        let Held { way, call, input } = held;
        self.let_in += usize::from(refused.is_none() && way.shown);
        Answer {
            request: way.request,
            call,
            tool: way.tool,
            input,
            refused,
        }
    }

    fn decide(&mut self, id: &str, allow: bool, why: Option<&str>) -> Option<Answer> {
        let held = self.guard.decided(id)?;
        self.waits.retain(|waits| waits != id);
        let why = why
            .filter(|why| !why.is_empty())
            .unwrap_or("it may not be used");
        Some(self.answer(held, (!allow).then(|| why.to_owned())))
    }

    /// The questions that wait are not to be answered any more.
    fn withdraw(&mut self, out: &mut Vec<Output>) -> Vec<Answer> {
        let waits = std::mem::take(&mut self.waits);
        let answers = waits.into_iter().filter_map(|id| {
            let held = self.guard.decided(&id)?;
            out.push(Output::Withdrawn { id });
            Some(self.answer(held, Some(STOPS.to_owned())))
        });
        answers.collect()
    }

    /// The end of the run, when more were begun than were let in.
    fn passed_by(&mut self, update: &Value) -> Option<Fault> {
        if !self.holds() || text(update, "sessionUpdate") != "tool_call" {
            return None;
        }
        self.begun += 1;
        (self.begun > self.let_in).then(|| {
            let call = text(update, "toolCallId");
            let message = format!(
                "a tool was used without being looked at first (call {call}), so the agent cannot be held to its tools: \
                 it has to be of a version that can, as the page of runtimes has it"
            );
            Fault::new(FailureClass::CliCrashed, message)
        })
    }
}

/// Some write the home as a sign of its own.
fn odd_path(input: &Value) -> Option<&'static str> {
    let odd = |name: &str| text(input, name).trim_start().starts_with('~');
    let odd = PATHS.iter().any(|name| odd(name));
    odd.then_some("write the path as it is: whole, or from the working directory")
}

/// True for a question of ours.
pub(super) fn is_ours(params: &Value) -> bool {
    let asked = params.pointer("/toolCall/rawInput/mooring");
    asked.and_then(Value::as_str) == Some(MAY_IT)
}

impl Run {
    /// Why nothing may be said to the model: nothing would ask before it uses a tool.
    pub(super) fn no_gate(&self) -> Option<Fault> {
        if !self.gate.holds() || self.gate.there {
            return None;
        }
        let message = format!(
            "{} did not load what asks before each tool, so the agent cannot be held to its tools: it has to be of a version \
             that the page of runtimes names, and the settings of the image must not name plugins",
            self.dialect.id
        );
        Some(Fault::new(FailureClass::CliCrashed, message))
    }

    /// A use of a tool is asked about. False when that is nothing for the gate.
    pub(super) fn gate_asked(&mut self, id: &Value, params: &Value, out: &mut Vec<Output>) -> bool {
        let Some(gated) = self.dialect.gated else {
            return false;
        };
        let ours = self.session.as_deref() == Some(text(params, "sessionId"));
        if !self.gate.holds() || !ours || !is_ours(params) {
            return false;
        }
        let stopping = self.interrupted;
        if let Some(answer) = self.gate.asks(gated, id, params, stopping, out) {
            self.gate_answer(answer, out);
        }
        true
    }

    /// A person has decided.
    pub(super) fn gate_decided(
        &mut self,
        id: &str,
        allow: bool,
        why: Option<&str>,
        out: &mut Vec<Output>,
    ) {
        if let Some(answer) = self.gate.decide(id, allow, why) {
            self.gate_answer(answer, out);
        }
    }

    /// The turn is to end, whatever a person would say.
    pub(super) fn gate_closes(&mut self, out: &mut Vec<Output>) {
        for answer in self.gate.withdraw(out) {
            self.gate_answer(answer, out);
        }
    }

    /// The end of the run, when a tool was used past the gate.
    pub(super) fn past_gate(&mut self, update: &Value) -> Option<Fault> {
        self.gate.passed_by(update)
    }

    fn gate_answer(&mut self, answer: Answer, out: &mut Vec<Output>) {
        let Answer {
            request,
            call,
            tool,
            input,
            refused,
        } = answer;
        let option = if refused.is_some() { "no" } else { "yes" };
        let mut result = json!({"outcome": {"outcome": "selected", "optionId": option}});
        if let Some(why) = refused {
            result["_meta"] = json!({"why": why});
            // It tells nothing of a tool that it does not use.
            let mut events = Vec::new();
            self.updates.refused(&call, &tool, input, why, &mut events);
            out.extend(events.into_iter().map(Output::Event));
        }
        let line = self.rpc.answer(&request, &result);
        self.stdin.write(line, out);
    }
}

#[cfg(test)]
mod tests {
    use protocol::EventBody;
    use protocol::tools::ToolPolicy;

    use super::super::hermes::DIALECT;
    use super::*;
    use crate::adapter::{Adapter as _, HostCommand, Input};
    use crate::testing::{launch, words};

    /// A run whose turn has begun.
    fn run() -> Run {
        let tools = ToolPolicy {
            deny: words(&["write_file(docs/*)"]),
            require_approval: words(&["terminal(git push:*)"]),
            approval_seconds: 60,
            ..ToolPolicy::default()
        };
        let mut run = Run::new(&DIALECT, &Launch { tools, ..launch() });
        run.session = Some("s".to_owned());
        run.prompted = true;
        run
    }

    fn ask(id: u64, tool: &str, input: &Value) -> String {
        let asked = json!({"mooring": MAY_IT, "tool": tool, "input": input, "shown": true});
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": format!("call-{id}"), "rawInput": asked},
            "options": []}})
        .to_string()
    }

    fn begins(call: &str) -> String {
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "read: a", "kind": "read"});
        let params = json!({"sessionId": "s", "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
    }

    fn give(run: &mut Run, line: &str) -> Vec<Output> {
        let mut out = Vec::new();
        run.handle(Input::Stdout(line.as_bytes()), &mut out);
        out
    }

    /// The option and the reason of the answer, and whether a use was told that failed.
    fn answered(out: &[Output]) -> (String, String, bool) {
        let line = out.iter().find_map(|output| {
            let Output::Write(line) = output else {
                return None;
            };
            Some(serde_json::from_slice::<Value>(line).unwrap())
        });
        let result = line.expect("an answer")["result"].take();
        let told = |output: &Output| matches!(output, Output::Event(EventBody::ToolResult { .. }));
        (
            text(&result["outcome"], "optionId").to_owned(),
            text(&result["_meta"], "why").to_owned(),
            out.iter().any(told),
        )
    }

    #[test]
    fn each_use_is_answered_as_the_policy_says() {
        for (tool, input, option, why) in [
            ("read_file", json!({"path": "a"}), "yes", ""),
            ("write_file", json!({"path": "docs/a"}), "no", "docs/*"),
            (
                "write_file",
                json!({"path": "~/../work/docs/a"}),
                "no",
                "as it is",
            ),
            (
                "patch",
                json!({"mode": "patch", "patch": "*** Add File: docs/a"}),
                "no",
                "one file",
            ),
            (
                "read_file",
                json!({"path": "/run/mooring/cli/a"}),
                "no",
                "belongs to",
            ),
        ] {
            let out = give(&mut run(), &ask(0, tool, &input));
            let (given, said, told) = answered(&out);
            assert_eq!((given.as_str(), told), (option, option == "no"), "{input}");
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_person_is_waited_for() {
        let push = json!({"command": "git push"});
        for (allow, option, why) in [(true, "yes", ""), (false, "no", "not today")] {
            let mut run = run();
            let out = give(&mut run, &ask(7, "terminal", &push));
            assert!(
                matches!(&out[..], [Output::Ask { id, tool, input, .. }] if id == "7" && tool == "terminal" && *input == push),
                "{out:?}"
            );
            // Asked once more, it is no second question.
            let again = give(&mut run, &ask(7, "terminal", &push));
            assert_eq!(answered(&again).0, "no");
            let mut out = Vec::new();
            let why = (!why.is_empty()).then_some(why);
            let id = "7";
            run.handle(
                Input::Host(HostCommand::Decide { id, allow, why }),
                &mut out,
            );
            let (given, said, _) = answered(&out);
            assert_eq!(
                (given.as_str(), said.as_str()),
                (option, why.unwrap_or_default())
            );
        }
    }

    #[test]
    fn a_turn_that_is_to_end_lets_nothing_in() {
        let mut run = run();
        give(
            &mut run,
            &ask(7, "terminal", &json!({"command": "git push"})),
        );
        let mut out = Vec::new();
        run.handle(Input::Host(HostCommand::Interrupt), &mut out);
        assert!(out.contains(&Output::Withdrawn { id: "7".to_owned() }));
        let (id, allow, why) = ("7", true, None);
        out.clear();
        run.handle(
            Input::Host(HostCommand::Decide { id, allow, why }),
            &mut out,
        );
        assert_eq!(out, []);
        let late = give(&mut run, &ask(8, "read_file", &json!({"path": "a"})));
        assert_eq!(answered(&late).1, STOPS);
    }

    #[test]
    fn more_uses_than_were_let_in_end_the_run() {
        let mut run = run();
        give(&mut run, &ask(0, "read_file", &json!({"path": "a"})));
        give(&mut run, &ask(1, "write_file", &json!({"path": "docs/a"})));
        let is_over = |out: &[Output]| out.iter().any(|output| matches!(output, Output::Done(_)));
        assert!(!is_over(&give(&mut run, &begins("a"))));
        assert!(is_over(&give(&mut run, &begins("b"))));
    }

    /// What it asks by itself is not the gate's.
    #[test]
    fn other_questions_are_answered_as_ever() {
        let mut run = run();
        let options = json!([{"optionId": "allow_once", "kind": "allow_once"}]);
        let other = json!({"jsonrpc": "2.0", "id": 3, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": "perm-check-1"}, "options": options}});
        let (given, ..) = answered(&give(&mut run, &other.to_string()));
        assert_eq!(given, "allow_once");
    }

    #[test]
    fn nothing_is_said_to_the_model_before_it_is_there() {
        for there in [true, false] {
            let mut run = run();
            run.prompted = false;
            if there {
                let notice = json!({"jsonrpc": "2.0", "method": THERE}).to_string();
                assert_eq!(give(&mut run, &notice), []);
            }
            let mut out = Vec::new();
            run.set_up(&mut out);
            let is_over = out.iter().any(|output| matches!(output, Output::Done(_)));
            assert_eq!((run.prompted, is_over), (there, !there));
        }
    }
}
