//! What happened in a task, a step at a time: a call of a tool and what it gave are one step.

use std::collections::BTreeMap;

use jiff::Timestamp;
use protocol::board::TimelineItem;
use protocol::{EventBody, LogLevel, TaskId, ToolStatus};
use serde_json::Value;

use crate::output::Style;
use crate::text;

/// Columns by which the words of a step are indented below its head.
const INDENT: usize = 4;
/// Lines of what a tool was given or gave that are shown; `--full` shows the rest.
const LINES: usize = 12;
/// Columns of such a line.
const COLUMNS: usize = 160;
/// Calls without a result that are remembered; an agent that leaves more of them open gets results without the
/// name of their call.
const OPEN: usize = 1024;

/// Groups what happened, however it comes in parts.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Calls of earlier parts whose result has not come yet: position and tool.
    open: BTreeMap<String, (u64, String)>,
    calls: u64,
    failed: u64,
}

/// One step.
#[derive(Debug, PartialEq)]
struct Step {
    position: u64,
    at: Timestamp,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    Words(String),
    Thoughts(String),
    Call {
        tool: String,
        input: Value,
        /// None while it runs.
        gave: Option<Gave>,
    },
    /// What a call gave that was shown before.
    Late {
        tool: String,
        call: Option<u64>,
        gave: Gave,
    },
    Error(String),
    Remark(&'static str, String),
}

#[derive(Debug, PartialEq)]
struct Gave {
    position: u64,
    output: String,
    failed: bool,
    /// Bytes of the whole, where this is its beginning.
    of: Option<u64>,
}

impl Steps {
    /// The steps of a part as people read them.
    pub(super) fn shown(&mut self, part: &[TimelineItem], task: TaskId, style: Style) -> String {
        let steps = self.take(part);
        steps.iter().map(|step| step.shown(task, style)).collect()
    }

    /// What is to be said at the end: how many calls there were.
    pub(super) fn sum(&self) -> String {
        let word = if self.calls == 1 { "call" } else { "calls" };
        match self.failed {
            0 => format!("{} {word} of tools", self.calls),
            failed => format!("{} {word} of tools, {failed} failed", self.calls),
        }
    }

    fn take(&mut self, part: &[TimelineItem]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        // Calls of this part that run: where their step stands.
        let mut running: BTreeMap<&str, usize> = BTreeMap::new();
        for item in part {
            let what = match &item.body {
                EventBody::Text { content } => What::Words(content.clone()),
                EventBody::Thinking { content } => What::Thoughts(content.clone()),
                EventBody::Error { content } => What::Error(content.clone()),
                EventBody::Log { level, content } => match remark(*level) {
                    Some(word) => What::Remark(word, content.clone()),
                    None => continue,
                },
                EventBody::Status { .. } => continue,
                EventBody::ToolUse {
                    tool,
                    call_id,
                    input,
                } => {
                    self.calls += 1;
                    running.insert(call_id, steps.len());
                    What::Call {
                        tool: tool.clone(),
                        input: input.clone(),
                        gave: None,
                    }
                }
                EventBody::ToolResult {
                    call_id,
                    tool,
                    output,
                    status,
                } => {
                    let gave = Gave {
                        position: item.position,
                        output: output.clone(),
                        failed: *status == Some(ToolStatus::Failed),
                        of: item.full_bytes,
                    };
                    self.failed += u64::from(gave.failed);
                    let step = running
                        .remove(call_id.as_str())
                        .and_then(|at| steps.get_mut(at));
                    if let Some(Step {
                        what: What::Call { gave: open, .. },
                        ..
                    }) = step
                    {
                        *open = Some(gave);
                        continue;
                    }
                    self.late(call_id, tool.as_deref(), gave)
                }
            };
            steps.push(Step {
                position: item.position,
                at: item.at,
                what,
            });
        }
        for (call, at) in running {
            self.remember(call, &steps[at]);
        }
        steps
    }

    fn late(&mut self, call: &str, tool: Option<&str>, gave: Gave) -> What {
        let known = self.open.remove(call);
        let named = known.as_ref().map(|(_, tool)| tool.as_str()).or(tool);
        What::Late {
            tool: named.unwrap_or("a tool").to_owned(),
            call: known.map(|(position, _)| position),
            gave,
        }
    }

