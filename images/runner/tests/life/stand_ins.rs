//! Agents whose real programs cannot be had: stand-ins that were written from the descriptions of their protocols.

use std::path::Path;
use std::time::Duration;

use protocol::{
    Answer, EndReason, EventBody, FailureClass, Outcome, Package, SessionPolicy, TokenUsage,
    ToolStatus,
};

use crate::api::{Api, said};
use crate::pod::{Pod, fake, package};

/// Them, and the model calls that the script of [`DONE`] costs each: some tell of the call that a tool was asked for in.
const ALL: [(&str, u64); 4] = [
    ("antigravity", 1),
    ("codearts", 3),
    ("cursor", 1),
    ("deveco", 3),
];
const DONE: &str =
    "do: think Hm.\ndo: run echo scripted-42\ndo: run echo broken; exit 3\ndo: answer All is well.";

fn task(provider: &str, prompt: &str) -> Package {
    let program = Path::new(fake()).with_file_name("mooring-fake-cli");
    let mut package = package(prompt);
    package.runtime.provider = provider.to_owned();
    package.runtime.command = vec![program.display().to_string(), provider.to_owned()];
    package
}

#[tokio::test]
async fn a_turn_is_told_from_start_to_end() {
    for (provider, calls) in ALL {
        let (told, result) = Pod::new().tell(task(provider, DONE)).await;
        assert_eq!(result.outcome, Outcome::Succeeded, "{provider}");
        assert_eq!(result.output, "All is well.", "{provider}");
        let session = result.provider_session.unwrap();
        assert_eq!(session.provider, provider);
        let usage = TokenUsage {
            input: 7 * calls,
            output: 5 * calls,
            cache_read: 3 * calls,
            cache_write: 0,
        };
        assert_eq!(result.usage["fake-model"], usage, "{provider}");
        let bodies = || told.events.iter().map(|event| &event.body);
        let tools: Vec<_> = bodies()
            .filter_map(|body| {
                let EventBody::ToolUse { input, .. } = body else {
                    return None;
                };
                input["command"].as_str()
            })
            .collect();
        assert_eq!(
            tools,
            ["echo scripted-42", "echo broken; exit 3"],
            "{provider}"
        );
        let results: Vec<_> = bodies()
            .filter_map(|body| {
                let EventBody::ToolResult { output, status, .. } = body else {
                    return None;
                };
                Some((output.as_str(), *status))
            })
            .collect();
        let [(first, good), (second, bad)] = results[..] else {
            panic!("{provider}: {results:?}");
        };
        assert!(
            first.contains("scripted-42") && second.contains("broken"),
            "{provider}: {results:?}"
        );
        assert_eq!(
            (good, bad),
            (Some(ToolStatus::Completed), Some(ToolStatus::Failed)),
            "{provider}"
        );
        // Antigravity's stream has no thoughts.
        let thinks = bodies().any(|body| matches!(body, EventBody::Thinking { .. }));
        assert_eq!(thinks, provider != "antigravity", "{provider}");
    }
}

