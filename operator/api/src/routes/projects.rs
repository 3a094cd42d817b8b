//! Projects.

use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use protocol::board::{NewProject, Page, Project, ProjectEdit, ProjectEnd};

use crate::board::{
    BoardCaller, CreateProjects, DeleteProjects, GetProjects, ListProjects, OnProject, PageQuery,
    PatchProjects, Reach, limit,
};
use crate::body::{Json, Query};
use crate::error::Failure;
use crate::state::Shared;

/// `GET projects`: by name. For an agent there is that of its issue, unless its scope is the workspace.
pub(super) async fn list_projects(
    caller: BoardCaller<ListProjects>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<Project>>, Failure> {
    let limit = limit(query.limit)?;
    match caller.reach(&state).await? {
        Reach::Workspace => {
            let cursor = query.cursor.as_deref();
            let page = state.store.projects(caller.workspace(), limit, cursor);
            Ok(Answer(page.await?))
        }
        Reach::Project(_) | Reach::Issue => {
            let own = match caller.own_project(&state).await? {
                Some(name) => state.store.project(caller.workspace(), &name).await?,
                None => None,
            };
            Ok(Answer(Page {
                items: own.into_iter().collect(),
                next: None,
            }))
        }
    }
}

/// `POST projects`.
pub(super) async fn create_project(
    caller: BoardCaller<CreateProjects>,
    State(state): State<Shared>,
    Json(mut new): Json<NewProject>,
) -> Result<Answer<Project>, Failure> {
    caller.door(&state).await?.new_project(&mut new)?;
    let made = state
        .store
        .create_project(&caller.acting, new, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(made))
}

/// `GET projects/{name}`.
pub(super) async fn get_project(
    on: OnProject<GetProjects>,
    State(state): State<Shared>,
) -> Result<Answer<Project>, Failure> {
    let found = state.store.project(on.caller.workspace(), &on.name).await?;
    found.map(Answer).ok_or_else(Failure::not_found)
}

/// `PATCH projects/{name}`.
pub(super) async fn edit_project(
    on: OnProject<PatchProjects>,
    State(state): State<Shared>,
    Json(mut edit): Json<ProjectEdit>,
) -> Result<Answer<Project>, Failure> {
    on.caller.door(&state).await?.project_edit(&mut edit)?;
    let edited = state
        .store
        .edit_project(on.caller.workspace(), &on.name, edit, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(edited))
}

/// `DELETE projects/{name}`.
pub(super) async fn delete_project(
    on: OnProject<DeleteProjects>,
    State(state): State<Shared>,
    Query(how): Query<ProjectEnd>,
) -> Result<StatusCode, Failure> {
    state
        .store
        .delete_project(on.caller.workspace(), &on.name, how.detach, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(StatusCode::NO_CONTENT)
}
