//! Trae CLI, from the description of its protocol.

use super::dialect::{BASE, Dialect, Resume};
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "traecli",
    program: "traecli",
    args: &["acp", "serve", "--yolo"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("serve", Takes::Nothing),
        ("-y", Takes::Nothing),
        ("--yolo", Takes::Nothing),
        ("-p", Takes::Nothing),
        ("--print", Takes::Nothing),
        ("--output-format", Takes::Value),
        ("--permission-mode", Takes::Value),
    ],
    // It reads rules of its own and not this file.
    reads_no_file: true,
    skills: |place| place.home.join(".traecli/skills"),
    resume: Resume::Load,
    ..BASE
};
