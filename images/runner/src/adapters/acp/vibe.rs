//! Mistral Vibe (3.0.2).

use super::dialect::{BASE, Dialect, Resume, Scope};

pub(super) const DIALECT: Dialect = Dialect {
    id: "vibe",
    program: "vibe-acp",
    resume: Resume::Load,
    modes: &["auto-approve"],
    usage: Scope::Conversation,
    ..BASE
};
