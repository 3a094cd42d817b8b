//! What people do.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, IssueEdit, IssueKey, IssueQuery, IssueStatus, Member, NewAccessToken,
    NewIssue, Recipient, RecipientKind,
};
use protocol::{InboxId, TaskId};
use uuid::Uuid;

use crate::{Acting, Store, WorkspaceRef};

/// Every agent there could be.
pub(super) struct Everybody;

impl wake::Directory for Everybody {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        Some(wake::AgentFacts {
            display_name: name.to_owned(),
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
    store.inbox(&workspace, bob.id, 9, None).await.unwrap();
    let nothing = InboxId(Uuid::nil());
    store.read_inbox(bob.id, nothing).await.unwrap_err();
    store.archive_inbox(bob.id, nothing).await.unwrap_err();
    store.runs(&workspace, 9, None).await.unwrap();
    store.run(&workspace, TaskId(Uuid::nil())).await.unwrap();
    store
        .runs_of_issue(&workspace, &issue, 9, None)
        .await
        .unwrap();
    tokens(store, now).await;
    (by, issue)
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
