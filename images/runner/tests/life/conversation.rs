//! A conversation and what becomes of it in the next run.

use std::fs;

use protocol::{
    Answer, EventBody, Evidence, FailureClass, Outcome, Package, ProviderSession, SessionPolicy,
};

use crate::api::{Api, Told, said};
use crate::pod::{Ended, Pod, fake, package};

async fn run(pod: &Pod, package: Package) -> (Told, Ended) {
    let api = Api::serve(package).await;
    let ended = pod.run(&api).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    (api.told(), ended)
}

/// A second task after a first one that left `session`.
fn next(prompt: &str, policy: SessionPolicy, session: Option<ProviderSession>) -> Package {
    let mut package = package(prompt);
    package.session.policy = policy;
    package.session.resume = session;
    package.session.has_past = true;
    package.session.volume = Evidence::yes("the claim has the same UID");
    package
}

async fn first_run(pod: &Pod) -> ProviderSession {
    let (told, _) = run(pod, package("remember: lantern\ndo: answer Noted.")).await;
    told.results[0].provider_session.clone().unwrap()
}

fn answers(told: &Told) -> [Answer; 4] {
    let resumed = &told.results[0].resumed;
    [
        &resumed.volume,
        &resumed.workdir,
        &resumed.session,
        &resumed.provider,
    ]
    .map(|evidence| evidence.answer)
}

#[tokio::test]
async fn a_turn_is_reported_from_start_to_end() {
    let pod = Pod::new();
    let script = "do: think Let me see.\ndo: run grep SigBlk /proc/self/status\ndo: run echo here: $(pwd) $HOME $(cat $MOORING_TOKEN_FILE | wc -c)\n\
                  do: answer All is well.";
    let (told, ended) = run(&pod, package(script)).await;

    assert_eq!(told.started, 1);
    let result = &told.results[0];
    assert_eq!(told.results.len(), 1);
    assert_eq!(result.outcome, Outcome::Succeeded);
    assert_eq!(result.output, "All is well.");
    assert_eq!(result.usage["fake-model"].output, 5);
    assert_eq!(answers(&told), [Answer::No; 4]);

    let seqs: Vec<_> = told.events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=result.last_seq).collect::<Vec<_>>());
    let session = result.provider_session.clone().unwrap();
    assert_eq!(session.provider, "claude");
    let first = EventBody::Status {
        status: "running".into(),
        session_id: Some(session.id),
    };
    assert!(told.events.iter().any(|event| event.body == first));
    let here = format!(
        "here: {} {} {}",
        pod.at("workspace/work").display(),
        pod.at("workspace/home").display(),
        crate::api::TOKEN.len()
    );
    assert!(said(&told.events).contains(&here), "{:?}", told.events);

    let unblocked = "SigBlk:\t0000000000000000";
    assert!(said(&told.events).contains(unblocked), "{:?}", told.events);

    assert_eq!(&pod.left(), result);
    assert!(pod.outbox().is_empty());
    assert!(!pod.at("run/mooring/token").exists());
    let context = fs::read_to_string(pod.at("workspace/work/CLAUDE.md")).unwrap();
    assert!(context.contains("# You are Reviewer"), "{context}");
    for line in [
        "~ Let me see.",
        "> Bash {",
        "All is well.",
        "= succeeded after",
    ] {
        assert!(ended.transcript.contains(line), "{}", ended.transcript);
    }
}

#[tokio::test]
async fn what_a_tool_gave_is_sent_as_a_whole_before_its_beginning() {
    let pod = Pod::new();
    let script =
        "do: run seq 1 9999; cat $MOORING_TOKEN_FILE\ndo: run echo short\ndo: answer Done.";
    let (told, _) = run(&pod, package(script)).await;
    let [(seq, before, text)] = told.texts.as_slice() else {
        panic!("{:?}", told.texts.len());
    };
    assert!(before < seq, "{before} {seq}");
    assert!(text.contains("\n9999\n"), "{}", &text[text.len() - 200..]);
    assert!(!text.contains(crate::api::TOKEN), "it is redacted too");
    let event = told.events.iter().find(|event| event.seq == *seq).unwrap();
    let EventBody::ToolResult { output, .. } = &event.body else {
        panic!("{event:?}");
    };
    assert_eq!(output.len(), protocol::limits::TOOL_OUTPUT_BYTES);
    assert!(text.starts_with(output.as_str()));
}

