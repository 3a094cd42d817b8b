//! What a person should look at.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{InboxEntry, Page};
use serde_json::json;

use crate::board::{
    BoardCaller, DecideApprovals, DeleteInbox, ListInbox, OnEntry, PageQuery, PatchInbox, limit,
};
use crate::body::Query;
use crate::error::Failure;
use crate::state::Shared;

/// `GET inbox`: newest first. What waits for a decision is there for those who may decide.
pub(super) async fn list_inbox(
    caller: BoardCaller<ListInbox>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<InboxEntry>>, Failure> {
    let limit = limit(query.limit)?;
    let decides = caller.has::<DecideApprovals>(&state).await?;
    let page = state
        .store
        .inbox(
            caller.workspace(),
            caller.member()?,
            limit,
            query.cursor.as_deref(),
            decides,
        )
        .await?;
    Ok(Answer(page))
}

/// `POST inbox/{id}/read`.
pub(super) async fn read_entry(
    on: OnEntry<PatchInbox>,
    State(state): State<Shared>,
) -> Result<Answer<serde_json::Value>, Failure> {
    state.store.read_inbox(on.member, on.entry).await?;
    Ok(Answer(json!({})))
}

/// `DELETE inbox/{id}`: it is not listed any more.
pub(super) async fn archive_entry(
    on: OnEntry<DeleteInbox>,
    State(state): State<Shared>,
) -> Result<Answer<serde_json::Value>, Failure> {
    state.store.archive_inbox(on.member, on.entry).await?;
    Ok(Answer(json!({})))
}
