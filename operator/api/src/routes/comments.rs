//! Comments and their threads.

use axum::Json as Answer;
use axum::extract::State;
use protocol::CommentId;
use protocol::board::{
    AuthorKind, Comment, CommentEdit, CommentPage, CommentQuery, IssueKey, NewComment, Posted,
    Preview,
};
use serde_json::json;

use super::again::when;
use crate::board::{
    BoardCaller, CreateComments, DeleteComments, Filling, ListComments, OnComment, OnIssue,
    PatchComments, limit,
};
use crate::body::{Json, Query};
use crate::error::Failure;
use crate::once::Once;
use crate::state::{Inner, Shared};

/// `GET issues/{key}/comments`: oldest first.
pub(super) async fn list_comments(
    on: OnIssue<ListComments>,
    State(state): State<Shared>,
    Query(mut query): Query<CommentQuery>,
) -> Result<Answer<CommentPage>, Failure> {
    let mut filling = Filling::new(limit(query.limit)?);
    loop {
        query.limit = Some(filling.part());
        let part = state
            .store
            .comments(on.caller.workspace(), &on.key, &query)
            .await?;
        query.cursor = part.next.clone();
        if let Some(page) = filling.take(part.items, part.next)? {
            return Ok(Answer(page));
        }
    }
}

/// `POST issues/{key}/comments`.
pub(super) async fn post_comment(
    on: OnIssue<CreateComments>,
    State(state): State<Shared>,
    once: Once,
    Json(new): Json<NewComment>,
) -> Result<Answer<Posted>, Failure> {
    let store = once.store(&state, &format!("comments {}", on.key), &new)?;
    let new = accepted(&state, &on, new).await?;
    let directory = on.caller.recipients(&state);
    let posted = store
        .post_comment(&on.caller.acting, &on.key, new, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(posted))
}

/// `POST issues/{key}/comments/preview`: what the same body would do as a comment.
pub(super) async fn preview_comment(
    on: OnIssue<CreateComments>,
    State(state): State<Shared>,
    Json(new): Json<NewComment>,
) -> Result<Answer<Preview>, Failure> {
    let new = accepted(&state, &on, new).await?;
    let directory = on.caller.recipients(&state);
    let preview = state
        .store
        .preview_comment(&on.caller.acting, &on.key, &new, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(preview))
}

/// `PATCH comments/{id}`: by its author only, since it speaks in that one's name.
pub(super) async fn edit_comment(
    on: OnComment<PatchComments>,
    State(state): State<Shared>,
    Json(mut edit): Json<CommentEdit>,
) -> Result<Answer<Posted>, Failure> {
    let caller = &on.caller;
    if !is_author(caller, &on.comment) {
        return Err(Failure::forbidden(
            "only its author changes a comment: write another one",
        ));
    }
    caller.door(&state).await?.comment_edit(&mut edit);
    let directory = caller.recipients(&state);
    let posted = state
        .store
        .edit_comment(&caller.acting, on.comment.id, edit, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(posted))
}

/// `DELETE comments/{id}`. People with the right tidy up, whoever wrote it; an agent takes back its own.
pub(super) async fn delete_comment(
    on: OnComment<DeleteComments>,
    State(state): State<Shared>,
) -> Result<Answer<serde_json::Value>, Failure> {
    let caller = &on.caller;
    if caller.agent().is_some() && !is_author(caller, &on.comment) {
        return Err(Failure::forbidden("an agent deletes its own comments only"));
    }
    state
        .store
        .delete_comment(&caller.acting, on.comment.id, state.now())
        .await?;
    Ok(Answer(json!({})))
}

/// `POST comments/{id}/resolved`: its thread needs no more answer.
pub(super) async fn resolve_thread(
    on: OnComment<PatchComments>,
    State(state): State<Shared>,
) -> Result<Answer<Comment>, Failure> {
    resolve(&state, &on, true).await
}

/// `DELETE comments/{id}/resolved`: it does.
pub(super) async fn reopen_thread(
    on: OnComment<PatchComments>,
    State(state): State<Shared>,
) -> Result<Answer<Comment>, Failure> {
    resolve(&state, &on, false).await
}

async fn resolve(
    state: &Inner,
    on: &OnComment<PatchComments>,
    resolved: bool,
) -> Result<Answer<Comment>, Failure> {
    let comment = state
        .store
        .resolve_comment(&on.caller.acting, on.comment.id, resolved)
        .await?;
    Ok(Answer(comment))
}

/// A new comment in the form in which it is kept, and where it belongs.
async fn accepted(
    state: &Inner,
    on: &OnIssue<CreateComments>,
    mut new: NewComment,
) -> Result<NewComment, Failure> {
    on.caller.door(state).await?.new_comment(&mut new)?;
    new.wake_at = when(state, new.wake_at, new.wake_after_seconds.take())?;
    answer_where_asked(state, &on.caller, &on.key, &mut new).await?;
    Ok(new)
}

/// A run that comments have woken answers in their threads, where those who asked will read it. On the
/// children of its issue it may begin threads.
async fn answer_where_asked(
    state: &Inner,
    caller: &BoardCaller<CreateComments>,
    key: &IssueKey,
    new: &mut NewComment,
) -> Result<(), Failure> {
    let Some((attempt, Some(own))) = caller.agent() else {
        return Ok(());
    };
    if key != own {
        return Ok(());
    }
    let threads = state.store.answers_in(attempt.task).await?;
    let place = async |id| state.store.comment(caller.workspace(), id).await;
    if let Some(parent) = new.parent {
        let found = place(parent).await?;
        let within =
            |(at, found): (IssueKey, Comment)| at == *own && threads.contains(&found.thread);
        return match threads.is_empty() || found.is_some_and(within) {
            true => Ok(()),
            false => Err(elsewhere(&threads)),
        };
    }
    for thread in threads {
        // One that was deleted meanwhile cannot be answered.
        if place(thread).await?.is_some() {
            new.parent = Some(thread);
            break;
        }
    }
    Ok(())
}

fn elsewhere(threads: &[CommentId]) -> Failure {
    let threads: Vec<_> = threads.iter().map(ToString::to_string).collect();
    Failure::wrong_state(format!(
        "this run was woken by a comment and answers there: leave `parent` out, or use {}",
        threads.join(" or ")
    ))
}

fn is_author<R>(caller: &BoardCaller<R>, comment: &Comment) -> bool {
    let (by, me) = (&comment.author, &caller.acting.author);
    match by.kind {
        AuthorKind::Member | AuthorKind::Agent => by.kind == me.kind && by.id == me.id,
        AuthorKind::System => false,
    }
}
