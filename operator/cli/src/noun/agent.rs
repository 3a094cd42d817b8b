//! `moor agent`.

use clap::Subcommand;
use jiff::Timestamp;
use protocol::board::{AgentCard, UsageQuery};

use super::{Part, usage};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the agents: whom a mention can wake.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Says how many tokens the runs of an agent have used.
    Usage {
        /// Its name.
        name: String,
        /// Only runs that ended at this moment or later, like 2026-01-31T00:00:00Z.
        #[arg(long, value_name = "TIME")]
        since: Option<Timestamp>,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.agents(&part.query()).await?;
                out.page(&page, |agent| agent.name.clone(), table)
            }
            Self::Usage { name, since } => {
                let query = UsageQuery { since: *since };
                let report = board.usage_of_agent(name, &query).await?;
                out.show(&report, |_| name.clone(), usage::describe)
            }
        }
    }
}

fn table(agents: &[AgentCard]) -> Table<4> {
    let rows = agents.iter().map(|agent| {
        [
            agent.name.clone(),
            if agent.ready { "yes" } else { "no" }.to_owned(),
            agent.reason.clone().unwrap_or_default(),
            agent.display_name.clone(),
        ]
    });
    Table::new(["NAME", "READY", "REASON", "CALLED"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_shown() {
        let agents = [
            AgentCard {
                name: "reviewer".into(),
                display_name: "Reviewer\n\u{1b}[2J".into(),
                description: None,
                ready: true,
                reason: None,
            },
            AgentCard {
                name: "coder".into(),
                display_name: "Coder".into(),
                description: None,
                ready: false,
                reason: Some("RuntimeNotFound".into()),
            },
        ];
        insta::assert_snapshot!("agents", table(&agents).render(80));
    }
}
