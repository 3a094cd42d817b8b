//! The many ways in which a run ends.

use std::fs;
use std::time::Duration;

use protocol::{EndReason, FailureClass, Outcome, TaskResult};
use rustix::process::Signal;

use crate::api::{Api, said};
use crate::pod::{Ended, Pod, package};

/// All of the grace and more, on a machine that is busy; nothing here ends by itself before.
const SOON: Duration = Duration::from_secs(20);

async fn run(pod: &Pod, script: &str) -> (TaskResult, String, Ended) {
    let api = Api::serve(package(script)).await;
    let ended = pod.run(&api).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(told.results.len(), 1, "exactly one result");
    assert_eq!(pod.left().outcome, told.results[0].outcome);
    (told.results[0].clone(), said(&told.events), ended)
}

fn class(result: &TaskResult) -> Option<FailureClass> {
    result.outcome.class()
}

#[tokio::test]
async fn a_crash_is_one_of_the_agent() {
    let pod = Pod::new();
    let (result, _, _) = run(
        &pod,
        "do: answer Soon.\ndo: stderr segmentation fault\ndo: crash 7",
    )
    .await;
    let Outcome::Failed {
        class,
        message,
        exit_code,
        signal,
    } = &result.outcome
    else {
        panic!("{result:?}")
    };
    assert_eq!(
        (*class, *exit_code, *signal),
        (FailureClass::CliCrashed, Some(7), None)
    );
    assert!(
        message.contains("claude stderr: segmentation fault"),
        "{message}"
    );
    assert_eq!(result.output, "");
    assert!(result.provider_session.is_some());
}

#[tokio::test]
async fn a_kill_for_want_of_memory_is_told_from_a_crash() {
    let pod = Pod::new();
    fs::create_dir_all(pod.at("sys/fs/cgroup")).unwrap();
    fs::write(pod.at("sys/fs/cgroup/memory.events"), "oom_kill 3\n").unwrap();
    let script = "do: run echo 'oom_kill 4' > ../../sys/fs/cgroup/memory.events; kill -KILL $PPID";
    let (result, said, _) = run(&pod, script).await;
    assert_eq!(class(&result), Some(FailureClass::OOMKilled));
    assert!(
        said.contains("killed 1 processes of the pod for want of memory"),
        "{said}"
    );
}

#[tokio::test]
async fn a_cli_that_is_not_there_is_named() {
    let pod = Pod::new();
    let mut package = package("x");
    package.runtime.command = vec!["no-such-agent".into()];
    let api = Api::serve(package).await;
    pod.run(&api).await;
    let result = &api.told().results[0];
    assert_eq!(class(result), Some(FailureClass::CliMissing));
    assert!(
        format!("{:?}", result.outcome).contains("no-such-agent"),
        "{result:?}"
    );
}

#[tokio::test]
async fn odd_bytes_are_no_failure() {
    let pod = Pod::new();
    let script = "do: bytes fffe00c0\ndo: bytes 7b22\ndo: bytes 00\ndo: answer Fine.";
    let (result, said, _) = run(&pod, script).await;
    assert_eq!(result.outcome, Outcome::Succeeded);
    assert!(said.contains("stdout: \u{fffd}"), "{said}");
}

