//! What runs have used.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::TokenUsage;

/// Tokens of many runs, as far as their runtimes told them. Each attempt counts once, with its own turn alone: what
/// a resumed conversation had used before stands with the attempts that used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// From when on it is counted; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Tasks that told something.
    pub tasks: u64,
    /// Their attempts that did.
    pub attempts: u64,
    /// Tokens by model.
    pub models: BTreeMap<String, TokenUsage>,
}

/// Query of what an agent has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsageQuery {
    /// Only attempts that ended at this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl TokenUsage {
    /// All of them. More than can be counted is as much as can be.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}
