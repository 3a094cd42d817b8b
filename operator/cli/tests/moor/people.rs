//! Elsewhere: the login, or the token of a ServiceAccount.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::bed::{Bed, Ran, SERVICE, failure, page, run};

pub(crate) const TASK: &str = "00000000-0000-0000-0000-000000000007";

/// A login whose server is known by another name than that under which it is reached.
pub(crate) fn log_in(bed: &Bed) {
    let config = format!(
        "user = 'ada'\ntoken = 'mrp_ada'\nexpires = '2026-01-02T03:04:05Z'\nworkspace = 'team-a'\nca = '''{}'''\n\
         [server]\nurl = 'https://127.0.0.1:{}'\ntlsName = '{SERVICE}'\n",
        bed.ca, bed.port
    );
    fs::create_dir_all(bed.config().parent().unwrap()).unwrap();
    fs::write(bed.config(), config).unwrap();
    fs::set_permissions(bed.config(), Permissions::from_mode(0o600)).unwrap();
}

pub(crate) async fn moor(bed: &Bed, words: &[&str]) -> Ran {
    run(bed.moor(words), "").await
}

pub(crate) fn run_view(state: &str) -> Value {
    json!({
        "id": TASK, "name": "coder-7", "agent": "coder", "subject": {"kind": "Issue", "name": "TEAM-1"},
        "state": state, "attempt": 1, "created": "2026-01-02T03:04:05Z",
    })
}

pub(crate) fn words(position: u64) -> Value {
    json!({
        "position": position, "attempt": 1, "at": "2026-01-02T03:04:05Z",
        "body": {"type": "text", "content": format!("word {position}")},
    })
}

#[tokio::test]
async fn a_login_is_used_as_it_is_kept() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.answer(
        "GET whoami",
        json!({"user": "ada", "groups": ["dev"], "tokenExpires": "2026-01-02T03:04:05Z"}),
    )
    .answer("GET workspaces/team-a/tasks", page(&[run_view("running")]))
    .answer("GET workspaces/team-b/tasks", page(&[]));
    insta::assert_snapshot!(moor(&bed, &["whoami"]).await.ok());
    insta::assert_snapshot!(moor(&bed, &["task", "list"]).await.ok());
    let none = moor(&bed, &["-w", "team-b", "task", "list"]).await;
    assert_eq!(none.err, "nothing to show\n");
    assert_eq!(none.ok(), "");
    assert!(
        bed.asked()
            .iter()
            .all(|asked| asked.token == "Bearer mrp_ada")
    );
}

#[tokio::test]
async fn a_list_says_how_to_go_on() {
    let bed = Bed::new().await;
    log_in(&bed);
    let agent = json!({"name": "coder", "displayName": "Coder", "ready": true});
    bed.answer(
        "GET workspaces/team-a/agents",
        json!({"items": [agent], "next": "a b"}),
    );
    for (form, wanted) in [
        (&["--quiet"][..], "coder\n"),
        (&["-o", "json"], "{\n  \"items\": [\n"),
        (&[], "NAME   READY  REASON  CALLED\n"),
    ] {
        let words = [&["agent", "list", "--limit", "1"][..], form].concat();
        let ran = moor(&bed, &words).await;
        let command = words.join(" ");
        assert_eq!(
            ran.err,
            format!("there is more: moor {command} --cursor 'a b'\n")
        );
        assert!(ran.out.starts_with(wanted), "{}", ran.out);
    }
    moor(&bed, &["agent", "list", "--cursor", "a b"]).await.ok();
    assert_eq!(
        bed.lines().last().unwrap(),
        "GET workspaces/team-a/agents?cursor=a+b"
    );
}

pub(crate) fn event(position: u64, body: Value) -> Value {
    json!({"position": position, "attempt": 1, "at": "2026-01-02T03:04:05Z", "body": body})
}

#[tokio::test]
async fn a_text_is_shown_in_full() {
    let bed = Bed::new().await;
    log_in(&bed);
    let long: String = (0..99).map(|line| format!("line {line}\n")).collect();
    let gave = json!({"type": "toolResult", "callId": "1", "tool": "Bash", "output": long, "status": "completed"});
    bed.answer(
        &format!("GET workspaces/team-a/tasks/{TASK}/events"),
        page(&[event(2, gave)]),
    );
    let shown = moor(&bed, &["task", "messages", TASK, "--after", "1"])
        .await
        .ok();
    let hint = format!("    … 87 more lines: moor task messages {TASK} --full 2\n");
    assert!(shown.ends_with(&hint), "{shown}");
    let shown = moor(&bed, &["task", "messages", TASK, "--full", "2"])
        .await
        .ok();
    assert_eq!(shown, long);
    let ran = moor(&bed, &["task", "messages", TASK, "--full", "3"]).await;
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[tokio::test]
async fn programs_get_yaml_too() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.answer("GET workspaces/team-a/tasks", page(&[run_view("running")]))
        .answer(
            &format!("GET workspaces/team-a/tasks/{TASK}/events"),
            page(&[words(1), words(2)]),
        );
    let shown = moor(&bed, &["task", "list", "-o", "yaml"]).await.ok();
    assert!(shown.starts_with("items:\n- id: 00000000"), "{shown}");
    let shown = moor(&bed, &["task", "logs", TASK, "-o", "yaml"]).await.ok();
    assert_eq!(shown.matches("---\n").count(), 2, "{shown}");
}

