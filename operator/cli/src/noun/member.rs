//! `moor member`.

use clap::Subcommand;
use protocol::board::Member;

use super::Part;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::Table;
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the people who have been here.
    List {
        #[command(flatten)]
        part: Part,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let Self::List { part } = self;
        let page = session.board()?.members(&part.query()).await?;
        out.page(&page, |member| member.id.to_string(), table)
    }
}

pub(super) fn table(members: &[Member]) -> Table<3> {
    let rows = members.iter().map(|member| {
        [
            member.id.to_string(),
            text::time(member.since),
            member.user.clone(),
        ]
    });
    Table::new(["ID", "SINCE", "USER"], rows)
}
