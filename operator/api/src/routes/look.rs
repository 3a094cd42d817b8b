//! What people look at: what happens as it happens, what happened on an issue, what was used.

use axum::Json as Answer;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{RawPathParams, State};
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use protocol::board::{History, HistoryEntry, Page, RawLog, RawQuery, UsageQuery, UsageReport};
use protocol::limits;

use crate::board::{
    BoardCaller, Filling, GetRawLogs, GetTimelines, ListHistory, ListRuns, ListTasks, OnIssue,
    OnTask, PageQuery, check_private, is_name, limit, path_part,
};
use crate::body::Query;
use crate::error::Failure;
use crate::live::{LiveCaller, Reader};
use crate::routes::runs;
use crate::state::Shared;

/// Bytes of messages on their way to one reader of a live connection.
const WRITE_BYTES: usize = 2 * limits::EVENT_BYTES;

/// `GET live`: a WebSocket.
pub(super) async fn look_on(
    caller: LiveCaller,
    State(state): State<Shared>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .max_message_size(limits::LIVE_REQUEST_BYTES)
        .max_frame_size(limits::LIVE_REQUEST_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BYTES)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a live connection did not come about"))
        .on_upgrade(|socket| Reader::new(state, caller, socket).serve())
}

/// `GET issues/{key}/timeline`: comments and runs, newest first.
pub(super) async fn list_history(
    on: OnIssue<ListHistory>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<HistoryEntry>>, Failure> {
    on.caller.also::<ListRuns>(&state).await?;
    let mut filling = Filling::new(limit(query.limit)?);
    let workspace = on.caller.workspace();
    let mut cursor = query.cursor;
    loop {
        let (asked, from) = (filling.part(), cursor.as_deref());
        let part = state.store.history(workspace, &on.key, asked, from).await?;
        cursor = part.next;
        let mut items = part.items;
        for entry in &mut items {
            if let History::Run { run } = &mut entry.what {
                runs::say_limit(&state, workspace, run);
            }
        }
        if let Some(page) = filling.take(items, cursor.clone())? {
            return Ok(Answer(page));
        }
    }
}

/// `GET tasks/{id}/raw`: what the agent's program wrote, as it wrote it but for secrets.
pub(super) async fn get_raw(
    on: OnTask<GetRawLogs>,
    State(state): State<Shared>,
    Query(asked): Query<RawQuery>,
) -> Result<Answer<RawLog>, Failure> {
    check_private(&state, on.caller.member()?, on.task).await?;
    let found = state
        .store
        .raw(on.caller.workspace(), on.task, asked)
        .await?;
    Ok(Answer(found.ok_or_else(Failure::not_found)?))
}

/// `GET issues/{key}/usage`.
pub(super) async fn usage_of_issue(
    on: OnIssue<ListRuns>,
    State(state): State<Shared>,
) -> Result<Answer<UsageReport>, Failure> {
    let report = state.store.usage_of_issue(on.caller.workspace(), &on.key);
    Ok(Answer(report.await?))
}

/// `GET agents/{name}/usage`: also of one that is no more.
pub(super) async fn usage_of_agent(
    caller: BoardCaller<ListTasks>,
    State(state): State<Shared>,
    path: RawPathParams,
    Query(query): Query<UsageQuery>,
) -> Result<Answer<UsageReport>, Failure> {
    let name = path_part(&path, "name")?;
    if !is_name(name) {
        return Err(Failure::not_found());
    }
    let workspace = caller.workspace();
    let report = state
        .store
        .usage_of_agent(workspace, name, query.since)
        .await?;
    // Whoever was never there has used nothing; that is not told of a name that may be mistyped.
    if report.attempts == 0
        && state
            .definitions
            .agent(&workspace.namespace, name)
            .is_none()
    {
        return Err(Failure::not_found());
    }
    Ok(Answer(report))
}

/// `GET tasks/{id}/events/{position}/text`: the whole of what the timeline holds the beginning of.
pub(super) async fn get_text(
    on: OnTask<GetTimelines>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Response, Failure> {
    let position = path_part(&path, "position")?.parse();
    let position = position.map_err(|_| Failure::not_found())?;
    check_private(&state, on.caller.member()?, on.task).await?;
    let found = state
        .store
        .text(on.caller.workspace(), on.task, position)
        .await?;
    let mut response = Response::new(found.ok_or_else(Failure::not_found)?.into());
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, plain);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
