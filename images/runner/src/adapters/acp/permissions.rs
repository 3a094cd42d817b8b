//! What an agent asks of its client: permissions mostly, and which of the options is taken.

use protocol::{FailureClass, LogLevel};
use serde_json::{Value, json};

use super::dialect::Asks;
use super::hooked::ELICIT;
use super::run::Run;
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::{list, log, text};

/// The one call that is answered for every agent.
const PERMISSION: &str = "session/request_permission";

impl Run {
    pub(super) fn asked(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        out: &mut Vec<Output>,
    ) {
        if method == ELICIT && self.hooked.holds() {
            self.elicited(id, params, out);
            return;
        }
        if method == PERMISSION && self.gate_asked(id, params, out) {
            return;
        }
        let answer = if method == PERMISSION {
            let mut events = Vec::new();
            let call = params.get("toolCall").unwrap_or(&Value::Null);
            if self.is_ours(params) {
                self.begin(out);
                if !self.dialect.asks_apart {
                    self.updates.asked(self.dialect, call, &mut events);
                }
            }
            out.extend(events.into_iter().map(Output::Event));
            match (self.dialect.asks)(params) {
                Asks::Permission => answer(params, self.interrupted),
                Asks::Forbidden => refuse(params, self.interrupted),
                Asks::Person => {
                    self.for_a_person(id, params, out);
                    return;
                }
            }
        } else {
            None
        };
        let line = match answer {
            Some(result) => self.rpc.answer(id, &result),
            None => {
                let message = format!(
                    "{} asked for {method}, and got no answer that it can use",
                    self.dialect.id
                );
                out.push(Output::Event(log(LogLevel::Warn, message)));
                self.rpc.refuse(id, method)
            }
        };
        self.stdin.write(line, out);
    }

    /// It wants to hear something of a person, and nobody is there: it would wait for ever.
    fn for_a_person(&mut self, id: &Value, params: &Value, out: &mut Vec<Output>) {
        let line = match refuse(params, self.interrupted) {
            Some(result) => self.rpc.answer(id, &result),
            None => self.rpc.refuse(id, PERMISSION),
        };
        self.stdin.write(line, out);
        let message = format!(
            "{} asked a question, and nobody is there to answer it",
            self.dialect.id
        );
        self.fail(Fault::new(FailureClass::EmptyOutput, message), out);
    }
}

/// The result for a `session/request_permission`; `None` when no option can be taken. The pod is the sandbox,
/// so what can be allowed for this time is. What would be allowed for ever is written to a list of the user's
/// own and is never taken. `stopping`: the turn is to end.
fn answer(params: &Value, stopping: bool) -> Option<Value> {
    if stopping {
        return Some(json!({"outcome": {"outcome": "cancelled"}}));
    }
    let options = list(params, "options");
    let kind = |option: &Value, kind: &str| text(option, "kind") == kind;
    let for_session = |option: &&Value| {
        matches!(
            text(option, "optionId"),
            "allow_session" | "approve_for_session"
        ) && text(option, "kind").starts_with("allow")
    };
    let chosen = options
        .iter()
        .find(for_session)
        .or_else(|| options.iter().find(|option| kind(option, "allow_once")))
        .or_else(|| options.iter().find(|option| kind(option, "reject_once")))?;
    Some(json!({"outcome": {"outcome": "selected", "optionId": text(chosen, "optionId")}}))
}

/// The result that refuses, this once; `None` when no option says so.
fn refuse(params: &Value, stopping: bool) -> Option<Value> {
    if stopping {
        return answer(params, true);
    }
    let refuses = |option: &&Value| text(option, "kind") == "reject_once";
    let chosen = list(params, "options").iter().find(refuses)?;
    Some(json!({"outcome": {"outcome": "selected", "optionId": text(chosen, "optionId")}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[(&str, &str)]) -> Option<String> {
        let options: Vec<_> = options
            .iter()
            .map(|(id, kind)| json!({"optionId": id, "kind": kind}))
            .collect();
        let answer = answer(&json!({"options": options}), false)?;
        Some(answer["outcome"]["optionId"].as_str().unwrap().to_owned())
    }

    #[test]
    fn allowed_for_now_and_never_for_ever() {
        for (options, wanted) in [
            (
                &[
                    ("a", "allow_always"),
                    ("o", "allow_once"),
                    ("r", "reject_once"),
                ][..],
                Some("o"),
            ),
            (
                &[("o", "allow_once"), ("allow_session", "allow_always")],
                Some("allow_session"),
            ),
            (
                &[("allow_session", "reject_once"), ("o", "allow_once")],
                Some("o"),
            ),
            (&[("a", "allow_always"), ("r", "reject_once")], Some("r")),
            (&[("a", "allow_always")], None),
            (&[], None),
        ] {
            assert_eq!(chosen(options).as_deref(), wanted, "{options:?}");
        }
    }

    #[test]
    fn a_turn_that_is_to_end_allows_nothing() {
        let options = json!({"options": [{"optionId": "o", "kind": "allow_once"}]});
        assert_eq!(
            answer(&options, true),
            Some(json!({"outcome": {"outcome": "cancelled"}}))
        );
        assert_eq!(
            answer(&Value::Null, true),
            Some(json!({"outcome": {"outcome": "cancelled"}}))
        );
    }
}