#[tokio::test]
async fn the_next_run_goes_on_with_the_conversation() {
    let pod = Pod::new();
    let session = first_run(&pod).await;
    let resume = next("do: recall", SessionPolicy::Resume, Some(session.clone()));
    let (told, _) = run(&pod, resume).await;
    assert_eq!(told.results[0].output, "lantern");
    assert_eq!(told.results[0].provider_session, Some(session.clone()));
    assert_eq!(answers(&told), [Answer::Yes; 4]);

    let fresh = next("do: recall", SessionPolicy::Fresh, Some(session.clone()));
    let (told, _) = run(&pod, fresh).await;
    assert_eq!(told.results[0].output, "nothing");
    assert_ne!(told.results[0].provider_session, Some(session));
    let [_, workdir, session, provider] = answers(&told);
    assert_eq!(
        (workdir, session, provider),
        (Answer::Yes, Answer::No, Answer::No)
    );
}

#[tokio::test]
async fn a_conversation_that_is_gone_is_begun_anew_and_the_agent_told() {
    let pod = Pod::new();
    let session = first_run(&pod).await;
    fs::remove_dir_all(pod.at("workspace/home")).unwrap();
    let resume = next("do: recall", SessionPolicy::Resume, Some(session.clone()));
    let (told, _) = run(&pod, resume).await;
    assert_eq!(told.results[0].output, "nothing");
    assert_eq!(answers(&told)[2], Answer::No);
    let conversation = conversation_of(&pod, &told);
    assert!(
        conversation.contains("this is a new conversation"),
        "{conversation}"
    );

    let mut required = next("do: recall", SessionPolicy::Require, Some(session.clone()));
    required.runtime.command = vec!["/nowhere/never-started".into()];
    let (told, _) = run(&pod, required).await;
    assert_eq!(
        told.results[0].outcome.class(),
        Some(FailureClass::SessionUnavailable)
    );
    assert_eq!(told.results[0].provider_session, Some(session));
    assert_eq!(told.started, 0);
}

fn conversation_of(pod: &Pod, told: &Told) -> String {
    let session = &told.results[0].provider_session.as_ref().unwrap().id;
    let projects = pod.at("workspace/home/.claude/projects");
    let folder = fs::read_dir(projects).unwrap().next().unwrap().unwrap();
    fs::read_to_string(folder.path().join(format!("{session}.jsonl"))).unwrap()
}

/// A CLI that does not find what it is asked to resume.
fn forgetful() -> Vec<String> {
    let script = format!(
        "case \"$*\" in *--resume*) export HOME=/nowhere;; esac; exec {} \"$@\"",
        fake()
    );
    ["/bin/sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn a_refused_session_is_retired_and_the_turn_starts_anew_once() {
    let pod = Pod::new();
    let session = first_run(&pod).await;
    let mut resume = next("do: recall", SessionPolicy::Resume, Some(session.clone()));
    resume.runtime.command = forgetful();
    let (told, _) = run(&pod, resume).await;
    let result = &told.results[0];
    assert_eq!(result.outcome, Outcome::Succeeded);
    assert_eq!(result.output, "nothing");
    assert_eq!(result.retired_sessions, std::slice::from_ref(&session.id));
    assert_ne!(result.provider_session, Some(session.clone()));
    let [_, _, looked, provider] = answers(&told);
    assert_eq!((looked, provider), (Answer::Yes, Answer::No));
    assert!(conversation_of(&pod, &told).contains("No conversation found"));

    let mut required = next("do: recall", SessionPolicy::Require, Some(session.clone()));
    required.runtime.command = forgetful();
    let (told, _) = run(&pod, required).await;
    let result = &told.results[0];
    assert_eq!(
        result.outcome.class(),
        Some(FailureClass::SessionUnavailable)
    );
    assert_eq!(result.retired_sessions, [session.id]);
}

#[tokio::test]
async fn an_interrupted_task_is_told_to_continue() {
    let pod = Pod::new();
    let mut package = package("do: answer Done.");
    package.interrupted = true;
    let (told, _) = run(&pod, package).await;
    assert!(conversation_of(&pod, &told).contains("was interrupted before it ended"));
}