    fn remember(&mut self, call: &str, step: &Step) {
        if let What::Call { tool, .. } = &step.what {
            if self.open.len() >= OPEN {
                self.open.clear();
            }
            self.open
                .insert(call.to_owned(), (step.position, tool.clone()));
        }
    }
}

impl Step {
    fn shown(&self, task: TaskId, style: Style) -> String {
        let head = |what: &str| {
            let place = format!("#{} {}", self.position, text::time(self.at));
            format!("{} {what}\n", style.dim(&place))
        };
        match &self.what {
            What::Words(words) => head("says") + &text::indented(words.trim_end(), INDENT),
            What::Thoughts(words) => {
                let words = text::indented(words.trim_end(), INDENT);
                head("thinks") + &style.dim(&words)
            }
            What::Error(words) => {
                head(&style.bad("error")) + &text::indented(words.trim_end(), INDENT)
            }
            What::Remark(word, words) => head(word) + &text::indented(words.trim_end(), INDENT),
            What::Call { tool, input, gave } => {
                let what = match gave {
                    Some(Gave { failed: true, .. }) => {
                        format!("{} {}", name(tool, style), style.bad("failed"))
                    }
                    Some(_) => name(tool, style),
                    None => format!("{} …", name(tool, style)),
                };
                let mut shown = head(&what) + &beginning(&given(input), "$ ", |_| String::new());
                if let Some(gave) = gave {
                    shown += &gave.shown(task);
                }
                shown
            }
            What::Late { tool, call, gave } => {
                let how = if gave.failed {
                    style.bad("failed")
                } else {
                    "gives".to_owned()
                };
                let which = call.map_or(String::new(), |call| format!(", called in #{call}"));
                head(&format!("{} {how}{which}", name(tool, style))) + &gave.shown(task)
            }
        }
    }
}

impl Gave {
    fn shown(&self, task: TaskId) -> String {
        let full = format!("moor task messages {task} --full {}", self.position);
        beginning(&self.output, "", |more| match (more, self.of) {
            (0, None) => String::new(),
            (_, Some(bytes)) => format!("… {bytes} bytes in all: {full}"),
            (_, None) => format!("… {more} more lines: {full}"),
        })
    }
}

/// The first lines of a text, each no longer than a line may be.
fn beginning(words: &str, mark: &str, rest: impl FnOnce(usize) -> String) -> String {
    let words = text::block(words.trim_end());
    let mut lines = words.lines();
    let mut shown = String::new();
    for (at, line) in lines.by_ref().take(LINES).enumerate() {
        let mark = if at == 0 { mark } else { "" };
        let line = text::cut(line, COLUMNS);
        let line = format!("{:INDENT$}{mark}{line}", "");
        shown += line.trim_end();
        shown.push('\n');
    }
    let rest = rest(lines.count());
    if !rest.is_empty() {
        shown += &format!("{:INDENT$}{rest}\n", "");
    }
    shown
}

/// What a tool was given: a command alone where that is all, else as the model wrote it.
fn given(input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => input.to_string(),
    }
}

fn name(tool: &str, style: Style) -> String {
    style.strong(&text::line(tool))
}

/// What a remark is called; none for what only helps to look for a cause.
fn remark(level: LogLevel) -> Option<&'static str> {
    match level {
        LogLevel::Debug => None,
        LogLevel::Info => Some("remark"),
        LogLevel::Warn => Some("warning"),
        LogLevel::Error => Some("error"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn items(bodies: Vec<EventBody>, first: u64) -> Vec<TimelineItem> {
        let item = |(position, body)| TimelineItem {
            position,
            attempt: 1,
            at: Timestamp::UNIX_EPOCH,
            body,
            full_bytes: None,
        };
        (first..).zip(bodies).map(item).collect()
    }

    fn uses(id: &str, command: &str) -> EventBody {
        EventBody::ToolUse {
            tool: "Bash".into(),
            call_id: id.into(),
            input: json!({"command": command, "description": "x"}),
        }
    }

    fn gives(id: &str, output: &str, status: ToolStatus) -> EventBody {
        EventBody::ToolResult {
            call_id: id.into(),
            tool: Some("Bash".into()),
            output: output.into(),
            status: Some(status),
        }
    }

    fn story() -> [Vec<TimelineItem>; 2] {
        let status = EventBody::Status {
            status: "running".into(),
            session_id: None,
        };
        let thinking = EventBody::Thinking {
            content: "Hm.\u{1b}[2J".into(),
        };
        let long: String = (1..=15).map(|line| format!("line {line}\n")).collect();
        let edit = EventBody::ToolUse {
            tool: "Edit\u{1b}[1m".into(),
            call_id: "3".into(),
            input: json!({"path": "a", "text": "b"}),
        };
        let first = vec![
            status,
            thinking,
            uses("1", "ls\npwd"),
            uses("2", "make"),
            gives("1", &long, ToolStatus::Completed),
            uses("4", "false"),
            gives("4", "no", ToolStatus::Failed),
            edit,
        ];
        let second = vec![
            gives("2", "made", ToolStatus::Failed),
            gives("lost", "?", ToolStatus::Completed),
            EventBody::Log {
                level: LogLevel::Debug,
                content: "not shown".into(),
            },
            EventBody::Log {
                level: LogLevel::Warn,
                content: "Careful.".into(),
            },
            EventBody::Error {
                content: "Oh.".into(),
            },
            EventBody::Text {
                content: "Done.\n\nAll of it.\n".into(),
            },
        ];
        [items(first, 1), items(second, 9)]
    }

    fn shown(style: Style) -> String {
        let mut steps = Steps::default();
        let task = TaskId(Uuid::from_u128(7));
        let mut shown = String::new();
        for part in story() {
            shown += &steps.shown(&part, task, style);
        }
        shown + &steps.sum()
    }

    #[test]
    fn a_call_and_what_it_gave_are_one_step() {
        insta::assert_snapshot!("steps", shown(Style::Plain));
    }

    #[test]
    fn only_a_terminal_gets_colours_and_they_change_no_word() {
        let coloured = shown(Style::Coloured);
        assert!(coloured.contains("\u{1b}[1mBash\u{1b}[0m"), "{coloured}");
        let mut bare = coloured;
        for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m"] {
            bare = bare.replace(code, "");
        }
        assert_eq!(bare, shown(Style::Plain));
    }

    #[test]
    fn what_is_left_open_is_bounded() {
        let mut steps = Steps::default();
        for call in 0..2 * OPEN {
            let id = call.to_string();
            steps.take(&items(vec![uses(&id, "x")], 1));
            assert!(steps.open.len() <= OPEN);
        }
    }
}
