//! The board through the client that `moor` uses: every call is answered with what the client expects.

use client::{Board, Client, EventQuery, PageQuery, Workspace};
use protocol::board::{
    CommentEdit, CommentQuery, IssueEdit, IssueQuery, IssueStatus, NewComment, NewIssue, Recipient,
    RecipientKind, WakeVerdict,
};
use protocol::{Event, EventBody, TaskState, code};
use secrecy::SecretString;

use crate::bed::{Bed, NAMESPACE_UID, on_sqlite};
use crate::board::{Voice, claim};
use crate::tls::Server;

fn comment(body: &str) -> NewComment {
    NewComment {
        body: body.to_owned(),
        ..NewComment::default()
    }
}

/// The agent that was woken works on the issue, in the words of `moor` within a pod.
async fn agent_answers(board: Board<'_>, key: &protocol::board::IssueKey) {
    assert_eq!(board.issue(key).await.unwrap().title, "Check the build");
    let roots = CommentQuery {
        roots: true,
        ..CommentQuery::default()
    };
    let asked = board.comments(key, &roots).await.unwrap().items[0].clone();
    let posted = board
        .post_comment(key, &comment("It is green."))
        .await
        .unwrap();
    assert_eq!(
        (posted.comment.thread, posted.wakes),
        (asked.id, Vec::new())
    );
    let edit = IssueEdit {
        status: Some(IssueStatus::InReview),
        ..IssueEdit::default()
    };
    board.edit_issue(key, &edit).await.unwrap();
    let part = NewIssue {
        title: "Look again tomorrow".to_owned(),
        ..NewIssue::default()
    };
    board.create_issue(&part).await.unwrap();
    let refused = board.issues(&IssueQuery::default()).await.unwrap_err();
    assert_eq!(refused.code(), Some(code::FORBIDDEN));
}

#[tokio::test]
async fn the_client_and_the_board_understand_each_other() {
    on_sqlite(async |bed: Bed| {
        let ada = Voice::person(&bed, "ada").await;
        let member = ada.member("ada").await;
        Voice::person(&bed, "eve").await.get("/agents").await.ok();
        let eve: SecretString = bed.person("eve").await.into();
        let ada: SecretString = bed.person("ada").await.into();
        let server = Server::start(&bed).await;
        let settings = client::Settings {
            api: server.url(""),
            ca: server.authority.pem.clone().into_bytes(),
        };
        let client = Client::new(&settings).unwrap();
        let (team, own) = ("team-a".parse::<Workspace>().unwrap(), Workspace::own());
        let board = client.board(&ada, &team);
        let page = PageQuery::default();

        assert_eq!(board.agents(&page).await.unwrap().items[0].name, "reviewer");
        assert_eq!(board.members(&page).await.unwrap().items.len(), 2);
        let new = NewIssue {
            title: "Check the build".to_owned(),
            ..NewIssue::default()
        };
        let saved = board.create_issue(&new).await.unwrap();
        let key = saved.issue.key;
        let mention = comment("[Reviewer](mention://agent/reviewer), please");
        let foreseen = board.preview_comment(&key, &mention).await.unwrap();
        let posted = board.post_comment(&key, &mention).await.unwrap();
        let reviewer = Recipient {
            kind: RecipientKind::Agent,
            id: "reviewer".to_owned(),
        };
        assert_eq!(foreseen.wakes[0].recipient, reviewer);
        let WakeVerdict::Queued { task: Some(task) } = posted.wakes[0].verdict else {
            panic!("not queued: {:?}", posted.wakes);
        };
        let attempt = claim(&bed, NAMESPACE_UID, task).await;
        // From here on it has begun, and an edit takes nothing back.
        bed.store
            .open_package(attempt, [0; 32], bed.now())
            .await
            .unwrap();
        let token: SecretString = bed.token(attempt).await.into();
        agent_answers(client.board(&token, &own), &key).await;

        let edit = CommentEdit {
            revision: None,
            body: "Never mind.".to_owned(),
        };
        let id = posted.comment.id;
        assert_eq!(
            board.edit_comment(id, &edit).await.unwrap().comment.body,
            edit.body
        );
        assert!(board.resolve_comment(id, true).await.unwrap().resolved);
        assert!(!board.resolve_comment(id, false).await.unwrap().resolved);
        let thread = CommentQuery {
            thread: Some(id),
            since: Some(bed.now() - std::time::Duration::from_secs(1)),
            limit: Some(2),
            ..CommentQuery::default()
        };
        assert_eq!(board.comments(&key, &thread).await.unwrap().items.len(), 2);
        let filter = IssueQuery {
            status: Some(IssueStatus::InReview),
            limit: Some(1),
            ..IssueQuery::default()
        };
        let issues = board.issues(&filter).await.unwrap();
        assert_eq!(
            (issues.items[0].key.clone(), issues.next),
            (key.clone(), None)
        );
        assert_eq!(board.children(&key, &page).await.unwrap().items.len(), 1);
        assert_eq!(board.runs(&key, &page).await.unwrap().items[0].id, task);

        let event = Event {
            seq: 1,
            at: bed.now(),
            body: EventBody::Text {
                content: "hm".to_owned(),
            },
        };
        bed.store
            .append(attempt, &[event], bed.now())
            .await
            .unwrap();
        let events = board.events(task, &EventQuery::default()).await.unwrap();
        assert_eq!((events.items[0].position, events.items[0].attempt), (1, 1));
        assert_eq!(board.tasks(&page).await.unwrap().items.len(), 1);
        assert_eq!(board.run(task).await.unwrap().state, TaskState::Preparing);
        assert_eq!(
            board.cancel_task(task).await.unwrap().state,
            TaskState::Finishing
        );

        let named = comment(&format!("[ada](mention://member/{member})!"));
        let from_eve = client
            .board(&eve, &team)
            .post_comment(&key, &named)
            .await
            .unwrap();
        let inbox = board.inbox(&page).await.unwrap();
        let entry = &inbox.items[0];
        assert_eq!(entry.comment, Some(from_eve.comment.id));
        board.read_entry(entry.id).await.unwrap();
        board.archive_entry(entry.id).await.unwrap();
        let left = board.inbox(&page).await.unwrap().items;
        assert!(left.iter().all(|other| other.id != entry.id));
        board.delete_comment(id).await.unwrap();
        let refused = board.issue(&"TEAMA-99".parse().unwrap()).await.unwrap_err();
        assert_eq!(refused.code(), Some(code::NOT_FOUND));
        server.stop(&bed).await;
    })
    .await;
}
