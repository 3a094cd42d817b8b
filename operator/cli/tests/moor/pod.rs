//! In a task's pod: the token of the task and nothing else.

use serde_json::{Value, json};

use crate::bed::{Bed, Ran, failure, page, run};

const TASK: &str = "00000000-0000-0000-0000-000000000007";
const ADA: &str = "00000000-0000-0000-0000-000000000009";

fn issue(title: &str) -> Value {
    json!({
        "id": TASK, "key": "TEAM-12", "title": title, "description": "Please.", "status": "todo", "priority": 0,
        "assignee": {"kind": "member", "id": ADA},
        "creator": {"kind": "member", "id": ADA, "name": "ada"},
        "comments": 0, "revision": 1, "created": "2026-01-02T03:04:05Z", "updated": "2026-01-02T03:04:05Z",
    })
}

fn comment(body: &str) -> Value {
    json!({
        "id": TASK, "thread": TASK, "author": {"kind": "agent", "id": "coder", "name": "Coder"}, "body": body,
        "resolved": false, "replies": 0, "lastActivity": "2026-01-02T03:04:05Z", "revision": 1,
        "created": "2026-01-02T03:04:05Z",
    })
}

/// A pod whose task is about an issue, in a workspace with two agents and a person.
async fn bed() -> Bed {
    let bed = Bed::new().await;
    bed.answer(
        "GET whoami",
        json!({
            "agent": "coder", "displayName": "Coder", "namespace": "team-a", "task": TASK, "attempt": 1,
            "subject": {"kind": "Issue", "name": "TEAM-12"}, "session": TASK, "scope": "Issue", "verbs": ["get issues"],
            "tokenExpires": "2026-01-02T03:04:05Z",
        }),
    )
    .answer(
        &format!("GET tasks/{TASK}"),
        json!({
            "id": TASK, "namespace": "team-a", "name": "coder-7", "agent": "coder",
            "subject": {"kind": "Issue", "name": "TEAM-12"}, "prompt": "", "state": "running", "attempt": 1,
            "sessionPolicy": "Resume", "created": "2026-01-02T03:04:05Z",
        }),
    )
    .answer(
        "GET workspaces/-/agents",
        page(&[
            json!({"name": "coder", "displayName": "Coder", "ready": true}),
            json!({"name": "ada", "displayName": "Ada", "ready": true}),
        ]),
    )
    .answer("GET workspaces/-/teams", page(&[]))
    .answer(
        "GET workspaces/-/members",
        page(&[json!({"id": ADA, "user": "ada@example.com", "since": "2026-01-02T03:04:05Z"})]),
    )
    .answer("GET workspaces/-/issues/TEAM-12", issue("Log in"));
    bed
}

#[tokio::test]
async fn the_issue_of_the_task_needs_no_key() {
    let bed = bed().await;
    // Whoever reads this file fails: it is open to others and holds nonsense.
    std::fs::create_dir(bed.home.path().join("mooring")).unwrap();
    std::fs::write(bed.config(), "nonsense").unwrap();
    let shown = bed.pod(&["issue", "get"]).await.ok();
    insta::assert_snapshot!(shown);
    assert_eq!(
        bed.lines(),
        [
            "GET whoami",
            &format!("GET tasks/{TASK}"),
            "GET workspaces/-/issues/TEAM-12",
            "GET workspaces/-/members?limit=200",
        ]
    );
    assert!(
        bed.asked()
            .iter()
            .all(|asked| asked.token == "Bearer mrt_task")
    );
}

#[tokio::test]
async fn a_comment_wakes_whom_it_names() {
    let bed = bed().await;
    bed.answer(
        "POST workspaces/-/issues/TEAM-12/comments",
        json!({"comment": comment("x"), "wakes": [
            {"recipient": {"kind": "agent", "id": "ada"}, "outcome": "queued", "task": TASK},
            {"recipient": {"kind": "member", "id": ADA}, "outcome": "blocked", "reason": "notAvailable"},
        ]}),
    );
    let words = ["comment", "add", "team-12", "--body", "-"];
    let text = "@agent:ada and @ada@example.com, see `@nobody`\n";
    let ran = bed.pod_with_input(&words, text).await;
    insta::assert_snapshot!(ran.ok());
    let posted = bed
        .asked()
        .into_iter()
        .find(|asked| asked.line.starts_with("POST"))
        .unwrap();
    let posted: Value = serde_json::from_str(&posted.body).unwrap();
    assert_eq!(
        posted,
        json!({"body": format!("[@Ada](mention://agent/ada) and [@ada@example.com](mention://member/{ADA}), see `@nobody`\n")})
    );
}

