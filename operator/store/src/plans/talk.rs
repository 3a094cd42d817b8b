//! What is said on an issue, whom it wakes, and what comes back.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, CommentEdit, CommentQuery, IssueEdit, IssueKey, IssueStatus, NewComment,
    NewIssue, Recipient, RecipientKind, WakeVerdict,
};
use protocol::{AttemptId, CommentId, FailureClass, InstallationKey, Outcome, Verdict};

use super::board::Everybody;
use super::lane;
use crate::{Acting, Again, Store};

/// Speaks as people and agents do.
pub(super) async fn live(store: &Store, by: &Acting, whole: &IssueKey, now: Timestamp) {
    let part = given(store, by, whole, now).await;
    let (asked, me) = open(store, by, "reviewer", now).await;
    let root = say(store, &me, &part, "[w](mention://agent/writer)", None, now).await;
    let answer = say(
        store,
        by,
        &part,
        "[w](mention://agent/writer)",
        Some(root),
        now,
    )
    .await;
    let new = NewComment {
        body: "and?".to_owned(),
        parent: Some(root),
        ..NewComment::default()
    };
    store
        .preview_comment(&me, &part, &new, &Everybody, now)
        .await
        .unwrap();
    for body in [
        "[t](mention://team/pens)",
        "[b](mention://agent/reviewer) [a](mention://all/all)",
    ] {
        let edit = CommentEdit {
            revision: None,
            body: body.to_owned(),
        };
        store
            .edit_comment(by, answer, edit, &Everybody, now)
            .await
            .unwrap();
    }
    store.delete_comment(by, answer, now).await.unwrap();
    store.resolve_comment(by, root, true).await.unwrap();
    read(store, by, &part, root).await;
    store.cause(asked.task).await.unwrap();
    store.answers_in(asked.task).await.unwrap();
    store.woken_by(asked.task).await.unwrap();
    store.led_team(asked.task).await.unwrap();
    store.bind_object(asked.task, "bound").await.unwrap();
    super::approvals::live(store, by, asked, now).await;
    super::steers::live(store, by, asked, now).await;
    close(store, &me, &part, now).await;
    end(store, asked, now).await;
    let (asked, _) = open(store, by, "writer", now).await;
    end(store, asked, now).await;
    again(store, by, asked, now).await;
    later(store, by, &saved_for_later(store, by, now).await, now).await;
}

async fn saved_for_later(store: &Store, by: &Acting, now: Timestamp) -> IssueKey {
    let new = NewIssue {
        title: "later".to_owned(),
        ..NewIssue::default()
    };
    let saved = store.create_issue(by, new, &Everybody, now).await.unwrap();
    saved.issue.key
}

/// A comment wakes somebody later, then at once, then later again since that one was taken back.
async fn later(store: &Store, by: &Acting, key: &IssueKey, now: Timestamp) {
    let later = now + jiff::SignedDuration::from_hours(1);
    let new = NewComment {
        body: "[x](mention://agent/writer)".to_owned(),
        wake_at: Some(later),
        ..NewComment::default()
    };
    let posted = store
        .post_comment(by, key, new.clone(), &Everybody, now)
        .await;
    let posted = posted.unwrap();
    let WakeVerdict::Deferred {
        task: Some(task), ..
    } = posted.wakes[0].verdict
    else {
        panic!("{:?}", posted.wakes);
    };
    store
        .preview_comment(by, key, &new, &Everybody, now)
        .await
        .unwrap();
    let body = "[x](mention://agent/writer) now";
    let sooner = say(store, by, key, body, Some(posted.comment.id), now).await;
    store.delete_comment(by, sooner, now).await.unwrap();
    let edit = protocol::board::CommentEdit {
        revision: None,
        body: "[x](mention://agent/writer) then".to_owned(),
    };
    store
        .edit_comment(by, posted.comment.id, edit, &Everybody, now)
        .await
        .unwrap();
    assert!(store.fire(task, later).await.unwrap());
}

