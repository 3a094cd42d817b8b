//! Issues.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{Issue, IssueEdit, IssueQuery, NewIssue, Page, SavedIssue};

use crate::board::{
    BoardCaller, CreateIssues, GetIssues, ListChildren, ListIssues, OnIssue, PageQuery,
    PatchIssues, Reach, limit,
};
use crate::body::{Json, Query};
use crate::error::Failure;
use crate::once::Once;
use crate::state::{Inner, Shared};

/// `GET issues`: newest first, without their descriptions. An agent of a wider scope sees those within it.
pub(super) async fn list_issues(
    caller: BoardCaller<ListIssues>,
    State(state): State<Shared>,
    Query(mut query): Query<IssueQuery>,
) -> Result<Answer<Page<Issue>>, Failure> {
    query.limit = Some(limit(query.limit)?);
    match caller.reach(&state).await? {
        Reach::Workspace => {}
        Reach::Project(own) if query.project.as_ref().is_none_or(|asked| *asked == own) => {
            query.project = Some(own);
        }
        Reach::Project(_) => return Err(Failure::not_found()),
        Reach::Issue => {
            return Err(Failure::forbidden(
                "a task's token sees its own issue and the children of that, not the list of all",
            ));
        }
    }
    Ok(Answer(
        state.store.issues(caller.workspace(), &query).await?,
    ))
}

/// `POST issues`. What an agent makes is a part of its own issue.
pub(super) async fn create_issue(
    caller: BoardCaller<CreateIssues>,
    State(state): State<Shared>,
    once: Once,
    Json(mut new): Json<NewIssue>,
) -> Result<Answer<SavedIssue>, Failure> {
    let store = once.store(&state, "issues", &new)?;
    caller.place(&state, &mut new).await?;
    check_priority(&state, &caller, &new).await?;
    caller.door(&state).await?.new_issue(&mut new)?;
    let directory = caller.recipients(&state);
    let saved = store
        .create_issue(&caller.acting, new, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(saved))
}

/// What an agent makes goes before nothing that its own issue does not go before.
async fn check_priority(
    state: &Inner,
    caller: &BoardCaller<CreateIssues>,
    new: &NewIssue,
) -> Result<(), Failure> {
    let Some((_, own)) = caller.agent() else {
        return Ok(());
    };
    let own = match own {
        Some(own) => state.store.issue(caller.workspace(), own).await?,
        None => None,
    };
    let most = own.map_or(0, |own| own.priority);
    if new.priority <= most {
        return Ok(());
    }
    Err(Failure::forbidden(format!(
        "what an agent makes has at most the priority of its own issue, which is {most}"
    )))
}

/// `GET issues/{key}`.
pub(super) async fn get_issue(
    on: OnIssue<GetIssues>,
    State(state): State<Shared>,
) -> Result<Answer<Issue>, Failure> {
    let found = state.store.issue(on.caller.workspace(), &on.key).await?;
    found.map(Answer).ok_or_else(Failure::not_found)
}

/// `PATCH issues/{key}`.
pub(super) async fn edit_issue(
    on: OnIssue<PatchIssues>,
    State(state): State<Shared>,
    Json(mut edit): Json<IssueEdit>,
) -> Result<Answer<SavedIssue>, Failure> {
    let caller = &on.caller;
    if let Some(project) = &edit.project
        && caller.agent().is_some()
    {
        // To take it out of its project would take it out of the sight of others.
        let named = project.as_deref().unwrap_or_default();
        caller.may_file(&caller.reach(&state).await?, Some(named))?;
    }
    if edit.priority.is_some() && caller.agent().is_some() {
        return Err(Failure::forbidden(
            "only people set the priority of an issue: say in a comment what is urgent",
        ));
    }
    caller.door(&state).await?.issue_edit(&mut edit)?;
    let directory = caller.recipients(&state);
    let saved = state
        .store
        .edit_issue(&caller.acting, &on.key, edit, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(saved))
}

/// `GET issues/{key}/children`.
pub(super) async fn list_children(
    on: OnIssue<ListChildren>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<Issue>>, Failure> {
    let limit = limit(query.limit)?;
    let page = state
        .store
        .children(
            on.caller.workspace(),
            &on.key,
            limit,
            query.cursor.as_deref(),
        )
        .await?;
    Ok(Answer(page))
}
