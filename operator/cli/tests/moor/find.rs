//! Words are found, labels and metadata are set, issues are followed.

use serde_json::json;

use crate::bed::{Bed, page, run};

const COMMENT: &str = "00000000-0000-0000-0000-000000000007";

fn hit(snippet: &str) -> serde_json::Value {
    json!({
        "issue": "TEAM-12", "title": "Log in", "status": "todo", "comment": COMMENT,
        "author": {"kind": "agent", "id": "coder", "name": "Coder"}, "created": "2026-01-02T03:04:05Z",
        "snippet": snippet,
    })
}

#[tokio::test]
async fn words_are_found_in_a_pod() {
    let bed = Bed::new().await;
    let mut found = page(&[hit("…the needle \u{1b}[2J")]);
    found["next"] = json!("17");
    bed.answer("GET workspaces/-/search", found);
    let ran = bed.pod(&["issue", "search", "the", "needle&limit=1"]).await;
    assert_eq!(
        ran.err,
        "there is more: moor issue search the 'needle&limit=1' --cursor 17\n"
    );
    insta::assert_snapshot!(ran.ok());
    assert_eq!(
        bed.lines(),
        ["GET workspaces/-/search?q=the+needle%26limit%3D1"]
    );
    let ids = bed.pod(&["-q", "issue", "search", "needle"]).await;
    assert_eq!(ids.ok(), format!("{COMMENT}\n"));
    let nothing = bed.pod(&["issue", "search"]).await;
    assert_eq!(nothing.code, 2);
}

#[tokio::test]
async fn an_edit_names_what_comes_and_what_goes() {
    let bed = Bed::new().await;
    let words = [
        "-w",
        "team-a",
        "issue",
        "edit",
        "TEAM-12",
        "--label",
        "ui",
        "--unlabel",
        "bug",
        "--meta",
        "build=a=b",
        "--unmeta",
        "host",
    ];
    run(bed.with_token("mrp_ada", &words), "").await;
    let asked = bed.asked();
    let last = asked.last().unwrap();
    assert_eq!(last.line, "PATCH workspaces/team-a/issues/TEAM-12");
    let body: serde_json::Value = serde_json::from_str(&last.body).unwrap();
    let wanted = json!({
        "addLabels": ["ui"], "removeLabels": ["bug"], "metadata": {"build": "a=b", "host": null}, "noStart": false,
    });
    assert_eq!(body, wanted);
    let wrong = [
        "-w", "team-a", "issue", "edit", "TEAM-12", "--meta", "build",
    ];
    let wrong = run(bed.with_token("mrp_ada", &wrong), "").await;
    assert!(
        wrong.code == 2 && wrong.err.contains("KEY=VALUE"),
        "{}",
        wrong.err
    );
}

#[tokio::test]
async fn a_person_follows_an_issue_and_an_agent_does_not() {
    let bed = Bed::new().await;
    let at = "workspaces/team-a/issues/TEAM-12/subscription";
    bed.answer(&format!("POST {at}"), json!({"subscribed": true}))
        .answer(&format!("DELETE {at}"), json!({"subscribed": false}));
    let mut said = Vec::new();
    for verb in ["subscribe", "unsubscribe"] {
        let words = ["-w", "team-a", "issue", verb, "TEAM-12"];
        said.push(run(bed.with_token("mrp_ada", &words), "").await.ok());
    }
    assert_eq!(
        said,
        [
            "You are told of comments on TEAM-12.\n",
            "You are told of comments on TEAM-12 when somebody names you.\n"
        ]
    );
    let refused = bed.pod(&["issue", "subscribe", "TEAM-12"]).await;
    assert_ne!(refused.code, 0);
}