#[tokio::test]
async fn kubectl_finds_it_as_a_plugin() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.answer(
        "GET workspaces/team-a/agents",
        json!({"items": [], "next": "x"}),
    );
    let plugin = bed.home.path().join("kubectl-moor");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_moor"), &plugin).unwrap();
    let called = |words: &[&str]| {
        let mut command = std::process::Command::new(&plugin);
        command
            .env_clear()
            .env("XDG_CONFIG_HOME", bed.home.path())
            .args(words);
        command
    };
    let ran = run(called(&["agent", "list", "-q"]), "").await;
    assert_eq!(
        ran.err,
        "there is more: kubectl moor agent list -q --cursor x\n"
    );
    let help = run(called(&["task", "watch", "--help"]), "").await.ok();
    assert!(help.contains("Usage: kubectl moor task watch"), "{help}");
}

#[tokio::test]
async fn a_part_of_a_timeline_says_how_to_go_on() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.answer(
        &format!("GET workspaces/team-a/tasks/{TASK}/events"),
        json!({"items": [words(4)], "next": "4"}),
    );
    let ran = moor(&bed, &["task", "logs", TASK, "--after", "3", "-o", "json"]).await;
    assert_eq!(
        ran.err,
        format!("there is more: moor task logs {TASK} --after 4\n")
    );
    assert_eq!(serde_json::from_str::<Value>(&ran.ok()).unwrap(), words(4));
}

#[tokio::test]
async fn a_token_is_shown_once_and_alone_when_asked_so() {
    let bed = Bed::new().await;
    log_in(&bed);
    let record = json!({
        "id": TASK, "label": "ci", "prefix": "mrp_abcd", "created": "2026-01-02T03:04:05Z",
        "expires": "2026-02-02T03:04:05Z",
    });
    bed.answer(
        "POST tokens",
        json!({"token": "mrp_abcdefgh", "record": record, "user": "ada"}),
    );
    let words = ["token", "create", "--label", "ci", "--quiet"];
    assert_eq!(moor(&bed, &words).await.ok(), "mrp_abcdefgh\n");
    assert_eq!(bed.asked()[0].body, r#"{"label":"ci","days":30}"#);
}

#[tokio::test]
async fn a_service_account_is_no_task() {
    let bed = Bed::new().await;
    bed.answer("GET workspaces/team-a/issues", page(&[]));
    let words = ["issue", "list"];
    let ran = run(bed.with_token("eyJ.x.y", &words), "").await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--workspace"), "{}", ran.err);
    let words = ["issue", "list", "-w", "team-a", "--status", "in-review"];
    run(bed.with_token("eyJ.x.y", &words), "").await.ok();
    let asked = &bed.asked()[0];
    assert_eq!(asked.line, "GET workspaces/team-a/issues?status=in_review");
    assert_eq!(asked.token, "Bearer eyJ.x.y");
}

#[tokio::test]
async fn a_login_can_be_looked_at_and_pointed_elsewhere() {
    let bed = Bed::new().await;
    let ran = moor(&bed, &["issue", "list"]).await;
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("moor login"), "{}", ran.err);
    log_in(&bed);
    let shown = moor(&bed, &["config", "workspace", "team-b"]).await.ok();
    assert!(
        shown.contains("team-b") && !shown.contains("mrp_"),
        "{shown}"
    );
    assert_eq!(
        fs::metadata(bed.config()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let kept = fs::read_to_string(bed.config()).unwrap();
    assert!(
        kept.contains("team-b") && kept.contains("mrp_ada"),
        "{kept}"
    );
    let ran = moor(&bed, &["config", "workspace", "../x"]).await;
    assert_eq!(ran.code, 2);
    assert!(bed.asked().is_empty());
}

#[tokio::test]
async fn an_ended_login_says_so() {
    let bed = Bed::new().await;
    log_in(&bed);
    bed.refuse("GET whoami", 401, failure("unauthenticated", "No."));
    let ran = moor(&bed, &["whoami"]).await;
    assert_eq!(ran.code, 4);
    assert!(
        ran.err.contains("`moor login` makes a new one"),
        "{}",
        ran.err
    );
}
