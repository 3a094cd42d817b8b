//! `moor inbox`.

use clap::Subcommand;
use protocol::InboxId;
use protocol::board::InboxEntry;

use super::{Part, wakes};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::Table;
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists what awaits you, newest first.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Marks an entry as read.
    Read {
        /// Its id.
        id: InboxId,
    },
    /// Puts an entry away.
    Archive {
        /// Its id.
        id: InboxId,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.inbox(&part.query()).await?;
                out.page(&page, |entry| entry.id.to_string(), table)
            }
            Self::Read { id } => {
                board.read_entry(*id).await?;
                out.done(&id.to_string(), "is read")
            }
            Self::Archive { id } => {
                board.archive_entry(*id).await?;
                out.done(&id.to_string(), "is put away")
            }
        }
    }
}

fn table(entries: &[InboxEntry]) -> Table<7> {
    let rows = entries.iter().map(|entry| {
        [
            entry.id.to_string(),
            if entry.read { "" } else { "new" }.to_owned(),
            entry.kind.as_str().to_owned(),
            entry
                .issue
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            wakes::author(&entry.author),
            text::time(entry.created),
            entry.title.clone(),
        ]
    });
    Table::new(["ID", "NEW", "WHAT", "ISSUE", "BY", "WHEN", "TITLE"], rows)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::board::{Author, AuthorKind, InboxKind};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn entries_are_shown() {
        let entries = InboxKind::ALL.map(|kind| InboxEntry {
            id: InboxId(Uuid::from_u128(3)),
            kind,
            issue: Some("TEAM-1".parse().unwrap()),
            title: "Fix\u{1b}[1m it".into(),
            text: None,
            task: None,
            comment: None,
            approval: None,
            author: Author {
                kind: AuthorKind::Member,
                id: "x".into(),
                name: "ada".into(),
            },
            read: kind == InboxKind::Reply,
            created: Timestamp::UNIX_EPOCH,
        });
        insta::assert_snapshot!("inbox", table(&entries).render(120));
    }
}
