//! Kimi Code (2.1.0).

use super::dialect::{BASE, Dialect};
use crate::adapters::flags::Takes;
use crate::adapters::frame::text;

pub(super) const DIALECT: Dialect = Dialect {
    id: "kimi",
    program: "kimi",
    args: &["acp"],
    reserved: &[("acp", Takes::Nothing)],
    env: &[("NO_COLOR", "1"), ("KIMI_CODE_NO_AUTO_UPDATE", "1")],
    skills: |place| place.home.join(".kimi/skills"),
    modes: &["yolo"],
    // It tells of its compacting as if the agent had said it, and may end a turn with that alone.
    is_notice: |update| {
        let words = update
            .get("content")
            .map_or("", |content| text(content, "text"));
        words.starts_with("Compacting conversation context")
            || words.starts_with("Compaction is blocked")
            || words.starts_with("Compaction completed")
    },
    overflow: &["compaction completed"],
    ..BASE
};
