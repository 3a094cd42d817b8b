//! Agents that speak ACP, and dsh, whose real programs cannot be had: stand-ins that were written from the
//! descriptions of their protocols, each with its own ways.

use std::path::Path;

use protocol::board::{Author, AuthorKind};
use protocol::runner::CommandKind;
use protocol::{
    Answer, CommentId, EndReason, EventBody, FailureClass, Outcome, Package, ProviderSession,
    SessionPolicy, TokenUsage, ToolStatus,
};
use rustix::process::Signal;

use crate::api::{Api, said};
use crate::pod::{Pod, fake, package};

const ACP: [&str; 11] = [
    "hermes",
    "reasonix",
    "kiro",
    "qoder",
    "qoderclicn",
    "traecli",
    "grok",
    "qwenpaw",
    "mcode",
    "dim",
    "zeroclaw",
];
const DSH: &str = "dsh";

fn all() -> impl Iterator<Item = &'static str> {
    ACP.into_iter().chain([DSH])
}

fn task(provider: &str, prompt: &str) -> Package {
    let program = Path::new(fake()).with_file_name("mooring-fake-cli");
    let mut package = package(prompt);
    package.runtime.provider = provider.to_owned();
    package.runtime.command = vec![program.display().to_string(), provider.to_owned()];
    package.agent.model = match provider {
        // They offer no choice.
        "mcode" | "zeroclaw" => None,
        "dsh" => Some("fake/fake-model".to_owned()),
        _ => Some("fake-model".to_owned()),
    };
    package
}

fn resumed(provider: &str, prompt: &str, session: &ProviderSession) -> Package {
    let mut package = task(provider, prompt);
    package.session.resume = Some(session.clone());
    package.session.has_past = true;
    package
}

fn gone(provider: &str) -> ProviderSession {
    ProviderSession {
        provider: provider.to_owned(),
        id: "gone-1".to_owned(),
    }
}

