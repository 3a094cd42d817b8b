//! opencode's second version, which is driven otherwise where the operator was told that it is that one. No program of it
//! could be had: a stand-in that was written from descriptions.

use std::path::Path;

use protocol::{
    Answer, EndReason, FailureClass, McpPlace, McpServer, Outcome, Package, SessionPolicy,
};

use crate::api::{Api, said};
use crate::pod::{Pod, fake, package};
use crate::programs;

/// A task of the program, which keeps how it was called.
fn task(pod: &Pod, version: Option<&str>, prompt: &str) -> Package {
    let program = Path::new(fake()).with_file_name("mooring-fake-cli");
    let wrapper = pod.at("wrapper");
    if !wrapper.exists() {
        let given = pod.at("given");
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\nexec {} opencode \"$@\"\n",
            given.display(),
            program.display()
        );
        programs::script(&text, &wrapper);
    }
    let mut task = package(prompt);
    task.runtime.provider = "opencode".to_owned();
    task.runtime.command = vec![wrapper.display().to_string()];
    task.runtime.version = version.map(str::to_owned);
    task.options.thinking_level = Some("high".to_owned());
    task
}

fn given(pod: &Pod) -> String {
    std::fs::read_to_string(pod.at("given")).unwrap_or_default()
}

/// What its service keeps of its conversations.
fn records(pod: &Pod) -> String {
    let folder = pod.at("workspace/home/.fake-opencode-service");
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let texts = files.map(|file| {
        let path = file.ok()?.path();
        let is_records = path.extension().is_some_and(|kind| kind == "records");
        is_records.then(|| std::fs::read_to_string(path).ok())?
    });
    texts.flatten().collect()
}

const SECOND: Option<&str> = Some("2.0.18");

#[tokio::test]
async fn a_version_is_believed_where_the_operator_was_told_of_it() {
    const SCRIPT: &str = "do: run echo scripted-42\ndo: answer All is well.";
    let pod = Pod::new();
    let (told, result) = pod.tell(task(&pod, SECOND, SCRIPT)).await;
    assert_eq!(result.outcome, Outcome::Succeeded, "{}", said(&told.events));
    assert!(result.usage.contains_key("fake-model"));
    assert!(said(&told.events).contains("scripted-42"));
    assert!(given(&pod).contains("--model\nfake-model#high\n"));

    let pod = Pod::new();
    let (_, result) = pod.tell(task(&pod, None, SCRIPT)).await;
    assert_eq!(result.outcome.class(), Some(FailureClass::CliCrashed));
    assert!(given(&pod).contains("--model\nfake-model\n--variant\nhigh\n"));

    let (_, result) = pod
        .tell(task(&pod, SECOND, "do: fail 401 Unauthorized"))
        .await;
    assert_eq!(result.outcome.class(), Some(FailureClass::ProviderAuth));

    let mut served = task(&pod, SECOND, SCRIPT);
    served.options.mcp_servers = Some(vec![McpServer {
        name: "files".to_owned(),
        required: false,
        at: McpPlace::Stdio {
            command: "true".to_owned(),
            args: Vec::new(),
            env: Vec::new(),
        },
    }]);
    let (_, result) = pod.tell(served).await;
    assert_eq!(result.outcome.class(), Some(FailureClass::PrepareFailed));
    assert!(format!("{:?}", result.outcome).contains("files"));
}

/// The stand-in never tells the end of its last step, as 2.0.18 need not.
#[tokio::test]
async fn whether_a_turn_is_done_is_asked_of_its_service() {
    let pod = Pod::new();
    let first = task(&pod, SECOND, "remember: lantern\ndo: answer Noted.");
    let (told, result) = pod.tell(first).await;
    assert_eq!(result.outcome, Outcome::Succeeded, "{}", said(&told.events));
    assert_eq!(result.output, "Noted.");
    assert!(said(&told.events).contains("its service says that the turn is done"));
    let session = result.provider_session.unwrap();
    let asked = format!(
        "api\nGET\n/api/session/{}/message?order=desc&limit=2\n",
        session.id
    );
    assert!(given(&pod).ends_with(&asked), "{}", given(&pod));

    let mut next = task(&pod, SECOND, "do: recall");
    next.session.policy = SessionPolicy::Require;
    next.session.resume = Some(session.clone());
    next.session.has_past = true;
    let (_, second) = pod.tell(next).await;
    assert_eq!(second.output, "lantern", "{second:?}");
    assert_eq!(second.resumed.provider.answer, Answer::Yes);
    assert_eq!(second.provider_session, Some(session));

    // It ends as well, and its service knows of no end.
    let broken = task(&pod, SECOND, "do: answer Half of it.\ndo: crash 0");
    let (_, result) = pod.tell(broken).await;
    let class = result.outcome.class();
    assert_eq!(class, Some(FailureClass::ProviderNetwork), "{result:?}");
    assert_eq!(result.output, "");

    // One that brings its own service has none that could be asked.
    let mut alone = task(&pod, SECOND, "do: answer Alone.");
    alone.runtime.launch_prefix = vec!["--standalone".to_owned()];
    std::fs::remove_file(pod.at("given")).unwrap();
    let (_, result) = pod.tell(alone).await;
    let class = result.outcome.class();
    assert_eq!(class, Some(FailureClass::ProviderNetwork), "{result:?}");
    assert!(!given(&pod).contains("/api/session/"), "{}", given(&pod));
}

