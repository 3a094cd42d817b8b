//! Issues that an agent writes from what a person said in a sentence.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{NewQuickIssue, QuickIssue};

use crate::board::{BoardCaller, CreateQuickIssues, GetQuickIssues, OnTask};
use crate::body::Json;
use crate::error::Failure;
use crate::once::Once;
use crate::state::Shared;

/// `POST quick-issues`.
pub(super) async fn ask_quick_issue(
    caller: BoardCaller<CreateQuickIssues>,
    once: Once,
    State(state): State<Shared>,
    Json(mut new): Json<NewQuickIssue>,
) -> Result<Answer<QuickIssue>, Failure> {
    let store = once.store(&state, "quick-issues", &new)?;
    caller.door(&state).await?.quick_issue(&mut new);
    let directory = caller.recipients(&state);
    let asked = store
        .ask_quick_issue(
            &caller.acting,
            caller.member()?,
            &new,
            &directory,
            state.now(),
        )
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(asked))
}

/// `GET quick-issues/{id}`: what became of it, for who asked. The id is that of its task.
pub(super) async fn get_quick_issue(
    on: OnTask<GetQuickIssues>,
    State(state): State<Shared>,
) -> Result<Answer<QuickIssue>, Failure> {
    let member = on.caller.member()?;
    let found = state.store.quick_issue(member, on.task).await?;
    found.map(Answer).ok_or_else(Failure::not_found)
}
