//! Who can be asked: agents, and people.

use axum::Json as Answer;
use axum::extract::State;
use crds::{Agent, conditions};
use kube::ResourceExt as _;
use protocol::board::{AgentCard, Member, Page};

use crate::board::{BoardCaller, ListAgents, ListMembers, PageQuery, limit, named_page, plain};
use crate::body::Query;
use crate::error::Failure;
use crate::package;
use crate::state::Shared;

/// `GET agents`: by name. A cursor is the last name of the page before.
pub(super) async fn list_agents(
    caller: BoardCaller<ListAgents>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<AgentCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.agents(namespace, after, most);
    named_page(&query, find, card).map(Answer)
}

/// `GET members`.
pub(super) async fn list_members(
    caller: BoardCaller<ListMembers>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<Member>>, Failure> {
    let limit = limit(query.limit)?;
    let page = state
        .store
        .members(caller.workspace(), limit, query.cursor.as_deref())
        .await?;
    Ok(Answer(page))
}

fn card(agent: &Agent) -> AgentCard {
    let status = agent.status.as_ref();
    let (ready, reason) =
        conditions::readiness(status.map_or(&[][..], |status| &status.conditions));
    AgentCard {
        name: agent.name_any(),
        display_name: plain(package::display_name(agent)),
        description: agent.spec.description.clone().map(plain),
        ready,
        reason,
    }
}
