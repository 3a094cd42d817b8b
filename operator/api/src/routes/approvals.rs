//! Uses of tools for which a person is asked: a runner asks, a person decides.

use axum::Json as Answer;
use axum::extract::State;
use protocol::board::{Approval, ApprovalQuery, Decision, Page};
use protocol::runner::{AskRequest, AskResponse, SettleRequest, SettleResponse};
use protocol::{limits, shown};
use store::Question;

use crate::auth::RunnerCaller;
use crate::board::{BoardCaller, DecideApprovals, GetApprovals, ListApprovals, OnApproval, limit};
use crate::body::{Json, Query, json_bytes};
use crate::bound;
use crate::error::Failure;
use crate::redact::Redactor;
use crate::state::{Inner, Shared};

/// What an Agent can ask for at most; the schema has the same.
const SECONDS_MOST: u32 = 86_400;

/// `POST runner/approvals`. Redacted here as well, before it is kept; what a person decides on is not shortened.
pub(super) async fn ask(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<AskRequest>,
) -> Result<Answer<AskResponse>, Failure> {
    let AskRequest {
        call_id,
        tool,
        mut input,
        mut why,
        seconds,
    } = request;
    let attempt = caller.attempt;
    let redactor = Redactor::new(state.key()?, attempt.id, attempt.salt);
    for (name, word) in [("callId", &call_id), ("tool", &tool)] {
        let mut clean = word.clone();
        redactor.text(&mut clean);
        let room = 1..=limits::APPROVAL_WORD_BYTES;
        // PostgreSQL takes no NUL in a text.
        if clean != *word || word.contains('\0') || !room.contains(&word.len()) {
            return Err(Failure::invalid(format!(
                "{name} has between 1 and {} bytes, no NUL and nothing that looks like a secret",
                limits::APPROVAL_WORD_BYTES
            )));
        }
    }
    redactor.text(&mut why);
    why.retain(|each| each != '\0');
    bound::cut(&mut why, limits::APPROVAL_WORD_BYTES);
    if !shown::show(&mut input, &|text| redactor.known(text)) {
        return Err(Failure::invalid(shown::NOT_SHOWN.to_owned()));
    }
    if json_bytes(&input)? > limits::APPROVAL_INPUT_BYTES {
        return Err(Failure::invalid(format!(
            "the input has more than {} bytes: nobody is asked about what cannot be shown whole",
            limits::APPROVAL_INPUT_BYTES
        )));
    }
    let question = Question {
        call_id,
        tool,
        input,
        why,
        seconds: seconds.clamp(1, SECONDS_MOST),
    };
    let now = state.now();
    let asked = state.store.ask(attempt.id, &question, now).await;
    let asked = asked.map_err(Failure::of_write)?;
    let left = asked.expires.duration_since(now).as_millis().max(0);
    Ok(Answer(AskResponse {
        approval: asked.approval,
        milliseconds: u64::try_from(left).unwrap_or(u64::MAX),
    }))
}

/// `POST runner/approvals/settle`: what a person decided before stands.
pub(super) async fn settle(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<SettleRequest>,
) -> Result<Answer<SettleResponse>, Failure> {
    let SettleRequest { approval, how } = request;
    let settled = state
        .store
        .settle(caller.attempt.id, approval, how, state.now())
        .await?;
    Ok(Answer(SettleResponse {
        state: settled.state,
        by: settled.by,
        reason: settled.reason,
    }))
}

/// `GET approvals`: what waits, newest first.
pub(super) async fn list_approvals(
    caller: BoardCaller<ListApprovals>,
    State(state): State<Shared>,
    Query(mut query): Query<ApprovalQuery>,
) -> Result<Answer<Page<Approval>>, Failure> {
    query.limit = Some(limit(query.limit)?);
    let page = state
        .store
        .approvals(caller.workspace(), caller.member()?, &query)
        .await?;
    Ok(Answer(page))
}

/// `GET approvals/{id}`.
pub(super) async fn get_approval(
    on: OnApproval<GetApprovals>,
    State(state): State<Shared>,
) -> Result<Answer<Approval>, Failure> {
    let found = state
        .store
        .approval(on.caller.workspace(), on.member, on.approval)
        .await?;
    found.map(Answer).ok_or_else(Failure::not_found)
}

/// `POST approvals/{id}/approve`.
pub(super) async fn approve(
    on: OnApproval<DecideApprovals>,
    State(state): State<Shared>,
    Json(decision): Json<Decision>,
) -> Result<Answer<Approval>, Failure> {
    decide(&state, &on, true, decision).await
}

/// `POST approvals/{id}/deny`.
pub(super) async fn deny(
    on: OnApproval<DecideApprovals>,
    State(state): State<Shared>,
    Json(decision): Json<Decision>,
) -> Result<Answer<Approval>, Failure> {
    decide(&state, &on, false, decision).await
}

async fn decide(
    state: &Inner,
    on: &OnApproval<DecideApprovals>,
    allow: bool,
    decision: Decision,
) -> Result<Answer<Approval>, Failure> {
    let answer = (allow, decision.reason.as_deref());
    let decided = state
        .store
        .decide(
            &on.caller.acting,
            on.member,
            on.approval,
            answer,
            state.now(),
        )
        .await
        .map_err(Failure::of_write)?;
    let (approval, user) = (decided.id, &on.caller.acting.author.name);
    tracing::info!(task.id = %decided.task, %approval, allow, user, "somebody decided on the use of a tool");
    Ok(Answer(decided))
}
