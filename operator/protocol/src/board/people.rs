//! Who speaks: people, agents, and Mooring itself.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{MemberId, TokenId};

/// Who wrote something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// Of which kind.
    pub kind: AuthorKind,
    /// A member's id, an agent's resource name; empty for Mooring itself.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Of which kind an author is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuthorKind {
    /// A person.
    Member,
    /// An agent, in one of its tasks.
    Agent,
    /// Mooring itself.
    System,
}

impl AuthorKind {
    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Agent => "agent",
            Self::System => "system",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Member, Self::Agent, Self::System]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// Who an issue is assigned to, or a mention points to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipient {
    /// Of which kind.
    pub kind: RecipientKind,
    /// A member's id, or the resource name of an agent or team.
    pub id: String,
}

/// Of which kind a recipient is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecipientKind {
    /// A person.
    Member,
    /// An agent.
    Agent,
    /// A team of agents: its leader is woken.
    Team,
}

impl RecipientKind {
    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Agent => "agent",
            Self::Team => "team",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Member, Self::Agent, Self::Team]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

impl FromStr for Recipient {
    type Err = &'static str;

    /// Reads `agent:NAME`, `team:NAME` or `member:ID`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str = "a recipient is written agent:NAME, team:NAME or member:ID";
        let (kind, id) = text.split_once(':').ok_or(SHAPE)?;
        let kind = RecipientKind::parse(kind).ok_or(SHAPE)?;
        let id = (!id.is_empty()).then(|| id.to_owned()).ok_or(SHAPE)?;
        Ok(Self { kind, id })
    }
}

/// A person of a workspace. The row is made by the first call that Kubernetes lets pass; nobody administers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// What mentions point to.
    pub id: MemberId,
    /// The user name that Kubernetes knows.
    pub user: String,
    /// When it first called.
    pub since: Timestamp,
}

/// An agent, as people see it when they look for whom to ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Its resource name, which mentions point to.
    pub name: String,
    /// What people call it.
    pub display_name: String,
    /// What it is good at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// True when a task of it could run now, but for limits.
    pub ready: bool,
    /// Why not, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET whoami` of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonView {
    /// The user name that Kubernetes knows.
    pub user: String,
    /// Its groups as of the login.
    pub groups: Vec<String>,
    /// When the token that was shown ends.
    pub token_expires: Timestamp,
}

/// `POST login`: turns the nonce of a `LoginRequest` object into a token.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginExchange {
    /// Namespace of the object.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// 32 random bytes in hex, whose SHA-256 the object holds.
    pub nonce: String,
}

impl fmt::Debug for LoginExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginExchange")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Answer to `POST login`.
pub type LoginAnswer = MintedToken;

/// A token in the only answer that ever shows it. Its `Debug` does not.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MintedToken {
    /// The credential.
    pub token: String,
    /// What is kept of it.
    pub record: AccessToken,
    /// Whose it is.
    pub user: String,
}

impl fmt::Debug for MintedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MintedToken")
            .field("record", &self.record)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// `POST tokens`: a token of one's own, for a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewAccessToken {
    /// What it is for.
    pub label: String,
    /// How long it lives, at most [`crate::limits::TOKEN_DAYS`] days.
    pub days: u32,
}

/// What is kept of a person's token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessToken {
    /// Names it, for revoking.
    pub id: TokenId,
    /// What it is for; `login` for that of `moor login`.
    pub label: String,
    /// Its first characters, by which its owner knows it again.
    pub prefix: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// When it was last shown, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipient_is_written_as_it_is_read() {
        for text in ["agent:reviewer", "team:core", "member:0198-a"] {
            assert_eq!(text.parse::<Recipient>().unwrap().to_string(), text);
        }
        for wrong in ["", "agent", "agent:", "squad:core", "Agent:reviewer"] {
            assert!(wrong.parse::<Recipient>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_kind_is_one_word_everywhere() {
        for kind in [AuthorKind::Member, AuthorKind::Agent, AuthorKind::System] {
            assert_eq!(AuthorKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for kind in [
            RecipientKind::Member,
            RecipientKind::Agent,
            RecipientKind::Team,
        ] {
            assert_eq!(RecipientKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