#[tokio::test]
async fn a_stop_is_told_to_its_service() {
    let pod = Pod::new();
    let script = "remember: lantern\ndo: answer Begun. Now on.\ndo: hang";
    let api = Api::serve(task(&pod, SECOND, script)).await;
    let running = pod.start(&api);
    api.until_said("Begun.").await;
    api.stop(EndReason::Cancelled);
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    let result = &told.results[0];
    assert_eq!(result.outcome.class(), Some(FailureClass::Cancelled));
    assert!(records(&pod).contains(r#""outcome":"interrupted""#));
    let session = result.provider_session.clone().unwrap();
    let call = format!("api\nPOST\n/api/session/{}/interrupt\n", session.id);
    assert!(given(&pod).ends_with(&call), "{}", given(&pod));

    let mut next = task(&pod, SECOND, "do: recall");
    next.session.resume = Some(session);
    next.session.has_past = true;
    assert_eq!(pod.tell(next).await.1.output, "lantern");
}

/// A service that does not answer costs no more than the time that a call has, and nothing of it is left.
#[tokio::test]
async fn a_service_that_does_not_answer_is_ended_with_everything_else() {
    let told = deaf("exit 7").await;
    assert!(told.contains("it ended with exit code 7"), "{told}");
    deaf("exec sleep 600").await;
}

/// What is asked of its service comes to nothing; what the timeline then says.
async fn deaf(answers: &str) -> String {
    let pod = Pod::new();
    let mut deaf = task(&pod, SECOND, "do: answer Begun. Now on.\ndo: hang");
    let wrapper = pod.at("deaf");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in api) {answers};; esac\nexec {} \"$@\"\n",
        deaf.runtime.command.join(" ")
    );
    programs::script(&text, &wrapper);
    deaf.runtime.command = vec![wrapper.display().to_string()];
    let api = Api::serve(deaf.clone()).await;
    let running = pod.start(&api);
    api.until_said("Begun.").await;
    api.stop(EndReason::Cancelled);
    running.end().await;
    let told = api.told();
    assert_eq!(
        told.results[0].outcome.class(),
        Some(FailureClass::Cancelled)
    );
    let told = said(&told.events);
    assert!(!records(&pod).contains("interrupted"));

    deaf.prompt = "do: answer All is well.".to_owned();
    let (_, result) = pod.tell(deaf).await;
    let class = result.outcome.class();
    assert_eq!(class, Some(FailureClass::ProviderNetwork), "{result:?}");
    let provider = result.provider_session.map(|session| session.provider);
    assert_eq!(provider.as_deref(), Some("opencode"));
    told
}

/// What holds its output keeps it from its end: then nothing is asked any more, and the run ends all the same.
#[tokio::test]
async fn one_whose_output_is_held_is_not_waited_for() {
    let pod = Pod::new();
    let mut held = task(&pod, SECOND, "do: answer All is well.");
    let wrapper = pod.at("held");
    let text = format!(
        "#!/bin/sh\nsleep 600 &\nexec {} \"$@\"\n",
        held.runtime.command.join(" ")
    );
    programs::script(&text, &wrapper);
    held.runtime.command = vec![wrapper.display().to_string()];
    let (told, result) = pod.tell(held).await;
    let class = result.outcome.class();
    assert_eq!(class, Some(FailureClass::ProviderNetwork), "{result:?}");
    let words = said(&told.events);
    assert!(words.contains("left behind were ended"), "{words}");
    assert!(!given(&pod).contains("/api/session/"), "{}", given(&pod));
}
