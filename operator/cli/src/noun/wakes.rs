//! Who is woken by a write, in words.

use protocol::board::{Author, AuthorKind, BlockedReason, WakeOutcome, WakeVerdict};

use crate::text;
use crate::who::Names;

/// A line for each recipient.
pub(super) fn lines(wakes: &[WakeOutcome], names: &Names) -> String {
    if wakes.is_empty() {
        return "Wakes nobody.\n".to_owned();
    }
    let lines = wakes.iter().map(|wake| {
        let mut who = names.call(&wake.recipient);
        if let Some(leader) = &wake.executes {
            who = format!("{who}, by its leader {leader}");
        }
        format!(
            "{}\n",
            text::line(&format!("Wakes {who}: {}", words(&wake.verdict)))
        )
    });
    lines.collect()
}

fn words(verdict: &WakeVerdict) -> String {
    match verdict {
        WakeVerdict::Queued { task: Some(task) } => format!("queued as task {task}"),
        WakeVerdict::Queued { task: None } => "a task would be queued".to_owned(),
        WakeVerdict::Deferred { task, until } => match task {
            Some(task) => format!("deferred until {until:.0}, as task {task}"),
            None => format!("a task would be deferred until {until:.0}"),
        },
        WakeVerdict::Coalesced { task } => {
            format!("taken in by task {task}, which has not begun yet")
        }
        WakeVerdict::Steered {
            task,
            follow_up: Some(next),
        } => format!(
            "offered to task {task}, which works; if that does not take it in, task {next} does it after"
        ),
        WakeVerdict::Steered {
            task,
            follow_up: None,
        } => format!("would be offered to task {task}, which works"),
        WakeVerdict::Blocked { reason } => format!("no, {}", why(*reason)),
    }
}

fn why(reason: BlockedReason) -> &'static str {
    match reason {
        BlockedReason::NotAvailable => "there is no such recipient, or not for you",
        BlockedReason::Suppressed => "it was left out",
        BlockedReason::SelfTrigger => "it would wake itself",
        BlockedReason::DepthLimit => {
            "agents have woken each other as deep as they may; a person's comment goes on"
        }
        BlockedReason::RateLimit => {
            "agents have caused as many runs here within an hour as they may; a person's comment goes on"
        }
        BlockedReason::RoundLimit => {
            "these two have answered each other as often as they may; a person's comment goes on"
        }
        BlockedReason::RootLimit => {
            "agents have caused as many runs as they may after one word of a person; a person's comment goes on"
        }
        BlockedReason::TooManyRecipients => "more are named than one write may wake",
        BlockedReason::NoOriginator => {
            "no person is behind it, and this workspace wakes agents for people only"
        }
        BlockedReason::QueueFull => {
            "as many tasks wait in this workspace as may; say it again when some of them have begun"
        }
    }
}

/// Who wrote something.
pub(super) fn author(author: &Author) -> String {
    match author.kind {
        AuthorKind::Member => author.name.clone(),
        AuthorKind::Agent => format!("{} (agent {})", author.name, author.id),
        AuthorKind::System if author.id.is_empty() => "Mooring".to_owned(),
        AuthorKind::System => author.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::TaskId;
    use protocol::board::{Recipient, RecipientKind};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_recipient_has_a_line() {
        let task = TaskId(Uuid::from_u128(9));
        let verdicts = [
            WakeVerdict::Queued { task: Some(task) },
            WakeVerdict::Queued { task: None },
            WakeVerdict::Coalesced { task },
            WakeVerdict::Deferred {
                task: Some(task),
                until: Timestamp::UNIX_EPOCH,
            },
            WakeVerdict::Deferred {
                task: None,
                until: Timestamp::UNIX_EPOCH,
            },
        ];
        let reasons = [
            BlockedReason::NotAvailable,
            BlockedReason::Suppressed,
            BlockedReason::SelfTrigger,
            BlockedReason::DepthLimit,
            BlockedReason::RateLimit,
            BlockedReason::RoundLimit,
            BlockedReason::RootLimit,
            BlockedReason::TooManyRecipients,
            BlockedReason::NoOriginator,
            BlockedReason::QueueFull,
        ]
        .map(|reason| WakeVerdict::Blocked { reason });
        let wakes: Vec<_> = verdicts
            .into_iter()
            .chain(reasons)
            .map(|verdict| WakeOutcome {
                recipient: Recipient {
                    kind: RecipientKind::Agent,
                    id: "coder".into(),
                },
                executes: None,
                verdict,
            })
            .chain([WakeOutcome {
                recipient: Recipient {
                    kind: RecipientKind::Team,
                    id: "core".into(),
                },
                executes: Some("lead".into()),
                verdict: WakeVerdict::Coalesced { task },
            }])
            .collect();
        insta::assert_snapshot!("wakes", lines(&wakes, &Names::default()));
        assert_eq!(lines(&[], &Names::default()), "Wakes nobody.\n");
    }
}
