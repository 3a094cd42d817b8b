//! Who follows an issue.

use serde::{Deserialize, Serialize};

/// Answer to `POST` and `DELETE issues/{key}/subscription`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// True when the caller is told of comments on the issue. One who is not, until somebody names them again.
    pub subscribed: bool,
}
