//! Work that Claude Code keeps beside the turn. It ends with the process, so what is left of it at the end
//! has to be told.

use protocol::{EventBody, FailureClass};
use serde_json::Value;

use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::{cut, list, text};

/// How many pieces of work are told apart.
const REMEMBERED: usize = 16;

/// What runs in the background, as the CLI last said.
#[derive(Debug, Default)]
pub(super) struct Background(Vec<Work>);

#[derive(Debug)]
struct Work {
    what: String,
    /// A nested agent's answer is part of the turn's; a command may be a server that was only needed.
    is_agent: bool,
}

impl Background {
    /// What a `background_tasks_changed` frame lists.
    pub(super) fn read(frame: &Value) -> Self {
        let work = |task: &Value| {
            let (kind, description) = (text(task, "task_type"), text(task, "description"));
            Work {
                what: cut(format!("{kind} {description}"), 256),
                is_agent: kind.contains("agent"),
            }
        };
        Self(
            list(frame, "tasks")
                .iter()
                .take(REMEMBERED)
                .map(work)
                .collect(),
        )
    }

    /// The judgement of a turn that ended with this left. An agent that said it would report later has not
    /// answered.
    pub(super) fn check(&self, output: String, events: &mut Vec<EventBody>) -> Judgement {
        events.extend(self.0.iter().map(|work| EventBody::Error {
            content: format!(
                "left in the background, and ended with the run: {}",
                work.what
            ),
        }));
        match self.0.iter().find(|work| work.is_agent) {
            Some(work) => {
                let message = format!(
                    "the turn ended while a nested agent was at work: {}",
                    work.what
                );
                Err(Fault::new(FailureClass::EmptyOutput, message))
            }
            None => Ok(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nested_agent_that_is_still_at_work_is_no_answer() {
        for (tasks, succeeds) in [
            (json!([]), true),
            (
                json!([{"task_type": "local_bash", "description": "server"}]),
                true,
            ),
            (
                json!([{"task_type": "local_bash"}, {"task_type": "local_agent", "description": "look"}]),
                false,
            ),
            (json!("odd"), true),
        ] {
            let mut events = Vec::new();
            let judged =
                Background::read(&json!({"tasks": tasks})).check("done".to_owned(), &mut events);
            assert_eq!(judged.is_ok(), succeeds, "{tasks}");
            assert_eq!(
                events.len(),
                tasks.as_array().map_or(0, Vec::len),
                "each is told: {tasks}"
            );
        }
    }
}
