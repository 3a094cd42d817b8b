//! What an Agent says about tools, as its runner is told.

use crds::{OnTimeout, Tools};
use protocol::tools::ToolPolicy;

/// The policy of a run.
pub(super) fn policy(tools: &Tools) -> ToolPolicy {
    ToolPolicy {
        allow: tools.allow.clone(),
        deny: tools.deny.clone(),
        require_approval: tools.require_approval.clone(),
        // The schema keeps it above zero.
        approval_seconds: u32::try_from(tools.approval_timeout_seconds).unwrap_or(1),
        allow_on_timeout: match tools.on_timeout {
            OnTimeout::Deny => false,
            OnTimeout::Allow => true,
        },
    }
}
