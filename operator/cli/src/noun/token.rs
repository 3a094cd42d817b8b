//! `moor token`.

use clap::{Args, Subcommand};
use protocol::board::{AccessToken, MintedToken, NewAccessToken};
use protocol::{TokenId, limits};

use super::Part;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists your tokens, newest first.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Makes a token for a script. It can do what you can, and is shown this once; with --quiet nothing but it.
    Create(Create),
    /// Ends a token.
    Revoke {
        /// Its id.
        id: TokenId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What it is for.
    #[arg(long, allow_hyphen_values = true)]
    label: String,
    /// How many days it is good.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::TOKEN_DAYS)))]
    days: u32,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let (client, token) = (&session.client, &session.token);
        match self {
            Self::List { part } => {
                let page = client.tokens(token, &part.query()).await?;
                out.page(&page, |token| token.id.to_string(), table)
            }
            Self::Create(Create { label, days }) => {
                let new = NewAccessToken {
                    label: label.clone(),
                    days: *days,
                };
                let minted = client.mint_token(token, &new).await?;
                out.show(&minted, |minted| minted.token.clone(), describe)
            }
            Self::Revoke { id } => {
                client.revoke_token(token, *id).await?;
                out.done(&id.to_string(), "is revoked")
            }
        }
    }
}

fn table(tokens: &[AccessToken]) -> Table<6> {
    let rows = tokens.iter().map(|token| {
        let used = token.last_used.map(text::time);
        [
            token.id.to_string(),
            token.prefix.clone(),
            text::time(token.created),
            text::time(token.expires),
            used.unwrap_or_else(|| "never".to_owned()),
            token.label.clone(),
        ]
    });
    Table::new(
        ["ID", "BEGINS", "CREATED", "ENDS", "LAST USED", "FOR"],
        rows,
    )
}

fn describe(minted: &MintedToken) -> String {
    fields(&[
        ("Token", minted.token.clone()),
        ("Id", minted.record.id.to_string()),
        ("User", minted.user.clone()),
        ("For", minted.record.label.clone()),
        ("Ends", text::time(minted.record.expires)),
    ])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn tokens_are_shown() {
        let record = |last_used| AccessToken {
            id: TokenId(Uuid::from_u128(4)),
            label: "ci\u{1b}[2J".into(),
            prefix: "mrp_abcd".into(),
            created: Timestamp::UNIX_EPOCH,
            expires: Timestamp::UNIX_EPOCH,
            last_used,
        };
        let tokens = [record(None), record(Some(Timestamp::UNIX_EPOCH))];
        insta::assert_snapshot!("tokens", table(&tokens).render(120));
        let minted = MintedToken {
            token: "mrp_abcdef".into(),
            record: record(None),
            user: "ada".into(),
        };
        insta::assert_snapshot!("token", describe(&minted));
    }
}
