//! `moor agent`.

use clap::Subcommand;
use protocol::board::AgentCard;

use super::Part;
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
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let Self::List { part } = self;
        let page = session.board()?.agents(&part.query()).await?;
        out.page(&page, |agent| agent.name.clone(), table)
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
