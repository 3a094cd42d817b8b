//! What stands before each use of a tool of Codex's, where the Agent says which it may use: a hook of Codex's own, trusted
//! for this thread alone, which calls a tool of a server of ours ([`crate::desk`]). That one asks the client of the thread,
//! which is us: so question and answer go over the pipes that are there anyway.

use protocol::FailureClass;
use protocol::tools::Judgement;
use serde_json::{Map, Value, json};

use super::launch;
use super::shown::{Allowed, LetIn, PATCH, SHELL, is_patch, names_patch, patched};
use crate::adapter::{Launch, Output};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{list, parse, text};
use crate::adapters::guard::{Guard, Held};
use crate::adapters::own::Own;
use crate::desk;

/// The server's name among those of the thread.
pub(super) const SERVER: &str = "mooring_gate";
/// How the model would call it, if it tried.
const ITS_TOOL: &str = "mcp__mooring_gate__";
/// Where hooks come from that were given with the thread.
const SOURCE: &str = "sessionFlags";
/// What stands before the call in the name of a hook's run.
const BEFORE_CALL: &str = "/config.toml:";
/// Commands get nothing to read: what is typed into one while it runs comes past every hook.
const NO_INPUT: &str = "exec </dev/null\n";
/// The one key that may be typed: it ends a command.
const INTERRUPT: &str = "\u{3}";

/// The gate of one run. Without a policy it is open.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Gate {
    guard: Guard<Asked>,
    /// Calls that were let in.
    allowed: Allowed,
    /// The working directory.
    work: String,
    /// Seconds that a question may wait.
    seconds: u64,
}

/// Who asks.
#[derive(Debug)]
struct Asked {
    /// The request.
    id: Value,
    tool: String,
    /// Where the tool works.
    cwd: String,
}

/// What became of a request.
#[derive(Debug, PartialEq)]
pub(in crate::adapters) enum Taken {
    /// It is none of the gate.
    No,
    /// It waits.
    Waits,
    /// Its answer.
    Answered(Value),
    /// Its answer, and the use that is refused.
    Refused(Value, Refused),
}

/// A use of a tool that Codex tells nothing of, since it does not come to it.
#[derive(Debug, PartialEq)]
pub(in crate::adapters) struct Refused {
    pub(in crate::adapters) call: String,
    pub(in crate::adapters) tool: String,
    pub(in crate::adapters) input: Value,
    pub(in crate::adapters) why: String,
}

impl Taken {
    /// What is answered by now; a use that is refused is shown first.
    pub(in crate::adapters) fn answer(self, show: impl FnOnce(Refused)) -> Option<Value> {
        match self {
            Self::No | Self::Waits => None,
            Self::Answered(answer) => Some(answer),
            Self::Refused(answer, refused) => {
                show(refused);
                Some(answer)
            }
        }
    }
}

impl Gate {
    /// For one run.
    pub(in crate::adapters) fn of(launch: &Launch) -> Self {
        let guard = Guard::new(launch.tools.clone(), &launch.cwd);
        let home = launch::gated_home(launch);
        Self {
            guard: guard.without(Own::of(launch, &home.links)),
            allowed: Allowed::default(),
            work: launch.cwd.display().to_string(),
            seconds: launch::gate_seconds(launch),
        }
    }

    /// True when there is something to be held to.
    pub(in crate::adapters) fn holds(&self) -> bool {
        self.guard.holds()
    }

    /// The settings of the thread, once Codex has listed its hooks: ours is trusted.
    ///
    /// # Errors
    /// When it has not found it.
    pub(super) fn settings(&self, listed: &Value) -> Result<Value, Fault> {
        let entries = list(listed, "data").iter();
        let ours = ours(entries.flat_map(|entry| list(entry, "hooks")))?;
        let state = json!({"enabled": true, "trusted_hash": text(ours, "currentHash")});
        let state = Map::from_iter([(text(ours, "key").to_owned(), state)]);
        Ok(json!({"PreToolUse": [hook(self.seconds)], "state": state}))
    }

    /// Takes a request of Codex.
    pub(super) fn takes(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        out: &mut Vec<Output>,
    ) -> Taken {
        let is_ours =
            method == "mcpServer/elicitation/request" && text(params, "serverName") == SERVER;
        if !self.holds() || !is_ours {
            return Taken::No;
        }
        self.asks(id, text(params, "message"), out)
    }

