//! Files, projects and repositories: what goes over the wire and what is there afterwards.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bed::{Bed, page, run};

const TASK: &str = "00000000-0000-0000-0000-000000000007";

fn issue(project: Option<&str>) -> Value {
    let mut issue = json!({
        "id": TASK, "key": "TEAM-12", "title": "x", "description": "", "status": "todo", "priority": 0,
        "creator": {"kind": "system", "id": "", "name": "Mooring"},
        "comments": 0, "revision": 1, "created": "2026-01-02T03:04:05Z", "updated": "2026-01-02T03:04:05Z",
    });
    if let Some(project) = project {
        issue["project"] = json!(project);
    }
    issue
}

fn attachment(name: &str) -> Value {
    json!({
        "id": TASK, "name": name, "mediaType": "image/png", "bytes": 3, "sha256": "00",
        "author": {"kind": "agent", "id": "coder", "name": "Coder"}, "created": "2026-01-02T03:04:05Z",
    })
}

fn project(repositories: &Value) -> Value {
    json!({
        "name": "app", "title": "The app", "description": "", "repositories": repositories,
        "creator": {"kind": "member", "id": TASK, "name": "ada"}, "revision": 4,
        "created": "2026-01-02T03:04:05Z", "updated": "2026-01-02T03:04:05Z",
    })
}

