//! The same for those that are held to an Agent's tools: whatever they ask, in whatever order, and whatever is decided.

use proptest::prelude::*;
use protocol::providers::{DRIVEN, Held};
use protocol::tools::ToolPolicy;
use runner::adapter::{Exit, HostCommand, Input, Launch, Output};
use runner::adapters;
use serde_json::{Value, json};

use crate::{RUNS, check, corpus};

/// What happens in one run.
const STEPS: usize = 40;

/// Those that ask before each use.
fn held() -> impl Iterator<Item = &'static str> {
    let asks = DRIVEN
        .iter()
        .filter(|facts| facts.tools.approve == Held::Uses);
    asks.map(|facts| facts.id)
}

fn launch() -> Launch {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Launch {
        cwd: "/workdir".into(),
        home: "/home/user".into(),
        message: "hi".to_owned(),
        tools: ToolPolicy {
            deny: words(&["Write", "write", "apply_patch"]),
            require_approval: words(&["Bash", "bash"]),
            approval_seconds: 60,
            ..ToolPolicy::default()
        },
        ..Launch::default()
    }
}

/// Frames about tools, as each of them speaks.
fn asks() -> Vec<Value> {
    let uses = [
        ("Bash", json!({"command": "ls"})),
        ("Bash", json!({"command": "apply_patch <<X"})),
        ("Write", json!({"file_path": "a"})),
        ("read", json!({"path": "~/a"})),
        ("apply_patch", json!({"command": "*** Add File: a"})),
        ("", Value::Null),
    ];
    let hook = json!({"source": "sessionFlags", "eventName": "preToolUse", "server": "mooring_gate", "key": "k",
        "currentHash": "h"});
    let mut frames = vec![
        json!({"type": "extension_ui_request", "id": "0", "method": "notify", "message": "mooring: the gate is there"}),
        json!({"type": "response", "id": "1", "command": "get_state", "success": true, "data": {"sessionId": "s"}}),
        json!({"type": "control_response", "response": {"request_id": "initialize", "subtype": "success"}}),
        json!({"type": "control_cancel_request", "request_id": "2"}),
        json!({"type": "extension_ui_request", "id": "9", "method": "confirm", "title": "?"}),
        json!({"type": "tool_execution_end", "toolCallId": "unseen", "isError": false}),
        json!({"jsonrpc": "2.0", "method": "_mooring/there"}),
        json!({"id": 1, "result": {"userAgent": "codex/0.171.0"}}),
        json!({"id": 2, "result": {"data": [{"hooks": [&hook]}], "hooks": [&hook], "sessionId": "s"}}),
        json!({"id": 3, "result": {"thread": {"id": "t"}, "trusted": true}}),
        json!({"id": 4, "result": {"turn": {"id": "u"}, "sessionId": "s"}}),
        json!({"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call",
            "toolCallId": "unseen", "kind": "execute", "status": "in_progress"}}}),
        json!({"method": "hook/completed", "params": {"threadId": "t", "turnId": "u", "run": {
            "id": "pre-tool-use:0:/<session-flags>/config.toml:1", "eventName": "preToolUse", "status": "completed"}}}),
        json!({"method": "item/commandExecution/terminalInteraction", "params": {"threadId": "t", "turnId": "u", "stdin": "x"}}),
    ];
    for (number, (tool, input)) in uses.into_iter().enumerate() {
        let id = number.to_string();
        let said = json!({"call": id, "tool": tool, "input": input, "cwd": "/workdir"}).to_string();
        frames.push(
            json!({"type": "extension_ui_request", "id": id, "method": "input",
            "title": "mooring: may it?", "placeholder": said}),
        );
        frames.push(
            json!({"id": number, "method": "mcpServer/elicitation/request",
            "params": {"serverName": "mooring_gate", "message": said}}),
        );
        let asked = json!({"mooring": "may it?", "tool": tool, "input": input, "shown": true});
        frames.push(
            json!({"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": id, "rawInput": asked}, "options": []}}),
        );
        let form = json!({"type": "object", "properties": {"answer": {}, "input": {}}});
        frames.push(json!({"id": number, "method": "elicitation/create",
            "params": {"sessionId": "s", "mode": "form", "message": said, "requestedSchema": form}}));
        frames.push(json!({"type": "control_request", "request_id": id, "request": {"subtype": "hook_callback",
            "tool_use_id": id, "input": {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input}}}));
        frames.push(json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": "x"}]}}));
    }
    frames
}

/// One thing that happens: a line, or what somebody wants.
#[derive(Clone, Debug)]
enum Step {
    Line(String),
    Decide(usize, bool),
    Interrupt,
}

fn steps(provider: &'static str) -> impl Strategy<Value = Vec<Step>> {
    let own = corpus::lines(provider).own;
    let frames: Vec<_> = asks().iter().map(Value::to_string).collect();
    let step = prop_oneof![
        6 => proptest::sample::select(frames).prop_map(Step::Line),
        3 => proptest::sample::select(own).prop_map(Step::Line),
        2 => (0..8_usize, any::<bool>()).prop_map(|(id, allow)| Step::Decide(id, allow)),
        1 => Just(Step::Interrupt),
    ];
    proptest::collection::vec(step, 0..STEPS)
}

