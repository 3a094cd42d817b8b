//! Who follows an issue.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{Member, Page, Subscription};

use crate::board::{GetIssues, OnIssue, PageQuery, PatchInbox, limit};
use crate::body::Query;
use crate::error::Failure;
use crate::state::Shared;

/// `GET issues/{key}/subscribers`.
pub(super) async fn list_subscribers(
    on: OnIssue<GetIssues>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<Member>>, Failure> {
    let limit = limit(query.limit)?;
    let (workspace, cursor) = (on.caller.workspace(), query.cursor.as_deref());
    let page = state
        .store
        .subscribers(workspace, &on.key, limit, cursor)
        .await?;
    Ok(Answer(page))
}

/// `POST issues/{key}/subscription`: what is said there comes into the caller's inbox.
pub(super) async fn subscribe(
    on: OnIssue<GetIssues>,
    State(state): State<Shared>,
) -> Result<Answer<Subscription>, Failure> {
    on.caller.also::<PatchInbox>(&state).await?;
    let member = on.caller.member()?;
    let subscribed = state
        .store
        .subscribe(on.caller.workspace(), &on.key, member);
    subscribed.await.map_err(Failure::of_write)?;
    Ok(Answer(Subscription { subscribed: true }))
}

/// `DELETE issues/{key}/subscription`: it does no more.
pub(super) async fn unsubscribe(
    on: OnIssue<GetIssues>,
    State(state): State<Shared>,
) -> Result<Answer<Subscription>, Failure> {
    on.caller.also::<PatchInbox>(&state).await?;
    let member = on.caller.member()?;
    let unsubscribed = state
        .store
        .unsubscribe(on.caller.workspace(), &on.key, member);
    unsubscribed.await.map_err(Failure::of_write)?;
    Ok(Answer(Subscription { subscribed: false }))
}
