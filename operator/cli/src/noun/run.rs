//! Runs of agents, as people see them.

use protocol::board::RunView;

use super::usage;
use crate::table::{Table, fields};
use crate::text;

/// Runs, a line each.
pub(super) fn table(runs: &[RunView]) -> Table<7> {
    let head = [
        "ID", "AGENT", "SUBJECT", "STATE", "RESULT", "CAUSE", "CREATED",
    ];
    let rows = runs.iter().map(|run| {
        [
            run.id.to_string(),
            run.agent.clone(),
            run.subject.name.clone(),
            state(run),
            result(run),
            run.cause.map_or("", |cause| cause.as_str()).to_owned(),
            text::time(run.created),
        ]
    });
    Table::new(head, rows)
}

/// One run.
pub(super) fn describe(run: &RunView) -> String {
    let mut rows = vec![
        ("Task", run.id.to_string()),
        ("Name", run.name.clone()),
        ("Agent", run.agent.clone()),
        (
            "Subject",
            format!("{} {}", run.subject.kind, run.subject.name),
        ),
        (
            "State",
            format!("{}, attempt {}", run.state.as_str(), run.attempt),
        ),
    ];
    if let Some(limit) = &run.waits_for {
        rows.push(("Waits for", limit.clone()));
    }
    if run.succeeded.is_some() {
        rows.push(("Result", result(run)));
    }
    if let Some(cause) = run.cause {
        rows.push(("Cause", cause.as_str().to_owned()));
    }
    if let Some(message) = &run.message {
        rows.push(("Message", message.clone()));
    }
    if run.tokens > 0 {
        rows.push(("Tokens", usage::line(run)));
    }
    rows.push(("Created", text::time(run.created)));
    if let Some(finished) = run.finished {
        rows.push(("Finished", text::time(finished)));
    }
    fields(&rows)
}

/// Where it stands, and which limit holds it.
pub(super) fn state(run: &RunView) -> String {
    let state = run.state.as_str();
    match &run.waits_for {
        Some(limit) => format!("{state}, waits for {limit}"),
        None => state.to_owned(),
    }
}

/// How it ended, in a word or two.
pub(super) fn result(run: &RunView) -> String {
    match (run.succeeded, run.failure) {
        (Some(true), _) => "succeeded".to_owned(),
        (Some(false), Some(class)) => format!("failed: {class}"),
        (Some(false), None) => "failed".to_owned(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use protocol::board::CauseKind;
    use protocol::{FailureClass, Subject, TaskId, TaskState};
    use uuid::Uuid;

    use super::*;

    fn run() -> RunView {
        RunView {
            id: TaskId(Uuid::from_u128(1)),
            name: "reviewer-000000000001".into(),
            agent: "reviewer".into(),
            subject: Subject {
                kind: "Issue".into(),
                name: "TEAM-12".into(),
            },
            state: TaskState::Queued,
            attempt: 0,
            waits_for: Some("session".into()),
            deferred_until: None,
            succeeded: None,
            failure: None,
            message: None,
            cause: Some(CauseKind::Comment),
            tokens: 0,
            usage: BTreeMap::new(),
            created: Timestamp::UNIX_EPOCH,
            finished: None,
        }
    }

    #[test]
    fn runs_are_shown() {
        let failed = RunView {
            state: TaskState::Finished,
            attempt: 2,
            waits_for: None,
            succeeded: Some(false),
            failure: Some(FailureClass::CliCrashed),
            finished: Some(Timestamp::UNIX_EPOCH),
            ..run()
        };
        let shown = format!("{}\n{}", describe(&run()), describe(&failed));
        insta::assert_snapshot!("run", shown);
        insta::assert_snapshot!("runs", table(&[run(), failed]).render(140));
    }
}
