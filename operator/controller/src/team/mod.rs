//! Each AgentTeam: its `Ready`. Who is woken for one is decided where something is written, from what the caches hold.

use std::collections::BTreeSet;

use crds::conditions::{self as merge, Status, Wanted};
use crds::{AgentTeam, AgentTeamStatus, READY, labels, team_reason as reason};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::catalog::Catalog;
use crate::context::Context;
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::patch;
use crate::work::Done;

/// One pass of an AgentTeam.
///
/// # Errors
/// [`Error::Write`].
pub async fn pass(ctx: &Context, namespace: &str, name: &str) -> Result<Done, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let Some(team) = catalog.team(namespace, name) else {
        return Ok(Done::Settled);
    };
    if catalog.workspace_uid(namespace).is_none() || team.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let old = team.status.clone().unwrap_or_default();
    let known = |agent: &str| catalog.agent(namespace, agent).is_some();
    let new = status(&team, &known, &old, ctx.clock.now());
    let Some(patch) = patch::status_patch(&old, &new) else {
        return Ok(Done::Settled);
    };
    let manager = labels::TEAM_MANAGER;
    let written = ctx
        .writes
        .patch_status::<AgentTeam>(KubePoint::TeamStatus, manager, &team.metadata, patch)
        .await;
    match written {
        Ok(written) => {
            ctx.caches.teams.observe(written);
            Ok(Done::Settled)
        }
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(Done::Settled),
        Err(error) => Err(error.into()),
    }
}

fn status(
    team: &AgentTeam,
    known: &dyn Fn(&str) -> bool,
    old: &AgentTeamStatus,
    now: Timestamp,
) -> AgentTeamStatus {
    let generation = team.metadata.generation;
    AgentTeamStatus {
        observed_generation: generation,
        conditions: merge::merge(&old.conditions, vec![ready(team, known)], generation, now),
    }
}

fn ready(team: &AgentTeam, known: &dyn Fn(&str) -> bool) -> Wanted {
    let not = |reason, message| Wanted {
        kind: READY,
        status: Status::False,
        reason,
        message,
    };
    let leader = team.spec.leader.as_str();
    if !known(leader) {
        let message = format!(
            "There is no Agent {leader}, so nobody is woken. Create it, or correct leader."
        );
        return not(reason::LEADER_NOT_FOUND, message);
    }
    let mut named = BTreeSet::from([leader]);
    let mut missing = Vec::new();
    for member in &team.spec.members {
        let agent = member.agent.as_str();
        if !named.insert(agent) {
            let message = format!("The Agent {agent} is named twice. Remove one of the two.");
            return not(reason::DUPLICATE_MEMBER, message);
        }
        if !known(agent) {
            missing.push(agent);
        }
    }
    if !missing.is_empty() {
        let message = format!(
            "Members that do not exist: {}. Create them, or correct members; until then the leader is not told of them.",
            missing.join(", ")
        );
        return not(reason::MEMBER_NOT_FOUND, message);
    }
    Wanted {
        kind: READY,
        status: Status::True,
        reason: reason::READY,
        message: String::new(),
    }
}

/// The teams of a namespace that an Agent leads or is a member of: whether it is there is said by them.
pub(crate) fn with_agent(ctx: &Context, namespace: &str, agent: &str) -> Vec<String> {
    let has = |team: &AgentTeam| {
        team.spec.leader == agent || team.spec.members.iter().any(|each| each.agent == agent)
    };
    let teams = ctx.caches.teams.in_namespace(namespace);
    teams
        .into_iter()
        .filter(|team| has(team))
        .map(|team| team.name_any())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn team(leader: &str, members: &[&str]) -> AgentTeam {
        let members: Vec<_> = members
            .iter()
            .map(|agent| json!({"agent": agent, "role": "helps"}))
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTeam", "metadata": {"name": "core", "generation": 3},
            "spec": {"leader": leader, "members": members},
        }))
        .unwrap()
    }

    #[test]
    fn a_team_is_ready_when_all_of_it_is_there_once() {
        let known = |name: &str| ["lead", "coder", "tester"].contains(&name);
        for (leader, members, wanted, named) in [
            ("lead", &["coder", "tester"][..], reason::READY, ""),
            ("gone", &["coder"], reason::LEADER_NOT_FOUND, "gone"),
            (
                "lead",
                &["coder", "a", "b"],
                reason::MEMBER_NOT_FOUND,
                "a, b",
            ),
            (
                "lead",
                &["coder", "coder"],
                reason::DUPLICATE_MEMBER,
                "coder",
            ),
            ("lead", &["lead"], reason::DUPLICATE_MEMBER, "lead"),
        ] {
            let now = Timestamp::UNIX_EPOCH;
            let status = status(
                &team(leader, members),
                &known,
                &AgentTeamStatus::default(),
                now,
            );
            let ready = merge::find(&status.conditions, READY).unwrap();
            assert_eq!(ready.reason, wanted, "{leader} {members:?}");
            assert_eq!(ready.status == "True", wanted == reason::READY);
            assert!(ready.message.contains(named), "{}", ready.message);
            assert_eq!(status.observed_generation, Some(3));
        }
    }
}
