//! An API that is away: at the start, for a while, and for good.

use std::fs;

use fakes::flood;
use protocol::{Event, Outcome};

use crate::api::{Api, said};
use crate::pod::{Pod, package};

fn check_flood(events: &[Event], count: u64) {
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    flood::check(&said(events), count).unwrap();
}

#[tokio::test]
async fn a_runner_waits_for_the_api_and_asks_with_one_nonce() {
    let pod = Pod::new();
    let api = Api::serve(package("do: answer Done.")).await;
    api.set_away(true);
    let running = pod.start(&api);
    api.until("a first try", |told| told.turned_away > 1).await;
    api.set_away(false);
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(ended.log.contains("cannot be opened yet"), "{}", ended.log);
    let nonces = api.told().nonces;
    assert!(nonces.iter().all(|nonce| *nonce == nonces[0]) && nonces[0].len() == 64);
}

#[tokio::test]
async fn a_refused_package_is_a_failure_of_the_runner_and_says_why() {
    let pod = Pod::new();
    let api = Api::serve(package("x")).await;
    fs::write(pod.at("run/secrets/mooring/token"), "mrt_other").unwrap();
    let ended = pod.run(&api).await;
    assert_eq!(ended.code, Some(1));
    let left = fs::read_to_string(pod.at("dev/termination-log")).unwrap();
    assert!(
        left.starts_with("mooring-runner: the package cannot be opened"),
        "{left}"
    );
    assert!(!pod.at("workspace/work").exists());
}

#[tokio::test]
async fn no_event_is_lost_or_doubled_while_the_api_is_away() {
    let pod = Pod::new();
    let gate =
        |name| format!("do: run touch at-{name}; while ! [ -e past-{name} ]; do sleep 0.05; done");
    let flood = "do: flood 500 1";
    let (first, second) = (gate("first"), gate("second"));
    let script = format!(
        "{flood}\n{first}\n{flood}\n{second}\n{flood}\ndo: run touch at-last\ndo: answer Done."
    );
    let api = Api::serve(package(&script)).await;
    let running = pod.start(&api);
    let work = pod.at("workspace/work");
    for (part, past, at) in [
        (100, "past-first", "at-second"),
        (600, "past-second", "at-last"),
    ] {
        api.until("events", |told| told.events.len() > part).await;
        api.set_away(true);
        fs::write(work.join(past), "").unwrap();
        // The volume shows that the run goes on meanwhile.
        pod.until("a flood on the volume", |pod| {
            work.join(at).exists() && pod.outbox_lines() >= 500
        })
        .await;
        api.set_away(false);
    }
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    check_flood(&told.events, 1500);
    assert_eq!(told.results[0].last_seq, told.events.len() as u64);
    assert_eq!(told.results[0].outcome, Outcome::Succeeded);
}

#[tokio::test]
async fn a_result_waits_for_the_api() {
    let pod = Pod::new();
    let api = Api::serve(package(
        "do: answer Begun.\ndo: flood 100\ndo: answer Done.",
    ))
    .await;
    let running = pod.start(&api);
    api.until("the start", |told| told.started == 1).await;
    api.set_away(true);
    pod.until("a result", |pod| {
        !fs::read(pod.at("dev/termination-log")).unwrap().is_empty()
    })
    .await;
    api.set_away(false);
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    check_flood(&told.events, 100);
    assert_eq!(pod.left(), told.results[0]);
}

#[tokio::test]
async fn without_the_api_the_kubelet_has_the_result_and_the_volume_the_events() {
    let mut pod = Pod::new();
    pod.variables
        .push(("MOORING_DELIVERY_SECONDS".into(), "1".into()));
    let script = "do: run while ! [ -e go ]; do sleep 0.05; done\ndo: flood 100\ndo: answer Done.";
    let api = Api::serve(package(script)).await;
    let running = pod.start(&api);
    api.until_said("[ -e go ]").await;
    api.set_away(true);
    fs::write(pod.at("workspace/work/go"), "").unwrap();
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(api.told().results.is_empty());
    let left = pod.left();
    assert_eq!(
        (left.outcome, left.output.as_str()),
        (Outcome::Succeeded, "Done.")
    );
    let kept = pod.outbox();
    assert_eq!(kept.last().unwrap().seq, left.last_seq);
    flood::check(&said(&kept), 100).unwrap();
}