#[tokio::test]
async fn a_name_that_is_not_clear_writes_nothing() {
    let bed = bed().await;
    let ran = bed
        .pod(&["comment", "add", "TEAM-12", "--body", "@ada, look"])
        .await;
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!(ran.err);
    assert!(bed.lines().iter().all(|line| line.starts_with("GET")));
}

#[tokio::test]
async fn a_comment_may_be_left_as_it_is() {
    let bed = bed().await;
    bed.answer(
        "POST workspaces/-/issues/TEAM-12/comments",
        json!({"comment": comment("x"), "wakes": []}),
    );
    let words = [
        "comment", "add", "TEAM-12", "--body", "-@ada", "--as-is", "--quiet",
    ];
    assert_eq!(bed.pod(&words).await.ok(), format!("{TASK}\n"));
    assert_eq!(bed.lines(), ["POST workspaces/-/issues/TEAM-12/comments"]);
}

#[tokio::test]
async fn a_preview_writes_nothing() {
    let bed = bed().await;
    bed.answer(
        "POST workspaces/-/issues/TEAM-12/comments/preview",
        json!({"wakes": [{"recipient": {"kind": "agent", "id": "ada"}, "outcome": "queued"}]}),
    );
    let words = ["comment", "add", "TEAM-12", "--body", "x", "--preview"];
    insta::assert_snapshot!(bed.pod(&words).await.ok());
}

#[tokio::test]
async fn what_is_for_people_is_told_without_a_question() {
    let bed = bed().await;
    for words in [
        &["token", "list"][..],
        &["login"],
        &["inbox", "list"],
        &["config"],
        &["task", "cancel", TASK],
        &["task", "logs", TASK],
        &["issue", "list"],
    ] {
        let ran = bed.pod(words).await;
        assert_eq!(ran.code, 4, "{}", ran.err);
        assert!(ran.err.contains("is for people"), "{}", ran.err);
    }
    assert_eq!(bed.pod(&["nonsense"]).await.code, 2);
    assert!(bed.asked().is_empty());
}

#[tokio::test]
async fn no_other_token_is_used() {
    let bed = bed().await;
    let other = bed.home.path().join("other");
    std::fs::write(&other, "mrp_of_somebody").unwrap();
    let words = ["whoami", "--token-file", other.to_str().unwrap()];
    let ran = bed.pod(&words).await;
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(bed.asked().is_empty());
}

#[tokio::test]
async fn help_and_completion_know_what_the_token_allows() {
    let bed = bed().await;
    let help = bed.pod(&["--help"]).await.ok();
    let noun = bed.pod(&["task", "--help"]).await.ok();
    assert!(
        help.contains("comment") && noun.contains("get"),
        "{help}{noun}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let script = bed.pod(&["completion", shell]).await.ok();
        assert!(script.contains("comment"), "{script}");
        for hidden in ["inbox", "logs", "revoke"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
            assert!(!help.contains(hidden), "{help}");
            assert!(!noun.contains(hidden), "{noun}");
        }
    }
}

#[tokio::test]
async fn what_others_wrote_moves_no_cursor() {
    let bed = bed().await;
    bed.answer(
        "GET workspaces/-/issues/TEAM-1",
        issue("a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}b"),
    );
    for form in ["human", "json"] {
        let shown = bed.pod(&["issue", "get", "TEAM-1", "-o", form]).await.ok();
        let is_tame = |each: char| each == '\n' || !(each.is_control() || each == '\u{202e}');
        assert!(shown.chars().all(is_tame), "{shown:?}");
    }
}

#[tokio::test]
async fn a_refusal_has_its_code() {
    let bed = bed().await;
    let cases = [
        (400, "invalidRequest", 1),
        (401, "unauthenticated", 4),
        (403, "forbidden", 4),
        (404, "notFound", 5),
        (409, "revision", 7),
        (409, "wrongState", 7),
        (503, "unavailable", 6),
    ];
    for (number, (status, code, wanted)) in (1..).zip(cases) {
        let line = format!("PATCH workspaces/-/issues/TEAM-{number}");
        bed.refuse(&line, status, failure(code, "No."));
        let key = line.rsplit('/').next().unwrap();
        let Ran {
            code: ended, err, ..
        } = bed.pod(&["issue", "status", key, "done"]).await;
        assert_eq!(ended, wanted, "{err}");
        assert_eq!(err, format!("moor: No. ({code}, request r1)\n"));
    }
}

#[tokio::test]
async fn away_is_away() {
    let bed = bed().await;
    let mut command = bed.with_token("mrt_task", &["whoami"]);
    // Nothing listens there: the port is one that only root may take.
    command.env("MOORING_API", "https://localhost:1");
    assert_eq!(run(command, "").await.code, 6);
    let mut command = bed.with_token("mrt_task", &["whoami"]);
    command.env_remove("MOORING_API");
    let ran = run(command, "").await;
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("MOORING_API"), "{}", ran.err);
}
