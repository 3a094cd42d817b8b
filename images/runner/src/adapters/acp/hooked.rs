//! Codex behind ACP, held to its tools by its own hook as without a bridge ([`gate`]): the server that asks for the hook asks the
//! client, which the bridge hands on. What the bridge then shows of a tool's use has to be what was let in.

use std::collections::BTreeSet;

use protocol::FailureClass;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::run::{Call, HANDSHAKE, HANDSHAKE_TIMER, Run};
use crate::adapter::{Launch, Output};
use crate::adapters::codex::gate::{self, Gate, Taken};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{list, text};
use crate::adapters::guard::CALLS;
use crate::adapters::pipes::wait;
use crate::desk;

/// Asks a client.
pub(super) const ELICIT: &str = "elicitation/create";
/// A server that did not start is told as a call that failed.
const STARTUP: &str = "mcp_startup.";

/// The hook of one run. Without a policy there is none.
#[derive(Debug, Default)]
pub(super) struct Hooked {
    gate: Gate,
    /// Calls that were shown whole.
    shown: BTreeSet<String>,
}

impl Hooked {
    pub(super) fn of(dialect: &Dialect, launch: &Launch) -> Self {
        let gate = match dialect.hooked {
            true => Gate::of(launch),
            false => Gate::default(),
        };
        Self {
            gate,
            ..Self::default()
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.gate.holds()
    }

    /// What a client can do that is asked, and shown all of a tool's use: also what is typed into a command, and which file a
    /// patch moves.
    pub(super) fn capabilities(&self, capabilities: &mut Value) {
        if !self.holds() {
            return;
        }
        capabilities["elicitation"] = json!({"form": {}});
        capabilities["_meta"] = json!({
            "terminal_output_delta": true,
            "jetbrains": {"air": {"version": 1, "capabilities": ["diffPatch"]}},
        });
    }

    /// The end of the run, when an update is of a use that was not let in, or not as it is shown.
    pub(super) fn passed_by(&mut self, update: &Value) -> Option<Fault> {
        let call = text(update, "toolCallId");
        let kind = text(update, "sessionUpdate");
        if !self.holds() || !matches!(kind, "tool_call" | "tool_call_update") || is_no_use(update) {
            return None;
        }
        let typed = meta(update, &["terminal_input", "data"]).and_then(Value::as_str);
        let typed = typed.and_then(|typed| self.gate.typed(&json!({"stdin": typed})));
        if typed.is_some() {
            return typed;
        }
        // What follows the first says only how it goes on.
        if kind == "tool_call_update" && self.shown.contains(call) {
            return None;
        }
        if self.shown.len() < CALLS {
            self.shown.insert(call.to_owned());
        }
        let mut item = item(update);
        item["id"] = json!(call);
        self.gate.passed_by(&item, true)
    }
}

impl Run {
    /// The hooks that Codex has, before anything else is said.
    pub(super) fn list_hooks(&mut self, out: &mut Vec<Output>) {
        let params = json!({"cwd": self.launch.cwd});
        self.call(Call::Hooks, "_codex/hooks/list", &params, out);
        wait(HANDSHAKE_TIMER, HANDSHAKE, out);
    }

    /// Ours is trusted.
    pub(super) fn hooks_listed(&mut self, result: &Value, out: &mut Vec<Output>) {
        match gate::ours(list(result, "hooks").iter()) {
            Ok(ours) => {
                let (key, hash) = (text(ours, "key"), text(ours, "currentHash"));
                let hooks = json!([{"key": key, "currentHash": hash}]);
                let params = json!({"cwd": self.launch.cwd, "hooks": hooks});
                self.call(Call::Trust, "_codex/hooks/trust", &params, out);
                wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            }
            Err(fault) => self.fail(fault, out),
        }
    }

    /// The session, once it is.
    pub(super) fn hook_trusted(&mut self, result: &Value, out: &mut Vec<Output>) {
        if result.get("trusted") == Some(&Value::Bool(true)) {
            self.open(out);
        } else {
            self.no_hook("it does not trust it", out);
        }
    }

