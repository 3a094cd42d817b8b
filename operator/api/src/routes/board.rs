//! Where the routes of the board lie: all of them under a workspace.

use axum::Router;

use super::{
    again, agents, approvals, attachments, chats, comments, defined, delete, explain, get, inbox,
    issues, look, patch, post, projects, quick, runs, search, skills, subscribers, teams,
};
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
        .route(
            "/issues/{key}/attachments",
            get(attachments::list_attachments),
        )
        .route(
            "/issues/{key}/attachments",
            post(attachments::add_attachment),
        )
        .route("/attachments/{id}", get(attachments::get_attachment))
        .route("/attachments/{id}", delete(attachments::delete_attachment))
        .route("/issues/{key}/runs", get(runs::list_runs_of_issue))
        .route("/issues/{key}/timeline", get(look::list_history))
        .route("/issues/{key}/usage", get(look::usage_of_issue))
        .route(
            "/issues/{key}/subscribers",
            get(subscribers::list_subscribers),
        )
        .route("/issues/{key}/subscription", post(subscribers::subscribe))
        .route(
            "/issues/{key}/subscription",
            delete(subscribers::unsubscribe),
        )
        .route("/search", get(search::search))
        .route("/comments/{id}", patch(comments::edit_comment))
        .route("/comments/{id}", delete(comments::delete_comment))
        .route("/comments/{id}/resolved", post(comments::resolve_thread))
        .route("/comments/{id}/resolved", delete(comments::reopen_thread))
        .route("/live", get(look::look_on))
        .route("/chats", get(chats::list_chats))
        .route("/chats", post(chats::begin_chat))
        .route("/chats/{id}", get(chats::get_chat))
        .route("/chats/{id}", patch(chats::edit_chat))
        .route("/chats/{id}/messages", get(chats::list_chat_messages))
        .route("/chats/{id}/messages", post(chats::send_chat_message))
        .route("/quick-issues", post(quick::ask_quick_issue))
        .route("/quick-issues/{id}", get(quick::get_quick_issue))
        .route("/members", get(agents::list_members))
        .route("/projects", get(projects::list_projects))
        .route("/projects", post(projects::create_project))
        .route("/projects/{name}", get(projects::get_project))
        .route("/projects/{name}", patch(projects::edit_project))
        .route("/projects/{name}", delete(projects::delete_project))
        .route("/approvals", get(approvals::list_approvals))
        .route("/approvals/{id}", get(approvals::get_approval))
        .route("/approvals/{id}/approve", post(approvals::approve))
        .route("/approvals/{id}/deny", post(approvals::deny))
        .route("/inbox", get(inbox::list_inbox))
        .route("/inbox/{id}/read", post(inbox::read_entry))
        .route("/inbox/{id}", delete(inbox::archive_entry));
    let routes = routes.merge(tasks()).merge(defined());
    Router::new().nest("/api/v1/workspaces/{w}", routes)
}

/// What agents do.
fn tasks() -> Router<Shared> {
    Router::new()
        .route("/tasks", get(runs::list_tasks))
        .route("/tasks/{id}", get(runs::get_task))
        .route("/tasks/{id}/cancel", post(runs::cancel_task))
        .route("/tasks/{id}/explain", get(explain::explain_task))
        .route("/tasks/{id}/rerun", post(again::rerun_task))
        .route("/tasks/{id}/retry", post(again::retry_task))
        .route("/tasks/{id}/steer", post(again::steer_task))
        .route("/tasks/{id}/suspend", post(again::suspend_task))
        .route("/tasks/{id}/resume", post(again::resume_task))
        .route("/tasks/{id}/events", get(runs::list_events))
        .route("/tasks/{id}/events/{position}/text", get(look::get_text))
        .route("/tasks/{id}/raw", get(look::get_raw))
}

/// What is kept in Git, and looked at here.
fn defined() -> Router<Shared> {
    Router::new()
        .route("/agents", get(agents::list_agents))
        .route("/agents/{name}/usage", get(look::usage_of_agent))
        .route("/teams", get(teams::list_teams))
        .route("/teams/{name}", get(teams::get_team))
        .route("/skills", get(skills::list_skills))
        .route("/skills/{name}", get(skills::get_skill))
        .route("/schedules", get(defined::list_schedules))
        .route("/schedules/{name}", get(defined::get_schedule))
        .route("/webhooks", get(defined::list_webhooks))
        .route("/webhooks/{name}", get(defined::get_webhook))
        .route("/webhooks/{name}/deliveries", get(defined::list_deliveries))
        .route("/runtimes", get(defined::list_runtimes))
        .route("/runtimes/{name}", get(defined::get_runtime))
}
