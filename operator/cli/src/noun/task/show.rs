//! Tasks and what happens in them, as people read it.

use protocol::board::TimelineItem;
use protocol::runner::TaskView;
use protocol::{EventBody, LogLevel, ToolStatus};

use crate::table::fields;
use crate::text;

/// Columns by which an event's text is indented below its head.
const INDENT: usize = 4;

/// An event of a timeline.
pub(super) fn event(item: &TimelineItem) -> String {
    let (what, words) = match &item.body {
        EventBody::Text { content } => ("says".to_owned(), content.clone()),
        EventBody::Thinking { content } => ("thinks".to_owned(), content.clone()),
        EventBody::ToolUse { tool, input, .. } => (format!("uses {tool}"), input.to_string()),
        EventBody::ToolResult {
            tool,
            output,
            status,
            ..
        } => {
            let tool = tool.as_deref().unwrap_or("the tool");
            let how = match status {
                Some(ToolStatus::Failed) => "failed",
                Some(ToolStatus::Completed) | None => "gives",
            };
            (format!("{tool} {how}"), output.clone())
        }
        EventBody::Status { status, .. } => (format!("is {status}"), String::new()),
        EventBody::Error { content } => ("error".to_owned(), content.clone()),
        EventBody::Log { level, content } => (level_word(*level).to_owned(), content.clone()),
    };
    format!(
        "#{} {} {}\n{}",
        item.position,
        text::time(item.at),
        text::line(&what),
        text::indented(words.trim_end(), INDENT)
    )
}

fn level_word(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warning",
        LogLevel::Error => "error",
    }
}

/// A task as its agent sees it.
pub(super) fn describe(task: &TaskView) -> String {
    let rows = [
        ("Task", task.id.to_string()),
        ("Name", format!("{}/{}", task.namespace, task.name)),
        ("Agent", task.agent.clone()),
        (
            "Subject",
            format!("{} {}", task.subject.kind, task.subject.name),
        ),
        (
            "State",
            format!("{}, attempt {}", task.state.as_str(), task.attempt),
        ),
        ("Session", task.session_policy.as_str().to_owned()),
        ("Created", text::time(task.created)),
    ];
    let mut shown = fields(&rows);
    if !task.prompt.is_empty() {
        shown.push('\n');
        shown.push_str(text::block(&task.prompt).trim_end());
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::{SessionPolicy, Subject, TaskId, TaskState};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_task_is_shown() {
        let task = TaskView {
            id: TaskId(Uuid::from_u128(7)),
            namespace: "team".into(),
            name: "hello-x".into(),
            agent: "reviewer".into(),
            subject: Subject {
                kind: "Key".into(),
                name: "hello".into(),
            },
            prompt: "Say hello.\n\u{1b}[2J".into(),
            cause: None,
            state: TaskState::Running,
            attempt: 2,
            session_policy: SessionPolicy::Resume,
            created: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("task", describe(&task));
    }

    #[test]
    fn every_event_is_shown() {
        let bodies = [
            EventBody::Status {
                status: "running".into(),
                session_id: None,
            },
            EventBody::Thinking {
                content: "Hm.".into(),
            },
            EventBody::Text {
                content: "Hello.\n\nWorld\u{1b}[2J".into(),
            },
            EventBody::ToolUse {
                tool: "Bash".into(),
                call_id: "1".into(),
                input: json!({"command": "ls"}),
            },
            EventBody::ToolResult {
                call_id: "1".into(),
                tool: Some("Bash".into()),
                output: "a\nb\n".into(),
                status: Some(ToolStatus::Completed),
            },
            EventBody::ToolResult {
                call_id: "2".into(),
                tool: None,
                output: String::new(),
                status: Some(ToolStatus::Failed),
            },
            EventBody::Error {
                content: "Oh.".into(),
            },
            EventBody::Log {
                level: LogLevel::Warn,
                content: "Careful.".into(),
            },
        ];
        let shown: String = (1..)
            .zip(bodies)
            .map(|(position, body)| {
                event(&TimelineItem {
                    position,
                    attempt: 1,
                    at: Timestamp::UNIX_EPOCH,
                    body,
                })
            })
            .collect();
        insta::assert_snapshot!("events", shown);
    }
}
