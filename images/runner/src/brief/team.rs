//! What the leader of a team is told when it is woken for the team.

use protocol::board::{TeamBriefing, TeamMember};

use super::template::fill;
use super::{quote, sections};

/// Bytes of what a member is there for.
const ROLE_BYTES: usize = 400;
/// Bytes of what it is good at.
const DESCRIPTION_BYTES: usize = 600;

/// The rules for leading, who is in the team, and how it works. What others wrote of it is quoted.
pub(super) fn section(team: &TeamBriefing, issue: &str) -> String {
    let members: Vec<String> = team.members.iter().map(member).collect();
    let members = match members.is_empty() {
        true => "nobody at the moment".to_owned(),
        false => members.join("\n"),
    };
    let rules = fill(
        include_str!("team.md"),
        &[
            ("team", &quote::name(&team.display_name)),
            ("id", &quote::line(&team.name, quote::AGENT_BYTES)),
            ("issue", issue),
            ("members", &quote::block(&members)),
        ],
    );
    let instructions = team.instructions.trim();
    let instructions = (!instructions.is_empty()).then(|| {
        fill(
            include_str!("team_instructions.md"),
            &[("instructions", &quote::block(instructions))],
        )
    });
    sections([Some(rules), instructions])
}

/// One line, whatever it says.
fn member(member: &TeamMember) -> String {
    let mut line = format!(
        "- @{}, {}: {}",
        quote::line(&member.agent, quote::AGENT_BYTES),
        quote::name(&member.display_name),
        quote::line(&member.role, ROLE_BYTES)
    );
    if let Some(description) = &member.description {
        line.push_str("; good at: ");
        line.push_str(&quote::line(description, DESCRIPTION_BYTES));
    }
    line
}
