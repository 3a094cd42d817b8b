//! Routes of the board × kinds of callers: the whole table, and no route that is not in it.

use std::collections::BTreeSet;

use axum::body::Body;
use http::Method;
use protocol::{AttemptId, Event, EventBody, FailureClass, Outcome, TaskId, Verdict};
use serde_json::{Value, json};

use crate::bed::{Bed, NAMESPACE, NAMESPACE_UID, both};
use crate::board::{Voice, claim, enter, items, text, working_on};
use crate::{approvals, authorisation};

/// Routes, what each kind of caller gets, and a body that the route takes. Paths that begin with `/api` are whole,
/// the others lie in the workspace. `stranger` has no right in it, `reader` may look, `person` may all; the issue in
/// the paths is the one that `own` works on, `other` works on another one, `elsewhere` in another workspace,
/// `errand` on no issue at all. Comments, tokens and entries of the inbox are the person's.
const TABLE: &str = r#"
                                       nobody runner ended stranger reader person own other elsewhere errand
POST   /api/v1/login                     401   401   401     401     401    401   401  401     401     401  {"namespace": "n", "name": "x", "nonce": "0000000000000000000000000000000000000000000000000000000000000000"}
GET    /api/v1/tokens                    401   403   401     200     200    200   403  403     403     403
POST   /api/v1/tokens                    401   403   401     200     200    200   403  403     403     403  {"label": "x", "days": 1}
DELETE /api/v1/tokens/{id}               401   403   401     404     404    204   403  403     403     403
GET    /issues                           401   403   401     404     200    200   403  403     404     403
POST   /issues                           401   403   401     404     403    200   200  200     404     403  {"title": "x"}
GET    /issues/{key}                     401   403   401     404     200    200   200  404     404     404
PATCH  /issues/{key}                     401   403   401     404     403    200   200  404     404     404  {"title": "y"}
GET    /issues/{key}/children            401   403   401     404     200    200   200  404     404     404
GET    /issues/{key}/comments            401   403   401     404     200    200   200  404     404     404
POST   /issues/{key}/comments            401   403   401     404     403    200   200  404     404     404  {"body": "x"}
POST   /issues/{key}/comments/preview    401   403   401     404     403    200   200  404     404     404  {"body": "x"}
GET    /issues/{key}/attachments         401   403   401     404     200    200   200  404     404     404
POST   /issues/{key}/attachments?name=x  401   403   401     404     403    200   200  404     404     404  {"any": "content"}
GET    /attachments/{id}                 401   403   401     404     200    200   200  404     404     404
DELETE /attachments/{id}                 401   403   401     404     403    200   403  404     404     404
GET    /issues/{key}/runs                401   403   401     404     200    200   200  404     404     404
GET    /issues/{key}/timeline            401   403   401     404     200    200   200  404     404     404
GET    /issues/{key}/usage               401   403   401     404     200    200   200  404     404     404
GET    /issues/{key}/subscribers         401   403   401     404     200    200   200  404     404     404
POST   /issues/{key}/subscription        401   403   401     404     403    200   403  404     404     404
DELETE /issues/{key}/subscription        401   403   401     404     403    200   403  404     404     404
GET    /search                           401   403   401     404     200    200   200  200     404     403
PATCH  /comments/{id}                    401   403   401     404     403    200   403  404     404     404  {"body": "y"}
POST   /comments/{id}/resolved           401   403   401     404     403    200   200  404     404     404
DELETE /comments/{id}/resolved           401   403   401     404     403    200   200  404     404     404
DELETE /comments/{id}                    401   403   401     404     403    200   403  404     404     404
GET    /tasks                            401   403   401     404     200    200   403  403     403     403
GET    /tasks/{id}                       401   403   401     404     200    200   200  404     404     404
GET    /tasks/{id}/events                401   403   401     404     200    200   403  403     403     403
GET    /tasks/{id}/events/{position}/text 401  403   401     404     200    200   403  403     403     403
GET    /tasks/{id}/raw                   401   403   401     404     200    200   403  403     403     403
GET    /live                             401   403   401     404     400    400   403  403     403     403
POST   /tasks/{id}/cancel                401   403   401     404     403    200   403  403     403     403
GET    /tasks/{id}/explain               401   403   401     404     200    200   403  403     403     403
POST   /tasks/{id}/rerun                 401   403   401     404     403    409   403  403     403     403
POST   /tasks/{id}/retry                 401   403   401     404     403    409   403  403     403     403  {"fresh": true}
POST   /tasks/{id}/steer                 401   403   401     404     403    409   403  404     404     404  {"body": "x"}
POST   /tasks/{id}/suspend               401   403   401     404     403    409   403  403     403     403
POST   /tasks/{id}/resume                401   403   401     404     403    409   403  403     403     403
GET    /agents                           401   403   401     404     200    200   200  200     404     200
GET    /agents/{name}/usage              401   403   401     404     200    200   403  403     403     403
GET    /teams                            401   403   401     404     200    200   200  200     404     200
GET    /teams/{name}                     401   403   401     404     200    200   200  200     404     200
GET    /skills                           401   403   401     404     200    200   200  200     404     200
GET    /skills/{name}                    401   403   401     404     200    200   200  200     404     200
GET    /schedules                        401   403   401     404     200    200   403  403     403     403
GET    /schedules/{name}                 401   403   401     404     200    200   403  403     403     403
GET    /webhooks                         401   403   401     404     200    200   403  403     403     403
GET    /webhooks/{name}                  401   403   401     404     200    200   403  403     403     403
GET    /webhooks/{name}/deliveries       401   403   401     404     200    200   403  403     403     403
GET    /runtimes                         401   403   401     404     200    200   403  403     403     403
GET    /runtimes/{name}                  401   403   401     404     200    200   403  403     403     403
GET    /members                          401   403   401     404     200    200   200  200     404     200
GET    /projects                         401   403   401     404     200    200   200  200     404     200
POST   /projects                         401   403   401     404     403    409   403  403     403     403  {"name": "app", "title": "x"}
GET    /projects/{name}                  401   403   401     404     200    200   200  404     404     404
PATCH  /projects/{name}                  401   403   401     404     403    200   403  403     403     403  {"title": "y"}
DELETE /projects/{name}?detach=true      401   403   401     404     403    204   403  403     403     403
GET    /chats                            401   403   401     404     200    200   403  403     403     403
POST   /chats                            401   403   401     404     403    200   403  403     403     403  {"agent": "reviewer", "body": "x"}
GET    /chats/{id}                       401   403   401     404     404    200   404  404     404     404
PATCH  /chats/{id}                       401   403   401     404     403    200   403  403     403     403  {"title": "y"}
GET    /chats/{id}/messages              401   403   401     404     404    200   404  404     404     404
POST   /chats/{id}/messages              401   403   401     404     403    200   403  403     403     403  {"body": "x"}
POST   /quick-issues                     401   403   401     404     403    200   403  403     403     403  {"agent": "reviewer", "text": "x"}
GET    /quick-issues/{id}                401   403   401     404     404    200   403  403     403     403
GET    /approvals                        401   403   401     404     200    200   403  403     403     403
GET    /approvals/{id}                   401   403   401     404     200    200   403  403     403     403
POST   /approvals/{id}/approve           401   403   401     404     403    200   403  403     403     403  {"reason": "x"}
POST   /approvals/{id}/deny              401   403   401     404     403    200   403  403     403     403  {}
GET    /inbox                            401   403   401     404     200    200   403  403     403     403
POST   /inbox/{id}/read                  401   403   401     404     403    200   403  403     403     403
DELETE /inbox/{id}                       401   403   401     404     403    200   403  403     403     403
"#;