    /// There is none that could be trusted.
    pub(super) fn no_hook(&mut self, words: &str, out: &mut Vec<Output>) {
        let message = format!(
            "{} cannot hold the agent to its tools by a hook of Codex's: {words}; it has to be of a version that can, as \
             2.6.0 is",
            self.dialect.id
        );
        self.fail(Fault::new(FailureClass::CliCrashed, message), out);
    }

    /// The end of the run, when a tool was used past the hook. What an interrupt ended is told in any way.
    pub(super) fn past_hook(&mut self, update: &Value) -> Option<Fault> {
        match self.interrupted {
            true => None,
            false => self.hooked.passed_by(update),
        }
    }

    /// The client is asked something. What is none of ours nobody is there to answer.
    pub(super) fn elicited(&mut self, id: &Value, params: &Value, out: &mut Vec<Output>) {
        if !self.interrupted
            && is_ours(params)
            && self.session.as_deref() == Some(text(params, "sessionId"))
        {
            let taken = self.hooked.gate.asks(id, text(params, "message"), out);
            self.answer_hook(id, taken, out);
        } else {
            let line = self.rpc.answer(id, &json!({"action": "cancel"}));
            self.stdin.write(line, out);
        }
    }

    /// A person has decided.
    pub(super) fn hook_decided(
        &mut self,
        id: &str,
        allow: bool,
        why: Option<&str>,
        out: &mut Vec<Output>,
    ) {
        if let Some((request, taken)) = self.hooked.gate.decide(id, allow && !self.interrupted, why)
        {
            self.answer_hook(&request, taken, out);
        }
    }

    fn answer_hook(&mut self, request: &Value, taken: Taken, out: &mut Vec<Output>) {
        let mut events = Vec::new();
        let answer = taken.answer(|it| {
            self.updates
                .refused(&it.call, &it.tool, it.input, it.why, &mut events);
        });
        out.extend(events.into_iter().map(Output::Event));
        if let Some(answer) = answer {
            let line = self.rpc.answer(request, &answer);
            self.stdin.write(line, out);
        }
    }
}

/// True for a question in the form of ours.
fn is_ours(params: &Value) -> bool {
    let fields = params.pointer("/requestedSchema/properties");
    let fields = fields.and_then(Value::as_object);
    fields.is_some_and(|fields| {
        fields.len() == 2 && fields.contains_key(desk::ANSWER) && fields.contains_key(desk::INPUT)
    })
}

fn meta<'a>(update: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let start = update.get("_meta");
    path.iter().fold(start, |at, key| at?.get(key))
}

/// True for what is told like the use of a tool and is none: the conversation is made shorter, a server did not start.
fn is_no_use(update: &Value) -> bool {
    let compaction = meta(update, &["jetbrains", "air", "contextCompaction"]);
    let startup = text(update, "toolCallId").starts_with(STARTUP)
        && text(update, "kind") == "other"
        && text(update, "status") == "failed";
    startup || compaction.is_some()
}

/// The update as Codex itself would have it, as far as it is looked at.
fn item(update: &Value) -> Value {
    let input = update.get("rawInput").unwrap_or(&Value::Null);
    let name = text(update, "name");
    if text(update, "kind") == "edit" {
        return json!({"type": "fileChange", "changes": changes(update)});
    }
    if meta(update, &["is_mcp_tool_call"]) == Some(&Value::Bool(true)) {
        let at = |key: &str| input.get(key).unwrap_or(&Value::Null);
        return json!({
            "type": "mcpToolCall", "server": at("server"), "tool": at("tool"), "arguments": at("arguments"),
        });
    }
    match name {
        "view_image" => json!({"type": "imageView", "path": text(input, "path")}),
        // The bridge leaves out the shell, which is no login shell here, and names no tool where a command has none.
        "" | "exec_command" | "write_stdin" => {
            let script = text(input, "command").replace('\'', r"'\''");
            let cwd = text(input, "cwd");
            json!({"type": "commandExecution", "command": format!("sh -c '{script}'"), "cwd": cwd})
        }
        _ => json!({"type": name}),
    }
}

