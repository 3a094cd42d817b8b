//! Teams: who leads them and who is in them.

use axum::Json as Answer;
use axum::extract::{RawPathParams, State};
use crds::{AgentTeam, conditions};
use kube::ResourceExt as _;
use protocol::board::{Page, TeamBriefing, TeamCard, TeamMember, TeamView};
use store::TaskRow;

use crate::board::{BoardCaller, GetTeams, ListTeams, PageQuery, named_page, path_part, plain};
use crate::body::Query;
use crate::error::Failure;
use crate::package;
use crate::state::{Definitions, Inner, Shared};

/// `GET teams`: by name. A cursor is the last name of the page before.
pub(super) async fn list_teams(
    caller: BoardCaller<ListTeams>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<TeamCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.teams(namespace, after, most);
    named_page(&query, find, card).map(Answer)
}

/// `GET teams/{name}`.
pub(super) async fn get_team(
    caller: BoardCaller<GetTeams>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Answer<TeamView>, Failure> {
    let namespace = &caller.workspace().namespace;
    let team = state.definitions.team(namespace, path_part(&path, "name")?);
    let team = team.ok_or_else(Failure::not_found)?;
    Ok(Answer(TeamView {
        card: card(&team),
        members: members(&*state.definitions, namespace, &team),
        instructions: team.spec.instructions.clone(),
    }))
}

/// What an agent that was woken for a team is told of it: nothing, once it does not lead it any more.
pub(super) async fn led(state: &Inner, task: &TaskRow) -> Result<Option<TeamBriefing>, Failure> {
    let Some(name) = state.store.led_team(task.id).await? else {
        return Ok(None);
    };
    let (definitions, namespace) = (&*state.definitions, &task.object.namespace);
    let team = definitions.team(namespace, &name);
    let team = team.filter(|team| team.spec.leader == task.agent);
    Ok(team.map(|team| TeamBriefing {
        name,
        display_name: display_name(&team),
        instructions: team.spec.instructions.clone(),
        members: members(definitions, namespace, &team),
    }))
}

fn card(team: &AgentTeam) -> TeamCard {
    let status = team.status.as_ref();
    let (ready, reason) =
        conditions::readiness(status.map_or(&[][..], |status| &status.conditions));
    TeamCard {
        name: team.name_any(),
        display_name: display_name(team),
        description: team.spec.description.clone().map(plain),
        leader: team.spec.leader.clone(),
        ready,
        reason,
    }
}

/// Its members that exist.
fn members(definitions: &dyn Definitions, namespace: &str, team: &AgentTeam) -> Vec<TeamMember> {
    let members = team.spec.members.iter();
    members
        .filter_map(|member| {
            let agent = definitions.agent(namespace, &member.agent)?;
            Some(TeamMember {
                agent: member.agent.clone(),
                display_name: plain(package::display_name(&agent)),
                role: plain(member.role.clone()),
                description: agent.spec.description.clone().map(plain),
            })
        })
        .collect()
}

fn display_name(team: &AgentTeam) -> String {
    let called = team.spec.display_name.clone();
    plain(called.unwrap_or_else(|| team.name_any()))
}
