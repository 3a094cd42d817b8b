//! What the client of agents that speak ACP makes of their recordings, and what it does where there is none.

mod recordings;

use std::time::Duration;

use protocol::{EventBody, FailureClass as C, LogLevel, Outcome, ToolStatus};
use runner::adapter::{Activity, HostCommand, Input, Output, ResumeOutcome};

use crate::made_up::{self, ended, timers, written};
use crate::of;
use crate::replay::{Case, Run, result};

pub(crate) use self::recordings::folders;

fn find(folder: &str, name: &str) -> Case {
    let all = folders().into_iter().flat_map(|(_, cases)| cases);
    let found = all
        .into_iter()
        .find(|case| case.folder == folder && case.name == name);
    found.expect("the case is in the table")
}

/// The numbers are the scripted model's, whoever tells them and however; those of a resumed turn are its own.
/// kimi tells none.
#[test]
fn usage_is_that_of_the_turn() {
    for (folder, name, model, wanted) in [
        ("gemini", "text", "gemini-2.5-flash", (1540, 12, 0, 0)),
        ("vibe", "text", "scripted", (1240, 12, 300, 0)),
        ("vibe", "load-same-cwd", "scripted", (1240, 12, 300, 0)),
        ("vibe", "shell", "scripted", (1100, 40, 0, 0)),
        (
            "claude-agent-acp",
            "text",
            "claude-opus-5-5",
            (1200, 12, 300, 40),
        ),
        (
            "claude-agent-acp",
            "resume-same-cwd",
            "claude-opus-5-5",
            (1200, 12, 300, 40),
        ),
        // What came before is told again, and its tokens with it.
        (
            "claude-agent-acp",
            "load-same-cwd",
            "claude-opus-5-5",
            (1200, 12, 300, 40),
        ),
        (
            "codex-acp",
            "load-same-cwd",
            "gpt-5.2-codex",
            (1240, 12, 300, 0),
        ),
        ("vibe", "load-other-cwd", "scripted", (1100, 40, 0, 0)),
        (
            "acp-copilot",
            "load-same-cwd",
            "unknown",
            (1240, 12, 300, 0),
        ),
        ("codex-acp", "text", "gpt-5.2-codex", (1240, 12, 300, 0)),
        (
            "codex-acp",
            "resume-same-cwd",
            "gpt-5.2-codex",
            (1240, 12, 300, 0),
        ),
        ("codex-acp", "thinking", "gpt-5.2-codex", (90, 60, 0, 0)),
        ("hermes", "text", "custom:scripted-1", (1240, 12, 300, 0)),
        (
            "reasonix",
            "text",
            "scripted/scripted-1",
            (1240, 12, 300, 0),
        ),
        ("reasonix", "shell", "scripted/scripted-1", (200, 40, 0, 0)),
        ("qwenpaw", "text", "scripted-1", (1540, 12, 0, 0)),
        ("qwenpaw", "shell", "scripted-1", (200, 40, 0, 0)),
    ] {
        let out = find(folder, name).replay();
        let usage = &result(&out).usage;
        let Some(usage) = usage.get(model) else {
            panic!("{folder}/{name}: {usage:?}");
        };
        let told = (
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
        );
        assert_eq!(told, wanted, "{folder}/{name}");
    }
    assert!(result(&find("kimi", "text").replay()).usage.is_empty());
}

#[test]
fn answers_are_the_agents_own_words() {
    for (folder, _) in folders() {
        for (name, wanted) in [
            ("text", "Hello from the scripted model."),
            ("shell", "The command printed scripted-42."),
            ("thinking", "Thought, then said."),
        ] {
            let out = find(folder, name).replay();
            let said = result(&out).output.as_str();
            // Where no tool is told, nothing stands between the first words and the last.
            let first = (folder == "acp-codex-as-it-starts").then_some("I will run a command.");
            let said = first.map_or(said, |first| said.trim_start_matches(first));
            assert_eq!(said, wanted, "{folder}/{name}");
        }
    }
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#;
const SAID: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}}}}"#;
const ENDED: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;