    /// Takes what our server asks, in its own words.
    pub(in crate::adapters) fn asks(
        &mut self,
        id: &Value,
        message: &str,
        out: &mut Vec<Output>,
    ) -> Taken {
        let Some(said) = parse(message) else {
            return Taken::Answered(answer("what the tool is given cannot be read", None));
        };
        let (call, tool) = (text(&said, "call"), text(&said, "tool"));
        let cwd = said.get("cwd").and_then(Value::as_str);
        let cwd = cwd.unwrap_or(&self.work).to_owned();
        let mut input = said.get("input").cloned().unwrap_or(Value::Null);
        if tool == SHELL && cwd != self.work && input.is_object() {
            // Else nobody would see where a command is to run.
            input["workdir"] = json!(cwd);
        }
        let held = Held {
            way: Asked {
                id: id.clone(),
                tool: tool.to_owned(),
                cwd,
            },
            call: call.to_owned(),
            input,
        };
        match self.judge(&held) {
            Judgement::Allow => self.let_in(held),
            Judgement::Deny(why) => refuse(held, &why),
            Judgement::Ask(why) => match self.guard.ask(&id.to_string(), tool, why, held, out) {
                Some(held) => refuse(held, "a request with this id was asked already"),
                None => Taken::Waits,
            },
        }
    }

    /// A patch is a patch also where the shell is told to apply it.
    fn judge(&mut self, held: &Held<Asked>) -> Judgement {
        let Asked { tool, cwd, .. } = &held.way;
        if tool.starts_with(ITS_TOOL) {
            return Judgement::Deny("this tool is not for you".to_owned());
        }
        let command = text(&held.input, "command");
        let now = Some(cwd.as_str());
        let mut judgement = Judgement::Allow;
        if tool != PATCH {
            judgement = self.guard.judge(&held.call, tool, &held.input, now);
        }
        if tool == PATCH || tool == SHELL && names_patch(command) {
            let itself = tool == PATCH || is_patch(command);
            // A command may have gone anywhere before: then it cannot be told which file it is.
            let input = |path: &str| match itself || path.starts_with('/') {
                true => json!({"path": path}),
                false => Value::Null,
            };
            let mut inputs: Vec<_> = patched(command).map(input).collect();
            if inputs.is_empty() {
                inputs.push(Value::Null);
            }
            for input in &inputs {
                judgement = stricter(judgement, self.guard.judge(&held.call, PATCH, input, now));
            }
        }
        judgement
    }

    fn let_in(&mut self, held: Held<Asked>) -> Taken {
        let command = text(&held.input, "command");
        // A patch Codex takes out of a command as it stands, and applies it itself.
        let runs = held.way.tool == SHELL && !is_patch(command);
        let rewritten = runs.then(|| json!({"command": format!("{NO_INPUT}{command}")}));
        let let_in = LetIn {
            tool: held.way.tool.clone(),
            input: rewritten.clone().unwrap_or_else(|| held.input.clone()),
            cwd: held.way.cwd.clone(),
        };
        if !self.allowed.take(&held.call, let_in) {
            return refuse(held, "too many tools were used in this turn");
        }
        Taken::Answered(answer(desk::YES, rewritten.as_ref()))
    }

    /// A question that waits has its answer: the request, and what it is told.
    pub(in crate::adapters) fn decide(
        &mut self,
        id: &str,
        allow: bool,
        why: Option<&str>,
    ) -> Option<(Value, Taken)> {
        let held = self.guard.decided(id)?;
        let request = held.way.id.clone();
        let taken = if allow {
            self.let_in(held)
        } else {
            let why = why.filter(|why| !why.is_empty() && *why != desk::YES);
            refuse(held, why.unwrap_or("it may not be used"))
        };
        Some((request, taken))
    }

    /// The end of the run, when Codex went on after a hook that had not said yes, or had said nothing at all.
    pub(super) fn hook_ended(&self, params: &Value) -> Option<Fault> {
        let run = params.get("run").unwrap_or(&Value::Null);
        if !self.holds()
            || text(run, "eventName") != "preToolUse"
            || text(run, "status") == "blocked"
        {
            return None;
        }
        let id = text(run, "id");
        let call = id.rsplit_once(BEFORE_CALL).map_or(id, |(_, call)| call);
        let said_yes = text(run, "status") == "completed" && self.allowed.has(call);
        (!said_yes).then(|| passed(call))
    }

    /// The end of the run, when a tool is used that nobody looked at, or for something else than was let in: who asks for
    /// Codex runs as the agent does, and could be made to ask about something else. `over`: it was used.
    pub(in crate::adapters) fn passed_by(&mut self, item: &Value, over: bool) -> Option<Fault> {
        let call = text(item, "id");
        if !self.holds() {
            return None;
        }
        let passed = self.guard.passed(call);
        passed.or_else(|| (!self.allowed.shows(call, item, over)).then(|| other(call)))
    }

