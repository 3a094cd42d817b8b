//! What people do.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, IssueEdit, IssueKey, IssueQuery, IssueStatus, Member, NewAccessToken,
    NewComment, NewIssue, NewProject, ProjectEdit, Recipient, RecipientKind, SearchQuery,
};
use protocol::{AttachmentId, InboxId, TaskId};
use uuid::Uuid;

use crate::{Acting, Kept, Room, SearchScope, Store, WorkspaceRef};

/// Every agent there could be, and teams that the writer leads.
pub(super) struct Everybody;

impl wake::Directory for Everybody {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        Some(wake::AgentFacts {
            display_name: name.to_owned(),
            access: None,
        })
    }

    fn team(&self, _name: &str) -> Option<wake::TeamFacts> {
        Some(wake::TeamFacts {
            leader: "writer".to_owned(),
        })
    }
}

/// Writes and reads as people do; gives who wrote and the issue that was written.
pub(super) async fn live(store: &Store, now: Timestamp) -> (Acting, IssueKey) {
    let workspace = WorkspaceRef {
        namespace: "team-a".to_owned(),
        namespace_uid: "uid".to_owned(),
    };
    let ada = store.member(&workspace, "ada", now).await.unwrap();
    let bob = store.member(&workspace, "bob", now).await.unwrap();
    store.members(&workspace, 9, None).await.unwrap();
    store.member_by_id(&workspace, ada.id).await.unwrap();
    let by = acting(&workspace, &ada);
    let issue = issues(store, &by, &bob, now).await;
    projects(store, &by, now).await;
    attachments(store, &by, &issue, now).await;
    store
        .inbox(&workspace, bob.id, 9, None, true)
        .await
        .unwrap();
    let nothing = InboxId(Uuid::nil());
    store.read_inbox(bob.id, nothing).await.unwrap_err();
    store.archive_inbox(bob.id, nothing).await.unwrap_err();
    follow(store, &by, &issue).await;
    store.runs(&workspace, 9, None).await.unwrap();
    store.run(&workspace, TaskId(Uuid::nil())).await.unwrap();
    looked_at(store, &workspace, &issue).await;
    store
        .runs_of_issue(&workspace, &issue, 9, None)
        .await
        .unwrap();
    tokens(store, now).await;
    (by, issue)
}

/// Reads what a run used, what was kept of it, and what happened on an issue.
async fn looked_at(store: &Store, workspace: &WorkspaceRef, issue: &IssueKey) {
    let nothing = TaskId(Uuid::nil());
    store.text(workspace, nothing, 1).await.unwrap();
    store.usage_of_issue(workspace, issue).await.unwrap();
    store
        .usage_of_agent(workspace, "reviewer", None)
        .await
        .unwrap();
    store.history(workspace, issue, 9, None).await.unwrap();
    let found = store.issue(workspace, issue).await.unwrap().unwrap();
    store.issue_by_id(found.id).await.unwrap();
    for run in store.runs(workspace, 9, None).await.unwrap().items {
        store.run(workspace, run.id).await.unwrap();
    }
}

fn acting(workspace: &WorkspaceRef, member: &Member) -> Acting {
    Acting {
        workspace: workspace.clone(),
        author: Author {
            kind: AuthorKind::Member,
            id: member.id.to_string(),
            name: member.user.clone(),
        },
        task: None,
        user: Some(member.user.clone()),
        groups: Vec::new(),
    }
}

async fn issues(store: &Store, by: &Acting, other: &Member, now: Timestamp) -> IssueKey {
    let whole = NewIssue {
        title: "a whole".to_owned(),
        assignee: Some(Recipient {
            kind: RecipientKind::Member,
            id: other.id.to_string(),
        }),
        ..NewIssue::default()
    };
    let whole = store.create_issue(by, whole, &Everybody, now).await;
    let whole = whole.unwrap().issue.key;
    let part = NewIssue {
        title: "a part".to_owned(),
        parent: Some(whole.clone()),
        assignee: Some(Recipient {
            kind: RecipientKind::Agent,
            id: "typist".to_owned(),
        }),
        ..NewIssue::default()
    };
    let part = store.create_issue(by, part, &Everybody, now).await;
    let part = part.unwrap().issue.key;
    let done = IssueEdit {
        status: Some(IssueStatus::Done),
        ..IssueEdit::default()
    };
    store
        .edit_issue(by, &part, done, &Everybody, now)
        .await
        .unwrap();
    let workspace = &by.workspace;
    store.children(workspace, &whole, 9, None).await.unwrap();
    for status in [None, Some(IssueStatus::Todo)] {
        for assignee in [None, Some("agent:reviewer".to_owned())] {
            let query = IssueQuery {
                status,
                assignee,
                ..IssueQuery::default()
            };
            store.issues(workspace, &query).await.unwrap();
        }
    }
    whole
}

