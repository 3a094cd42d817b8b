//! Mistral Vibe (3.0.2).

use serde_json::json;

use super::dialect::{BASE, Dialect, Resume, Scope};
use super::sessions::{Need, Step};
use crate::adapters::frame::list;
use crate::adapters::stores;

/// The working directory is a place that may be believed.
const TRUST: &str = "trust_cwd";

pub(super) const DIALECT: Dialect = Dialect {
    id: "vibe",
    program: "vibe-acp",
    skills: |place| stores::folder(place, "VIBE_HOME", ".vibe").join("skills"),
    resume: Resume::Load,
    // Of a folder that nobody has called trusted it reads no context file.
    first: |launch, id, opened| {
        let details = opened.pointer("/_meta/workspace_trust/details")?;
        let mut offered = list(details, "availableDecisions").iter();
        offered
            .any(|decision| decision.as_str() == Some(TRUST))
            .then(|| Step {
                need: Need::None,
                what: "the trust in the working directory".to_owned(),
                method: "_trust/decision",
                params: json!({"sessionId": id, "decision": TRUST, "cwd": launch.cwd}),
            })
    },
    // Programs and addresses over HTTP.
    announces_no_servers: true,
    modes: &["auto-approve"],
    usage: Scope::Conversation,
    ..BASE
};