/// The files of a patch, also those from which it moves. Nothing where none is shown: it may be too large for that.
fn changes(update: &Value) -> Value {
    let diffs: Vec<_> = list(update, "content")
        .iter()
        .filter(|part| text(part, "type") == "diff")
        .collect();
    if diffs.is_empty() {
        return Value::Null;
    }
    let mut changes = Vec::new();
    for diff in diffs {
        changes.push(json!({"path": text(diff, "path")}));
        let patch = meta(diff, &["jetbrains", "air", "diffPatch", "text"]);
        let patch = patch.and_then(Value::as_str).unwrap_or_default();
        // It stands before the lines of the file.
        let head = patch.lines().take_while(|line| !line.starts_with("@@"));
        let from = head.filter_map(|line| line.strip_prefix("rename from "));
        changes.extend(from.map(|from| json!({"path": format!("/{from}")})));
    }
    Value::Array(changes)
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::super::dialect::BASE;
    use super::*;
    use crate::testing::{launch, words};

    fn hooked() -> Hooked {
        let dialect = Dialect {
            hooked: true,
            ..BASE
        };
        let asked = Launch {
            tools: ToolPolicy {
                deny: words(&["nothing"]),
                ..ToolPolicy::default()
            },
            ..launch()
        };
        Hooked::of(&dialect, &asked)
    }

    /// Lets one in, as it is asked about.
    fn let_in(hooked: &mut Hooked, call: &str, tool: &str, input: &Value) {
        let said = json!({"call": call, "tool": tool, "input": input, "cwd": "/workspace/work"});
        let taken = hooked
            .gate
            .asks(&json!(call), &said.to_string(), &mut Vec::new());
        assert!(matches!(taken, Taken::Answered(_)), "{taken:?}");
    }

    fn shown(call: &str, fields: &Value) -> Value {
        let mut update =
            json!({"sessionUpdate": "tool_call", "toolCallId": call, "status": "in_progress"});
        let fields = fields.as_object().into_iter().flatten();
        for (key, value) in fields {
            update[key] = value.clone();
        }
        update
    }

    fn command(script: &str, cwd: &str) -> Value {
        json!({"name": "exec_command", "kind": "execute", "rawInput": {"command": script, "cwd": cwd}})
    }

    fn moved(from: &str, to: &str) -> Value {
        let patch = format!(
            "diff --git a{from} b{to}\nrename from {}\nrename to {}\n--- a{from}\n+++ b{to}\n@@ -1 +1 @@\n-rename from x\n",
            &from[1..],
            &to[1..]
        );
        let meta = json!({"kind": "update", "jetbrains": {"air": {"diffPatch": {"text": patch}}}});
        json!({"kind": "edit", "content": [{"type": "diff", "path": to, "_meta": meta}]})
    }

    #[test]
    fn what_is_shown_is_what_was_let_in() {
        let work = "/workspace/work";
        let patch =
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch";
        let (a, b) = ("/workspace/work/a", "/workspace/work/b");
        let bash = json!({"command": "echo 'it''s'"});
        let ran = "exec </dev/null\necho 'it''s'";
        let server = |tool: &str, arguments: Value| {
            json!({"kind": "execute", "_meta": {"is_mcp_tool_call": true},
                "rawInput": {"server": "words", "tool": tool, "arguments": arguments}})
        };
        let image =
            |path: &str| json!({"name": "view_image", "kind": "read", "rawInput": {"path": path}});
        let apply = json!({"command": patch});
        let none = json!({});
        let dot = json!({"path": "dot.png"});
        for (tool, input, fields, passes) in [
            ("Bash", &bash, command(ran, work), false),
            ("Bash", &bash, command("touch x", work), true),
            ("Bash", &bash, command(ran, "/"), true),
            // Without its words.
            (
                "Bash",
                &bash,
                json!({"kind": "read", "title": "Read file 'x'"}),
                true,
            ),
            (
                "Bash",
                &bash,
                json!({"kind": "execute", "name": "write_stdin"}),
                true,
            ),
            ("apply_patch", &apply, moved(a, b), false),
            ("apply_patch", &apply, moved("/etc/passwd", b), true),
            ("apply_patch", &apply, moved(a, "/etc/passwd"), true),
            (
                "apply_patch",
                &apply,
                json!({"kind": "edit", "content": []}),
                true,
            ),
            ("apply_patch", &apply, json!({"kind": "edit"}), true),
            ("mcp__words__word", &none, server("word", json!({})), false),
            (
                "mcp__words__word",
                &none,
                server("word", json!({"a": 1})),
                true,
            ),
            ("mcp__words__word", &none, server("other", json!({})), true),
            ("view_image", &dot, image("/workspace/work/dot.png"), false),
            ("view_image", &dot, image("/etc/passwd"), true),
            (
                "update_goal",
                &none,
                json!({"name": "update_goal", "kind": "execute"}),
                false,
            ),
        ] {
            let mut hooked = hooked();
            let_in(&mut hooked, "a", tool, input);
            let fault = hooked.passed_by(&shown("a", &fields));
            assert_eq!(fault.is_some(), passes, "{tool} {fields}");
            assert!(hooked.passed_by(&shown("b", &fields)).is_some(), "{fields}");
        }
    }

    #[test]
    fn what_follows_is_of_what_was_shown() {
        let mut hooked = hooked();
        let bash = json!({"command": "ls"});
        let_in(&mut hooked, "a", "Bash", &bash);
        let_in(&mut hooked, "b", "Bash", &bash);
        let first = shown("a", &command("exec </dev/null\nls", "/workspace/work"));
        assert!(hooked.passed_by(&first).is_none());
        let next = |call: &str, typed: &str| {
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call,
                "_meta": {"terminal_input": {"data": typed}}})
        };
        assert!(hooked.passed_by(&next("a", "")).is_none());
        assert!(hooked.passed_by(&next("a", "touch x\n")).is_some());
        assert!(hooked.passed_by(&next("b", "")).is_some());
    }

    #[test]
    fn what_is_no_use_of_a_tool_ends_nothing() {
        let compaction =
            json!({"kind": "think", "_meta": {"jetbrains": {"air": {"contextCompaction": {}}}}});
        let startup = json!({"kind": "other", "status": "failed"});
        for (call, fields, passes) in [
            ("c", &compaction, false),
            ("mcp_startup.x.1", &startup, false),
            (
                "mcp_startup.x.1",
                &json!({"kind": "execute", "status": "failed"}),
                true,
            ),
            (
                "mcp_startup.x.1",
                &json!({"kind": "other", "status": "completed"}),
                true,
            ),
        ] {
            let fault = hooked().passed_by(&shown(call, fields));
            assert_eq!(fault.is_some(), passes, "{call} {fields}");
        }
        let text = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}});
        assert!(hooked().passed_by(&text).is_none());
        let any = shown("a", &command("ls", "/"));
        assert!(Hooked::default().passed_by(&any).is_none());
    }

    #[test]
    fn only_our_question_is_taken_for_it() {
        let fields = |names: &[&str]| {
            let fields = names
                .iter()
                .map(|name| ((*name).to_owned(), json!({"type": "string"})));
            let fields = Value::Object(fields.collect());
            json!({"requestedSchema": {"type": "object", "properties": fields}})
        };
        assert!(is_ours(&fields(&["answer", "input"])));
        for other in [
            &["answer"][..],
            &["answer", "input", "more"],
            &["name", "input"],
            &[],
        ] {
            assert!(!is_ours(&fields(other)), "{other:?}");
        }
    }

    #[test]
    fn only_one_that_is_held_says_that_it_can_be_asked() {
        let mut capabilities = json!({"terminal": false});
        Hooked::default().capabilities(&mut capabilities);
        assert_eq!(capabilities, json!({"terminal": false}));
        hooked().capabilities(&mut capabilities);
        assert!(capabilities["elicitation"]["form"].is_object());
    }
}
