//! Mistral Vibe (3.0.2).

use super::dialect::{BASE, Dialect, Resume, Scope};

pub(super) const DIALECT: Dialect = Dialect {
    id: "vibe",
    program: "vibe-acp",
    skills: |place| place.home.join(".vibe/skills"),
    resume: Resume::Load,
    modes: &["auto-approve"],
    usage: Scope::Conversation,
    ..BASE
};
