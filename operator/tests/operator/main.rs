//! The program itself, against an apiserver that knows one Secret, one ConfigMap and no objects.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, helpers included"
)]

mod apiserver;
mod program;

use std::time::{Duration, Instant};

use serde_json::Value;

use apiserver::Apiserver;
use program::Program;

#[tokio::test]
async fn it_starts_serves_and_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Apiserver::start().await;
    let mut program = Program::run(&folder, "store.db", &cluster);
    let ca = program.until(async || cluster.secret("ca.crt")).await;
    let key = cluster.secret("ca.key").unwrap();
    let token_key = cluster.secret_base64("tokenKey").unwrap();
    let client = program.client(&ca);
    let ready = program.until(async || client.ready().await).await;
    assert_eq!(ready, serde_json::json!({"ready": true, "reasons": []}));
    assert_eq!(client.get("/healthz").await.unwrap().0, 200);
    assert_eq!(client.get("/api/v1/whoami").await.unwrap().0, 401);
    let published = program.until(async || cluster.published("ca.crt")).await;
    assert_eq!(published, ca);
    let metrics = client.get("/metrics").await.unwrap().1;
    assert!(
        metrics.contains("\nmooring_holders 0\n")
            && metrics.contains("\nmooring_api_connections 1\n"),
        "{metrics}"
    );
    // A second one on the same store is refused, and the first goes on.
    let second = Program::run(&folder, "store.db", &cluster).ended().await;
    assert_eq!(second.code, Some(1));
    assert!(
        second.log.contains("is held by another operator"),
        "{}",
        second.log
    );
    let begun = Instant::now();
    let ended = program.terminate().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    // Every line is JSON, and none holds a secret.
    for line in ended.log.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
    }
    assert!(
        ended.log.contains("a new installation begins") && ended.log.contains("TERM: ending"),
        "{}",
        ended.log
    );
    for secret in [key.lines().nth(1).unwrap(), &token_key] {
        assert!(!ended.log.contains(secret), "{}", ended.log);
    }
    assert_eq!(
        cluster.writes(),
        [
            "POST /api/v1/namespaces/mooring-system/secrets",
            "PATCH /api/v1/namespaces/mooring-system/configmaps/mooring-api"
        ]
    );
    let check = Program::check(&folder, "store.db", &cluster).ended().await;
    assert_eq!(check.code, Some(0), "{}", check.log);
}

#[tokio::test]
async fn with_another_store_it_only_reads_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Apiserver::start().await;
    let mut program = Program::run(&folder, "store.db", &cluster);
    let ca = program.until(async || cluster.secret("ca.crt")).await;
    let client = program.client(&ca);
    program.until(async || client.ready().await).await;
    assert_eq!(program.terminate().await.code, Some(0));
    let writes = cluster.writes();

    let mut program = Program::run(&folder, "other.db", &cluster);
    let client = program.client(&ca);
    let said = program.until(async || client.unready().await).await;
    assert!(
        said["reasons"][0]
            .as_str()
            .unwrap()
            .contains("the store is empty: restore the store"),
        "{said}"
    );
    assert_eq!(client.get("/healthz").await.unwrap().0, 200);
    // Not 401: that would end the runs that the lost store knows.
    assert_eq!(client.get("/api/v1/whoami").await.unwrap().0, 503);
    let ended = program.terminate().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(
        ended.log.contains("\"level\":\"ERROR\"") && ended.log.contains("nothing is written"),
        "{}",
        ended.log
    );
    assert_eq!(cluster.writes(), writes);
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Apiserver::start().await;
    cluster.answer(false);
    let mut program = Program::run(&folder, "store.db", &cluster);
    program
        .until(async || (cluster.refusals() > 1).then_some(()))
        .await;
    cluster.answer(true);
    let ca = program.until(async || cluster.secret("ca.crt")).await;
    let client = program.client(&ca);
    program.until(async || client.ready().await).await;
    assert_eq!(program.terminate().await.code, Some(0));
    // Also while it waits it ends when it is told to.
    cluster.answer(false);
    let refusals = cluster.refusals();
    let mut program = Program::run(&folder, "store.db", &cluster);
    program
        .until(async || (cluster.refusals() > refusals).then_some(()))
        .await;
    assert_eq!(program.terminate().await.code, Some(0));
}

#[tokio::test]
async fn help_names_every_variable() {
    let help = Program::help().ended().await;
    for variable in [
        "MOORING_STORE",
        "MOORING_API_ADDRESS",
        "MOORING_API_URL",
        "MOORING_NAMESPACE",
        "MOORING_LOGIN_POLICY",
        "MOORING_RUNNER_IMAGE",
        "MOORING_RUNNER_IMAGE_PULL_POLICY",
        "MOORING_AGENT_CHAIN",
        "MOORING_AGENT_RUNS_PER_HOUR",
        "MOORING_AGENT_ROUNDS",
        "MOORING_LOG",
        "RUST_LOG",
    ] {
        assert!(
            help.output.contains(variable),
            "{variable} is not in:\n{}",
            help.output
        );
    }
}
