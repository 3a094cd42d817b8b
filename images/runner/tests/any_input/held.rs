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
        ("bash", json!({"command": "apply_patch <<X"})),
        ("Write", json!({"file_path": "a"})),
        ("read", json!({"path": "~/a"})),
        ("apply_patch", json!({"command": "*** Add File: a"})),
        ("", Value::Null),
    ];
    let mut frames = vec![
        json!({"type": "extension_ui_request", "id": "0", "method": "notify", "message": "mooring: the gate is there"}),
        json!({"type": "response", "id": "1", "command": "get_state", "success": true, "data": {"sessionId": "s"}}),
        json!({"type": "control_response", "response": {"request_id": "initialize", "subtype": "success"}}),
        json!({"type": "control_cancel_request", "request_id": "2"}),
        json!({"type": "extension_ui_request", "id": "9", "method": "confirm", "title": "?"}),
        json!({"type": "tool_execution_end", "toolCallId": "unseen", "isError": false}),
        json!({"id": 1, "result": {"userAgent": "codex/0.171.0"}}),
        json!({"id": 2, "result": {"data": [{"hooks": [{"source": "sessionFlags", "eventName": "preToolUse",
            "server": "mooring_gate", "key": "k", "currentHash": "h"}]}]}}),
        json!({"id": 3, "result": {"thread": {"id": "t"}}}),
        json!({"id": 4, "result": {"turn": {"id": "u"}}}),
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

/// What is denied is answered with no, what is neither with yes, and what a person is asked about with what they say.
#[test]
fn each_of_them_asks() {
    let all: Vec<_> = held().collect();
    assert!(all.len() > 1, "{all:?}");
    for provider in all {
        let steps: Vec<_> = asks()
            .iter()
            .map(|frame| Step::Line(frame.to_string()))
            .collect();
        // Without those that end a run.
        let harmless = |step: &Step| !format!("{step:?}").contains("unseen");
        let steps: Vec<_> = steps
            .into_iter()
            .filter(|step| {
                let words = format!("{step:?}");
                harmless(step)
                    && !words.contains("hook/completed")
                    && !words.contains("terminalInteraction")
            })
            .collect();
        let exit = Exit {
            code: Some(0),
            signal: None,
        };
        let out = run(provider, &steps, exit);
        let asked = out
            .iter()
            .any(|output| matches!(output, Output::Ask { .. }));
        assert!(asked, "{provider}: {out:?}");
    }
}