/// One line of the table.
struct Line {
    method: Method,
    path: String,
    wanted: Vec<u16>,
    body: Value,
}

/// The kinds of callers, and the lines.
fn table() -> (Vec<&'static str>, Vec<Line>) {
    let mut lines = TABLE.trim_start_matches('\n').lines();
    let kinds: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let line = |line: &str| {
        let (line, body) = match line.find(" {") {
            Some(at) => (&line[..at], serde_json::from_str(&line[at..]).unwrap()),
            None => (line, Value::Null),
        };
        let mut words = line.split_whitespace();
        let method = words.next().unwrap().parse().unwrap();
        let path = words.next().unwrap();
        let path = match path.starts_with("/api/") {
            true => path.to_owned(),
            false => format!("/api/v1/workspaces/{{w}}{path}"),
        };
        let wanted: Vec<_> = words.map(|word| word.parse().unwrap()).collect();
        Line {
            method,
            path,
            wanted,
            body,
        }
    };
    (kinds, lines.map(line).collect())
}

/// What stands in the paths.
struct Things {
    issue: String,
    comment: String,
    /// The task of `own`.
    task: String,
    /// One that waits.
    waiting: String,
    entry: String,
    attachment: String,
}

/// Things of `ada` that nobody has touched yet.
async fn things(bed: &Bed, [ada, eve]: [&Voice; 2], issue: &str, own: TaskId) -> Things {
    let member = ada.member("ada").await;
    let comment = ada.comment(issue, "first").await;
    let named = format!("look, [ada](mention://member/{member})");
    eve.comment(issue, &named).await;
    let inbox = ada.get("/inbox").await.ok();
    // An issue has no room for one each.
    let attach = format!("/issues/{issue}/attachments?name=a.json");
    let attachment = ada.post(&attach, &json!({})).await.ok();
    let waiting = enter(bed, NAMESPACE, NAMESPACE_UID, "Key", &comment).await;
    Things {
        issue: issue.to_owned(),
        comment,
        task: own.to_string(),
        waiting: waiting.to_string(),
        entry: text(&items(&inbox)[0]["id"]),
        attachment: text(&attachment["id"]),
    }
}