#[tokio::test]
async fn a_line_of_fifty_megabytes_ends_the_run_and_not_the_runner() {
    let pod = Pod::new();
    let (result, _, _) = run(&pod, "do: long-line 50000000\ndo: answer Never said.").await;
    assert_eq!(class(&result), Some(FailureClass::CliCrashed));
    assert!(
        format!("{:?}", result.outcome).contains("50000000 bytes"),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_stop_interrupts_a_turn() {
    let pod = Pod::new();
    let api = Api::serve(package("do: answer Begun.\ndo: sleep 600")).await;
    let running = pod.start(&api);
    api.until_said("Begun.").await;
    let asked = std::time::Instant::now();
    api.stop(EndReason::Cancelled);
    let ended = running.end().await;
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(class(&told.results[0]), Some(FailureClass::Cancelled));
    assert!(said(&told.events).contains("the operator ends this run"));
}

#[tokio::test]
async fn what_does_not_listen_is_killed_within_the_grace() {
    // Of eight seconds six are for the program: TERM comes after two and a quarter, KILL at the end.
    for (script, killed) in [
        ("do: answer Begun.\ndo: hang", false),
        ("do: ignore-term\ndo: answer Begun.\ndo: hang", true),
    ] {
        let pod = Pod::new();
        let api = Api::serve(package(script)).await;
        let running = pod.start(&api);
        api.until_said("Begun.").await;
        let asked = std::time::Instant::now();
        api.stop(EndReason::TimedOut);
        let ended = running.end().await;
        assert!(asked.elapsed() < SOON, "{script}: {:?}", asked.elapsed());
        assert!(ended.log.contains("rung=Term"), "{}", ended.log);
        assert_eq!(ended.log.contains("rung=Kill"), killed, "{}", ended.log);
        assert_eq!(ended.code, Some(0), "{}", ended.log);
        let told = api.told();
        assert_eq!(
            class(&told.results[0]),
            Some(FailureClass::DeadlineExceeded)
        );
    }
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_ended() {
    let pod = Pod::new();
    let mut package = package("do: answer Begun.\ndo: sleep 600");
    package.timeouts.task_seconds = 1;
    let api = Api::serve(package).await;
    pod.run(&api).await;
    let result = &api.told().results[0];
    assert_eq!(class(result), Some(FailureClass::TaskTimeout));
}

/// The result of a run whose Runtime allows so many seconds of silence, and of a tool.
async fn watched(script: &str, idle: u32, tool: u32) -> (TaskResult, String) {
    let pod = Pod::new();
    let mut package = package(script);
    package.timeouts.idle_seconds = idle;
    package.timeouts.tool_seconds = tool;
    let api = Api::serve(package).await;
    pod.run(&api).await;
    let result = api.told().results[0].clone();
    let message = match &result.outcome {
        Outcome::Failed { message, .. } => message.clone(),
        Outcome::Succeeded => String::new(),
    };
    (result, message)
}

#[tokio::test]
async fn silence_and_a_tool_without_end_have_watchdogs_of_their_own() {
    let silent = "do: answer Begun.\ndo: sleep 600";
    let (result, message) = watched(silent, 1, 0).await;
    assert_eq!(class(&result), Some(FailureClass::IdleTimeout), "{message}");
    assert!(
        message.contains("idle watchdog") && message.contains("1 s"),
        "{message}"
    );

    let busy = "do: answer Begun.\ndo: run sleep 600";
    let (result, message) = watched(busy, 30, 2).await;
    assert_eq!(class(&result), Some(FailureClass::ToolTimeout), "{message}");
    assert!(
        message.contains("tool watchdog") && message.contains("Bash"),
        "{message}"
    );

    // A tool that comes to its end in time is no silence.
    let (result, message) = watched("do: run sleep 6\ndo: answer Done.", 5, 30).await;
    assert_eq!(class(&result), None, "{message}");
}

#[tokio::test]
async fn term_from_outside_is_an_orderly_end() {
    let pod = Pod::new();
    let api = Api::serve(package("do: answer Begun.\ndo: sleep 600")).await;
    let running = pod.start(&api);
    api.until_said("Begun.").await;
    running.signal(Signal::TERM);
    let ended = running.end().await;
    assert_eq!((ended.code, ended.signal), (Some(0), None), "{}", ended.log);
    let told = api.told();
    assert_eq!(class(&told.results[0]), Some(FailureClass::PodDeleted));
    assert_eq!(
        told.events.len() as u64,
        told.results[0].last_seq,
        "nothing is left behind"
    );
    assert_eq!(pod.left(), told.results[0]);
}

#[tokio::test]
async fn nothing_that_the_agent_started_outlives_the_turn() {
    let pod = Pod::new();
    let script = "do: background echo $$ > escaped; trap '' TERM; sleep 600; sleep 600\n\
                  do: run (trap '' TERM; echo $$ > orphan; sleep 600; sleep 600) > /dev/null 2>&1 &\n\
                  do: run while ! [ -s escaped ] || ! [ -s orphan ]; do sleep 0.05; done\n\
                  do: answer Left.";
    let (result, said, _) = run(&pod, script).await;
    assert_eq!(result.outcome, Outcome::Succeeded);
    for name in ["escaped", "orphan"] {
        let pid = fs::read_to_string(pod.at("workspace/work").join(name)).unwrap();
        let proc = format!("/proc/{}", pid.trim());
        assert!(!fs::exists(&proc).unwrap(), "{name} {proc}");
    }
    assert!(said.contains("left behind were ended"), "{said}");
}
