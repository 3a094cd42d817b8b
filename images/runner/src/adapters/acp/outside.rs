//! Whether an agent that is held to tools keeps to them, as it tells of its calls.

use protocol::FailureClass;
use serde_json::Value;

use super::content::{content_words, kind_of};
use super::run::Run;
use crate::adapters::ending::Fault;
use crate::adapters::frame::text;

impl Run {
    /// The end of the run, in whichever of the ways it is held to its tools.
    pub(super) fn went_past(&mut self, update: &Value) -> Option<Fault> {
        let names = self.outside(update);
        let hook = names.or_else(|| self.past_hook(update));
        let gate = hook.or_else(|| self.past_gate(update));
        gate.or_else(|| self.passed(update))
    }

    /// One of those that were left to it, by all that it tells of a call.
    fn outside(&mut self, update: &Value) -> Option<Fault> {
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

    /// The end of the run, when a tool was used that was taken away: then nothing holds the agent any more.
    pub(super) fn passed(&self, update: &Value) -> Option<Fault> {
        let tool = (self.dialect.tool)(update);
        let denied = self.launch.tools.denies(tool) && text(update, "status") == "completed";
        denied.then(|| {
            let message = format!(
                "{tool} was used though it is denied, so the agent cannot be held to its tools: write its name as {} \
                 has it",
                self.dialect.id
            );
            Fault::new(FailureClass::CliCrashed, message)
        })
    }
}
