//! What people add while an agent works.

use jiff::Timestamp;
use protocol::AttemptId;

use super::board::Everybody;
use crate::{Acting, Store};

/// One remark is taken in, one is not, and one is left open.
pub(super) async fn live(store: &Store, by: &Acting, attempt: AttemptId, now: Timestamp) {
    for why in [Some(None), Some(Some("too late")), None] {
        let posted = store
            .steer(by, attempt.task, "and this", &Everybody, now)
            .await;
        let remark = posted.unwrap().comment.id;
        if let Some(why) = why {
            store.steered(attempt, remark, why, now).await.unwrap();
        }
    }
}
