//! Gemini CLI (0.61.0).

use super::dialect::{BASE, Dialect, Model, Naming, Resume};
use crate::adapters::flags::Takes;

pub(super) const DIALECT: Dialect = Dialect {
    id: "gemini",
    program: "gemini",
    // A folder that nobody has called trusted would be read-only for it.
    args: &["--acp", "--skip-trust"],
    reserved: &[
        ("--acp", Takes::Nothing),
        ("--experimental-acp", Takes::Nothing),
        ("-p", Takes::Value),
        ("--prompt", Takes::Value),
        ("-i", Takes::Value),
        ("--prompt-interactive", Takes::Value),
        ("-o", Takes::Value),
        ("--output-format", Takes::Value),
        ("-m", Takes::Value),
        ("--model", Takes::Value),
        ("-r", Takes::MaybeValue),
        ("--resume", Takes::MaybeValue),
    ],
    context_file: "GEMINI.md",
    skills: |place| place.home.join(".gemini/skills"),
    resume: Resume::Load,
    lost: &["no previous sessions found"],
    model: Model::Flag("-m"),
    modes: &["yolo"],
    tools: Naming::Kind,
    ..BASE
};