fn run(provider: &str, steps: &[Step], exit: Exit) -> Vec<Output> {
    let provider = adapters::find(provider).expect("there is an adapter");
    let (_, mut adapter) = provider.launch(&launch());
    let mut out = Vec::new();
    let mut give = |input: Input<'_>, out: &mut Vec<Output>| {
        if !out.iter().any(|output| matches!(output, Output::Done(_))) {
            adapter.handle(input, out);
        }
    };
    give(Input::Started, &mut out);
    for step in steps {
        match step {
            Step::Line(line) => give(Input::Stdout(line.as_bytes()), &mut out),
            Step::Decide(id, allow) => {
                let id = id.to_string();
                let why = Some("because");
                let command = HostCommand::Decide {
                    id: &id,
                    allow: *allow,
                    why,
                };
                give(Input::Host(command), &mut out);
            }
            Step::Interrupt => give(Input::Host(HostCommand::Interrupt), &mut out),
        }
    }
    give(Input::Exited(exit), &mut out);
    out
}

#[test]
fn there_is_one_result_whatever_is_asked_about_tools() {
    for provider in held() {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: RUNS,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let inputs = (steps(provider), crate::exit());
        let ended = runner.run(&inputs, |(steps, exit)| {
            check(&run(provider, &steps, exit));
            Ok(())
        });
        assert!(ended.is_ok(), "{provider}: {:?}", ended.err());
    }
}

/// What becomes of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    Ask,
}

/// What the uses of [`asks`] come to under the policy of [`launch`], in their order.
fn wanted(provider: &str) -> [Word; 6] {
    use Word::{Ask, No, Yes};
    match provider {
        // A command that applies a patch is one.
        "codex" | "codex-acp" => [Ask, No, No, Yes, No, Yes],
        // A path has to be written as it is.
        "pi" | "hermes" => [Ask, Ask, No, No, No, Yes],
        _ => [Ask, Ask, No, Yes, No, Yes],
    }
}

/// The use that a line for the program answers, and with what.
fn answered(line: &[u8]) -> Option<(usize, Word)> {
    let frame: Value = serde_json::from_slice(line).ok()?;
    let word = |is_yes| if is_yes { Word::Yes } else { Word::No };
    if let Some(response) = frame.pointer("/response/response") {
        let decision = &response["hookSpecificOutput"]["permissionDecision"];
        let id = frame["response"]["request_id"].as_str()?.parse().ok()?;
        return Some((id, word(decision != "deny")));
    }
    if let Some(option) = frame.pointer("/result/outcome/optionId") {
        let id = frame["id"].as_u64()?.try_into().ok()?;
        return Some((id, word(option == "yes")));
    }
    if let Some(content) = frame.pointer("/result/content") {
        let id = frame["id"].as_u64()?.try_into().ok()?;
        return Some((id, word(content["answer"] == "yes")));
    }
    let id = frame["id"].as_str()?.parse().ok()?;
    Some((id, word(frame.get("value")? == "yes")))
}

/// What became of each use.
fn words(out: &[Output]) -> Vec<(usize, Word)> {
    let word = |output: &Output| {
        if let Output::Write(line) = output {
            return answered(line);
        }
        let Output::Ask { id, .. } = output else {
            return None;
        };
        Some((id.trim_matches('"').parse().ok()?, Word::Ask))
    };
    out.iter().filter_map(word).collect()
}

/// What is denied is answered with no, what is neither with yes, and what a person is asked about with what they say.
#[test]
fn each_use_has_the_answer_that_the_policy_gives() {
    let all: Vec<_> = held().collect();
    assert!(all.len() > 1, "{all:?}");
    for provider in all {
        // Without those that end a run.
        let ends = ["unseen", "hook/completed", "terminalInteraction"];
        let harmless = |frame: &String| !ends.iter().any(|word| frame.contains(word));
        let asks = asks();
        let frames = asks.iter().map(Value::to_string).filter(harmless);
        let mut steps: Vec<_> = frames
            .collect::<Vec<_>>()
            .into_iter()
            .map(Step::Line)
            .collect();
        let exit = Exit {
            code: Some(0),
            signal: None,
        };
        let wanted: Vec<_> = wanted(provider).into_iter().enumerate().collect();
        let out = run(provider, &steps, exit);
        assert_eq!(words(&out), wanted, "{provider}");

        // A person says yes to one and no to the other.
        steps.extend([Step::Decide(0, true), Step::Decide(1, false)]);
        let said = [(0, Word::Yes), (1, Word::No)];
        let said = said
            .into_iter()
            .filter(|(number, _)| wanted[*number].1 == Word::Ask);
        let out = run(provider, &steps, exit);
        let wanted: Vec<_> = wanted.iter().copied().chain(said).collect();
        assert_eq!(words(&out), wanted, "{provider}");
    }
}
