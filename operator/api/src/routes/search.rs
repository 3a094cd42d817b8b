//! What is found of all that was written.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{Page, SearchHit, SearchQuery};
use store::SearchScope;

use crate::board::{BoardCaller, ListChildren, ListComments, Reach, limit};
use crate::body::Query;
use crate::error::Failure;
use crate::state::Shared;

/// `GET search`: the newest first. It shows parts of issues and of comments, so one needs to see both.
pub(super) async fn search(
    caller: BoardCaller<ListComments>,
    State(state): State<Shared>,
    Query(mut query): Query<SearchQuery>,
) -> Result<Answer<Page<SearchHit>>, Failure> {
    query.limit = Some(limit(query.limit)?);
    caller.also::<ListChildren>(&state).await?;
    let own = caller.agent().and_then(|(_, own)| own);
    let reach = caller.reach(&state).await?;
    let scope = match (&reach, own) {
        (Reach::Workspace, _) => SearchScope::Workspace,
        (Reach::Project(project), own) => SearchScope::Project(project, own),
        (Reach::Issue, Some(own)) => SearchScope::Issue(own),
        (Reach::Issue, None) => {
            return Err(Failure::forbidden(
                "this task has no issue, so there is nothing that it may search",
            ));
        }
    };
    let found = state.store.search(caller.workspace(), scope, &query);
    Ok(Answer(found.await?))
}
