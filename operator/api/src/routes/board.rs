//! Where the routes of the board lie: all of them under a workspace.

use axum::Router;

use super::{agents, comments, delete, get, inbox, issues, patch, post, runs};
use crate::state::Shared;

/// The routes of the board.
pub(super) fn all() -> Router<Shared> {
    let routes = Router::new()
        .route("/issues", get(issues::list_issues))
        .route("/issues", post(issues::create_issue))
        .route("/issues/{key}", get(issues::get_issue))
        .route("/issues/{key}", patch(issues::edit_issue))
        .route("/issues/{key}/children", get(issues::list_children))
        .route("/issues/{key}/comments", get(comments::list_comments))
        .route("/issues/{key}/comments", post(comments::post_comment))
        .route(
            "/issues/{key}/comments/preview",
            post(comments::preview_comment),
        )
        .route("/issues/{key}/runs", get(runs::list_runs_of_issue))
        .route("/comments/{id}", patch(comments::edit_comment))
        .route("/comments/{id}", delete(comments::delete_comment))
        .route("/comments/{id}/resolved", post(comments::resolve_thread))
        .route("/comments/{id}/resolved", delete(comments::reopen_thread))
        .route("/tasks", get(runs::list_tasks))
        .route("/tasks/{id}", get(runs::get_task))
        .route("/tasks/{id}/cancel", post(runs::cancel_task))
        .route("/tasks/{id}/events", get(runs::list_events))
        .route("/agents", get(agents::list_agents))
        .route("/members", get(agents::list_members))
        .route("/inbox", get(inbox::list_inbox))
        .route("/inbox/{id}/read", post(inbox::read_entry))
        .route("/inbox/{id}", delete(inbox::archive_entry));
    Router::new().nest("/api/v1/workspaces/{w}", routes)
}