/// A run is asked for again, twice, and what waits is put aside.
async fn again(store: &Store, by: &Acting, over: AttemptId, now: Timestamp) {
    for how in [Again::Retry { fresh: true }, Again::Rerun] {
        let done = store.do_again(by, over.task, how, &Everybody, now).await;
        let (WakeVerdict::Queued { task: Some(task) } | WakeVerdict::Coalesced { task }) =
            done.unwrap()
        else {
            panic!("nobody does it again");
        };
        store.put_aside(task, now).await.unwrap();
        store.let_go_on(task, now).await.unwrap();
    }
}

/// A part of the whole, given to an agent, then to nobody and back.
async fn given(store: &Store, by: &Acting, whole: &IssueKey, now: Timestamp) -> IssueKey {
    let recipient = || {
        Some(Recipient {
            kind: RecipientKind::Agent,
            id: "reviewer".to_owned(),
        })
    };
    let new = NewIssue {
        title: "given".to_owned(),
        parent: Some(whole.clone()),
        assignee: recipient(),
        ..NewIssue::default()
    };
    let saved = store.create_issue(by, new, &Everybody, now).await.unwrap();
    for assignee in [None, recipient()] {
        let edit = IssueEdit {
            assignee: Some(assignee),
            ..IssueEdit::default()
        };
        store
            .edit_issue(by, &saved.issue.key, edit, &Everybody, now)
            .await
            .unwrap();
    }
    saved.issue.key
}

/// Claims until the newest task of an agent is got, and opens it.
async fn open(store: &Store, by: &Acting, agent: &str, now: Timestamp) -> (AttemptId, Acting) {
    let key = InstallationKey::new([1; 32]);
    let mut lane = lane();
    let mut writer = lane.agents[0].clone();
    writer.name = "writer".to_owned();
    lane.agents.push(writer);
    let mut last = None;
    while let Some(claimed) = store.claim_next(&lane, &key, now).await.unwrap() {
        if claimed.session.key.agent == agent {
            last = Some(claimed.attempt);
        }
    }
    let attempt = last.unwrap();
    store.open_package(attempt, [1; 32], now).await.unwrap();
    let me = Acting {
        workspace: by.workspace.clone(),
        author: Author {
            kind: AuthorKind::Agent,
            id: agent.to_owned(),
            name: agent.to_owned(),
        },
        task: Some(attempt.task),
        user: None,
        groups: Vec::new(),
    };
    (attempt, me)
}

async fn say(
    store: &Store,
    by: &Acting,
    key: &IssueKey,
    body: &str,
    parent: Option<CommentId>,
    now: Timestamp,
) -> CommentId {
    let new = NewComment {
        body: body.to_owned(),
        parent,
        ..NewComment::default()
    };
    let posted = store.post_comment(by, key, new, &Everybody, now).await;
    posted.unwrap().comment.id
}

async fn read(store: &Store, by: &Acting, key: &IssueKey, root: CommentId) {
    for (thread, roots) in [(None, false), (None, true), (Some(root), false)] {
        let query = CommentQuery {
            thread,
            roots,
            ..CommentQuery::default()
        };
        store.comments(&by.workspace, key, &query).await.unwrap();
    }
    store.comment(&by.workspace, root).await.unwrap().unwrap();
}

async fn close(store: &Store, by: &Acting, key: &IssueKey, now: Timestamp) {
    let edit = IssueEdit {
        status: Some(IssueStatus::Done),
        ..IssueEdit::default()
    };
    store
        .edit_issue(by, key, edit, &Everybody, now)
        .await
        .unwrap();
}

async fn end(store: &Store, attempt: AttemptId, now: Timestamp) {
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::OOMKilled, ""),
        at: now,
        result: None,
    };
    store.verdict(attempt, verdict, now).await.unwrap();
    store.release(attempt, now).await.unwrap();
}
