//! `moor team`.

use clap::Subcommand;
use protocol::board::{TeamCard, TeamView};

use super::{Part, resource_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the teams: a mention of one wakes its leader.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows who is in a team, and how it works together.
    Get {
        /// Its name.
        #[arg(value_parser = |given: &str| resource_name("team", given))]
        name: String,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.teams(&part.query()).await?;
                out.page(&page, |team| team.name.clone(), table)
            }
            Self::Get { name } => {
                let team = board.team(name).await?;
                out.show(&team, |team| team.card.name.clone(), shown)
            }
        }
    }
}

fn table(teams: &[TeamCard]) -> Table<5> {
    let rows = teams.iter().map(|team| {
        [
            team.name.clone(),
            team.leader.clone(),
            if team.ready { "yes" } else { "no" }.to_owned(),
            team.reason.clone().unwrap_or_default(),
            team.display_name.clone(),
        ]
    });
    Table::new(["NAME", "LEADER", "READY", "REASON", "CALLED"], rows)
}

fn shown(team: &TeamView) -> String {
    let card = &team.card;
    let members = team.members.iter().map(|member| {
        let good_at = member
            .description
            .as_deref()
            .map(|text| format!(" ({text})"));
        format!(
            "{}: {}{}",
            member.agent,
            member.role,
            good_at.unwrap_or_default()
        )
    });
    fields(&[
        ("name", card.name.clone()),
        ("called", card.display_name.clone()),
        ("description", card.description.clone().unwrap_or_default()),
        ("leader", card.leader.clone()),
        ("ready", if card.ready { "yes" } else { "no" }.to_owned()),
        ("reason", card.reason.clone().unwrap_or_default()),
        ("members", members.collect::<Vec<_>>().join("; ")),
        ("instructions", team.instructions.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use protocol::board::TeamMember;

    use super::*;

    fn card(name: &str, ready: bool) -> TeamCard {
        TeamCard {
            name: name.into(),
            display_name: "The Core\u{1b}[2J".into(),
            description: Some("Everything in Rust.".into()),
            leader: "lead".into(),
            ready,
            reason: (!ready).then(|| "MemberNotFound".into()),
        }
    }

    #[test]
    fn teams_are_shown() {
        let teams = [card("core", true), card("docs", false)];
        insta::assert_snapshot!("teams", table(&teams).render(80));
        let member = |agent: &str, description: Option<&str>| TeamMember {
            agent: agent.into(),
            display_name: agent.to_uppercase(),
            role: "writes the code".into(),
            description: description.map(Into::into),
        };
        let team = TeamView {
            card: card("core", true),
            members: vec![member("coder", Some("Rust")), member("tester", None)],
            instructions: "Nothing without a test.\nNothing late.".into(),
        };
        insta::assert_snapshot!("team", shown(&team));
    }
}
