//! `moor schedule`.

use clap::Subcommand;
use protocol::board::{Makes, ScheduleCard, ScheduleTime, ScheduleView, Standing};

use super::{Part, resource_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the schedules: work that begins by the clock. `kubectl get agentschedules` has all of them.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows what a schedule makes, when, and what of it goes on.
    Get {
        /// Its name.
        #[arg(value_parser = |given: &str| resource_name("schedule", given))]
        name: String,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.schedules(&part.query()).await?;
                out.page(&page, |schedule| schedule.name.clone(), table)
            }
            Self::Get { name } => {
                let schedule = board.schedule(name).await?;
                out.show(&schedule, |schedule| schedule.card.name.clone(), shown)
            }
        }
    }
}

fn table(schedules: &[ScheduleCard]) -> Table<6> {
    let rows = schedules.iter().map(|schedule| {
        [
            schedule.name.clone(),
            format!("{} {}", schedule.schedule, schedule.time_zone),
            short(&schedule.standing),
            schedule.last.map(text::time).unwrap_or_default(),
            schedule.next.map(text::time).unwrap_or_default(),
            made(&schedule.makes),
        ]
    });
    Table::new(["NAME", "WHEN", "READY", "LAST", "NEXT", "MAKES"], rows)
}

fn shown(schedule: &ScheduleView) -> String {
    let card = &schedule.card;
    let late = schedule.starting_deadline_seconds;
    let mut shown = fields(&[
        ("name", card.name.clone()),
        ("when", format!("{} {}", card.schedule, card.time_zone)),
        ("suspended", yes(card.suspended)),
        ("makes", made(&card.makes)),
        ("concurrency", schedule.concurrency_policy.clone()),
        (
            "at most late",
            late.map(|seconds| format!("{seconds} s"))
                .unwrap_or_default(),
        ),
        ("ready", long(&card.standing)),
        ("last", card.last.map(text::time).unwrap_or_default()),
        ("next", card.next.map(text::time).unwrap_or_default()),
        (
            "last missed",
            schedule.last_missed.map(text::time).unwrap_or_default(),
        ),
        (
            "goes on",
            schedule
                .going_on
                .iter()
                .map(going)
                .collect::<Vec<_>>()
                .join("; "),
        ),
    ]);
    if !schedule.text.is_empty() {
        shown.push('\n');
        shown.push_str(text::block(&schedule.text).trim_end());
        shown.push('\n');
    }
    shown
}

fn going(time: &ScheduleTime) -> String {
    let what = match (&time.issue, &time.task) {
        (Some(issue), _) => format!(": {issue}"),
        (None, Some(task)) => format!(": task {task}"),
        (None, None) => String::new(),
    };
    format!("{}{what}", text::time(time.at))
}

/// What is made, and for whom.
pub(super) fn made(makes: &Makes) -> String {
    let with = |assignee: &Option<String>| {
        let named = assignee.as_ref();
        named
            .map(|named| format!(" for {named}"))
            .unwrap_or_default()
    };
    match makes {
        Makes::Issue { title, assignee } => format!("issue \"{title}\"{}", with(assignee)),
        Makes::Task { agent, subject } => format!("task of {agent} on {subject}"),
        Makes::Comment {} => "comment".to_owned(),
        Makes::GitHub { label, assignee } => {
            format!("issues labelled \"{label}\" on GitHub{}", with(assignee))
        }
    }
}

/// Yes, or in a word why not.
pub(super) fn short(standing: &Standing) -> String {
    match (&standing.reason, standing.ready) {
        (_, true) => "yes".to_owned(),
        (Some(reason), false) => reason.clone(),
        (None, false) => "not known yet".to_owned(),
    }
}

/// The same with all that is known.
pub(super) fn long(standing: &Standing) -> String {
    let message = standing.message.as_ref();
    let message = message.map(|message| format!(": {message}"));
    format!("{}{}", short(standing), message.unwrap_or_default())
}

pub(super) fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_shown() {
        let at = |text: &str| text.parse().unwrap();
        let card = ScheduleCard {
            name: "nightly".to_owned(),
            schedule: "0 3 * * *".to_owned(),
            time_zone: "Europe/Berlin".to_owned(),
            suspended: false,
            makes: Makes::Issue {
                title: "Tests of {date}\u{1b}[2J".to_owned(),
                assignee: Some("team:core".to_owned()),
            },
            standing: Standing {
                ready: true,
                reason: Some("EarlierGoesOn".to_owned()),
                message: Some("One waits.".to_owned()),
            },
            last: Some(at("2026-01-02T02:00:00Z")),
            next: Some(at("2026-01-03T02:00:00Z")),
        };
        let other = ScheduleCard {
            name: "weekly".to_owned(),
            makes: Makes::Task {
                agent: "gardener".to_owned(),
                subject: "weekly".to_owned(),
            },
            standing: Standing::default(),
            last: None,
            next: None,
            ..card.clone()
        };
        insta::assert_snapshot!("schedules", table(&[card.clone(), other]).render(140));
        let view = ScheduleView {
            card,
            concurrency_policy: "Forbid".to_owned(),
            starting_deadline_seconds: Some(600),
            last_missed: None,
            going_on: vec![ScheduleTime {
                at: at("2026-01-02T02:00:00Z"),
                issue: Some("TEAM-7".to_owned()),
                task: None,
            }],
            text: "Run all tests.\nSay what fails.".to_owned(),
        };
        insta::assert_snapshot!("schedule", shown(&view));
    }
}
