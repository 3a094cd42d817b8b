//! Qoder (1.1.52), and its edition `qoderclicn`.

use super::dialect::{BASE, Dialect};
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "qoder",
    program: "qodercli",
    // Neither is in its help. A bare `acp` would be a prompt to it.
    args: &["--yolo", "--acp"],
    reserved: &[
        ("--acp", Takes::Nothing),
        ("acp", Takes::Nothing),
        ("--yolo", Takes::Nothing),
    ],
    skills: |place| place.home.join(".qoder/skills"),
    ..BASE
};

pub(super) const CN: Dialect = Dialect {
    id: "qoderclicn",
    program: "qoderclicn",
    skills: |place| place.home.join(".qoder-cn/skills"),
    ..DIALECT
};
