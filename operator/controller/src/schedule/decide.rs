//! What is to be done about a schedule now. Pure.

use std::time::Duration;

use crds::{ConcurrencyPolicy, MAX_ACTIVE};
use jiff::Timestamp;
use store::ScheduleRow;

use super::times::Times;

/// A schedule is looked at again after this long at the latest: the clock of the machine may be put right.
const SLOW_LOOK: Duration = Duration::from_secs(600);
/// And not before this.
const QUICK_LOOK: Duration = Duration::from_millis(20);

/// What was seen of a schedule.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What its times follow from.
    pub rule: String,
    /// Its times; none while it is suspended, or where it says none.
    pub times: Option<Times>,
    /// What the store knows of it.
    pub row: Option<ScheduleRow>,
    /// When its object was made.
    pub created: Timestamp,
    /// What happens when an earlier time goes on.
    pub policy: ConcurrencyPolicy,
    /// How late a time may begin.
    pub deadline: Option<Duration>,
    /// True when somebody is there who can do it.
    pub can_begin: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Count by its rule, from this moment on.
    Heed(Timestamp),
    /// This time would begin too late: pass it over.
    Miss(Timestamp),
    /// End what goes on, since the next one takes its place.
    Replace,
    /// Begin this time.
    Begin(Timestamp),
}

/// The next step; none when there is nothing to do now. What is over was taken out of the row before.
#[must_use]
pub fn step(seen: &Seen, now: Timestamp) -> Option<Step> {
    let Some(row) = &seen.row else {
        return Some(Step::Heed(seen.created.min(now)));
    };
    if row.rule != seen.rule {
        // Times of a rule that was not in force yet, or was suspended, are not made up for.
        return Some(Step::Heed(now.max(row.since)));
    }
    let due = due(seen, now)?;
    if seen
        .deadline
        .is_some_and(|deadline| now.duration_since(due).unsigned_abs() > deadline)
    {
        return Some(Step::Miss(due));
    }
    if !seen.can_begin {
        return None;
    }
    match seen.policy {
        _ if row.going.is_empty() => Some(Step::Begin(due)),
        ConcurrencyPolicy::Allow if row.going.len() < MAX_ACTIVE => Some(Step::Begin(due)),
        ConcurrencyPolicy::Allow | ConcurrencyPolicy::Forbid => None,
        ConcurrencyPolicy::Replace => Some(Step::Replace),
    }
}

/// The time that is due: of several the last.
#[must_use]
pub fn due(seen: &Seen, now: Timestamp) -> Option<Timestamp> {
    let row = seen.row.as_ref().filter(|row| row.rule == seen.rule)?;
    seen.times.as_ref()?.last(row.since, now)
}

/// The next time that will come.
#[must_use]
pub fn upcoming(seen: &Seen, now: Timestamp) -> Option<Timestamp> {
    let since = seen.row.as_ref().map_or(now, |row| row.since);
    seen.times.as_ref()?.next(now.max(since))
}

/// When to look again: when the next time comes, or the one that is due becomes too late.
#[must_use]
pub fn look_again(seen: &Seen, now: Timestamp) -> Duration {
    let too_late = due(seen, now).zip(seen.deadline);
    let too_late = too_late.map(|(due, deadline)| {
        let late = now.duration_since(due).unsigned_abs();
        (deadline + QUICK_LOOK).saturating_sub(late)
    });
    let next = upcoming(seen, now).map(|next| next.duration_since(now).unsigned_abs());
    let first = too_late.into_iter().chain(next).min();
    first.unwrap_or(SLOW_LOOK).clamp(QUICK_LOOK, SLOW_LOOK)
}

#[cfg(test)]
mod tests {
    use store::{Fired, Firing};

    use super::*;

    const CREATED: &str = "2026-11-30T00:30:00Z";

    fn at(text: &str) -> Timestamp {
        format!("2026-11-30T{text}Z").parse().unwrap()
    }

