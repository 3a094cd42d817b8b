//! What an agent asks, and what becomes of it.

use jiff::Timestamp;
use protocol::board::ApprovalQuery;
use protocol::runner::Settled;
use protocol::{AttemptId, MemberId};
use serde_json::json;

use crate::{Acting, Question, Store};

/// Asks, decides, looks, and leaves something open.
pub(super) async fn live(store: &Store, by: &Acting, attempt: AttemptId, now: Timestamp) {
    let me: MemberId = by.author.id.parse().unwrap();
    let question = |call_id: &str| Question {
        call_id: call_id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({"command": "git push"}),
        why: "Bash needs approval".to_owned(),
        seconds: 60,
    };
    let first = store.ask(attempt, &question("1"), now).await.unwrap();
    let approval = first.approval;
    for all in [true, false] {
        let asked = ApprovalQuery {
            all,
            ..ApprovalQuery::default()
        };
        store.approvals(&by.workspace, me, &asked).await.unwrap();
    }
    store.awaited_tools(attempt.task).await.unwrap();
    let inbox = store.inbox(&by.workspace, me, 9, None, true).await.unwrap();
    for entry in inbox.items {
        if entry.approval.is_some() {
            store.read_inbox(me, entry.id).await.unwrap();
        }
    }
    store
        .decide(by, me, approval, (true, None), now)
        .await
        .unwrap();
    let second = store.ask(attempt, &question("2"), now).await.unwrap();
    store
        .settle(attempt, second.approval, Settled::Withdrawn, now)
        .await
        .unwrap();
    store.ask(attempt, &question("3"), now).await.unwrap();
}
