//! Tasks and what happens in them, as people read it.

use protocol::board::{Cause, TimelineItem};
use protocol::runner::TaskView;
use protocol::{EventBody, LogLevel, ToolStatus};

use crate::noun::comment::show as comment;
use crate::noun::wakes;
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
    let mut rows = vec![
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
    rows.extend(task.cause.iter().flat_map(cause));
    let mut shown = fields(&rows);
    let comments = task.cause.iter().flat_map(|cause| {
        let earlier = cause.coalesced.iter();
        earlier.chain(&cause.comment)
    });
    for asked in comments {
        shown.push('\n');
        shown.push_str(&comment::describe(asked));
    }
    if !task.prompt.is_empty() {
        shown.push('\n');
        shown.push_str(text::block(&task.prompt).trim_end());
        shown.push('\n');
    }
    shown
}

fn cause(cause: &Cause) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        (
            "Issue",
            format!(
                "{}, {}: {}",
                cause.issue,
                cause.status.as_str(),
                cause.title
            ),
        ),
        (
            "Woken by",
            format!(
                "{} of {}",
                cause.kind.as_str(),
                wakes::author(&cause.author)
            ),
        ),
    ];
    if let Some(originator) = &cause.originator {
        rows.push(("On behalf of", originator.clone()));
    }
    if let Some(parent) = cause.reply_to {
        rows.push(("Answer under", parent.to_string()));
    }
    rows
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
        let cause = json!({
            "kind": "comment", "issue": "TEAM-12", "title": "Log in\u{1b}[2J", "status": "todo",
            "author": {"kind": "member", "id": "x", "name": "ada"}, "originator": "ada",
            "comment": {
                "id": Uuid::from_u128(8), "thread": Uuid::from_u128(8),
                "author": {"kind": "member", "id": "x", "name": "ada"}, "body": "Please look.\u{1b}[2J",
                "resolved": false, "replies": 0, "lastActivity": Timestamp::UNIX_EPOCH, "revision": 1,
                "created": Timestamp::UNIX_EPOCH,
            },
            "cut": false, "replyTo": Uuid::from_u128(8), "newComments": 1, "unchanged": false,
        });
        let woken = TaskView {
            prompt: String::new(),
            cause: serde_json::from_value(cause).unwrap(),
            ..task
        };
        insta::assert_snapshot!("task_woken", describe(&woken));
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
                    full_bytes: None,
                })
            })
            .collect();
        insta::assert_snapshot!("events", shown);
    }
}
