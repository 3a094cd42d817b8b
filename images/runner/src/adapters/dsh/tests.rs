use protocol::Outcome;

use super::*;
use crate::adapter::{AdapterResult, Launch, ResumeOutcome};
use crate::testing::launch;

/// A run after these lines, with its end.
fn told(resume: Option<&str>, lines: &[Value], exit: Exit) -> (Vec<Output>, AdapterResult) {
    let given = Launch {
        resume: resume.map(str::to_owned),
        ..launch()
    };
    let (_, mut adapter) = (DSH.launch)(&given);
    let mut out = Vec::new();
    adapter.handle(Input::Started, &mut out);
    for line in lines {
        adapter.handle(Input::Stdout(line.to_string().as_bytes()), &mut out);
    }
    adapter.handle(Input::Exited(exit), &mut out);
    let Some(Output::Done(result)) = out.last().cloned() else {
        panic!("no result: {out:?}");
    };
    (out, result)
}

const WELL: Exit = Exit {
    code: Some(0),
    signal: None,
};

fn frame(kind: &str, mut more: Value) -> Value {
    more["v"] = json!(1);
    more["type"] = json!(kind);
    more["request_id"] = json!("1");
    more
}

fn ready() -> Value {
    json!({"v": 1, "type": "ready", "runtime": "dsh"})
}

fn session() -> Value {
    frame("session", json!({"session_id": "s", "resumed": false}))
}

