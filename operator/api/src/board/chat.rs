//! A chat that the path names: its person's, and that of the task which answers it.

use axum::extract::FromRequestParts;
use http::request::Parts;
use protocol::board::Chat;
use protocol::{ChatId, MemberId, TaskId};

use super::caller::segment;
use super::{BoardCaller, Right};
use crate::auth::Caller;
use crate::error::Failure;
use crate::state::{Inner, Shared};

/// A caller, and a chat of theirs; for an agent the one that its task answers.
pub(crate) struct OnChat<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) chat: Chat,
}

impl<R: Right> Caller for OnChat<R> {}

impl<R: Right> FromRequestParts<Shared> for OnChat<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let named = segment(parts, state, "id").await?;
        let id: ChatId = named.parse().map_err(|_| Failure::not_found())?;
        let found = match caller.agent() {
            Some((attempt, _)) => {
                let own = state.store.chat_of_task(attempt.task).await?;
                own.map(|(_, chat)| chat).filter(|chat| chat.id == id)
            }
            None => {
                let member = caller.member()?;
                state.store.chat(caller.workspace(), member, id).await?
            }
        };
        let chat = found.ok_or_else(Failure::not_found)?;
        Ok(Self { caller, chat })
    }
}

/// What happened in a task that answers a chat is for the person of the chat alone, whoever else may read about
/// tasks. For all others there is no such timeline.
pub(crate) async fn check_private(
    state: &Inner,
    member: MemberId,
    task: TaskId,
) -> Result<(), Failure> {
    match state.store.chat_of_task(task).await? {
        Some((owner, _)) if owner != member => Err(Failure::not_found()),
        Some(_) | None => Ok(()),
    }
}
