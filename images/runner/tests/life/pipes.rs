//! Programs that do not read when they are written to.

use std::path::Path;

use protocol::{EndReason, FailureClass, Outcome, Package};

use crate::api::Api;
use crate::pod::{Pod, package_of};

/// A task of a program that is this script and says what Qwen Code said.
fn scripted(script: &str, prompt: &str) -> Package {
    let script = ["sh", "-c", script, "qwen"].map(str::to_owned);
    let mut package = package_of(script.to_vec(), prompt);
    package.runtime.provider = "qwen".to_owned();
    package.agent.model = None;
    package
}

fn recorded() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/qwen");
    folder.join("text.jsonl").display().to_string()
}

#[tokio::test]
async fn a_long_message_and_a_program_that_prints_before_it_reads_do_not_wait_for_each_other() {
    const MESSAGE: usize = 1 << 20;
    let noise = "head -c 262144 /dev/zero | tr '\\0' x | fold -w 4096; echo";
    let script = format!("{noise}; wc -c > read; cat {}", recorded());
    let pod = Pod::new();
    let api = Api::serve(scripted(&script, &"x".repeat(MESSAGE))).await;
    let ended = pod.run(&api).await;
    let result = &api.told().results[0];
    assert_eq!(
        result.output, "Hello from the scripted model.",
        "{result:?}\n{}",
        ended.log
    );
    let read = std::fs::read_to_string(pod.at("workspace/work/read")).unwrap();
    assert!(read.trim().parse::<usize>().unwrap() >= MESSAGE, "{read}");
}

#[tokio::test]
async fn one_that_never_reads_is_stopped_like_any_other() {
    let trap = "trap 'touch asked-to-end; exit' TERM";
    let script = format!("{trap}; head -n 1 {}; sleep 600 & wait", recorded());
    let pod = Pod::new();
    let api = Api::serve(scripted(&script, &"x".repeat(1 << 20))).await;
    let running = pod.start(&api);
    api.until("its first frame", |told| !told.events.is_empty())
        .await;
    api.stop(EndReason::Cancelled);
    let ended = running.end().await;
    let class = api.told().results[0].outcome.class();
    assert_eq!(class, Some(FailureClass::Cancelled), "{}", ended.log);
    // Not by KILL, which comes when all the time for it is over.
    assert!(pod.at("workspace/work/asked-to-end").exists());
}

#[tokio::test]
async fn what_was_answered_counts_of_one_that_closes_its_output_and_is_slow_to_end() {
    let script = format!("cat {}; exec >&-; exec sleep 600", recorded());
    let pod = Pod::new();
    let api = Api::serve(scripted(&script, "hi")).await;
    let ended = pod.run(&api).await;
    let told = api.told();
    let result = &told.results[0];
    assert_eq!(result.outcome, Outcome::Succeeded, "{}", ended.log);
    assert_eq!(result.output, "Hello from the scripted model.");
}
