//! What happened on an issue, as people read it.

use protocol::board::{History, HistoryEntry};

use crate::noun::comment::show as comment;
use crate::noun::run;
use crate::text;

/// What names an entry.
pub(super) fn id(entry: &HistoryEntry) -> String {
    match &entry.what {
        History::Comment { comment } => comment.id.to_string(),
        History::Run { run } => run.id.to_string(),
    }
}

/// Entries as they came.
pub(super) fn show(entries: &[HistoryEntry]) -> String {
    entries.iter().map(entry).collect()
}

fn entry(entry: &HistoryEntry) -> String {
    let run = match &entry.what {
        History::Comment { comment } => return comment::describe(comment),
        History::Run { run } => run,
    };
    let cause = run.cause.map_or(String::new(), |cause| {
        format!(", woken by {}", cause.as_str())
    });
    let stands = match run.succeeded {
        Some(_) => run::result(run),
        None => run::state(run),
    };
    let line = format!(
        "{} {} agent {}{cause}: {stands}",
        run.id,
        text::time(entry.at),
        run.agent
    );
    format!("{}\n\n", text::line(&line))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_said_and_who_was_woken() {
        let at = "2026-01-02T03:04:05Z";
        let run = |id, more| {
            let mut run = json!({
                "type": "run", "at": at, "run": {
                    "id": Uuid::from_u128(id), "name": "coder-7", "agent": "coder\u{1b}[2J",
                    "subject": {"kind": "Issue", "name": "TEAM-1"}, "attempt": 1, "created": at,
                    "cause": "comment", "state": "queued", "waitsFor": "session",
                },
            });
            if more {
                run["run"]["state"] = json!("finished");
                run["run"]["succeeded"] = json!(false);
                run["run"]["failure"] = json!("CliCrashed");
            }
            run
        };
        let comment = json!({
            "type": "comment", "at": at, "comment": {
                "id": Uuid::from_u128(8), "thread": Uuid::from_u128(8),
                "author": {"kind": "member", "id": "x", "name": "ada"}, "body": "Please look.",
                "resolved": false, "replies": 0, "lastActivity": at, "revision": 1, "created": at,
            },
        });
        let entries = json!([run(9, false), comment, run(7, true)]);
        let entries: Vec<HistoryEntry> = serde_json::from_value(entries).unwrap();
        insta::assert_snapshot!("history", show(&entries));
        assert_eq!(id(&entries[1]), Uuid::from_u128(8).to_string());
    }
}
