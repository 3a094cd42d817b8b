//! Whether an agent that is held to the names of tools keeps to them, as it tells of its calls.

use serde_json::Value;

use super::content::{content_words, kind_of};
use super::run::Run;
use crate::adapters::ending::Fault;
use crate::adapters::frame::text;

impl Run {
    /// The end of the run, when a tool did something that was taken away.
    pub(super) fn outside(&mut self, update: &Value) -> Option<Fault> {
        let (kind, frame) = kind_of(update);
        let call = text(frame, "toolCallId");
        if call.is_empty() || !matches!(kind.as_str(), "toolcall" | "toolcallupdate") {
            return None;
        }
        let tool = (self.dialect.tool)(update);
        let begins = match tool {
            "" => None,
            tool => self.names.begins(call, tool),
        };
        let ends = match text(frame, "status") {
            "completed" => self.names.ends(call, None),
            "failed" => self.names.ends(call, Some(content_words(frame).trim())),
            _ => None,
        };
        begins.or(ends)
    }
}
