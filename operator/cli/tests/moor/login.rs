//! Logging in with a kubeconfig, and what is done with the login.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::apiserver::Apiserver;
use crate::bed::{Bed, SERVICE, failure, run};

fn moor(bed: &Bed, apiserver: &Apiserver, words: &[&str]) -> Command {
    let kubeconfig = bed.home.path().join("kubeconfig");
    fs::write(&kubeconfig, apiserver.kubeconfig()).unwrap();
    let mut command = bed.moor(words);
    command.env("KUBECONFIG", kubeconfig);
    command
}

/// An API that takes logins.
async fn bed() -> Bed {
    let bed = Bed::new().await;
    let record = json!({
        "id": "00000000-0000-0000-0000-000000000007", "label": "login", "prefix": "mrp_abcd",
        "created": "2026-01-02T03:04:05Z", "expires": "2026-01-02T15:04:05Z",
    });
    bed.answer(
        "POST login",
        json!({"token": "mrp_abcdefgh", "record": record, "user": "ada"}),
    )
    .answer(
        "GET whoami",
        json!({"user": "ada", "groups": [], "tokenExpires": "2026-01-02T15:04:05Z"}),
    );
    bed
}

#[tokio::test]
async fn a_kubeconfig_is_all_that_is_needed() {
    let bed = bed().await;
    let apiserver = Apiserver::new(&bed.ca, bed.port, true).await;
    let shown = run(moor(&bed, &apiserver, &["login"]), "").await.ok();
    let shown = shown.replace(&bed.home.path().display().to_string(), "HOME");
    insta::assert_snapshot!(shown);
    assert_eq!(
        fs::metadata(bed.config()).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let asked = &bed.asked()[0];
    let exchange: Value = serde_json::from_str(&asked.body).unwrap();
    let made: Value = apiserver
        .asked()
        .into_iter()
        .find(|(line, _)| line.contains("loginrequests"))
        .map(|(_, body)| serde_json::from_str(&body).unwrap())
        .unwrap();
    assert_eq!(
        (&made["spec"]["user"], &made["spec"]["groups"]),
        (&json!("ada"), &json!(["dev", "system:authenticated"]))
    );
    let nonce = hex::decode(exchange["nonce"].as_str().unwrap()).unwrap();
    assert_eq!(nonce.len(), 32);
    assert_eq!(
        made["spec"]["nonceHash"],
        json!(hex::encode(Sha256::digest(&nonce)))
    );
    assert_eq!(
        (&exchange["namespace"], &exchange["name"]),
        (&json!("mooring-system"), &json!("login-x"))
    );
    // No credential of the cluster leaves the machine, and the token none of ours.
    assert_eq!(asked.token, "");
    assert!(!asked.body.contains("kube-secret"));

    run(moor(&bed, &apiserver, &["whoami"]), "").await.ok();
    let asked = &bed.asked()[1];
    assert_eq!(
        (asked.line.as_str(), asked.token.as_str()),
        ("GET whoami", "Bearer mrp_abcdefgh")
    );
}

#[tokio::test]
async fn a_server_is_reached_without_a_forwarded_port() {
    let bed = bed().await;
    let apiserver = Apiserver::new(&bed.ca, bed.port, false).await;
    let server = format!("https://127.0.0.1:{}", bed.port);
    let words = ["login", "--server", &server, "--tls-name", SERVICE];
    let login = run(moor(&bed, &apiserver, &words), "").await;
    assert!(login.ok().contains("ada"));
    // From now on the cluster is not needed.
    run(bed.moor(&["whoami"]), "").await.ok();
    assert_eq!(bed.lines(), ["POST login", "GET whoami"]);
}

#[tokio::test]
async fn a_missing_right_is_told_and_leaves_nothing_behind() {
    let bed = bed().await;
    let apiserver = Apiserver::new(&bed.ca, bed.port, false).await;
    let ran = run(moor(&bed, &apiserver, &["login"]), "").await;
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("cannot forward a port"), "{}", ran.err);
    assert!(
        apiserver
            .asked()
            .iter()
            .all(|(line, _)| line.starts_with("GET"))
    );
    assert!(!bed.config().exists());
}

#[tokio::test]
async fn a_login_that_is_refused_keeps_the_one_before() {
    let bed = bed().await;
    let apiserver = Apiserver::new(&bed.ca, bed.port, true).await;
    run(moor(&bed, &apiserver, &["login"]), "").await.ok();
    let kept = fs::read_to_string(bed.config()).unwrap();
    let closed = Bed::new().await;
    closed.refuse(
        "POST login",
        503,
        failure("unavailable", "Logins are closed."),
    );
    let apiserver = Apiserver::new(&closed.ca, closed.port, true).await;
    let ran = run(moor(&bed, &apiserver, &["login"]), "").await;
    assert_eq!(ran.code, 6);
    assert!(ran.err.contains("Logins are closed."), "{}", ran.err);
    assert_eq!(fs::read_to_string(bed.config()).unwrap(), kept);
}

#[tokio::test]
async fn without_a_kubeconfig_there_is_no_login() {
    let bed = bed().await;
    let ran = run(bed.moor(&["login"]), "").await;
    assert_eq!(ran.code, 3, "{}", ran.err);
    let apiserver = Apiserver::new(&bed.ca, bed.port, true).await;
    let words = ["login", "--context", "nowhere"];
    let ran = run(moor(&bed, &apiserver, &words), "").await;
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("nowhere"), "{}", ran.err);
}