/// A run of the generic agent, made up for the test, after these lines.
fn run(resume: Option<&'static str>, lines: &[&str]) -> Run {
    made_up::run("acp", resume, lines)
}

#[test]
fn a_program_that_does_not_answer_is_not_waited_for() {
    for lines in [&[][..], &[INITIALIZED]] {
        let mut run = run(None, lines);
        let (id, after) = *timers(&run).last().expect("a timer");
        assert!(after <= Duration::from_secs(60));
        run.give(Input::Timer(id));
        assert_eq!(
            result(&run.out).outcome.class(),
            Some(C::CliCrashed),
            "{lines:?}"
        );
    }
    let mut run = run(None, &[INITIALIZED, OPENED]);
    for (id, _) in timers(&run) {
        run.give(Input::Timer(id));
    }
    assert!(!run.is_done(), "a turn takes what it takes");
}

/// Many put the last words after the answer to the prompt; and some do not leave when their input ends.
#[test]
fn last_words_are_waited_for_and_the_process_is_not() {
    let mut run = run(None, &[INITIALIZED, OPENED, ENDED]);
    assert!(!run.out.contains(&Output::CloseStdin));
    run.give(Input::Stdout(SAID.as_bytes()));
    let quiet: Vec<_> = timers(&run)
        .into_iter()
        .filter(|(_, after)| *after == Duration::from_millis(250))
        .collect();
    assert_eq!(quiet.len(), 2, "set again by what came");
    run.give(Input::Timer(quiet[0].0));
    assert!(run.out.contains(&Output::CloseStdin));
    assert!(!run.is_done());
    let (linger, _) = *timers(&run).last().expect("a timer");
    run.give(Input::Timer(linger));
    assert_eq!(
        (&result(&run.out).outcome, &result(&run.out).output[..]),
        (&Outcome::Succeeded, "Done.")
    );
}

#[test]
fn what_is_not_of_this_turn_is_not_shown() {
    let replayed = SAID.replace("Done.", "past");
    let elsewhere = SAID
        .replace("\"s\"", "\"s2\"")
        .replace("Done.", "elsewhere");
    let lines = [INITIALIZED, &replayed, OPENED, &elsewhere, SAID, ENDED];
    let out = ended(run(Some("s"), &lines));
    assert_eq!(result(&out).output, "Done.");
    assert!(matches!(result(&out).resume, ResumeOutcome::Continued(_)));
    let texts = out
        .iter()
        .filter(|output| matches!(output, Output::Event(EventBody::Text { .. })));
    assert_eq!(texts.count(), 1);
}