async fn bed(project: Option<&str>) -> Bed {
    let bed = Bed::new().await;
    bed.answer(
        "GET whoami",
        json!({
            "agent": "coder", "displayName": "Coder", "namespace": "team-a", "task": TASK, "attempt": 1,
            "subject": {"kind": "Issue", "name": "TEAM-12"}, "session": TASK, "scope": "Issue", "verbs": [],
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
    .answer("GET workspaces/-/issues/TEAM-12", issue(project));
    bed
}

fn git(folder: &Path, words: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{words:?}: {ran:?}");
}

#[tokio::test]
async fn a_comment_comes_with_files_or_nothing_is_sent() {
    let bed = bed(None).await;
    let comment = json!({
        "id": TASK, "thread": TASK, "author": {"kind": "agent", "id": "coder", "name": "Coder"}, "body": "see",
        "resolved": false, "replies": 0, "lastActivity": "2026-01-02T03:04:05Z", "revision": 1,
        "created": "2026-01-02T03:04:05Z",
    });
    bed.answer(
        "POST workspaces/-/issues/TEAM-12/attachments",
        attachment("a.log"),
    )
    .answer(
        "POST workspaces/-/issues/TEAM-12/comments",
        json!({"comment": comment, "wakes": []}),
    );
    let file = bed.home.path().join("a.log");
    std::fs::write(&file, "log").unwrap();
    let file = file.to_str().unwrap();
    let add = [
        "comment", "add", "--body", "see", "--as-is", "--attach", file,
    ];
    let absent = [&add[..], &["--attach", "/nowhere"]].concat();
    let refused = bed.pod(&absent).await;
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(bed.lines().iter().all(|line| !line.starts_with("POST")));
    bed.pod(&add).await.ok();
    let asked = bed.asked();
    let sent: Vec<_> = asked
        .iter()
        .filter(|asked| asked.line.starts_with("POST"))
        .map(|asked| asked.body.as_str())
        .collect();
    assert_eq!(sent[0], "log");
    let posted: Value = serde_json::from_str(sent[1]).unwrap();
    assert_eq!(posted, json!({"body": "see", "attachments": [TASK]}));
}

#[tokio::test]
async fn a_file_goes_as_it_is_and_never_over_another_one() {
    let bed = bed(None).await;
    bed.answer(
        "POST workspaces/-/issues/TEAM-12/attachments",
        attachment("ä b.png"),
    )
    .answer(&format!("GET workspaces/-/attachments/{TASK}"), json!("x"));
    let file = bed.home.path().join("ä b.png");
    std::fs::write(&file, "png").unwrap();
    let file = file.to_str().unwrap();
    let added = bed
        .pod(&["attachment", "add", file, "--type", "image/png"])
        .await;
    assert_eq!(added.ok(), format!("{TASK} ä b.png: 3 bytes, on TEAM-12\n"));
    let sent = bed.asked().pop().unwrap();
    assert_eq!(
        (sent.line.as_str(), sent.body.as_str()),
        (
            "POST workspaces/-/issues/TEAM-12/attachments?name=%C3%A4+b.png",
            "png"
        )
    );
    let refused = bed.pod(&["attachment", "get", TASK, file]).await;
    assert_eq!(
        (refused.code, std::fs::read_to_string(file).unwrap()),
        (2, "png".into())
    );
    let new = bed.home.path().join("new");
    bed.pod(&["attachment", "get", TASK, new.to_str().unwrap()])
        .await
        .ok();
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "\"x\"");
    let shown = bed.pod(&["attachment", "get", TASK, "-"]).await.ok();
    assert_eq!(shown, "\"x\"");
    let absent = bed.pod(&["attachment", "add", "/nowhere"]).await;
    assert_eq!(absent.code, 2);
}

#[tokio::test]
async fn repositories_are_changed_on_top_of_what_was_read() {
    let bed = Bed::new().await;
    let there =
        json!([{"name": "app", "url": "https://h/app"}, {"name": "docs", "url": "https://h/docs"}]);
    bed.answer("GET workspaces/team-a/projects/app", project(&there))
        .answer("PATCH workspaces/team-a/projects/app", project(&there));
    let words = [
        "project",
        "edit",
        "app",
        "--remove-repository",
        "docs",
        "--repository",
        "app=https://h/other,branch=main",
        "--repository",
        "new=https://h/new,credentials=git-new",
        "--workspace",
        "team-a",
    ];
    run(bed.with_token("mrp_ada", &words), "").await.ok();
    let sent: Value = serde_json::from_str(&bed.asked().pop().unwrap().body).unwrap();
    assert_eq!(
        sent,
        json!({"revision": 4, "repositories": [
            {"name": "app", "url": "https://h/other", "defaultBranch": "main"},
            {"name": "new", "url": "https://h/new", "credentials": "git-new"},
        ]})
    );
    for wrong in [
        &["project", "get", "../x"][..],
        &["project", "edit", "app"],
        &["project", "edit", "app", "--remove-repository", "gone"],
    ] {
        let words = [wrong, &["--workspace", "team-a"]].concat();
        assert_eq!(
            run(bed.with_token("mrp_ada", &words), "").await.code,
            2,
            "{wrong:?}"
        );
    }
}

#[tokio::test]
async fn a_repository_is_brought_into_the_working_directory() {
    let bed = bed(Some("app")).await;
    let root = bed.home.path();
    for folder in ["server.git", "desk", "home"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    let url = format!("file://{}", root.join("server.git").display());
    git(
        &root.join("server.git"),
        &["init", "--quiet", "--bare", "--initial-branch=main"],
    );
    let desk = root.join("desk");
    git(&desk, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(desk.join("README"), "one").unwrap();
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "--quiet", "-m", "one"]);
    git(&desk, &["push", "--quiet", &url, "main"]);
    bed.answer(
        "GET workspaces/-/projects/app",
        project(&json!([{"name": "app", "url": url}])),
    );
    let moor = |words: &[&str]| {
        let mut command = bed.with_token("mrt_task", words);
        command.env("HOME", root.join("home"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    };
    let listed = run(moor(&["repo", "list"]), "").await.ok();
    assert!(listed.contains(&url), "{listed}");
    let tree = root.join("work/app");
    let said = run(moor(&["repo", "checkout"]), "").await.ok();
    let wanted = format!(
        "{} branch agent/coder/team-12-00000007: it was brought in\n",
        tree.display()
    );
    assert_eq!(said, wanted);
    std::fs::write(tree.join("README"), "mine").unwrap();
    let again = run(moor(&["repo", "checkout", "app", "-o", "json"]), "").await;
    let again: Value = serde_json::from_str(&again.ok()).unwrap();
    assert_eq!(
        (&again["state"], &again["uncommitted"]),
        (&json!("kept"), &json!(1))
    );
    assert_eq!(
        std::fs::read_to_string(tree.join("README")).unwrap(),
        "mine"
    );
    // Not even a token of ours is in what git keeps.
    let config = std::fs::read_to_string(root.join("repos/app.git/config")).unwrap();
    assert!(!config.contains("mrt_task"), "{config}");
    let absent = run(moor(&["repo", "checkout", "gone"]), "").await;
    assert_eq!(absent.code, 2);
}

#[tokio::test]
async fn without_a_project_there_is_nothing_to_bring() {
    let bed = bed(None).await;
    let mut command = bed.with_token("mrt_task", &["repo", "checkout"]);
    command.env("HOME", bed.home.path());
    let ran = run(command, "").await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("belongs to no project"), "{}", ran.err);
}

#[tokio::test]
async fn git_is_told_the_login_by_the_program_itself() {
    let bed = Bed::new().await;
    let folder = bed.home.path().join("git-app");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("password"), "hunter2\n").unwrap();
    let words = [
        "repo",
        "credential",
        "--url",
        "https://h/x",
        "--folder",
        folder.to_str().unwrap(),
        "get",
    ];
    let told = bed
        .pod_with_input(&words, "protocol=https\nhost=h\n\n")
        .await;
    assert_eq!(told.ok(), "username=git\npassword=hunter2\n");
    let other = bed
        .pod_with_input(&words, "protocol=https\nhost=evil\n\n")
        .await;
    assert_eq!(other.ok(), "");
    assert!(bed.lines().is_empty());
}

#[tokio::test]
async fn help_knows_how_far_the_token_reaches() {
    let bed = bed(None).await;
    bed.answer("GET workspaces/-/issues", page(&[]));
    let refused = bed.pod(&["issue", "list"]).await;
    assert_eq!((refused.code, bed.lines().len()), (4, 0));
    let mut command = bed.with_token("mrt_task", &["issue", "list"]);
    command.env("MOORING_TOKEN_SCOPE", "Project");
    run(command, "").await.ok();
    assert_eq!(bed.lines(), ["GET workspaces/-/issues"]);
}
