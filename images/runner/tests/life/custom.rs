//! Programs that are known by no name: one of each family, under a name of its own, driven by that family's baseline.

use std::os::unix::fs::symlink;
use std::path::Path;

use protocol::{
    Answer, EventBody, FailureClass, Outcome, Package, ProviderSession, SessionPolicy, TokenUsage,
    ToolStatus,
};

use crate::api::said;
use crate::pod::{Pod, fake, package};
use crate::programs;

/// What drives each family, and what the stand-in for it is called there. Claude Code's is a program of its own.
const FAMILIES: [(&str, Option<&str>); 5] = [
    ("custom-stream-json", None),
    ("custom-app-server", Some("app-server")),
    ("custom-rpc", Some("rpc")),
    ("custom-json-lines", Some("json-lines")),
    ("acp", Some("acp")),
];

/// A task of a program that the image calls `our-agent`.
fn task(pod: &Pod, driver: &str, stand_in: Option<&str>, prompt: &str) -> Package {
    let program = match stand_in {
        None => Path::new(fake()).to_owned(),
        Some(_) => Path::new(fake()).with_file_name("mooring-fake-cli"),
    };
    let ours = pod.at("our-agent");
    if !ours.exists() {
        symlink(program, &ours).unwrap();
    }
    let mut package = package(prompt);
    package.runtime.provider = driver.to_owned();
    let words = [ours.to_str(), stand_in];
    package.runtime.command = words.into_iter().flatten().map(str::to_owned).collect();
    package
}

#[tokio::test]
async fn a_turn_of_each_family_is_told_from_start_to_end() {
    const SCRIPT: &str = "do: think Hm.\ndo: run echo scripted-42\ndo: run echo broken; exit 3\ndo: answer All is well.";
    for (driver, stand_in) in FAMILIES {
        let pod = Pod::new();
        let (told, result) = pod.tell(task(&pod, driver, stand_in, SCRIPT)).await;
        assert_eq!(
            result.outcome,
            Outcome::Succeeded,
            "{driver}: {}",
            said(&told.events)
        );
        assert_eq!(result.output, "All is well.", "{driver}");
        assert_eq!(result.provider_session.unwrap().provider, driver);
        let spent = result.usage.get("fake-model").map(TokenUsage::total);
        assert!(spent.is_some_and(|spent| spent > 0), "{driver}");
        let bodies = || told.events.iter().map(|event| &event.body);
        let thinks = bodies().any(|body| matches!(body, EventBody::Thinking { .. }));
        assert!(thinks, "{driver}");
        let commands: Vec<_> = bodies()
            .filter_map(|body| {
                let EventBody::ToolUse { input, .. } = body else {
                    return None;
                };
                input["command"].as_str()
            })
            .collect();
        assert_eq!(
            commands,
            ["echo scripted-42", "echo broken; exit 3"],
            "{driver}"
        );
        let results: Vec<_> = bodies()
            .filter_map(|body| {
                let EventBody::ToolResult { output, status, .. } = body else {
                    return None;
                };
                Some((output.contains("scripted-42"), *status))
            })
            .collect();
        let wanted = [
            (true, Some(ToolStatus::Completed)),
            (false, Some(ToolStatus::Failed)),
        ];
        assert_eq!(results, wanted, "{driver}");
    }
}

#[tokio::test]
async fn a_conversation_of_each_family_goes_on_and_one_that_is_gone_is_begun_anew() {
    for (driver, stand_in) in FAMILIES {
        let pod = Pod::new();
        let first = task(
            &pod,
            driver,
            stand_in,
            "remember: lantern\ndo: answer Noted.",
        );
        let session = pod.tell(first).await.1.provider_session.unwrap();
        let mut next = task(&pod, driver, stand_in, "do: recall");
        next.session.policy = SessionPolicy::Require;
        next.session.resume = Some(session.clone());
        next.session.has_past = true;
        let (_, second) = pod.tell(next).await;
        assert_eq!(second.output, "lantern", "{driver}: {second:?}");
        assert_eq!(second.provider_session, Some(session), "{driver}");
        assert_eq!(second.resumed.provider.answer, Answer::Yes, "{driver}");

        let mut lost = task(&pod, driver, stand_in, "do: recall");
        lost.session.has_past = true;
        lost.session.resume = Some(ProviderSession {
            provider: driver.to_owned(),
            id: "019a1c5e-8a7e-7a3f-9f0e-2d3c4b5a6978".to_owned(),
        });
        let (_, result) = pod.tell(lost).await;
        assert_eq!(result.output, "nothing", "{driver}: {result:?}");
        assert_eq!(result.retired_sessions.len(), 1, "{driver}");
        assert_eq!(result.resumed.provider.answer, Answer::No, "{driver}");
    }
}

/// A program that nobody knows has words of its own for it, or none.
#[tokio::test]
async fn an_end_without_a_word_may_be_a_conversation_that_is_gone() {
    for (driver, stand_in) in FAMILIES {
        // Those are not told by an argument which conversation it is.
        if matches!(driver, "custom-app-server" | "acp") {
            continue;
        }
        let pod = Pod::new();
        let mut lost = task(&pod, driver, stand_in, "do: recall");
        lost.session.has_past = true;
        lost.session.resume = Some(ProviderSession {
            provider: driver.to_owned(),
            id: "gone-1".to_owned(),
        });
        let wrapper = pod.at("wrapper");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *gone-1*) echo Nope. >&2; exit 1;; esac\nexec {} \"$@\"\n",
            lost.runtime.command.join(" ")
        );
        programs::script(&text, &wrapper);
        lost.runtime.command = vec![wrapper.display().to_string()];
        let (told, result) = pod.tell(lost).await;
        assert_eq!(result.output, "nothing", "{driver}: {result:?}");
        assert_eq!(result.resumed.provider.answer, Answer::Unknown, "{driver}");
        assert_eq!(result.retired_sessions, [] as [&str; 0], "{driver}");
        let anew = said(&told.events).matches("the turn starts anew").count();
        assert_eq!(anew, 1, "{driver}");
    }
}

/// What a family's programs do not all have is asked of none of them.
#[tokio::test]
async fn a_tool_policy_is_not_believed_of_a_program_that_nobody_knows() {
    for (driver, stand_in) in FAMILIES {
        let pod = Pod::new();
        let mut asked = task(&pod, driver, stand_in, "do: run touch there");
        asked.agent.tools = Some(protocol::tools::ToolPolicy {
            deny: vec!["Bash".to_owned()],
            ..protocol::tools::ToolPolicy::default()
        });
        let (_, result) = pod.tell(asked).await;
        assert_eq!(
            result.outcome.class(),
            Some(FailureClass::PrepareFailed),
            "{driver}"
        );
        assert!(!pod.at("workspace/work/there").exists(), "{driver}");
    }
}
