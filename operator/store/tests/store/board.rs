//! Short words for who acts, in which workspace, and what they do.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, Issue, IssueEdit, IssueQuery, IssueStatus, Member, NewAccessToken,
    NewIssue, Recipient, RecipientKind,
};
use protocol::{Credential, TaskId};
use store::{Acting, Error, WorkspaceRef};

use crate::bed::{Bed, NAMESPACE, at};

/// The agents of the workspace.
pub(crate) struct Agents(pub(crate) &'static [&'static str]);

/// The agents of most tests.
pub(crate) const AGENTS: Agents = Agents(&["reviewer", "writer"]);

impl wake::Directory for Agents {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        let known = self.0.contains(&name);
        known.then(|| wake::AgentFacts {
            display_name: name.to_uppercase(),
            access: None,
        })
    }

    /// The one team, `pens`, is led by `writer`.
    fn team(&self, name: &str) -> Option<wake::TeamFacts> {
        (name == "pens").then(|| wake::TeamFacts {
            leader: "writer".to_owned(),
        })
    }
}

/// The workspace of the tasks that [`crate::bed::new_task`] makes.
pub(crate) fn workspace() -> WorkspaceRef {
    WorkspaceRef {
        namespace: "team-a".to_owned(),
        namespace_uid: NAMESPACE.to_owned(),
    }
}

/// Another one.
pub(crate) fn elsewhere() -> WorkspaceRef {
    WorkspaceRef {
        namespace: "team-b".to_owned(),
        namespace_uid: "0b0b0b0b-1111-4222-8333-444455556666".to_owned(),
    }
}

/// A person who writes.
pub(crate) fn acting(member: &Member) -> Acting {
    Acting {
        workspace: workspace(),
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

/// An agent that writes in its task.
pub(crate) fn acting_agent(name: &str, task: TaskId) -> Acting {
    Acting {
        workspace: workspace(),
        author: Author {
            kind: AuthorKind::Agent,
            id: name.to_owned(),
            name: name.to_uppercase(),
        },
        task: Some(task),
        user: None,
        groups: Vec::new(),
    }
}

pub(crate) fn agent(name: &str) -> Recipient {
    Recipient {
        kind: RecipientKind::Agent,
        id: name.to_owned(),
    }
}

pub(crate) fn person(member: &Member) -> Recipient {
    Recipient {
        kind: RecipientKind::Member,
        id: member.id.to_string(),
    }
}

/// An issue of nobody.
pub(crate) fn titled(title: &str) -> NewIssue {
    NewIssue {
        title: title.to_owned(),
        ..NewIssue::default()
    }
}

impl Bed {
    pub(crate) async fn member(&self, user: &str) -> Member {
        self.store.member(&workspace(), user, at(0)).await.unwrap()
    }

    /// Somebody who writes.
    pub(crate) async fn ada(&self) -> Acting {
        acting(&self.member("ada").await)
    }

    pub(crate) async fn issue(&self, by: &Acting, new: NewIssue, now: Timestamp) -> Issue {
        let saved = self.store.create_issue(by, new, &AGENTS, now).await;
        saved.unwrap().issue
    }
}

/// What people write that the board's own tests do not lose anything of: asked for by what is there, as a person
/// does who got no answer.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let store = &bed.store;
    let ada = acting(&store.member(&workspace(), "ada", at(1)).await?);
    let bob = store.member(&workspace(), "bob", at(1)).await?;
    let mine = store.issues(&workspace(), &IssueQuery::default()).await?;
    let mut mine = mine.items.into_iter();
    let mine = mine.find(|issue| issue.title != crate::steering::TITLE);
    let issue = match mine {
        Some(issue) => issue,
        None => {
            let new = NewIssue {
                assignee: Some(person(&bob)),
                ..titled("for bob")
            };
            store.create_issue(&ada, new, &AGENTS, at(2)).await?.issue
        }
    };
    if issue.status == IssueStatus::Todo {
        let edit = IssueEdit {
            revision: Some(1),
            status: Some(IssueStatus::Done),
            ..IssueEdit::default()
        };
        store
            .edit_issue(&ada, &issue.key, edit, &AGENTS, at(3))
            .await?;
    }
    store.unsubscribe(&workspace(), &issue.key, bob.id).await?;
    store
        .subscribe(&workspace(), &issue.key, ada.author.id.parse().unwrap())
        .await?;
    for entry in store
        .inbox(&workspace(), bob.id, 9, None, true)
        .await?
        .items
    {
        store.read_inbox(bob.id, entry.id).await?;
        store.archive_inbox(bob.id, entry.id).await?;
    }
    crate::projects::speak(bed, &ada).await?;
    crate::attachments::speak(bed, &ada, &issue.key).await?;
    let object = uuid::Uuid::now_v7().to_string();
    let minted = store.exchange_login(&object, "ada", &[], at(4)).await?;
    let hash = Credential::token_hash(&minted.unwrap().token.into());
    store.authenticate_person(hash, at(5)).await?;
    let new = NewAccessToken {
        label: "nightly".to_owned(),
        days: 1,
    };
    store.mint_token("ada", &[], &new, at(6)).await?;
    let page = store.access_tokens("ada", 200, None, at(7)).await?;
    for token in page.items {
        store.revoke_token("ada", token.id).await?;
    }
    Ok(())
}

/// Nothing of it is lost, nothing is there twice.
pub(crate) async fn spoken(bed: &Bed) {
    crate::projects::spoken(bed).await;
    let store = &bed.store;
    let members = store.members(&workspace(), 9, None).await.unwrap().items;
    let users: Vec<_> = members.iter().map(|member| member.user.as_str()).collect();
    assert_eq!(users, ["ada", "bob", "cyd"]);
    let issues = store.issues(&workspace(), &IssueQuery::default()).await;
    let issues = issues.unwrap().items;
    // What is steered is looked at elsewhere.
    let stand: Vec<_> = issues
        .iter()
        .filter(|issue| issue.title != crate::steering::TITLE)
        .map(|issue| (issue.key.number, issue.status, issue.revision))
        .collect();
    assert_eq!(stand, [(1, IssueStatus::Done, 2)]);
    let inbox = store
        .inbox(&workspace(), members[1].id, 9, None, true)
        .await;
    assert_eq!(inbox.unwrap().items, []);
    let following = store
        .subscribers(&workspace(), &issues[0].key, 9, None)
        .await;
    assert_eq!(following.unwrap().items, [members[0].clone()]);
    let tokens = store.access_tokens("ada", 9, None, at(7)).await.unwrap();
    assert_eq!(tokens.items, []);
}
