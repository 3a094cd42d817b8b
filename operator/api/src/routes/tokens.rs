//! The tokens of a person: who it is, what it has, one more, one less.

use axum::Json as Answer;
use axum::extract::{Path, State};
use http::StatusCode;
use protocol::board::{AccessToken, MintedToken, NewAccessToken, Page, PersonView};
use protocol::{TokenId, limits};
use serde::Serialize;
use store::TokenKind;

use super::agent;
use crate::auth::{PersonCaller, Presented};
use crate::board::{PageQuery, limit};
use crate::body::{Json, Query};
use crate::error::Failure;
use crate::people::Person;
use crate::state::Shared;

/// Bytes of what a token is for.
const LABEL_BYTES: usize = 100;

/// Who calls: an agent in a task of it, or a person.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Who {
    Agent(protocol::runner::WhoAmI),
    Person(PersonView),
}

/// `GET whoami`.
pub(super) async fn show_caller(
    caller: Presented,
    State(state): State<Shared>,
) -> Result<Answer<Who>, Failure> {
    let who = match caller {
        Presented::Agent(caller) => Who::Agent(agent::show(&caller, &state).await?),
        Presented::Person(caller) => Who::Person(PersonView {
            user: caller.person.user,
            groups: caller.person.groups,
            token_expires: caller.expires,
        }),
    };
    Ok(Answer(who))
}

/// `GET tokens`: one's own, newest first.
pub(super) async fn list_tokens(
    caller: PersonCaller,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<AccessToken>>, Failure> {
    let (user, cursor) = (&caller.person.user, query.cursor.as_deref());
    let (limit, now) = (limit(query.limit)?, state.now());
    let page = state.store.access_tokens(user, limit, cursor, now).await?;
    Ok(Answer(page))
}

/// `POST tokens`: one more. It has the name and the groups of the login, so it never may more than that.
pub(super) async fn mint_token(
    caller: PersonCaller,
    State(state): State<Shared>,
    Json(new): Json<NewAccessToken>,
) -> Result<Answer<MintedToken>, Failure> {
    // Else one that was stolen would live for ever by making the next one.
    if !matches!(caller.token, Some((_, TokenKind::Login))) {
        return Err(Failure::forbidden(
            "only the token of a login makes others: moor login, then try again",
        ));
    }
    check(&new)?;
    let Person { user, groups } = &caller.person;
    let now = state.now();
    let minted = state.store.mint_token(user, groups, &new, now).await?;
    tracing::info!(user, token.id = %minted.record.id, days = new.days, "a person made a token");
    Ok(Answer(minted))
}

/// `DELETE tokens/{id}`: one less. Those of others are not there.
pub(super) async fn revoke_token(
    caller: PersonCaller,
    State(state): State<Shared>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    let id: TokenId = id.parse().map_err(|_| Failure::not_found())?;
    let user = &caller.person.user;
    if !state.store.revoke_token(user, id).await? {
        return Err(Failure::not_found());
    }
    tracing::info!(user, token.id = %id, "a person revoked a token");
    Ok(StatusCode::NO_CONTENT)
}

fn check(new: &NewAccessToken) -> Result<(), Failure> {
    let label = new.label.trim();
    if label.is_empty() || label.len() > LABEL_BYTES || label.contains(char::is_control) {
        return Err(Failure::invalid(format!(
            "label says what the token is for: 1 to {LABEL_BYTES} bytes in one line"
        )));
    }
    if !(1..=limits::TOKEN_DAYS).contains(&new.days) {
        let most = limits::TOKEN_DAYS;
        return Err(Failure::invalid(format!("days is 1 to {most}")));
    }
    Ok(())
}
