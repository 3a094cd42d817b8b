//! Why a task is where it is, as people read it.

use protocol::board::{AttemptView, Explanation};

use crate::noun::run;
use crate::table::fields;
use crate::text;

/// Columns by which the evidence is indented below its head.
const INDENT: usize = 2;

/// The sentence, the task, and the evidence.
pub(super) fn describe(explained: &Explanation) -> String {
    let mut shown = text::block(&explained.summary).trim_end().to_owned();
    shown += "\n\n";
    shown += &run::describe(&explained.run);
    let mut more = Vec::new();
    if let Some(task) = explained.again_of {
        more.push(("Again", format!("what task {task} did")));
    }
    if let Some(waiting) = &explained.waiting {
        let since = text::time(waiting.since);
        more.push(("Waiting", format!("{}, since {since}", waiting.message)));
    }
    shown += &fields(&more);
    if !explained.attempts.is_empty() {
        shown += "\nAttempts\n";
        for attempt in &explained.attempts {
            shown += &text::indented(&words(attempt), INDENT);
        }
    }
    if !explained.conditions.is_empty() {
        shown += "\nConditions\n";
        for each in &explained.conditions {
            let head = format!(
                "{} {} {}, since {}",
                each.kind,
                each.status,
                each.reason,
                text::time(each.since)
            );
            let line = match each.message.is_empty() {
                true => text::line(&head),
                false => text::line(&format!("{head}: {}", each.message)),
            };
            shown += &text::indented(&line, INDENT);
        }
    }
    shown
}

fn words(attempt: &AttemptView) -> String {
    let mut words = format!("{} on {}", attempt.number, attempt.runtime);
    if let Some(node) = &attempt.node {
        words += &format!(", node {node}");
    }
    let steps = [
        ("claimed", Some(attempt.claimed)),
        ("opened", attempt.opened),
        ("agent started", attempt.started),
        ("last heard", attempt.heard),
        ("ended", attempt.ended),
    ];
    for (step, at) in steps {
        if let Some(at) = at {
            words += &format!("; {step} {}", text::time(at));
        }
    }
    if let Some(reason) = &attempt.reason {
        words += &format!(" ({reason})");
    }
    text::line(&words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_task_is_explained() {
        let at = "2027-01-15T08:00:00Z";
        let explained = json!({
            "run": {
                "id": Uuid::from_u128(1), "name": "reviewer-1", "agent": "reviewer",
                "subject": {"kind": "Issue", "name": "TEAM-1"}, "state": "queued", "attempt": 1,
                "waitsFor": "agent", "created": at,
            },
            "summary": "It waits for the agent: 6 of 6\u{1b}[2J",
            "againOf": Uuid::from_u128(2),
            "waiting": {"limit": "agent", "message": "6 of 6", "since": at},
            "conditions": [
                {"kind": "Accepted", "status": "True", "reason": "Accepted", "since": at},
                {"kind": "PodReady", "status": "False", "reason": "VolumeNotReady", "message": "no\ndisk", "since": at},
            ],
            "attempts": [{
                "number": 1, "runtime": "claude", "node": "n1", "claimed": at, "opened": at, "ended": at, "reason": "suspended",
            }],
        });
        let explained: Explanation = serde_json::from_value(explained).unwrap();
        insta::assert_snapshot!("explained", describe(&explained));
    }
}