/// However it spells its updates, and of no session beside ours.
#[test]
fn usage_is_read_in_every_spelling_and_of_our_session_alone() {
    let update = |session: &str, update: &str| {
        format!(
            r#"{{"method":"session/notification","params":{{"sessionId":"{session}","update":{update}}}}}"#
        )
    };
    let usage = |input: u32| format!(r#"{{"inputTokens":{input},"outputTokens":2}}"#);
    for ours in [
        format!(r#"{{"sessionUpdate":"usage_update","usage":{}}}"#, usage(7)),
        format!(r#"{{"type":"UsageUpdate","usage":{}}}"#, usage(7)),
        format!(r#"{{"UsageUpdate":{{"usage":{}}}}}"#, usage(7)),
        format!(r#"{{"sessionUpdate":"turn_end","usage":{}}}"#, usage(7)),
    ] {
        let theirs = format!(
            r#"{{"sessionUpdate":"usage_update","usage":{}}}"#,
            usage(900)
        );
        let (ours, theirs) = (update("s", &ours), update("s2", &theirs));
        let out = ended(run(
            None,
            &[INITIALIZED, OPENED, &theirs, &ours, SAID, ENDED],
        ));
        let tokens = result(&out).usage.values().next();
        let told = tokens.map(|tokens| (tokens.input, tokens.output));
        assert_eq!(told, Some((7, 2)), "{ours}");
    }
}

/// An agent may say that all is well and leave a setting as it was.
#[test]
fn a_setting_that_was_not_taken_is_told() {
    let opened = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","configOptions":[{"id":"x","category":"effort","currentValue":"low"}]}}"#;
    let told = |value: &str| {
        let mut adapter = runner::adapters::find("acp")
            .expect("it is there")
            .launch(&runner::adapter::Launch {
                thinking: Some("high".to_owned()),
                ..Default::default()
            })
            .1;
        let answer = format!(
            r#"{{"id":3,"result":{{"configOptions":[{{"id":"x","currentValue":"{value}"}}]}}}}"#
        );
        let mut out = Vec::new();
        adapter.handle(Input::Started, &mut out);
        for line in [INITIALIZED, opened, &answer] {
            adapter.handle(Input::Stdout(line.as_bytes()), &mut out);
        }
        let prompted = |output: &Output| matches!(output, Output::Write(line) if String::from_utf8_lossy(line).contains("session/prompt"));
        assert!(out.iter().any(prompted));
        out.iter().any(|output| matches!(output, Output::Event(EventBody::Log { content, .. }) if content.contains("was not taken")))
    };
    assert!(told("low") && !told("high"));
}

#[test]
fn the_other_way_is_tried_where_one_is_not_known() {
    let both = r#"{"id":1,"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}"#;
    let unknown =
        |id| format!(r#"{{"id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#);
    let (first, second) = (unknown(2), unknown(3));
    let loads = run(Some("s"), &[both, &first]);
    assert_eq!(
        (
            written(&loads, "session/resume"),
            written(&loads, "session/load")
        ),
        (1, 1)
    );
    let neither = run(Some("s"), &[both, &first, &second]);
    assert!(matches!(
        result(&neither.out).resume,
        ResumeOutcome::Rejected(_)
    ));
    let offers_none = run(Some("s"), &[r#"{"id":1,"result":{}}"#]);
    assert!(matches!(
        result(&offers_none.out).resume,
        ResumeOutcome::Rejected(_)
    ));
}

#[test]
fn a_session_under_another_id_is_no_proof_that_it_went_on() {
    let opened = OPENED.replace("\"s\"", "\"s2\"");
    let said = SAID.replace("\"s\"", "\"s2\"");
    let out = ended(run(Some("s"), &[INITIALIZED, &opened, &said, ENDED]));
    assert!(matches!(result(&out).resume, ResumeOutcome::Unknown(_)));
    assert_eq!(result(&out).session.as_deref(), Some("s2"));
}

/// The id of a session that came to nothing would fail for ever.
#[test]
fn a_new_session_is_kept_once_the_agent_works() {
    let refused = r#"{"id":3,"error":{"code":-32000,"message":"Authentication required"}}"#;
    let out = ended(run(None, &[INITIALIZED, OPENED, refused]));
    assert_eq!(
        (result(&out).outcome.class(), &result(&out).session),
        (Some(C::ProviderAuth), &None)
    );
    let out = ended(run(None, &[INITIALIZED, OPENED, SAID, refused]));
    assert_eq!(result(&out).session.as_deref(), Some("s"));
    // One that was asked for is not given up for want of a login.
    let out = ended(run(Some("s"), &[INITIALIZED, OPENED, refused]));
    assert_eq!(
        (result(&out).session.as_deref(), &result(&out).retired[..]),
        (Some("s"), &[][..])
    );
}

#[test]
fn an_interrupt_cancels_once_and_answers_what_is_asked_meanwhile() {
    let mut run = run(None, &[INITIALIZED, OPENED]);
    for _ in 0..2 {
        run.give(Input::Host(HostCommand::Interrupt));
    }
    assert_eq!(written(&run, "session/cancel"), 1);
    let ask = r#"{"id":"a","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"ls"},"options":[{"optionId":"o","kind":"allow_once"}]}}"#;
    run.give(Input::Stdout(ask.as_bytes()));
    assert_eq!(written(&run, r#""outcome":"cancelled""#), 1);
    let out = ended(run);
    assert_eq!(result(&out).outcome.class(), Some(C::Cancelled));
    let closed = |output: &Output| {
        matches!(
            output,
            Output::Event(EventBody::ToolResult {
                status: Some(ToolStatus::Failed),
                ..
            })
        )
    };
    assert!(
        out.iter().any(closed),
        "a tool that was asked for has an end"
    );
}

#[test]
fn an_interrupt_before_the_prompt_sends_none() {
    let mut run = run(None, &[INITIALIZED]);
    run.give(Input::Host(HostCommand::Interrupt));
    assert_eq!(result(&run.out).outcome.class(), Some(C::Cancelled));
    assert_eq!(written(&run, "session/prompt"), 0);
}

#[test]
fn files_and_terminals_were_not_announced_and_are_not_served() {
    let ask =
        r#"{"id":0,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/etc/passwd"}}"#;
    // A request without an id is none, and gets no answer.
    let told = r#"{"method":"terminal/create","params":{"sessionId":"s"}}"#;
    let run = run(None, &[INITIALIZED, OPENED, ask, told]);
    assert_eq!(written(&run, "-32601"), 1);
    let warned = |output: &Output| {
        matches!(
            output,
            Output::Event(EventBody::Log {
                level: LogLevel::Warn,
                ..
            })
        )
    };
    assert!(run.out.iter().any(warned));
}

/// Hermes, of which there is no recording: frames as its protocol is described.
mod hermes {
    use super::*;

    const INITIALIZED: &str = r#"{"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"hermes","version":"0.19.0"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}"#;
    const RESUMED: &str = r#"{"id":2,"result":{}}"#;

    fn run(resume: Option<&'static str>, lines: &[&str]) -> Run {
        made_up::run("hermes", resume, lines)
    }

    #[test]
    fn a_tool_has_its_command_when_it_starts() {
        let tool = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"terminal: ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"},"content":[{"type":"content","content":{"type":"text","text":"$ ls"}}]}}}"#;
        let done = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"notes.txt"}}}"#;
        let usage = r#"{"id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120}}}"#;
        let out = ended(run(None, &[INITIALIZED, OPENED, tool, done, SAID, usage]));
        let used = |output: &Output| matches!(output, Output::Event(EventBody::ToolUse { tool, input, .. }) if tool == "terminal" && input["command"] == "ls");
        assert!(out.iter().any(used));
        assert_eq!(result(&out).output, "Done.");
        assert_eq!(result(&out).usage["unknown"].input, 100);
    }

    /// It takes any session, and refuses the prompt in one that it does not know.
    #[test]
    fn a_refusal_without_a_word_means_that_the_session_is_lost() {
        let refused = r#"{"id":3,"result":{"stopReason":"refusal"}}"#;
        let out = ended(run(Some("s"), &[INITIALIZED, RESUMED, refused]));
        assert_eq!(result(&out).outcome.class(), Some(C::SessionRejected));
        assert!(matches!(result(&out).resume, ResumeOutcome::Rejected(_)));
        // With a word it is one about the prompt, and so it is in a new session.
        for (resume, lines) in [
            (Some("s"), &[INITIALIZED, RESUMED, SAID, refused][..]),
            (None, &[INITIALIZED, OPENED, refused]),
        ] {
            let out = ended(run(resume, lines));
            assert_eq!(result(&out).outcome.class(), Some(C::Unknown));
        }
    }

    #[test]
    fn a_session_that_it_replaced_goes_on_under_its_own_id() {
        let replaced =
            r#"{"id":2,"result":{"_meta":{"hermes":{"sessionProvenance":{"acpSessionId":"s2"}}}}}"#;
        let said = SAID.replace("\"s\"", "\"s2\"");
        let out = ended(run(Some("s"), &[INITIALIZED, replaced, &said, ENDED]));
        assert!(matches!(result(&out).resume, ResumeOutcome::Unknown(_)));
        assert_eq!(result(&out).session.as_deref(), Some("s2"));
    }

    /// As the real one answers for a session that it does not know.
    #[test]
    fn a_new_session_in_the_place_of_the_old_one_means_that_it_is_lost() {
        let other = r#"{"id":2,"result":{"_meta":{"hermes":{"sessionProvenance":{"acpSessionId":"s2","currentHermesSessionId":"s2","rootHermesSessionId":"s2","parentHermesSessionId":null,"sessionKind":"root","compressionDepth":0}}}}}"#;
        let run = run(Some("s"), &[INITIALIZED, other]);
        assert!(matches!(
            result(&run.out).resume,
            ResumeOutcome::Rejected(_)
        ));
        assert_eq!(result(&run.out).retired, ["s"]);
        assert_eq!(written(&run, "session/prompt"), 0);
    }

    #[test]
    fn a_failure_on_stderr_is_one_though_the_turn_ended_well() {
        let mut run = run(None, &[INITIALIZED, OPENED, SAID]);
        run.give(Input::Stderr(
            "❌ API call failed after 3 retries. Error: HTTP 429".as_bytes(),
        ));
        run.give(Input::Stdout(ENDED.as_bytes()));
        assert_eq!(
            result(&ended(run)).outcome.class(),
            Some(C::ProviderOverloaded)
        );
    }

    #[test]
    fn a_missing_provider_is_a_missing_setting() {
        let refused = r#"{"id":2,"error":{"code":-32603,"message":"Internal error","data":"No LLM provider configured. Run hermes setup"}}"#;
        let run = run(None, &[INITIALIZED, refused]);
        assert_eq!(result(&run.out).outcome.class(), Some(C::ConfigMissing));
    }
}

/// Recordings of programs that offer to load a session and nothing else, by a client that asked them to resume it.
#[test]
fn what_is_not_offered_is_not_asked_for() {
    for folder in ["gemini", "acp-copilot"] {
        for name in ["resume-other-cwd", "resume-same-cwd", "resume-unknown"] {
            let mut run = Run::of(&find(folder, name));
            for line in find(folder, name).stdout() {
                run.line(&line);
            }
            let asked = ["session/load", "session/resume"].map(|method| written(&run, method));
            assert_eq!(asked, [1, 0], "{folder}/{name}");
        }
    }
}

/// Gemini says so on stderr.
#[test]
fn what_is_tried_again_has_its_class() {
    for (name, class) in [
        ("http-429", C::ProviderOverloaded),
        ("http-500", C::ProviderServerError),
    ] {
        let out = find("gemini", name).replay();
        let wanted = Output::Activity(Activity::Retrying(class));
        assert!(out.contains(&wanted), "{name}");
    }
}

/// One that only tries again is ended by the watchdog for that, with the class of the last failure.
#[test]
fn a_request_that_is_tried_again_is_told_to_the_watchdogs() {
    let retrying = r#"{"jsonrpc":"2.0","method":"_session/retrying","params":{"sessionId":"s","category":"rate_limited","detail":"HTTP 429"}}"#;
    let mut run = Run::of(&of("vibe", "none", "none"));
    for line in [INITIALIZED, OPENED, retrying] {
        run.give(Input::Stdout(line.as_bytes()));
    }
    let wanted = Output::Activity(Activity::Retrying(C::ProviderOverloaded));
    assert!(run.out.contains(&wanted), "{:#?}", run.out);
}