    /// The end of the run, when something is typed into a command that runs: no hook sees it.
    pub(in crate::adapters) fn typed(&self, params: &Value) -> Option<Fault> {
        let typed = text(params, "stdin");
        if !self.holds() || typed.is_empty() || typed == INTERRUPT {
            return None;
        }
        let message = "the agent typed into a command that ran, which nobody can look at first: it has to give a command \
                       all that it needs when it starts it";
        Some(Fault::new(FailureClass::CliCrashed, message))
    }
}

/// Our hook among those that Codex has.
///
/// # Errors
/// When it is not among them.
pub(in crate::adapters) fn ours<'a>(
    mut hooks: impl Iterator<Item = &'a Value>,
) -> Result<&'a Value, Fault> {
    let ours = hooks.find(|hook| {
        text(hook, "source") == SOURCE
            && text(hook, "eventName") == "preToolUse"
            && text(hook, "server") == SERVER
    });
    ours.ok_or_else(|| {
        let message = "codex does not know the hook that holds the agent to its tools: it has to be of a version whose \
                       hooks can call tools, as 0.171.0 is";
        Fault::new(FailureClass::CliCrashed, message)
    })
}

/// The hook, as the thread's settings have it.
pub(super) fn hook(seconds: u64) -> Value {
    let input = json!({
        "call": "${tool_use_id}", "tool": "${tool_name}", "input": "${tool_input}", "cwd": "${cwd}",
    });
    json!({"hooks": [
        {"type": "mcp_tool", "server": SERVER, "tool": desk::TOOL, "timeout": seconds, "input": input},
    ]})
}

fn passed(call: &str) -> Fault {
    let message = format!(
        "codex went on with a tool without the runner's yes (call {call}), so the agent cannot be held to its tools"
    );
    Fault::new(FailureClass::CliCrashed, message)
}

fn other(call: &str) -> Fault {
    let message = format!(
        "codex uses a tool for something else than the runner was asked about (call {call}), so the agent cannot be held to \
         its tools"
    );
    Fault::new(FailureClass::CliCrashed, message)
}

fn refuse(held: Held<Asked>, why: &str) -> Taken {
    let refused = Refused {
        call: held.call,
        tool: held.way.tool,
        input: held.input,
        why: why.to_owned(),
    };
    Taken::Refused(answer(why, None), refused)
}

fn answer(words: &str, input: Option<&Value>) -> Value {
    let mut content = json!({desk::ANSWER: words});
    if let Some(input) = input {
        content[desk::INPUT] = input.to_string().into();
    }
    json!({"action": "accept", "content": content, "_meta": null})
}