#[tokio::test]
async fn a_turn_is_told_from_start_to_end() {
    const SCRIPT: &str = "do: think Hm.\ndo: run echo scripted-42\ndo: run echo broken; exit 3\ndo: answer All is well.";
    for provider in all() {
        let (told, result) = Pod::new().tell(task(provider, SCRIPT)).await;
        assert_eq!(result.outcome, Outcome::Succeeded, "{provider}: {result:?}");
        assert_eq!(result.output, "All is well.", "{provider}");
        assert_eq!(result.provider_session.unwrap().provider, provider);
        let mut usage = result.usage.into_iter();
        let (cache_read, model) = match provider {
            "reasonix" => (30, "fake-model"),
            "mcode" => (0, "unknown"),
            "dsh" => (20, "fake/fake-model"),
            _ => (0, "fake-model"),
        };
        let wanted = TokenUsage {
            input: 100,
            output: 20,
            cache_read,
            cache_write: 0,
        };
        let tells = provider != "zeroclaw";
        let told_usage = tells.then(|| (model.to_owned(), wanted));
        assert_eq!(usage.next(), told_usage, "{provider}");
        let bodies = || told.events.iter().map(|event| &event.body);
        let commands: Vec<_> = bodies()
            .filter_map(|body| {
                if let EventBody::ToolUse { input, .. } = body {
                    input["command"].as_str()
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(
            commands,
            ["echo scripted-42", "echo broken; exit 3"],
            "{provider}"
        );
        let results: Vec<_> = bodies()
            .filter_map(|body| {
                if let EventBody::ToolResult { output, status, .. } = body {
                    Some((output.trim(), *status))
                } else {
                    None
                }
            })
            .collect();
        let wanted = [
            ("scripted-42", Some(ToolStatus::Completed)),
            ("broken", Some(ToolStatus::Failed)),
        ];
        assert_eq!(results, wanted, "{provider}");
        let thinks = |body| matches!(body, &EventBody::Thinking { .. });
        assert!(bodies().any(thinks), "{provider}");
    }
}

#[tokio::test]
async fn the_next_run_goes_on_with_the_conversation() {
    for provider in all() {
        let pod = Pod::new();
        let (_, first) = pod
            .tell(task(provider, "remember: lantern\ndo: answer Noted."))
            .await;
        let session = first.provider_session.unwrap();
        let mut next = resumed(provider, "do: recall", &session);
        next.session.policy = SessionPolicy::Require;
        let (told, second) = pod.tell(next).await;
        assert_eq!(second.output, "lantern", "{provider}");
        assert_eq!(second.provider_session, Some(session), "{provider}");
        assert_eq!(second.resumed.provider.answer, Answer::Yes, "{provider}");
        // A history that is told again is not of this turn.
        assert!(!said(&told.events).contains("history:"), "{provider}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_not_known_is_begun_anew() {
    // QwenPaw takes any, so that nobody can tell.
    for provider in all().filter(|provider| *provider != "qwenpaw") {
        let asked = resumed(provider, "do: answer Here.", &gone(provider));
        let (told, result) = Pod::new().tell(asked).await;
        assert_eq!(
            result.outcome,
            Outcome::Succeeded,
            "{provider}: {}",
            said(&told.events)
        );
        assert_eq!(result.retired_sessions, ["gone-1"], "{provider}");
        assert_eq!(result.resumed.provider.answer, Answer::No, "{provider}");
        assert_ne!(result.provider_session, Some(gone(provider)), "{provider}");
    }
}

#[tokio::test]
async fn failures_have_their_class() {
    for provider in all() {
        for (script, class) in [
            ("do: fail 401 Unauthorized", FailureClass::ProviderAuth),
            ("do: answer Soon.\ndo: crash 3", FailureClass::CliCrashed),
        ] {
            let (_, result) = Pod::new().tell(task(provider, script)).await;
            assert_eq!(
                result.outcome.class(),
                Some(class),
                "{provider}: {result:?}"
            );
            assert_eq!(result.output, "", "{provider}");
        }
    }
}

#[tokio::test]
async fn without_a_login_there_is_no_turn() {
    for provider in ACP {
        let mut pod = Pod::new();
        pod.variables = vec![("FAKE_NO_LOGIN".to_owned(), "1".to_owned())];
        let (_, result) = pod.tell(task(provider, "do: answer Here.")).await;
        let class = result.outcome.class();
        assert_eq!(
            class,
            Some(FailureClass::ProviderAuth),
            "{provider}: {result:?}"
        );
        assert_eq!(result.provider_session, None, "{provider}");
    }
}

#[tokio::test]
async fn a_turn_is_cancelled_in_its_own_words() {
    for provider in all() {
        let pod = Pod::new();
        let api = Api::serve(task(provider, "do: run echo begun\ndo: sleep 50")).await;
        let running = pod.start(&api);
        api.until_said("begun").await;
        api.stop(EndReason::Cancelled);
        let ended = running.end().await;
        assert_eq!(ended.code, Some(0), "{}", ended.log);
        let result = api.told().results[0].clone();
        assert_eq!(
            result.outcome.class(),
            Some(FailureClass::Cancelled),
            "{provider}"
        );
        assert!(
            result.provider_session.is_some(),
            "{provider}: the conversation is kept"
        );
    }
}

/// What is held by somebody else is waited for, and never given up for a new conversation.
#[tokio::test]
async fn a_conversation_that_is_held_is_waited_for() {
    for provider in ["reasonix", "dim", "zeroclaw"] {
        for (times, class) in [("1", None), ("9", Some(FailureClass::PrepareFailed))] {
            let mut pod = Pod::new();
            let first = task(provider, "remember: lantern\ndo: answer Noted.");
            let session = pod.tell(first).await.1.provider_session.unwrap();
            let held = pod.at("held");
            std::fs::write(&held, times).unwrap();
            pod.variables = vec![("FAKE_HELD".to_owned(), held.display().to_string())];
            let (_, result) = pod.tell(resumed(provider, "do: recall", &session)).await;
            assert_eq!(
                result.outcome.class(),
                class,
                "{provider} {times}: {result:?}"
            );
            assert_eq!(result.provider_session, Some(session), "{provider} {times}");
            assert_eq!(
                result.retired_sessions,
                [] as [String; 0],
                "{provider} {times}"
            );
            let answered = if class.is_none() { "lantern" } else { "" };
            assert_eq!(result.output, answered, "{provider} {times}");
        }
    }
}

/// Nobody is there to answer, and it would wait for ever.
#[tokio::test]
async fn a_question_to_a_person_ends_the_turn() {
    for provider in ["reasonix", "zeroclaw"] {
        let (told, result) = Pod::new()
            .tell(task(provider, "do: run ask Which one?"))
            .await;
        let class = result.outcome.class();
        assert_eq!(
            class,
            Some(FailureClass::EmptyOutput),
            "{provider}: {}",
            said(&told.events)
        );
        assert!(
            format!("{:?}", result.outcome).contains("asked a question"),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn last_words_that_fail_do_not_undo_what_kiro_has_done() {
    const WORDS: &str = "do: fail Kiro failed to generate a response";
    let done = format!("do: answer It is done.\ndo: run goal_complete\n{WORDS}");
    let (_, result) = Pod::new().tell(task("kiro", &done)).await;
    assert_eq!(result.outcome, Outcome::Succeeded, "{result:?}");
    assert_eq!(result.output, "It is done.");
    let (_, result) = Pod::new().tell(task("kiro", WORDS)).await;
    assert_eq!(
        result.outcome.class(),
        Some(FailureClass::ProviderServerError)
    );
}

/// What stands in the context file is said to those that do not read it.
#[tokio::test]
async fn who_reads_no_file_is_told_all_the_same() {
    for (provider, told) in [("traecli", true), ("qwenpaw", true), ("kiro", false)] {
        let pod = Pod::new();
        let (_, result) = pod.tell(task(provider, "do: answer Here.")).await;
        let session = result.provider_session.unwrap().id;
        let file = pod.at(&format!("workspace/home/.fake-{provider}/{session}"));
        let prompt = std::fs::read_to_string(file).unwrap();
        assert_eq!(prompt.contains("Be brief."), told, "{provider}: {prompt}");
        let file = std::fs::read_to_string(pod.at("workspace/work/AGENTS.md")).unwrap();
        assert!(file.contains("Be brief."), "{provider}");
    }
}

/// Gives a provider a remark while it works, and looks whether it hears of it.
async fn remarked(provider: &str, version: Option<&str>, takes: bool) {
    let pod = Pod::new();
    let script = "do: run echo begun\ndo: sleep 10\ndo: run echo more\ndo: answer Done.";
    let mut package = task(provider, script);
    package.runtime.version = version.map(str::to_owned);
    let api = Api::serve(package).await;
    let running = pod.start(&api);
    api.until_said("begun").await;
    api.command(remark());
    let told = api
        .until("an answer", |told| !told.steered.is_empty())
        .await;
    assert_eq!(
        told.steered[0].why.is_none(),
        takes,
        "{provider}: {:?}",
        told.steered
    );
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(told.results[0].outcome, Outcome::Succeeded, "{provider}");
    let heard = said(&told.events).contains("Only Safari matters.");
    assert_eq!(heard, takes, "{provider}");
    assert!(told.results[0].output.ends_with("Done."), "{provider}");
    assert!(
        !told.results[0].output.contains("Steer queued"),
        "{provider}"
    );
}

#[tokio::test]
async fn a_remark_reaches_those_that_take_one() {
    tokio::join!(
        remarked("hermes", None, true),
        remarked("grok", Some("1.0.14"), true),
        // Of a version from before it took them.
        remarked("grok", Some("1.0.13"), false),
        remarked("reasonix", None, true),
        remarked("kiro", None, false),
    );
}

fn remark() -> CommandKind {
    CommandKind::Steer {
        remark: CommentId(uuid::Uuid::from_u128(9)),
        author: Author {
            kind: AuthorKind::Member,
            id: "mia".to_owned(),
            name: "Mia".to_owned(),
        },
        text: "Only Safari matters.".to_owned(),
    }
}

#[tokio::test]
async fn a_result_does_not_wait_for_what_became_of_remarks() {
    let pod = Pod::new();
    let script = "do: run echo begun\ndo: sleep 10\ndo: answer Done.";
    let api = Api::serve(task("hermes", script)).await;
    api.take_no_remarks();
    let running = pod.start(&api);
    api.until_said("begun").await;
    api.command(remark());
    let left = |pod: &Pod| {
        std::fs::metadata(pod.at("dev/termination-log"))
            .unwrap()
            .len()
            > 0
    };
    pod.until("the result", left).await;
    assert!(api.told().results.is_empty(), "the remark comes first");
    running.signal(Signal::TERM);
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(told.steered.len(), 0);
    assert_eq!(told.results[0].outcome, Outcome::Succeeded);
    assert_eq!(pod.left().outcome, Outcome::Succeeded);
}
