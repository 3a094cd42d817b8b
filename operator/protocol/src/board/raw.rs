//! What an agent's program wrote, for people who look for a fault.

use serde::{Deserialize, Serialize};

use crate::runner::RawPart;

/// Which part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawQuery {
    /// Of this attempt; without one of the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What begins at this byte or later.
    #[serde(default)]
    pub from: u64,
}

/// A part of it. Where a part does not begin at the end of the one before, what lies between was not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawLog {
    /// The attempt.
    pub attempt: u32,
    /// In their order.
    pub parts: Vec<RawPart>,
    /// What follows begins at this byte or later; absent when these are the last so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