async fn projects(store: &Store, by: &Acting, now: Timestamp) {
    let new = NewProject {
        name: "app".to_owned(),
        title: "the app".to_owned(),
        ..NewProject::default()
    };
    store.create_project(by, new, now).await.unwrap();
    let workspace = &by.workspace;
    let edit = ProjectEdit {
        title: Some("another".to_owned()),
        ..ProjectEdit::default()
    };
    store
        .edit_project(workspace, "app", edit, now)
        .await
        .unwrap();
    store.projects(workspace, 9, None).await.unwrap();
    store
        .repositories_of_issue(&workspace.namespace_uid, 1)
        .await
        .unwrap();
    let query = IssueQuery {
        project: Some("app".to_owned()),
        ..IssueQuery::default()
    };
    store.issues(workspace, &query).await.unwrap();
    store
        .delete_project(workspace, "app", true, now)
        .await
        .unwrap();
}

async fn follow(store: &Store, by: &Acting, issue: &IssueKey) {
    let me = by.author.id.parse().unwrap();
    let workspace = &by.workspace;
    store.subscribe(workspace, issue, me).await.unwrap();
    store.unsubscribe(workspace, issue, me).await.unwrap();
    store.subscribe(workspace, issue, me).await.unwrap();
    let following = store.subscribers(workspace, issue, 9, None).await;
    assert_eq!(following.unwrap().items.len(), 2);
    let asked = SearchQuery {
        q: "whole".to_owned(),
        ..SearchQuery::default()
    };
    for scope in [SearchScope::Workspace, SearchScope::Issue(issue)] {
        let found = store.search(workspace, scope, &asked).await.unwrap();
        assert_eq!(found.items.len(), 1);
    }
    let labelled = IssueQuery {
        label: Some("bug".to_owned()),
        ..IssueQuery::default()
    };
    assert_eq!(store.issues(workspace, &labelled).await.unwrap().items, []);
}

async fn attachments(store: &Store, by: &Acting, issue: &IssueKey, now: Timestamp) {
    let file = Kept {
        id: AttachmentId(Uuid::from_u128(7)),
        bytes: 3,
        digest: [0; 32],
    };
    let room = Room {
        issue: 9,
        workspace: 9,
    };
    store
        .add_attachment(by, issue, ("a.txt", "text/plain"), file, room, now)
        .await
        .unwrap();
    let workspace = &by.workspace;
    store.attachments(workspace, issue, 9, None).await.unwrap();
    assert!(store.has_attachment(file.id).await.unwrap());
    let with_it = NewComment {
        body: "see the file".to_owned(),
        attachments: vec![file.id],
        ..NewComment::default()
    };
    let posted = store.post_comment(by, issue, with_it, &Everybody, now);
    assert_eq!(posted.await.unwrap().comment.attachments.len(), 1);
    let (_, there) = store.attachment(workspace, file.id).await.unwrap().unwrap();
    store.delete_attachment(workspace, &there).await.unwrap();
}

async fn tokens(store: &Store, now: Timestamp) {
    let new = NewAccessToken {
        label: "nightly".to_owned(),
        days: 1,
    };
    store
        .exchange_login("object", "ada", &[], now)
        .await
        .unwrap();
    let minted = store.mint_token("ada", &[], &new, now).await.unwrap();
    let hash = protocol::Credential::token_hash(&minted.token.into());
    store.authenticate_person(hash, now).await.unwrap();
    store.access_tokens("ada", 9, None, now).await.unwrap();
    store.revoke_token("ada", minted.record.id).await.unwrap();
}
