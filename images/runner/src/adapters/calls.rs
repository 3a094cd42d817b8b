//! Pairing of tool calls with their results: one start and one result for each call id, in this order.

use std::collections::VecDeque;

use protocol::{EventBody, ToolStatus};
use serde_json::Value;

/// How many calls are remembered. Past it the oldest that has ended is forgotten, so a repeat of it would
/// show twice; if all of them are open, the oldest is closed.
const REMEMBERED: usize = 1024;

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: VecDeque<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    open: bool,
}

impl Calls {
    /// A tool starts. A repeated start is dropped.
    pub(super) fn start(
        &mut self,
        id: &str,
        tool: &str,
        input: Value,
        events: &mut Vec<EventBody>,
    ) {
        if self.position(id).is_some() {
            return;
        }
        self.make_room(events);
        self.calls.push_back(Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            open: true,
        });
        events.push(EventBody::ToolUse {
            tool: tool.to_owned(),
            call_id: id.to_owned(),
            input,
        });
    }

    /// A tool has ended. A repeated result is dropped, one without a start is given one.
    pub(super) fn end(
        &mut self,
        id: &str,
        output: String,
        status: ToolStatus,
        events: &mut Vec<EventBody>,
    ) {
        if self.position(id).is_none() {
            self.start(id, "unknown", Value::Null, events);
        }
        let Some(call) = self.position(id).and_then(|at| self.calls.get_mut(at)) else {
            return;
        };
        if call.open {
            call.open = false;
            events.push(result(call, output, status));
        }
    }

    /// True when no tool was called.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The run is over: what is still open will never be answered.
    pub(super) fn close(&mut self, events: &mut Vec<EventBody>) {
        for call in self.calls.iter_mut().filter(|call| call.open) {
            call.open = false;
            events.push(unanswered(call));
        }
    }

    fn position(&self, id: &str) -> Option<usize> {
        // The newest first: results follow their calls closely.
        self.calls.iter().rposition(|call| call.id == id)
    }

    fn make_room(&mut self, events: &mut Vec<EventBody>) {
        if self.calls.len() < REMEMBERED {
            return;
        }
        let oldest = self
            .calls
            .iter()
            .position(|call| !call.open)
            .unwrap_or_default();
        if let Some(call) = self.calls.remove(oldest)
            && call.open
        {
            events.push(unanswered(&call));
        }
    }
}

fn result(call: &Call, output: String, status: ToolStatus) -> EventBody {
    EventBody::ToolResult {
        call_id: call.id.clone(),
        tool: Some(call.tool.clone()),
        output,
        status: Some(status),
    }
}

fn unanswered(call: &Call) -> EventBody {
    result(
        call,
        "the run ended before the tool gave a result".to_owned(),
        ToolStatus::Failed,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever comes in whichever order: each start is followed by exactly one result.
        #[test]
        fn starts_and_results_pair(steps in prop::collection::vec((0..3_u8, 0..6_u8), 0..60)) {
            let mut calls = Calls::default();
            let mut events = Vec::new();
            for (step, id) in steps {
                let id = format!("call-{id}");
                match step {
                    0 => calls.start(&id, "Bash", Value::Null, &mut events),
                    1 => calls.end(&id, String::new(), ToolStatus::Completed, &mut events),
                    _ => calls.close(&mut events),
                }
            }
            calls.close(&mut events);
            let mut open = BTreeMap::new();
            for event in events {
                if let EventBody::ToolUse { call_id, .. } = event {
                    prop_assert_eq!(open.insert(call_id, true), None);
                } else if let EventBody::ToolResult { call_id, .. } = event {
                    prop_assert_eq!(open.insert(call_id, false), Some(true));
                }
            }
            prop_assert!(open.values().all(|open| !open));
        }
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_open_call_is_closed() {
        let mut calls = Calls::default();
        let mut events = Vec::new();
        for id in 0..=REMEMBERED {
            calls.start(&id.to_string(), "Bash", Value::Null, &mut events);
        }
        assert_eq!(calls.calls.len(), REMEMBERED);
        let closed: Vec<_> = events
            .iter()
            .filter_map(|event| {
                if let EventBody::ToolResult { call_id, .. } = event {
                    Some(call_id.as_str())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(closed, ["0"]);
    }
}