fn stricter(one: Judgement, other: Judgement) -> Judgement {
    match (one, other) {
        (deny @ Judgement::Deny(_), _) | (_, deny @ Judgement::Deny(_)) => deny,
        (ask @ Judgement::Ask(_), _) | (_, ask @ Judgement::Ask(_)) => ask,
        (Judgement::Allow, Judgement::Allow) => Judgement::Allow,
    }
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;

    const ELICIT: &str = "mcpServer/elicitation/request";

    fn gate(allow: &[&str], deny: &[&str], ask: &[&str]) -> Gate {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let tools = ToolPolicy {
            allow: words(allow),
            deny: words(deny),
            require_approval: words(ask),
            approval_seconds: 60,
            ..ToolPolicy::default()
        };
        Gate::of(&Launch {
            tools,
            ..crate::testing::launch()
        })
    }

    fn asks(call: &str, tool: &str, input: &Value) -> Value {
        let said = json!({"call": call, "tool": tool, "input": input, "cwd": "/workspace/work"});
        json!({"serverName": SERVER, "message": said.to_string()})
    }

    fn word(taken: &Taken) -> &'static str {
        match taken {
            Taken::No => "no",
            Taken::Waits => "ask",
            Taken::Answered(_) => "allow",
            Taken::Refused(..) => "deny",
        }
    }

    fn judged(gate: &mut Gate, tool: &str, input: &Value) -> &'static str {
        let taken = gate.takes(&json!(1), ELICIT, &asks("a", tool, input), &mut Vec::new());
        word(&taken)
    }

    #[test]
    fn a_command_that_is_let_in_has_nothing_to_read() {
        let mut gate = gate(&[], &["Bash(rm:*)"], &["Bash(git push:*)"]);
        let taken = gate.takes(
            &json!(1),
            ELICIT,
            &asks("a", SHELL, &json!({"command": "ls"})),
            &mut Vec::new(),
        );
        let Taken::Answered(answer) = taken else {
            panic!("{taken:?}")
        };
        assert_eq!(
            (&answer["action"], &answer["content"][desk::ANSWER]),
            (&json!("accept"), &json!(desk::YES))
        );
        let input: Value =
            serde_json::from_str(answer["content"][desk::INPUT].as_str().unwrap()).unwrap();
        assert_eq!(input, json!({"command": "exec </dev/null\nls"}));

        let rm = json!({"command": "rm x"});
        let Taken::Refused(answer, refused) =
            gate.takes(&json!(2), ELICIT, &asks("b", SHELL, &rm), &mut Vec::new())
        else {
            panic!("it is denied")
        };
        assert!(refused.why.contains("is denied") && refused.input == rm && refused.call == "b");
        assert_eq!(answer["content"][desk::ANSWER], json!(refused.why));
    }

    #[test]
    fn a_person_decides_on_what_was_asked() {
        for allow in [true, false] {
            let mut gate = gate(&[], &[], &["Bash(git push:*)"]);
            let mut out = Vec::new();
            let push = json!({"command": "git push"});
            let id = json!("request");
            assert_eq!(
                gate.takes(&id, ELICIT, &asks("a", SHELL, &push), &mut out),
                Taken::Waits
            );
            let [
                Output::Ask {
                    id: question,
                    input,
                    ..
                },
            ] = &out[..]
            else {
                panic!("{out:?}")
            };
            assert_eq!(input, &push);
            let (request, taken) = gate.decide(question, allow, Some("because")).unwrap();
            assert_eq!(
                (request, word(&taken)),
                (id, if allow { "allow" } else { "deny" })
            );
            assert!(gate.decide(question, true, None).is_none(), "once");
            let ended = |status: &str| json!({"run": {"id": "pre-tool-use:0:/<session-flags>/config.toml:a", "eventName": "preToolUse", "status": status}});
            assert_eq!(gate.hook_ended(&ended("completed")).is_none(), allow);
            assert!(gate.hook_ended(&ended("failed")).is_some());
            assert!(gate.hook_ended(&ended("blocked")).is_none());
        }
    }

    #[test]
    fn a_patch_is_one_whoever_applies_it() {
        let by_shell = |file: &str| json!({"command": format!("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {file}\n*** End Patch\nEOF\n")});
        let itself = |file: &str| json!({"command": format!("*** Begin Patch\n*** Update File: {file}\n*** End Patch")});
        for (deny, file, wanted) in [
            ("apply_patch", "src/a", "deny"),
            ("apply_patch(docs/*)", "docs/a", "deny"),
            ("apply_patch(docs/*)", "/workspace/work/docs/a", "deny"),
            ("apply_patch(docs/*)", "src/a", "allow"),
            ("WebSearch", "src/a", "allow"),
        ] {
            let mut gate = gate(&[], &[deny], &[]);
            assert_eq!(
                judged(&mut gate, SHELL, &by_shell(file)),
                wanted,
                "{deny} {file}"
            );
            let own = judged(&mut gate, PATCH, &itself(file));
            assert_eq!(own, wanted, "{deny} {file}");
        }
        // Where a command may have gone elsewhere first, only a whole path says which file it is.
        for (start, file, wanted) in [
            ("cd docs && apply_patch", "a", "deny"),
            ("cd src && applypatch", "/workspace/work/docs/a", "deny"),
            ("cd docs && apply_patch", "/workspace/work/src/a", "allow"),
        ] {
            let patch = format!("*** Begin Patch\n*** Update File: {file}\n*** End Patch");
            let input = json!({"command": format!("{start} <<'EOF'\n{patch}\nEOF\n")});
            let mut gate = gate(&[], &["apply_patch(docs/*)"], &[]);
            assert_eq!(judged(&mut gate, SHELL, &input), wanted, "{start} {file}");
        }
        let mut gate = gate(&[], &["apply_patch"], &[]);
        for command in [
            "x=apply_patch; $x < f",
            "applypatch < f",
            "codex --codex-run-as-apply-patch x",
        ] {
            let input = json!({"command": command});
            assert_eq!(judged(&mut gate, SHELL, &input), "deny", "{command}");
        }
        assert_eq!(judged(&mut gate, SHELL, &json!({"command": "ls"})), "allow");
    }

    #[test]
    fn where_a_command_runs_is_seen_and_counts() {
        let mut gate = gate(&[], &[], &["Bash"]);
        let said =
            json!({"call": "a", "tool": SHELL, "input": {"command": "ls"}, "cwd": "/elsewhere"});
        let asks = json!({"serverName": SERVER, "message": said.to_string()});
        let mut out = Vec::new();
        gate.takes(&json!("1"), ELICIT, &asks, &mut out);
        let [Output::Ask { id, input, .. }] = &out[..] else {
            panic!("{out:?}")
        };
        assert_eq!(input, &json!({"command": "ls", "workdir": "/elsewhere"}));
        gate.decide(id, true, None).unwrap();
        for (cwd, passes) in [("/elsewhere", true), ("/workspace/work", false)] {
            let item = json!({"type": "commandExecution", "id": "a", "cwd": cwd,
                "command": "/bin/bash -c 'exec </dev/null\nls'"});
            assert_eq!(gate.passed_by(&item, false).is_none(), passes, "{cwd}");
        }
    }

    /// Nothing of the agent may change what Codex and its hook are made of.
    #[test]
    fn a_patch_of_its_own_home_is_refused() {
        let mut gate = gate(&[], &["nothing"], &[]);
        let patch = "*** Begin Patch\n*** Add File: /run//mooring/cli/codex-new/config.toml\n+x\n*** End Patch";
        assert_eq!(judged(&mut gate, PATCH, &json!({"command": patch})), "deny");
        let shell = json!({"command": format!("apply_patch <<'E'\n{patch}\nE")});
        assert_eq!(judged(&mut gate, SHELL, &shell), "deny");
    }

    #[test]
    fn its_own_tool_is_not_for_the_model_and_others_questions_are_not_its_own() {
        let mut gate = gate(&[], &[], &["Bash"]);
        assert_eq!(
            judged(&mut gate, "mcp__mooring_gate__may", &json!({"call": "x"})),
            "deny"
        );
        let other = json!({"serverName": "files", "message": "sure?"});
        assert_eq!(
            gate.takes(&json!(1), ELICIT, &other, &mut Vec::new()),
            Taken::No
        );
        let broken = json!({"serverName": SERVER, "message": "{"});
        assert_eq!(
            word(&gate.takes(&json!(1), ELICIT, &broken, &mut Vec::new())),
            "allow"
        );
        let taken = gate.takes(&json!(1), ELICIT, &broken, &mut Vec::new());
        let Taken::Answered(answer) = taken else {
            panic!("{taken:?}")
        };
        assert_ne!(answer["content"][desk::ANSWER], desk::YES);
        assert_eq!(
            Gate::default().takes(&json!(1), ELICIT, &broken, &mut Vec::new()),
            Taken::No
        );
    }

    #[test]
    fn what_comes_past_it_ends_the_run() {
        let mut gate = gate(&[], &[], &["nothing"]);
        judged(&mut gate, SHELL, &json!({"command": "ls"}));
        let ran = |call: &str, command: &str| {
            let command = format!("/bin/bash -c 'exec </dev/null\n{command}'");
            json!({"type": "commandExecution", "id": call, "command": command, "cwd": "/workspace/work"})
        };
        assert!(gate.passed_by(&ran("a", "ls"), false).is_none());
        assert!(gate.passed_by(&ran("b", "ls"), false).is_some());
        // The question was one about something else.
        let fault = gate.passed_by(&ran("a", "rm x"), false).unwrap();
        assert!(
            fault.message.contains("something else"),
            "{}",
            fault.message
        );
        for (typed, ends) in [("", false), ("\u{3}", false), ("touch x\n", true)] {
            assert_eq!(
                gate.typed(&json!({"stdin": typed})).is_some(),
                ends,
                "{typed:?}"
            );
        }
        assert!(
            Gate::default()
                .passed_by(&json!({"id": "b"}), true)
                .is_none()
        );
        assert!(Gate::default().typed(&json!({"stdin": "x"})).is_none());
    }

    #[test]
    fn only_our_hook_is_trusted() {
        let hook = |source: &str, server: &str| json!({"source": source, "eventName": "preToolUse", "server": server, "key": source, "currentHash": "h"});
        let gate = gate(&[], &[], &["Bash"]);
        let listed = json!({"data": [{"hooks": [hook("user", SERVER), hook(SOURCE, "other"), hook(SOURCE, SERVER)]}]});
        let settings = gate.settings(&listed).unwrap();
        assert_eq!(
            settings["state"],
            json!({SOURCE: {"enabled": true, "trusted_hash": "h"}})
        );
        assert_eq!(settings["PreToolUse"][0]["hooks"][0]["timeout"], 660);
        let fault = gate.settings(&json!({"data": [{"hooks": [hook("user", SERVER)]}]}));
        assert_eq!(fault.unwrap_err().class, FailureClass::CliCrashed);
    }
}