fn events(out: &[Output]) -> Vec<&EventBody> {
    out.iter()
        .filter_map(|output| {
            if let Output::Event(event) = output {
                Some(event)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn a_turn_with_a_tool() {
    let usage = |input| {
        frame(
            "usage",
            json!({"provider": "p", "model": "m", "input_tokens": input, "output_tokens": 5, "cache_read_tokens": 1}),
        )
    };
    let (out, result) = told(
        None,
        &[
            ready(),
            session(),
            frame("thinking", json!({"content": "Hm."})),
            frame(
                "tool_call",
                json!({"call_id": "c", "name": "shell", "arguments": "{\"command\":\"ls\"}"}),
            ),
            frame(
                "tool_result",
                json!({"call_id": "c", "name": "shell", "output": "a", "is_error": true}),
            ),
            usage(60),
            usage(40),
            frame("text", json!({"content": "Done."})),
            frame(
                "result",
                json!({"status": "completed", "output": "Done.", "session_id": "s"}),
            ),
        ],
        WELL,
    );
    assert_eq!(
        (&result.outcome, &result.output[..]),
        (&Outcome::Succeeded, "Done.")
    );
    assert_eq!(result.session.as_deref(), Some("s"));
    let sum = result.usage["p/m"];
    assert_eq!((sum.input, sum.output, sum.cache_read), (100, 10, 2));
    let events = events(&out);
    assert!(events.contains(&&EventBody::ToolUse {
        tool: "shell".to_owned(),
        call_id: "c".to_owned(),
        input: json!({"command": "ls"}),
    }));
    assert!(events.iter().any(|event| matches!(
        event,
        EventBody::ToolResult {
            status: Some(ToolStatus::Failed),
            ..
        }
    )));
    assert!(out.contains(&Output::CloseStdin));
}

#[test]
fn ends_that_are_failures() {
    let result = |more| frame("result", more);
    for (lines, class) in [
        (vec![], FailureClass::CliCrashed),
        (vec![ready(), session()], FailureClass::CliCrashed),
        (
            vec![json!({"v": 2, "type": "ready"})],
            FailureClass::CliCrashed,
        ),
        (
            vec![
                ready(),
                frame(
                    "protocol_error",
                    json!({"code": "bad", "message": "odd frame"}),
                ),
            ],
            FailureClass::CliCrashed,
        ),
        (
            vec![
                ready(),
                result(
                    json!({"status": "failed", "error": {"code": "auth", "message": "HTTP 401 Unauthorized"}}),
                ),
            ],
            FailureClass::ProviderAuth,
        ),
        (
            vec![
                ready(),
                result(json!({"status": "completed", "output": "I reached the iteration limit"})),
            ],
            FailureClass::IterationLimit,
        ),
        (
            vec![ready(), result(json!({"status": "brand_new"}))],
            FailureClass::CliCrashed,
        ),
    ] {
        let (_, told) = told(None, &lines, WELL);
        assert_eq!(told.outcome.class(), Some(class), "{lines:?}");
        assert_eq!(told.output, "");
    }
}

#[test]
fn a_turn_without_a_word_and_without_a_tool_is_no_success() {
    let done = frame("result", json!({"status": "completed", "output": ""}));
    let call = json!({"call_id": "c", "name": "shell", "arguments": "{}"});
    let words = frame("text", json!({"content": "Done."}));
    for (between, wanted) in [
        (vec![], Err(FailureClass::EmptyOutput)),
        (vec![frame("tool_call", call)], Ok("")),
        (vec![words], Ok("Done.")),
    ] {
        let lines: Vec<_> = [ready(), session()]
            .into_iter()
            .chain(between)
            .chain([done.clone()])
            .collect();
        let (_, told) = told(None, &lines, WELL);
        let judged = match told.outcome.class() {
            Some(class) => Err(class),
            None => Ok(told.output.as_str()),
        };
        assert_eq!(judged, wanted, "{lines:?}");
    }
}

#[test]
fn a_conversation_goes_on_where_it_says_so() {
    let done = frame("result", json!({"status": "completed", "output": "Yes."}));
    let (_, went_on) = told(Some("s"), &[ready(), session(), done.clone()], WELL);
    assert!(matches!(went_on.resume, ResumeOutcome::Continued(_)));
    let other = frame("session", json!({"session_id": "s2"}));
    let (_, other) = told(Some("s"), &[ready(), other, done], WELL);
    assert!(matches!(other.resume, ResumeOutcome::Unknown(_)));
    let lost = frame(
        "result",
        json!({"status": "failed", "resume_rejected": true, "error": {"message": "no such session"}}),
    );
    let (_, lost) = told(Some("s"), &[ready(), lost], WELL);
    assert_eq!(lost.outcome.class(), Some(FailureClass::SessionRejected));
    assert!(matches!(lost.resume, ResumeOutcome::Rejected(_)));
    assert_eq!(
        (&lost.session, &lost.retired[..]),
        (&None, &["s".to_owned()][..])
    );
}

#[test]
fn frames_of_other_requests_are_none() {
    let other =
        json!({"v": 1, "type": "result", "request_id": "2", "status": "completed", "output": "x"});
    let (_, result) = told(None, &[ready(), other], WELL);
    assert_eq!(result.outcome.class(), Some(FailureClass::CliCrashed));
}

#[test]
fn a_cancel_is_a_frame() {
    let (_, mut adapter) = (DSH.launch)(&launch());
    let mut out = Vec::new();
    adapter.handle(Input::Started, &mut out);
    adapter.handle(Input::Stdout(ready().to_string().as_bytes()), &mut out);
    for _ in 0..2 {
        adapter.handle(Input::Host(HostCommand::Interrupt), &mut out);
    }
    let cancels = out.iter().filter(|output| {
        matches!(output, Output::Write(line) if String::from_utf8_lossy(line).contains("\"cancel\""))
    });
    assert_eq!(cancels.count(), 1);
    let cancelled = frame("result", json!({"status": "cancelled", "session_id": "s"}));
    adapter.handle(Input::Stdout(cancelled.to_string().as_bytes()), &mut out);
    adapter.handle(Input::Exited(WELL), &mut out);
    let Some(Output::Done(result)) = out.last() else {
        panic!("no result");
    };
    assert_eq!(result.outcome.class(), Some(FailureClass::Cancelled));
    assert_eq!(result.session.as_deref(), Some("s"));
}