/// The id of what is the person's alone, made when it is asked for; else none yet.
async fn made(bed: &Bed, own: AttemptId, ada: &Voice, path: &str) -> String {
    if path.contains("/approvals/{id}") {
        // The same question for each caller of a route.
        return approvals::asked(bed, own, path, "Bash").await;
    }
    if path.contains("/chats/{id}") {
        let new = json!({"agent": "reviewer", "body": "x"});
        return text(&ada.post("/chats", &new).await.ok()["chat"]["id"]);
    }
    if path.contains("/quick-issues/{id}") {
        let new = json!({"agent": "reviewer", "text": "x"});
        return text(&ada.post("/quick-issues", &new).await.ok()["task"]);
    }
    "{id}".to_owned()
}

fn filled(path: &str, things: &Things) -> String {
    let before = path.split("/{id}").next().unwrap();
    let id = match before.rsplit('/').next().unwrap() {
        "comments" => &things.comment,
        "attachments" => &things.attachment,
        "tasks" if path.ends_with("/cancel") => &things.waiting,
        "tasks" => &things.task,
        _ => &things.entry,
    };
    path.replace("{w}", NAMESPACE)
        .replace("{key}", &things.issue)
        .replace("{name}", "app")
        .replace("{position}", "1")
        .replace("{id}", id)
        .replace("/search", "/search?q=one")
}

