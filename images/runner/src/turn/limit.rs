//! How often the model is asked, where that has a limit and the CLI does not count itself.

use protocol::EventBody;

use crate::adapter::Activity;

/// Counts the answers of the model: as the adapter tells them, else by what they bring with them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    most: Option<u32>,
    /// Each answer is told, sooner or later.
    tells: bool,
    told: u32,
    /// Answers that began with something for the timeline.
    seen: u32,
    answers: bool,
    /// Tools that have begun and not ended.
    open: u32,
    /// The last thing was the end of a tool: what follows is the next question to the model.
    asks_next: bool,
}

impl Limit {
    pub(super) fn new(most: Option<u32>) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Takes note of an event.
    pub(super) fn event(&mut self, body: &EventBody) {
        match body {
            EventBody::Text { .. } | EventBody::Thinking { .. } => self.answer(),
            EventBody::ToolUse { .. } => {
                self.answer();
                self.open = self.open.saturating_add(1);
            }
            EventBody::ToolResult { .. } => {
                self.open = self.open.saturating_sub(1);
                self.answers = false;
                self.asks_next = true;
            }
            EventBody::Status { .. } | EventBody::Error { .. } | EventBody::Log { .. } => {}
        }
    }

    /// Takes note of what an adapter tells.
    pub(super) fn activity(&mut self, activity: Activity) {
        match activity {
            Activity::ModelTurn => self.told = self.told.saturating_add(1),
            Activity::TellsTurns => self.tells = true,
            Activity::Frame | Activity::Retrying(_) | Activity::ToolsInterrupted => {}
        }
    }

    fn answer(&mut self) {
        self.asks_next = false;
        if !std::mem::replace(&mut self.answers, true) {
            self.seen = self.seen.saturating_add(1);
        }
    }

    /// The limit, once it is reached and the model would be asked again. Tools that run may end first.
    pub(super) fn reached(&self) -> Option<u32> {
        let is_told = self.tells || self.told > 0;
        let count = if is_told { self.told } else { self.seen };
        let again = self.open == 0 && self.asks_next;
        self.most.filter(|most| count >= *most && again)
    }
}

#[cfg(test)]
mod tests {
    use protocol::ToolStatus;
    use serde_json::Value;

    use super::*;

    fn tool(id: &str) -> EventBody {
        EventBody::ToolUse {
            call_id: id.to_owned(),
            tool: "shell".to_owned(),
            input: Value::Null,
        }
    }

    fn ended(id: &str) -> EventBody {
        EventBody::ToolResult {
            call_id: id.to_owned(),
            tool: None,
            output: String::new(),
            status: Some(ToolStatus::Completed),
        }
    }

    fn text() -> EventBody {
        EventBody::Text {
            content: "x".to_owned(),
        }
    }

    fn after(most: u32, events: &[EventBody]) -> Option<u32> {
        let mut limit = Limit::new(Some(most));
        events.iter().for_each(|event| limit.event(event));
        limit.reached()
    }

    #[test]
    fn an_answer_ends_with_its_tools() {
        let one = [text(), text(), tool("1"), tool("2"), ended("1"), ended("2")];
        assert_eq!(after(1, &one), Some(1));
        assert_eq!(after(1, &one[..5]), None, "a tool still runs");
        assert_eq!(after(1, &one[..3]), None);
        assert_eq!(after(2, &one), None);
        let two: Vec<_> = one.iter().cloned().chain([tool("3"), ended("3")]).collect();
        assert_eq!(after(2, &two), Some(2));
        // The last answer needs no tool, and so it may be given.
        let whole: Vec<_> = one.iter().cloned().chain([text()]).collect();
        assert_eq!(after(1, &whole), None);
        assert_eq!(Limit::new(None).reached(), None);
    }

    #[test]
    fn what_an_adapter_tells_counts_more_than_what_is_seen() {
        let mut limit = Limit::new(Some(2));
        for id in ["1", "2", "3"] {
            limit.event(&tool(id));
            limit.event(&ended(id));
        }
        limit.activity(Activity::ModelTurn);
        assert_eq!(limit.reached(), None, "three tools of one answer");
        limit.activity(Activity::ModelTurn);
        assert_eq!(limit.reached(), Some(2));
    }

    #[test]
    fn an_answer_that_will_be_told_is_not_cut_between_its_tools() {
        let mut limit = Limit::new(Some(1));
        limit.activity(Activity::TellsTurns);
        limit.event(&tool("1"));
        limit.event(&ended("1"));
        assert_eq!(limit.reached(), None, "another tool may be asked for");
        limit.activity(Activity::ModelTurn);
        assert_eq!(limit.reached(), Some(1));
    }
}
