//! How far an agent's token reaches: its issue, its project, or the workspace, as its Agent says.

use serde_json::{Value, json};

use crate::bed::{Bed, both};
use crate::board::{Voice, items, text, working_on};

/// The agent, reaching so far.
fn reaching(bed: &Bed, scope: &str) {
    bed.define_agent(&json!({"runtimeRefs": [{"name": "claude"}], "tokenScope": scope}));
}

/// Issues: its own, a part of that, another one of the same project, one of another project, one of none.
struct Issues {
    own: String,
    part: String,
    beside: String,
    other: String,
    alone: String,
}

impl Issues {
    async fn new(ada: &Voice) -> Self {
        for name in ["app", "docs"] {
            let url = format!("https://git.example.com/{name}.git");
            let repository = json!({"name": name, "url": url, "credentials": "git-app"});
            let new = json!({"name": name, "title": name, "repositories": [repository]});
            ada.post("/projects", &new).await.ok();
        }
        let made = async |more: Value| {
            let mut new = json!({"title": "x"});
            new.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            text(&ada.post("/issues", &new).await.ok()["issue"]["key"])
        };
        let own = made(json!({"project": "app"})).await;
        Self {
            part: made(json!({"parent": own})).await,
            beside: made(json!({"project": "app"})).await,
            other: made(json!({"project": "docs"})).await,
            alone: made(json!({})).await,
            own,
        }
    }

    fn all(&self) -> [&String; 5] {
        [
            &self.own,
            &self.part,
            &self.beside,
            &self.other,
            &self.alone,
        ]
    }
}

fn keys(page: &Value) -> Vec<String> {
    items(page)
        .iter()
        .map(|issue| text(&issue["key"]))
        .collect()
}