both! {
    async fn who_may_do_what_on_the_board(bed: Bed) {
        let (bed, _folder) = bed.with_files();
        let ada = Voice::person(&bed, "ada").await;
        let eve = Voice::person(&bed, "eve").await;
        let issue = ada.issue("the one").await;
        bed.define_skill("app");
        bed.define_schedule("app", &json!({"schedule": "@daily", "run": {"agentRef": {"name": "reviewer"}, "prompt": "x"}}));
        bed.define_webhook("app", &json!({"comment": {"issue": "{/issue}", "body": "x"}}));
        bed.define_runtime_called("app", &json!({"provider": "claude", "image": "x"}));
        bed.define_team("app", &json!({"leader": "reviewer", "members": []}));
        let project = json!({"name": "app", "title": "The app"});
        ada.post("/projects", &project).await.ok();
        ada.patch(&format!("/issues/{issue}"), &json!({"project": "app"})).await.ok();
        bed.define_another("app", &json!({"displayName": "App", "instructions": "", "runtimeRefs": [{"name": "claude"}]}));
        let own = working_on(&bed, &issue).await;
        bed.store.keep_text(own, 1, "whole".to_owned()).await.unwrap();
        let body = EventBody::Text { content: "whole".to_owned() };
        bed.store.append(own, &[Event { seq: 1, at: bed.now(), body }], bed.now()).await.unwrap();
        let other = working_on(&bed, &ada.issue("another one").await).await;
        let elsewhere = enter(&bed, "team-b", "uid-b", "Issue", &issue).await;
        let elsewhere = claim(&bed, "uid-b", elsewhere).await;
        let errand = enter(&bed, "team-a", NAMESPACE_UID, "Key", "x").await;
        let errand = claim(&bed, NAMESPACE_UID, errand).await;
        let ended = working_on(&bed, &ada.issue("over").await).await;
        let ended_token = Voice::agent(&bed, ended).await;
        let verdict = Verdict {
            outcome: Outcome::failed(FailureClass::Cancelled, "enough"),
            at: bed.now(),
            result: None,
        };
        bed.store.verdict(ended, verdict, bed.now()).await.unwrap();
        let callers = [
            Voice::holding(&bed, None),
            Voice::holding(&bed, Some(bed.credential(own).await)),
            ended_token,
            Voice::holding(&bed, Some(bed.person("stranger").await)),
            Voice::reader(&bed, "reader").await,
            ada.clone(),
            Voice::agent(&bed, own).await,
            Voice::agent(&bed, other).await,
            Voice::agent(&bed, elsewhere).await,
            Voice::agent(&bed, errand).await,
        ];
        let (kinds, lines) = table();
        let mut wrong = Vec::new();
        for Line { method, path, wanted, body } in lines {
            assert_eq!((kinds.len(), wanted.len()), (callers.len(), callers.len()), "{path}");
            for ((kind, caller), wanted) in kinds.iter().zip(&callers).zip(wanted) {
                // Fresh ones for each, since one could take them from the next.
                let things = things(&bed, [&ada, &eve], &issue, own.task).await;
                let path = path.replace("{id}", &made(&bed, own, &ada, &path).await);
                let mut path = filled(&path, &things);
                if path.contains("/tokens/") {
                    let label = json!({"label": "x", "days": 1});
                    let minted = ada.at(Method::POST, "/api/v1/tokens", &label).await.ok();
                    path = format!("/api/v1/tokens/{}", text(&minted["record"]["id"]));
                }
                let answer = caller.at(method.clone(), &path, &body).await;
                if answer.status.as_u16() != wanted {
                    wrong.push(format!("{kind} {method} {path}: {wanted}, got {}", answer.text));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    async fn no_route_is_without_a_table(bed: Bed) {
        let path = |path: &str| path.split('?').next().unwrap().to_owned();
        let board = table().1.into_iter().map(|line| (line.method.to_string(), path(&line.path)));
        let others = authorisation::routes("{id}").into_iter().map(|(method, path, _)| {
            let path = path.split('?').next().unwrap().to_owned();
            (method.to_string(), path)
        });
        let listed: BTreeSet<_> = board.chain(others).collect();
        // What axum shows of a router are its paths; which methods each of them knows it says to one it does not.
        let shown = format!("{:?}", bed.router);
        let mut found = BTreeSet::new();
        for path in shown.split('"').filter(|part| part.starts_with("/api/v1/")) {
            let real = path.replace("{w}", "team-a").replace("{key}", "T-1").replace("{name}", "x").replace("{position}", "1").replace("{id}", "x");
            let strange = Method::from_bytes(b"BREW").unwrap();
            let refused = bed.call(strange, &real, None, Body::empty()).await;
            let allowed = refused.headers["allow"].to_str().unwrap().to_owned();
            for method in allowed.split(',').filter(|method| *method != "HEAD") {
                found.insert((method.to_owned(), path.to_owned()));
            }
        }
        assert!(found.len() > 20, "axum shows its paths in another way: {shown}");
        assert_eq!(found, listed);
    }

    async fn what_lies_outside_the_scope_is_told_like_what_does_not_exist(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("mine").await;
        let hidden = ada.issue("not yours").await;
        let comment = ada.comment(&hidden, "secret").await;
        let agent = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        let nothing = uuid::Uuid::now_v7();
        for (there, absent) in [
            (format!("/issues/{hidden}"), "/issues/TEAMA-999".to_owned()),
            (format!("/issues/{hidden}/comments"), "/issues/TEAMA-999/comments".to_owned()),
            (format!("/issues/{hidden}"), "/issues/x".to_owned()),
        ] {
            let mut told = Vec::new();
            for path in [there, absent] {
                let mut answer = agent.get(&path).await.json();
                answer["error"]["requestId"].take();
                told.push(answer);
            }
            assert_eq!(told[0], told[1]);
            assert_eq!(told[0]["error"]["code"], "notFound");
        }
        for id in [comment, nothing.to_string(), "x".to_owned(), "%ff".to_owned()] {
            let mut refused = agent.delete(&format!("/comments/{id}")).await.json();
            refused["error"]["requestId"].take();
            let wanted = json!({"error": {
                "code": "notFound", "requestId": null,
                "message": "there is nothing here, or nothing that this credential may see",
            }});
            assert_eq!(refused, wanted, "{id}");
        }
        // Nor does a person learn which namespaces there are.
        let stranger = Voice::holding(&bed, Some(bed.person("stranger").await));
        let mut told = Vec::new();
        for workspace in ["team-a", "team-z", "Team%20A", "..%2f"] {
            let answer = stranger.call_in(workspace, Method::GET, "/issues", &Value::Null).await;
            let mut answer = answer.json();
            answer["error"]["requestId"].take();
            told.push(answer);
        }
        assert!(told.iter().all(|answer| *answer == told[0]), "{told:?}");
    }

    async fn a_right_that_is_taken_away_is_gone_within_ten_seconds(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        ada.get("/issues").await.ok();
        bed.people.deny_all();
        bed.advance(std::time::Duration::from_secs(10));
        assert_eq!(ada.get("/issues").await.refusal(), (404, "notFound".to_owned()));
    }

    async fn the_hyphen_is_the_workspace_of_a_task(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("mine").await;
        let agent = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        let path = format!("/issues/{issue}");
        let found = agent.call_in("-", Method::GET, &path, &Value::Null).await.ok();
        assert_eq!(found["title"], "mine");
        let refused = ada.call_in("-", Method::GET, &path, &Value::Null).await;
        assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()));
    }
}

#[test]
fn the_page_of_the_api_names_every_route_of_a_workspace() {
    let page = include_str!("../../../docs/api.md");
    let named: BTreeSet<_> = page
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    let wanted: BTreeSet<_> = table()
        .1
        .into_iter()
        .filter_map(|line| {
            let path = line.path.strip_prefix("/api/v1/workspaces/{w}")?;
            let path = path.split('?').next().unwrap();
            Some(format!("{} {path}", line.method))
        })
        .collect();
    assert_eq!(named, wanted);
}