#[tokio::test]
async fn the_next_run_goes_on_with_the_conversation() {
    for (provider, _) in ALL {
        let pod = Pod::new();
        let (_, first) = pod
            .tell(task(provider, "remember: lantern\ndo: answer Noted."))
            .await;
        let mut next = task(provider, "do: recall");
        next.session.policy = SessionPolicy::Require;
        next.session.resume = first.provider_session.clone();
        next.session.has_past = true;
        let (_, second) = pod.tell(next).await;
        assert_eq!(second.output, "lantern", "{provider}");
        assert_eq!(
            second.provider_session, first.provider_session,
            "{provider}"
        );
        assert_eq!(second.resumed.provider.answer, Answer::Yes, "{provider}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_said_to_be_unknown_is_begun_anew() {
    for provider in ["codearts", "deveco"] {
        let mut asked = task(provider, "do: answer Here.");
        asked.session.resume = Some(protocol::ProviderSession {
            provider: provider.to_owned(),
            id: "ses_gone".to_owned(),
        });
        asked.session.has_past = true;
        let (_, result) = Pod::new().tell(asked).await;
        assert_eq!(result.outcome, Outcome::Succeeded, "{provider}");
        assert_eq!(result.retired_sessions, ["ses_gone"], "{provider}");
        assert_eq!(result.resumed.provider.answer, Answer::No, "{provider}");
    }
}

/// They say nothing of a conversation that they do not know, they end: that may be what it is, so they are tried once
/// without it.
#[tokio::test]
async fn an_end_without_a_word_may_be_a_conversation_that_is_gone() {
    for provider in ["antigravity", "cursor"] {
        let gone = || protocol::ProviderSession {
            provider: provider.to_owned(),
            id: "gone-1".to_owned(),
        };
        let asked = |script: &str| {
            let mut asked = task(provider, script);
            asked.session.resume = Some(gone());
            asked.session.has_past = true;
            asked
        };
        let (told, result) = Pod::new().tell(asked("do: answer Here.")).await;
        assert_eq!(result.outcome, Outcome::Succeeded, "{provider}");
        assert_eq!(result.output, "Here.", "{provider}");
        assert_ne!(result.provider_session, Some(gone()), "{provider}");
        assert_eq!(result.resumed.provider.answer, Answer::Unknown);
        let anew = said(&told.events).matches("the turn starts anew").count();
        assert_eq!(anew, 1, "{provider}");

        // What ends without a word then too has another reason, and nothing is given up.
        let mut broken = asked("do: answer Here.");
        broken.runtime.command = vec!["false".to_owned()];
        let (told, result) = Pod::new().tell(broken).await;
        let class = result.outcome.class();
        assert_eq!(class, Some(FailureClass::CliCrashed), "{provider}");
        assert_eq!(result.provider_session, Some(gone()), "{provider}");
        assert_eq!(result.retired_sessions, [] as [&str; 0], "{provider}");
        let anew = said(&told.events).matches("the turn starts anew").count();
        assert_eq!(anew, 1, "{provider}");
    }
}

#[tokio::test]
async fn failures_have_their_class() {
    for (provider, _) in ALL {
        for (script, class) in [
            ("do: fail 401 Unauthorized", FailureClass::ProviderAuth),
            (
                "do: fail The service is overloaded",
                FailureClass::ProviderOverloaded,
            ),
            ("do: answer Soon.\ndo: crash 3", FailureClass::CliCrashed),
        ] {
            let (_, result) = Pod::new().tell(task(provider, script)).await;
            assert_eq!(
                result.outcome.class(),
                Some(class),
                "{provider}: {result:?}"
            );
            assert_eq!(result.output, "", "{provider}");
            // What was done before may have taken effect, and who reads this should know.
            let warns = format!("{:?}", result.outcome).contains("may have taken effect");
            let crashed = class == FailureClass::CliCrashed;
            assert_eq!(
                warns,
                provider == "cursor" && crashed,
                "{provider}: {result:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_stop_ends_what_knows_no_word_for_it() {
    for (provider, _) in ALL {
        for script in [
            "do: answer Begun. Now on.\ndo: hang",
            "do: ignore-term\ndo: answer Begun. Now on.\ndo: hang",
        ] {
            let pod = Pod::new();
            let api = Api::serve(task(provider, script)).await;
            let running = pod.start(&api);
            api.until_said("Begun.").await;
            let asked = std::time::Instant::now();
            api.stop(EndReason::Cancelled);
            let ended = running.end().await;
            assert!(
                asked.elapsed() < Duration::from_secs(20),
                "{provider}: {script}"
            );
            assert_eq!(ended.code, Some(0), "{}", ended.log);
            let told = api.told();
            let class = told.results[0].outcome.class();
            assert_eq!(
                class,
                Some(FailureClass::Cancelled),
                "{provider}: {}",
                said(&told.events)
            );
        }
    }
}