both! {
    async fn a_token_reaches_as_far_as_its_agent_says(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issues = Issues::new(&ada).await;
        let agent = Voice::agent(&bed, working_on(&bed, &issues.own).await).await;
        for (scope, seen) in [
            ("Issue", [true, true, false, false, false]),
            ("Project", [true, true, true, false, false]),
            ("Workspace", [true, true, true, true, true]),
        ] {
            reaching(&bed, scope);
            for (key, sees) in issues.all().into_iter().zip(seen) {
                let wanted = if sees { 200 } else { 404 };
                for path in [format!("/issues/{key}"), format!("/issues/{key}/comments")] {
                    assert_eq!(agent.get(&path).await.status, wanted, "{scope} {path}");
                }
                let edit = agent.patch(&format!("/issues/{key}"), &json!({"title": "y"})).await;
                assert_eq!(edit.status, wanted, "{scope} {key}");
            }
            assert_eq!(agent.at(http::Method::GET, "/api/v1/whoami", &Value::Null).await.ok()["scope"], scope);
        }
        // An agent that is gone sees no more than its issue.
        bed.cluster.agents.lock().unwrap().clear();
        assert_eq!(agent.get(&format!("/issues/{}", issues.beside)).await.status, 404);
    }

    async fn a_list_holds_what_the_token_reaches(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issues = Issues::new(&ada).await;
        let agent = Voice::agent(&bed, working_on(&bed, &issues.own).await).await;
        reaching(&bed, "Issue");
        assert_eq!(agent.get("/issues").await.status, 403);
        reaching(&bed, "Project");
        let mut found = keys(&agent.get("/issues").await.ok());
        found.sort();
        assert_eq!(found, [issues.own.clone(), issues.part.clone(), issues.beside.clone()]);
        assert_eq!(keys(&agent.get("/issues?project=app").await.ok()).len(), 3);
        assert_eq!(agent.get("/issues?project=docs").await.status, 404);
        reaching(&bed, "Workspace");
        assert_eq!(keys(&agent.get("/issues").await.ok()).len(), 5);
        assert_eq!(keys(&agent.get("/issues?project=docs").await.ok()), std::slice::from_ref(&issues.other));
        // A person is limited by its rights only.
        assert_eq!(keys(&ada.get("/issues?project=app").await.ok()).len(), 3);
    }

    async fn an_agent_makes_issues_where_it_sees(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issues = Issues::new(&ada).await;
        let agent = Voice::agent(&bed, working_on(&bed, &issues.own).await).await;
        let make = async |new: Value| agent.post("/issues", &new).await;
        let part_of = |parent: &str| json!({"title": "y", "parent": parent});
        for (scope, seen) in [
            ("Issue", [200, 403, 403, 403, 403]),
            ("Project", [200, 200, 200, 404, 404]),
            ("Workspace", [200, 200, 200, 200, 200]),
        ] {
            reaching(&bed, scope);
            for (key, wanted) in issues.all().into_iter().zip(seen) {
                assert_eq!(make(part_of(key)).await.status, wanted, "{scope} {key}");
            }
            // Without a word about it, it is a part of its own issue and belongs to the same project.
            let made = make(json!({"title": "y"})).await.ok();
            assert_eq!((&made["issue"]["parent"], &made["issue"]["project"]), (&json!(issues.own), &json!("app")));
        }
    }

    async fn who_files_an_issue_decides_what_the_agent_is_given(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issues = Issues::new(&ada).await;
        let agent = Voice::agent(&bed, working_on(&bed, &issues.own).await).await;
        let path = format!("/issues/{}", issues.own);
        for (scope, moves) in [("Issue", 403), ("Project", 403), ("Workspace", 200)] {
            reaching(&bed, scope);
            for project in [json!("docs"), json!(null)] {
                let moved = agent.patch(&path, &json!({"project": project})).await;
                assert_eq!(moved.status, moves, "{scope} {project}");
            }
            let new = json!({"title": "y", "project": "docs"});
            assert_eq!(agent.post("/issues", &new).await.status, moves, "{scope}");
            ada.patch(&path, &json!({"project": "app"})).await.ok();
        }
    }

    async fn an_agent_sees_its_own_project(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issues = Issues::new(&ada).await;
        let agent = Voice::agent(&bed, working_on(&bed, &issues.own).await).await;
        for (scope, all, docs) in [("Issue", 1, 404), ("Project", 1, 404), ("Workspace", 2, 200)] {
            reaching(&bed, scope);
            assert_eq!(items(&agent.get("/projects").await.ok()).len(), all, "{scope}");
            assert_eq!(agent.get("/projects/app").await.status, 200);
            assert_eq!(agent.get("/projects/docs").await.status, docs, "{scope}");
            assert_eq!(agent.get("/projects/..%2fapp").await.status, 404);
        }
        let alone = Voice::agent(&bed, working_on(&bed, &issues.alone).await).await;
        reaching(&bed, "Project");
        assert!(items(&alone.get("/projects").await.ok()).is_empty());
        assert_eq!(alone.get("/projects/app").await.status, 404);
        assert_eq!(alone.get(&format!("/issues/{}", issues.beside)).await.status, 404);
    }

    async fn a_project_is_refused_that_could_not_be_checked_out(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let post = async |repository: Value| {
            let new = json!({"name": "app", "title": "x", "repositories": [repository]});
            ada.post("/projects", &new).await
        };
        for wrong in [
            json!({"name": "app", "url": "ext::sh -c id"}),
            json!({"name": "app", "url": "https://me:secret@h/x"}),
            json!({"name": "../x", "url": "https://h/x"}),
            json!({"name": "app", "url": "https://h/x", "credentials": "database"}),
            json!({"name": "app", "url": "https://h/x", "defaultBranch": "--upload-pack=id"}),
            json!({"name": "app", "url": "https://h/x", "owner": "ada"}),
        ] {
            let refused = post(wrong.clone()).await;
            assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()), "{wrong}");
            assert!(!refused.text.contains("secret@"), "{}", refused.text);
        }
        let good = json!({"name": "app", "url": "https://h/x"});
        assert_eq!(post(good.clone()).await.ok()["revision"], 1);
        assert_eq!(post(good).await.refusal(), (409, "wrongState".to_owned()));
        let stale = ada.patch("/projects/app", &json!({"revision": 7, "title": "y"})).await;
        assert_eq!(stale.refusal(), (409, "revision".to_owned()));
        let escape = ada.patch("/projects/app", &json!({"title": "a\u{1b}[2J"})).await;
        assert_eq!(escape.refusal(), (400, "invalidRequest".to_owned()));
    }
}
