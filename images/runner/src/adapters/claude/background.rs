//! Work that Claude Code keeps beside the turn. It ends with the process, so what is left of it at the end
//! has to be told. And a tool that runs for too long is brought there, so that the turn goes on, and then ended.

use protocol::{EventBody, FailureClass, LogLevel};
use serde_json::{Value, json};

use crate::adapter::{Activity, Output};
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::{cut, list, log, text};
use crate::adapters::stream_json::control;

/// How many pieces of work are told apart.
const REMEMBERED: usize = 16;
/// Ids of our requests.
const BRING: &str = "background-tasks";
const STOP: &str = "stop-task";

/// What runs in the background, as the CLI last said.
#[derive(Debug, Default)]
pub(super) struct Background {
    work: Vec<Work>,
    /// What comes there next is to be ended.
    ends: bool,
}

#[derive(Debug)]
struct Work {
    id: String,
    what: String,
    /// A nested agent's answer is part of the turn's; a command may be a server that was only needed.
    is_agent: bool,
}

impl Background {
    /// A tool has run for too long: whatever runs is brought to the background, where it can be ended.
    pub(super) fn end_tools(&mut self, out: &mut Vec<Output>) {
        self.ends = true;
        let bring = control::request(BRING, &json!({"subtype": "background_tasks"}));
        out.push(Output::Write(bring));
        self.stop(out);
        out.push(Output::Activity(Activity::ToolsInterrupted));
    }

    /// Takes a `background_tasks_changed` frame, and ends what it lists where that is wanted.
    pub(super) fn changed(&mut self, frame: &Value, out: &mut Vec<Output>) {
        self.read(frame);
        if self.ends {
            self.stop(out);
        }
    }

    /// The tools that were to be ended have ended: what begins after them is nothing that ran for too long.
    pub(super) fn moved_on(&mut self) {
        self.ends = false;
    }

    fn stop(&self, out: &mut Vec<Output>) {
        for Work { id, what, .. } in &self.work {
            let words = format!("it has run for too long and is ended: {what}");
            out.push(Output::Event(log(LogLevel::Warn, words)));
            let stop = json!({"subtype": "stop_task", "task_id": id});
            out.push(Output::Write(control::request(STOP, &stop)));
        }
    }

    fn read(&mut self, frame: &Value) {
        let work = |task: &Value| {
            let (kind, description) = (text(task, "task_type"), text(task, "description"));
            Work {
                id: text(task, "task_id").to_owned(),
                what: cut(format!("{kind} {description}"), 256),
                is_agent: kind.contains("agent"),
            }
        };
        let listed = list(frame, "tasks").iter();
        self.work = listed.take(REMEMBERED).map(work).collect();
    }

    /// The judgement of a turn that ended with this left. An agent that said it would report later has not
    /// answered.
    pub(super) fn check(&self, output: String, events: &mut Vec<EventBody>) -> Judgement {
        events.extend(self.work.iter().map(|work| EventBody::Error {
            content: format!(
                "left in the background, and ended with the run: {}",
                work.what
            ),
        }));
        match self.work.iter().find(|work| work.is_agent) {
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
            let mut background = Background::default();
            background.changed(&json!({"tasks": tasks}), &mut Vec::new());
            let judged = background.check("done".to_owned(), &mut events);
            assert_eq!(judged.is_ok(), succeeds, "{tasks}");
            assert_eq!(
                events.len(),
                tasks.as_array().map_or(0, Vec::len),
                "each is told: {tasks}"
            );
        }
    }

    #[test]
    fn what_runs_for_too_long_is_brought_to_the_background_and_ended_there() {
        let listed =
            json!({"tasks": [{"task_id": "t1", "task_type": "local_bash", "description": "tail"}]});
        let none = json!({"tasks": []});
        let requests = |out: &[Output]| -> Vec<Value> {
            let written = out.iter().filter_map(|output| {
                let Output::Write(line) = output else {
                    return None;
                };
                let frame: Value = serde_json::from_slice(line).unwrap();
                Some(frame["request"].clone())
            });
            written.collect()
        };
        let stop = json!({"subtype": "stop_task", "task_id": "t1"});
        let mut background = Background::default();
        let mut out = Vec::new();
        background.changed(&listed, &mut out);
        assert_eq!(requests(&out), [] as [Value; 0], "it may run");
        background.changed(&none, &mut out);
        background.end_tools(&mut out);
        assert_eq!(requests(&out), [json!({"subtype": "background_tasks"})]);
        assert!(out.contains(&Output::Activity(Activity::ToolsInterrupted)));
        out.clear();
        background.changed(&listed, &mut out);
        assert_eq!(requests(&out), [stop]);
        out.clear();
        background.moved_on();
        background.changed(&listed, &mut out);
        assert_eq!(requests(&out), [] as [Value; 0], "another one");
    }
}
