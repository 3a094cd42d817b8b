//! mcode, from the description of its protocol.

use std::time::Duration;

use super::dialect::{BASE, Dialect, Resume};
use crate::adapter::Ladder;
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "mcode",
    program: "mcode",
    args: &["acp"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("login", Takes::Nothing),
        ("-h", Takes::Nothing),
        ("--help", Takes::Nothing),
        ("--region", Takes::Value),
    ],
    skills: |place| place.home.join(".minimax/skills"),
    lowest: Some([0, 1, 2]),
    resume: Resume::Load,
    // It takes no notice of the end of its input, nor of being asked to end.
    linger: Duration::ZERO,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::ZERO,
        term: Duration::ZERO,
    },
    ..BASE
};
