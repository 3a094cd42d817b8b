//! Which requests the methods of the board make, and what they make of the answers.

use client::{Board, Caller, Client, Error, EventQuery, PageQuery, Settings, Workspace};
use protocol::board::{
    CommentQuery, IssueEdit, IssueQuery, IssueStatus, LoginExchange, NewAttachment, NewComment,
    SearchQuery,
};
use protocol::{AttachmentId, CommentId, InboxId, TaskId, TokenId, limits};
use secrecy::SecretString;
use uuid::Uuid;

use crate::calls::{SERVICE, ca, client, http, serve};

const ID: &str = "00000000-0000-0000-0000-000000000007";

fn id() -> Uuid {
    Uuid::from_u128(7)
}

/// Makes a call, which may end as it will, and gives what was asked: the request's first line and its body.
async fn asked<A>(call: impl AsyncFnOnce(Board<'_>) -> Result<A, Error>) -> (String, String) {
    let ca = ca();
    let (api, head) = serve(&ca, http("200 OK", "{}")).await;
    let (token, workspace): (SecretString, Workspace) = ("t".into(), "team-a".parse().unwrap());
    let client = client(&api, &ca);
    let _ = call(client.board(&token, &workspace)).await;
    let head = head.await.unwrap();
    assert!(head.contains("authorization: Bearer t\r\n"), "{head}");
    let line = head.lines().next().unwrap().to_owned();
    let body = head.split_once("\r\n\r\n").unwrap().1.to_owned();
    (line, body)
}

macro_rules! asks {
    ($($line:literal: $call:expr;)+) => {
        $({
            let (line, _) = asked($call).await;
            assert_eq!(line, format!("{} HTTP/1.1", $line.replace("{ID}", ID)));
        })+
    };
}

#[tokio::test]
async fn every_call_has_its_route() {
    let page = PageQuery {
        limit: Some(5),
        cursor: Some("a b&c".to_owned()),
    };
    let none = PageQuery::default();
    let key = "TEAM-1".parse().unwrap();
    let (comment, task, entry) = (CommentId(id()), TaskId(id()), InboxId(id()));
    let issues = IssueQuery {
        status: Some(IssueStatus::InReview),
        assignee: Some("agent:a".to_owned()),
        ..IssueQuery::default()
    };
    let comments = CommentQuery {
        thread: Some(comment),
        since: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        ..CommentQuery::default()
    };
    let file = NewAttachment {
        name: "a&b".to_owned(),
    };
    let search = SearchQuery {
        q: "a b&c".to_owned(),
        limit: Some(5),
        cursor: None,
    };
    let events = EventQuery {
        after: 9,
        limit: None,
    };
    asks! {
        "GET /api/v1/workspaces/team-a/issues?assignee=agent%3Aa&status=in_review": async |b: Board<'_>| b.issues(&issues).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1": async |b: Board<'_>| b.issue(&key).await;
        "POST /api/v1/workspaces/team-a/issues": async |b: Board<'_>| b.create_issue(&Default::default()).await;
        "PATCH /api/v1/workspaces/team-a/issues/TEAM-1": async |b: Board<'_>| b.edit_issue(&key, &IssueEdit::default()).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1/children?cursor=a+b%26c&limit=5": async |b: Board<'_>| b.children(&key, &page).await;
        "GET /api/v1/workspaces/team-a/projects?cursor=a+b%26c&limit=5": async |b: Board<'_>| b.projects(&page).await;
        "POST /api/v1/workspaces/team-a/projects": async |b: Board<'_>| b.create_project(&Default::default()).await;
        "GET /api/v1/workspaces/team-a/projects/app": async |b: Board<'_>| b.project("app").await;
        "PATCH /api/v1/workspaces/team-a/projects/app": async |b: Board<'_>| b.edit_project("app", &Default::default()).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1/attachments": async |b: Board<'_>| b.attachments(&key, &none).await;
        "POST /api/v1/workspaces/team-a/issues/TEAM-1/attachments?name=a%26b": async |b: Board<'_>| b.add_attachment(&key, &file, "image/png", b"x".to_vec()).await;
        "GET /api/v1/workspaces/team-a/attachments/{ID}": async |b: Board<'_>| b.attachment(AttachmentId(id())).await;
        "DELETE /api/v1/workspaces/team-a/attachments/{ID}": async |b: Board<'_>| b.delete_attachment(AttachmentId(id())).await;
        "GET /api/v1/workspaces/team-a/search?limit=5&q=a+b%26c": async |b: Board<'_>| b.search(&search).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1/subscribers": async |b: Board<'_>| b.subscribers(&key, &none).await;
        "POST /api/v1/workspaces/team-a/issues/TEAM-1/subscription": async |b: Board<'_>| b.subscribe(&key, true).await;
        "DELETE /api/v1/workspaces/team-a/issues/TEAM-1/subscription": async |b: Board<'_>| b.subscribe(&key, false).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1/runs": async |b: Board<'_>| b.runs(&key, &none).await;
        "GET /api/v1/workspaces/team-a/issues/TEAM-1/comments?roots=false&since=2026-01-02T03%3A04%3A05Z&thread={ID}": async |b: Board<'_>| b.comments(&key, &comments).await;
        "POST /api/v1/workspaces/team-a/issues/TEAM-1/comments": async |b: Board<'_>| b.post_comment(&key, &NewComment::default()).await;
        "POST /api/v1/workspaces/team-a/issues/TEAM-1/comments/preview": async |b: Board<'_>| b.preview_comment(&key, &NewComment::default()).await;
        "DELETE /api/v1/workspaces/team-a/comments/{ID}": async |b: Board<'_>| b.delete_comment(comment).await;
        "POST /api/v1/workspaces/team-a/comments/{ID}/resolved": async |b: Board<'_>| b.resolve_comment(comment, true).await;
        "DELETE /api/v1/workspaces/team-a/comments/{ID}/resolved": async |b: Board<'_>| b.resolve_comment(comment, false).await;
        "GET /api/v1/workspaces/team-a/tasks": async |b: Board<'_>| b.tasks(&none).await;
        "GET /api/v1/workspaces/team-a/tasks/{ID}": async |b: Board<'_>| b.run(task).await;
        "POST /api/v1/workspaces/team-a/tasks/{ID}/cancel": async |b: Board<'_>| b.cancel_task(task).await;
        "GET /api/v1/workspaces/team-a/tasks/{ID}/events?after=9": async |b: Board<'_>| b.events(task, &events).await;
        "GET /api/v1/workspaces/team-a/skills": async |b: Board<'_>| b.skills(&none).await;
        "GET /api/v1/workspaces/team-a/skills/review": async |b: Board<'_>| b.skill("review").await;
        "GET /api/v1/workspaces/team-a/agents": async |b: Board<'_>| b.agents(&none).await;
        "GET /api/v1/workspaces/team-a/members": async |b: Board<'_>| b.members(&none).await;
        "GET /api/v1/workspaces/team-a/inbox": async |b: Board<'_>| b.inbox(&none).await;
        "POST /api/v1/workspaces/team-a/inbox/{ID}/read": async |b: Board<'_>| b.read_entry(entry).await;
        "DELETE /api/v1/workspaces/team-a/inbox/{ID}": async |b: Board<'_>| b.archive_entry(entry).await;
    }
}

#[tokio::test]
async fn a_body_travels_as_the_wire_has_it() {
    let key = "TEAM-1".parse().unwrap();
    let new = NewComment {
        body: "Hi".to_owned(),
        ..NewComment::default()
    };
    let (_, body) = asked(async |b: Board<'_>| b.post_comment(&key, &new).await).await;
    assert_eq!(body, r#"{"body":"Hi"}"#);
    let (_, body) = asked(async |b: Board<'_>| b.cancel_task(TaskId(id())).await).await;
    assert_eq!(body, "");
}

#[tokio::test]
async fn nothing_need_be_answered_where_nothing_is_read() {
    let ca = ca();
    let (api, _) = serve(
        &ca,
        b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_vec(),
    )
    .await;
    let client = client(&api, &ca);
    client
        .revoke_token(&"t".into(), TokenId(id()))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_login_shows_no_credential() {
    let ca = ca();
    let (api, head) = serve(&ca, http("401 Unauthorized", "{}")).await;
    let exchange = LoginExchange {
        namespace: "n".to_owned(),
        name: "login-x".to_owned(),
        nonce: "00".to_owned(),
    };
    client(&api, &ca).login(&exchange).await.unwrap_err();
    let head = head.await.unwrap();
    assert!(
        head.starts_with("POST /api/v1/login HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn a_caller_is_an_agent_or_a_person() {
    let agent = format!(
        r#"{{"agent":"a","displayName":"A","namespace":"n","task":"{ID}","attempt":1,"subject":{{"kind":"Key","name":"k"}},"session":"{ID}","scope":"Project","verbs":["get issues"],"tokenExpires":"1970-01-01T00:00:00Z"}}"#
    );
    let person = r#"{"user":"ada","groups":["dev"],"tokenExpires":"1970-01-01T00:00:00Z"}"#;
    for (body, wanted) in [(agent.as_str(), true), (person, false)] {
        let ca = ca();
        let (api, _) = serve(&ca, http("200 OK", body)).await;
        let caller = client(&api, &ca).caller(&"t".into()).await.unwrap();
        assert_eq!(matches!(caller, Caller::Agent(_)), wanted);
    }
}

#[tokio::test]
async fn a_page_may_be_longer_than_other_answers() {
    let ca = ca();
    let body = format!(r#"{{"items":[]{}}}"#, " ".repeat(limits::BODY_BYTES));
    let (api, _) = serve(&ca, http("200 OK", &body)).await;
    let client = client(&api, &ca);
    let (token, workspace): (SecretString, Workspace) = ("t".into(), Workspace::own());
    let board = client.board(&token, &workspace);
    assert_eq!(board.agents(&PageQuery::default()).await.unwrap().items, []);
}

#[tokio::test]
async fn another_address_needs_the_same_name() {
    let ca = ca();
    let (api, _) = serve(&ca, http("200 OK", r#"{"items":[]}"#)).await;
    let port = api.rsplit(':').next().unwrap();
    let (token, workspace): (SecretString, Workspace) = ("t".into(), Workspace::own());
    for (name, reached) in [(SERVICE, true), ("other.mooring-system.svc", false)] {
        let settings = Settings {
            api: format!("https://{name}:{port}"),
            ca: ca.pem().into_bytes(),
        };
        let client = Client::at(&settings, [127, 0, 0, 1].into()).unwrap();
        let answer = client
            .board(&token, &workspace)
            .members(&PageQuery::default())
            .await;
        assert_eq!(answer.is_ok(), reached, "{answer:?}");
    }
}
