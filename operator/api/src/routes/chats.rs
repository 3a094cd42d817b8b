//! Chats of a person with an agent.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{
    Chat, ChatEdit, ChatMessage, ChatQuery, ChatSent, NewChat, NewChatMessage, Page,
};

use crate::board::{
    BoardCaller, CreateChats, Filling, GetChats, ListChats, OnChat, PageQuery, PatchChats, limit,
};
use crate::body::{Json, Query};
use crate::error::Failure;
use crate::once::Once;
use crate::state::Shared;

/// `GET chats`: one's own, the last begun first.
pub(super) async fn list_chats(
    caller: BoardCaller<ListChats>,
    State(state): State<Shared>,
    Query(mut query): Query<ChatQuery>,
) -> Result<Answer<Page<Chat>>, Failure> {
    query.limit = Some(limit(query.limit)?);
    let page = state
        .store
        .chats(caller.workspace(), caller.member()?, &query)
        .await?;
    Ok(Answer(page))
}

/// `POST chats`: begins one with its first message.
pub(super) async fn begin_chat(
    caller: BoardCaller<CreateChats>,
    once: Once,
    State(state): State<Shared>,
    Json(mut new): Json<NewChat>,
) -> Result<Answer<ChatSent>, Failure> {
    let store = once.store(&state, "chats", &new)?;
    caller.door(&state).await?.new_chat(&mut new)?;
    let directory = caller.recipients(&state);
    let sent = store
        .begin_chat(
            &caller.acting,
            caller.member()?,
            &new,
            &directory,
            state.now(),
        )
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(sent))
}

/// `GET chats/{id}`.
pub(super) async fn get_chat(on: OnChat<GetChats>) -> Result<Answer<Chat>, Failure> {
    Ok(Answer(on.chat))
}

/// `PATCH chats/{id}`: another title, put away, or brought back.
pub(super) async fn edit_chat(
    on: OnChat<PatchChats>,
    State(state): State<Shared>,
    Json(mut edit): Json<ChatEdit>,
) -> Result<Answer<Chat>, Failure> {
    let caller = &on.caller;
    caller.door(&state).await?.chat_edit(&mut edit)?;
    let chat = state
        .store
        .edit_chat(caller.workspace(), caller.member()?, on.chat.id, &edit)
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(chat))
}

/// `GET chats/{id}/messages`: newest first.
pub(super) async fn list_chat_messages(
    on: OnChat<GetChats>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<ChatMessage>>, Failure> {
    let mut filling = Filling::new(limit(query.limit)?);
    let mut cursor = query.cursor;
    loop {
        let part = state
            .store
            .chat_messages(on.chat.id, filling.part(), cursor.as_deref())
            .await?;
        cursor = part.next.clone();
        if let Some(page) = filling.take(part.items, part.next)? {
            return Ok(Answer(page));
        }
    }
}

/// `POST chats/{id}/messages`: wakes the agent, or waits with what was written before.
pub(super) async fn send_chat_message(
    on: OnChat<CreateChats>,
    once: Once,
    State(state): State<Shared>,
    Json(mut new): Json<NewChatMessage>,
) -> Result<Answer<ChatSent>, Failure> {
    let caller = &on.caller;
    let store = once.store(&state, &format!("chats {}", on.chat.id), &new)?;
    caller.door(&state).await?.chat_message(&mut new);
    let directory = caller.recipients(&state);
    let sent = store
        .send_chat(
            &caller.acting,
            caller.member()?,
            on.chat.id,
            &new.body,
            &directory,
            state.now(),
        )
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(sent))
}