    /// An hourly schedule that was made at half past midnight and has begun the times of `going`.
    fn seen(since: &str, going: &[&str]) -> Seen {
        let going: Vec<_> = going
            .iter()
            .map(|time| Firing {
                at: at(time),
                what: Fired::Task {
                    name: "nightly-x".to_owned(),
                    made: true,
                },
            })
            .collect();
        Seen {
            rule: "hourly".to_owned(),
            times: Times::parse("@hourly", "Etc/UTC").ok(),
            row: Some(ScheduleRow {
                rule: "hourly".to_owned(),
                since: at(since),
                last_fired: None,
                going,
            }),
            created: CREATED.parse().unwrap(),
            policy: ConcurrencyPolicy::Forbid,
            deadline: None,
            can_begin: true,
        }
    }

    #[test]
    fn it_counts_from_when_it_was_made_and_from_when_its_rule_changed() {
        let mut new = seen("00:30:00", &[]);
        new.row = None;
        assert_eq!(step(&new, at("02:10:00")), Some(Step::Heed(at("00:30:00"))));
        let mut changed = seen("00:30:00", &[]);
        changed.rule = "daily".to_owned();
        assert_eq!(
            step(&changed, at("02:10:00")),
            Some(Step::Heed(at("02:10:00")))
        );
        let mut suspended = seen("00:30:00", &[]);
        suspended.times = None;
        assert_eq!(step(&suspended, at("02:10:00")), None);
        assert_eq!(look_again(&suspended, at("02:10:00")), SLOW_LOOK);
    }

    #[test]
    fn of_what_was_missed_the_last_begins_unless_it_is_too_late() {
        let mut one = seen("00:30:00", &[]);
        assert_eq!(step(&one, at("00:59:59")), None);
        assert_eq!(
            step(&one, at("01:00:00")),
            Some(Step::Begin(at("01:00:00")))
        );
        assert_eq!(
            step(&one, at("05:10:00")),
            Some(Step::Begin(at("05:00:00")))
        );
        one.deadline = Some(Duration::from_secs(600));
        assert_eq!(
            step(&one, at("05:10:00")),
            Some(Step::Begin(at("05:00:00")))
        );
        assert_eq!(step(&one, at("05:10:01")), Some(Step::Miss(at("05:00:00"))));
    }

    #[test]
    fn what_goes_on_is_waited_for_joined_or_replaced() {
        let now = at("02:00:00");
        let mut one = seen("01:00:00", &["01:00:00"]);
        for (policy, wanted) in [
            (ConcurrencyPolicy::Forbid, None),
            (ConcurrencyPolicy::Allow, Some(Step::Begin(now))),
            (ConcurrencyPolicy::Replace, Some(Step::Replace)),
        ] {
            one.policy = policy;
            assert_eq!(step(&one, now), wanted, "{policy:?}");
        }
        let mut many = seen("01:00:00", &["01:00:00"; MAX_ACTIVE]);
        many.policy = ConcurrencyPolicy::Allow;
        assert_eq!(step(&many, now), None);
    }

    #[test]
    fn nobody_to_do_it_is_waited_for_until_it_is_too_late() {
        let mut one = seen("01:00:00", &[]);
        one.can_begin = false;
        one.deadline = Some(Duration::from_secs(600));
        assert_eq!(step(&one, at("02:05:00")), None);
        assert_eq!(
            look_again(&one, at("02:05:00")),
            Duration::from_secs(300) + QUICK_LOOK
        );
        assert_eq!(step(&one, at("02:10:01")), Some(Step::Miss(at("02:00:00"))));
    }

    #[test]
    fn it_is_looked_at_again_when_the_next_time_comes() {
        let one = seen("01:00:00", &[]);
        assert_eq!(look_again(&one, at("01:59:30")), Duration::from_secs(30));
        assert_eq!(look_again(&one, at("01:10:00")), SLOW_LOOK);
        assert_eq!(upcoming(&one, at("01:10:00")), Some(at("02:00:00")));
    }
}
