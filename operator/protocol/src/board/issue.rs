//! Issues.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Author, Cursor, Recipient, WakeOutcome};
use crate::IssueId;

/// What people call an issue: the workspace's prefix and a number, `TEAM-12`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IssueKey {
    /// 1 to 10 upper-case letters and digits, a letter first.
    pub prefix: String,
    /// From 1.
    pub number: u32,
}

impl fmt::Display for IssueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.prefix, self.number)
    }
}

impl From<IssueKey> for String {
    fn from(key: IssueKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for IssueKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for IssueKey {
    type Err = &'static str;

    /// Reads `TEAM-12`; letters of any case, since people type them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str =
            "an issue is named like TEAM-12: letters and digits, a hyphen, a number";
        let (prefix, number) = text.split_once('-').ok_or(SHAPE)?;
        let sound = prefix.len() <= 10
            && prefix.starts_with(|first: char| first.is_ascii_alphabetic())
            && prefix.chars().all(|each| each.is_ascii_alphanumeric())
            && number.starts_with(|first: char| ('1'..='9').contains(&first));
        let number = number.parse().map_err(|_| SHAPE)?;
        sound
            .then(|| Self {
                prefix: prefix.to_ascii_uppercase(),
                number,
            })
            .ok_or(SHAPE)
    }
}

/// Where an issue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueStatus {
    /// Parked: nobody is woken by it.
    Backlog,
    /// To be done.
    #[default]
    Todo,
    /// Somebody works on it.
    InProgress,
    /// Somebody looks at what was done.
    InReview,
    /// Done.
    Done,
    /// Waits for something outside.
    Blocked,
    /// Will not be done.
    Cancelled,
}

impl IssueStatus {
    /// Every status, in the order of an issue's life.
    pub const ALL: [Self; 7] = [
        Self::Backlog,
        Self::Todo,
        Self::InProgress,
        Self::InReview,
        Self::Done,
        Self::Blocked,
        Self::Cancelled,
    ];

    /// The word on the wire, in the store and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Todo => "todo",
            Self::InProgress => "in_progress",
            Self::InReview => "in_review",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// True when nothing is left to do.
    #[must_use]
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// For ever.
    pub id: IssueId,
    /// What people call it.
    pub key: IssueKey,
    /// At most [`crate::limits::TITLE_BYTES`], one line.
    pub title: String,
    /// At most [`crate::limits::DESCRIPTION_BYTES`]. Empty in lists.
    pub description: String,
    /// Where it stands.
    pub status: IssueStatus,
    /// Higher goes first, -1000 to 1000.
    pub priority: i32,
    /// Who is to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Recipient>,
    /// Who made it.
    pub creator: Author,
    /// The issue that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<IssueKey>,
    /// Which stage of the parent's work it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    /// Name of the project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What it is sorted by, in alphabetical order; at most [`crate::limits::LABELS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What programs keep with it, at most [`crate::limits::METADATA_BYTES`]. Empty in lists.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// How many comments it has.
    pub comments: u32,
    /// Rises with every change.
    pub revision: u32,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed.
    pub updated: Timestamp,
}

/// `POST issues`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewIssue {
    /// One line, not empty.
    pub title: String,
    /// Markdown.
    #[serde(default)]
    pub description: String,
    /// Where it starts.
    #[serde(default)]
    pub status: IssueStatus,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// Who is to do it; an agent is woken, unless the status is `backlog`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Recipient>,
    /// The issue that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<IssueKey>,
    /// Which stage of the parent's work it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    /// Name of the project that it belongs to. A part belongs to that of its whole, unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What it is sorted by: lower-case letters, digits and `._:/-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What programs keep with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// True wakes nobody.
    #[serde(default)]
    pub no_start: bool,
}

/// `PATCH issues/{key}`. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssueEdit {
    /// The revision that was read; 409 when it is not the present one. Absent: whatever stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// One line, not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<IssueStatus>,
    /// Higher goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Who is to do it; `null` takes it from everybody.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "double_option"
    )]
    pub assignee: Option<Option<Recipient>>,
    /// Name of the project that it belongs to; `null` takes it out of any.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "double_option"
    )]
    pub project: Option<Option<String>>,
    /// Labels that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_labels: Vec<String>,
    /// Labels that it loses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_labels: Vec<String>,
    /// Keys of its metadata that get another value, or with `null` none; others stay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Option<String>>,
    /// True wakes nobody.
    #[serde(default)]
    pub no_start: bool,
}

/// Tells an absent field from one that is `null`.
mod double_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value
            .as_ref()
            .and_then(Option::as_ref)
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::deserialize(deserializer).map(Some)
    }
}

/// Answer to a write of an issue: how it stands, and who is woken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedIssue {
    /// The issue.
    pub issue: Issue,
    /// One for each recipient.
    pub wakes: Vec<WakeOutcome>,
}

/// Query of `GET issues`. Newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssueQuery {
    /// Only of this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<IssueStatus>,
    /// Only those assigned to this agent (`agent:NAME`) or member (`member:ID`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Only those of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only those with this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_people_type_them() {
        for (typed, wanted) in [("TEAM-12", "TEAM-12"), ("t1-1", "T1-1")] {
            assert_eq!(typed.parse::<IssueKey>().unwrap().to_string(), wanted);
        }
        for wrong in [
            "",
            "TEAM",
            "-1",
            "TEAM-",
            "TEAM-0",
            "TEAM-01",
            "1T-1",
            "T-1-2",
            "T-+1",
            "Ä-1",
            "ABCDEFGHIJK-1",
            "T-4294967296",
        ] {
            assert!(wrong.parse::<IssueKey>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn taking_an_issue_from_everybody_is_not_leaving_it() {
        let edit = |text: &str| serde_json::from_str::<IssueEdit>(text).unwrap().assignee;
        assert_eq!(edit("{}"), None);
        assert_eq!(edit(r#"{"assignee":null}"#), Some(None));
        let given = IssueEdit {
            assignee: Some(None),
            ..IssueEdit::default()
        };
        assert_eq!(
            serde_json::to_string(&given).unwrap(),
            r#"{"assignee":null,"noStart":false}"#
        );
    }

    #[test]
    fn every_status_is_one_word_everywhere() {
        for status in IssueStatus::ALL {
            assert_eq!(IssueStatus::parse(status.as_str()), Some(status));
            let wire = serde_json::to_string(&status).unwrap();
            assert_eq!(wire, format!("{:?}", status.as_str()));
        }
    }
}
