//! What Codex asks of us, and the answers. Under the policy that we set it asks for no approval; where an
//! administrator's rules make it ask all the same, the pod is its sandbox.

use protocol::LogLevel;
use serde_json::{Map, Value, json};

use super::Run;
use super::gate::Taken;
use crate::adapter::Output;
use crate::adapters::frame::log;

impl Run {
    /// Codex wants something.
    pub(super) fn requested(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        out: &mut Vec<Output>,
    ) {
        let taken = self.gate.takes(id, method, params, out);
        if taken != Taken::No {
            self.answer_gate(id, taken, out);
            return;
        }
        let answer = match answer(method, params, self.interrupted) {
            Some(result) => self.rpc.answer(id, &result),
            None => {
                let name = self.name;
                let message = format!("{name} asked for {method}, which is not served here");
                out.push(Output::Event(log(LogLevel::Warn, message)));
                self.rpc.refuse(id, method)
            }
        };
        self.stdin.write(answer, out);
    }

    /// The answer about a tool. Codex tells nothing of one that is refused.
    pub(super) fn answer_gate(&mut self, request: &Value, taken: Taken, out: &mut Vec<Output>) {
        let mut events = Vec::new();
        let answer = taken.answer(|it| {
            self.items
                .refused(&it.call, &it.tool, it.input, it.why, &mut events);
        });
        out.extend(events.into_iter().map(Output::Event));
        if let Some(answer) = answer {
            let line = self.rpc.answer(request, &answer);
            self.stdin.write(line, out);
        }
    }
}

/// The result for a request; `None` for one that is not served. `stopping`: the turn is to end.
fn answer(method: &str, params: &Value, stopping: bool) -> Option<Value> {
    let decided = |accept: &str, refuse: &str| {
        let word = if stopping { refuse } else { accept };
        json!({"decision": word})
    };
    match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            Some(decided("accept", "cancel"))
        }
        // The older pair has words of its own.
        "execCommandApproval" | "applyPatchApproval" => Some(decided("approved", "abort")),
        "item/permissions/requestApproval" => Some(permissions(params)),
        "mcpServer/elicitation/request" => {
            Some(json!({"action": "accept", "content": null, "_meta": null}))
        }
        // Nobody is there to be asked; we offer no tools.
        "item/tool/requestUserInput" => Some(json!({"answers": {}})),
        "item/tool/call" => Some(json!({"contentItems": [], "success": false})),
        _ => None,
    }
}

/// What was asked for, as far as it is of the two kinds that can be given.
fn permissions(params: &Value) -> Value {
    let wanted = params.get("permissions").unwrap_or(&Value::Null);
    let given: Map<_, _> = ["network", "fileSystem"]
        .into_iter()
        .filter_map(|kind| Some((kind.to_owned(), wanted.get(kind)?.clone())))
        .collect();
    json!({"permissions": given, "scope": "turn"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approvals_are_given_until_the_turn_is_to_end() {
        for (method, given, refused) in [
            ("item/commandExecution/requestApproval", "accept", "cancel"),
            ("item/fileChange/requestApproval", "accept", "cancel"),
            ("execCommandApproval", "approved", "abort"),
            ("applyPatchApproval", "approved", "abort"),
        ] {
            let decision =
                |stopping| answer(method, &Value::Null, stopping).unwrap()["decision"].clone();
            assert_eq!(
                (decision(false), decision(true)),
                (json!(given), json!(refused)),
                "{method}"
            );
        }
    }

    #[test]
    fn permissions_are_those_asked_for_and_no_others() {
        let params = json!({"permissions": {"network": {"enabled": true}, "root": true}});
        assert_eq!(
            answer("item/permissions/requestApproval", &params, false),
            Some(json!({"permissions": {"network": {"enabled": true}}, "scope": "turn"}))
        );
    }

    #[test]
    fn questions_get_no_answer_and_unknown_requests_none_at_all() {
        assert_eq!(
            answer("item/tool/requestUserInput", &Value::Null, false),
            Some(json!({"answers": {}}))
        );
        assert_eq!(answer("brand/new", &Value::Null, false), None);
    }
}
