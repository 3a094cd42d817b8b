//! dim, from the description of its protocol.

use std::time::Duration;

use super::dialect::{BASE, Choice, Dialect, Resume};
use crate::adapter::Ladder;
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "dim",
    program: "dim",
    args: &["acp"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--auth-setup", Takes::Nothing),
        ("--remote", Takes::Nothing),
        ("--help", Takes::Nothing),
        ("-h", Takes::Nothing),
    ],
    // Earlier ones hold the lock of a session for ever.
    lowest: Some([0, 3, 10]),
    choices: &[
        Choice {
            id: "permission",
            value: "full-access",
            needed: true,
        },
        Choice {
            id: "mode",
            value: "agent",
            needed: true,
        },
    ],
    resume: Resume::Load,
    is_held: |refusal| {
        refusal
            .words
            .to_lowercase()
            .contains("held by another process")
    },
    closes: true,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::ZERO,
        term: Duration::ZERO,
    },
    ..BASE
};
