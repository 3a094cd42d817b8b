//! The texts in what a run says, for whoever takes something out of all of them.

use serde_json::Value;

use crate::{EventBody, Outcome, TaskResult};

/// Hands over every string and every name of a JSON value.
pub fn of_value(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| of_value(item, change)),
        Value::Object(fields) => {
            let changed = std::mem::take(fields)
                .into_iter()
                .map(|(mut name, mut field)| {
                    change(&mut name);
                    of_value(&mut field, change);
                    (name, field)
                });
            *fields = changed.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Hands over every text of an event.
pub fn of_event(body: &mut EventBody, change: &impl Fn(&mut String)) {
    match body {
        EventBody::Text { content }
        | EventBody::Thinking { content }
        | EventBody::Error { content }
        | EventBody::Log { content, .. } => change(content),
        EventBody::ToolUse {
            tool,
            call_id,
            input,
        } => {
            change(tool);
            change(call_id);
            of_value(input, change);
        }
        EventBody::ToolResult {
            call_id,
            tool,
            output,
            status: _,
        } => {
            change(call_id);
            tool.iter_mut().for_each(change);
            change(output);
        }
        EventBody::Status { status, session_id } => {
            change(status);
            session_id.iter_mut().for_each(change);
        }
    }
}

/// Hands over every text of a result but those that name conversations: a changed id is none, and what is done
/// about that is the caller's business.
pub fn of_result(result: &mut TaskResult, change: &impl Fn(&mut String)) {
    change(&mut result.output);
    if let Outcome::Failed { message, .. } = &mut result.outcome {
        change(message);
    }
    result.resumed.sentences().into_iter().for_each(change);
    let usage = std::mem::take(&mut result.usage);
    let changed = usage.into_iter().map(|(mut model, usage)| {
        change(&mut model);
        (model, usage)
    });
    result.usage = changed.collect();
}
