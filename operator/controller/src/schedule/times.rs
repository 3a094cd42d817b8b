//! When a schedule's times come. Pure: from an expression and a time zone to instants.
//!
//! Where clocks go forward, a time of day that does not exist comes at the moment after the gap; where they go
//! back, one that exists twice comes once, unless the schedule names every hour: then each hour has its own.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Why there are no times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The expression is none; what is wrong with it.
    Schedule(String),
    /// Nobody knows the time zone.
    Zone,
}

/// The times of a schedule.
#[derive(Clone, Debug)]
pub struct Times {
    cron: Cron,
    zone: TimeZone,
}

impl Times {
    /// Reads an expression of five fields, or a name such as `@daily`, in the time zone of this name.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn parse(schedule: &str, zone: &str) -> Result<Self, Fault> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser
            .parse(schedule)
            .map_err(|error| Fault::Schedule(error.to_string()))?;
        let zone = TimeZone::get(zone).map_err(|_| Fault::Zone)?;
        Ok(Self { cron, zone })
    }

    /// The first time after this one; none where no time ever comes.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let found = self
            .cron
            .find_next_occurrence(&self.zoned(after), false)
            .ok()?;
        Some(found.timestamp()).filter(|found| *found > after)
    }

    /// The last time up to `now`, unless it lies before or at `since`.
    #[must_use]
    pub fn last(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        // Whether there is any is found out first: a search back goes on for years where there is none.
        if self.next(since)? > now {
            return None;
        }
        let found = self
            .cron
            .find_previous_occurrence(&self.zoned(now), true)
            .ok()?;
        Some(found.timestamp()).filter(|found| *found > since && *found <= now)
    }

    /// A text with the date and the time of day of an instant in the places of `{date}` and `{time}`.
    #[must_use]
    pub fn spell(&self, text: &str, at: Timestamp) -> String {
        let at = self.zoned(at);
        text.replace("{date}", &at.strftime("%Y-%m-%d").to_string())
            .replace("{time}", &at.strftime("%H:%M").to_string())
    }

    fn zoned(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// The next times after an instant, in UTC.
    fn next(schedule: &str, zone: &str, after: &str, most: usize) -> Vec<String> {
        let times = Times::parse(schedule, zone).unwrap();
        let mut seen = Vec::new();
        let mut last = at(after);
        while seen.len() < most {
            let Some(next) = times.next(last) else { break };
            seen.push(next.to_string());
            last = next;
        }
        seen
    }

    #[test]
    fn times_of_a_zone_are_instants() {
        for (schedule, zone, after, wanted) in [
            (
                "0 2 * * *",
                "Etc/UTC",
                "2026-11-30T02:00:00Z",
                "2026-12-01T02:00:00Z",
            ),
            (
                "0 2 * * *",
                "Asia/Tokyo",
                "2026-11-30T02:00:00Z",
                "2026-11-30T17:00:00Z",
            ),
            (
                "@monthly",
                "Europe/Berlin",
                "2026-11-30T02:00:00Z",
                "2026-11-30T23:00:00Z",
            ),
            (
                "*/5 8-17 * * MON-FRI",
                "Etc/UTC",
                "2026-11-28T12:00:00Z",
                "2026-11-30T08:00:00Z",
            ),
            (
                "0 0 29 2 *",
                "Etc/UTC",
                "2026-11-30T02:00:00Z",
                "2028-02-29T00:00:00Z",
            ),
            // Day of the month or day of the week, as cron has it.
            (
                "0 0 13 * FRI",
                "Etc/UTC",
                "2026-11-28T00:00:00Z",
                "2026-12-04T00:00:00Z",
            ),
        ] {
            assert_eq!(
                next(schedule, zone, after, 1),
                [wanted],
                "{schedule} {zone}"
            );
        }
    }

    #[test]
    fn a_time_that_does_not_exist_comes_after_the_gap() {
        // Berlin goes from 02:00 to 03:00 on 2027-03-28, at 01:00 UTC.
        let wanted = [
            "2027-03-27T01:30:00Z",
            "2027-03-28T01:00:00Z",
            "2027-03-29T00:30:00Z",
        ];
        assert_eq!(
            next("30 2 * * *", "Europe/Berlin", "2027-03-27T00:00:00Z", 3),
            wanted
        );
        let wanted = [
            "2027-03-28T00:30:00Z",
            "2027-03-28T01:00:00Z",
            "2027-03-28T01:30:00Z",
        ];
        assert_eq!(
            next("*/30 * * * *", "Europe/Berlin", "2027-03-28T00:00:00Z", 3),
            wanted
        );
    }

    #[test]
    fn a_time_that_exists_twice_comes_once_unless_every_hour_is_named() {
        // Berlin goes from 03:00 back to 02:00 on 2027-10-31, at 01:00 UTC.
        let wanted = [
            "2027-10-30T00:30:00Z",
            "2027-10-31T00:30:00Z",
            "2027-11-01T01:30:00Z",
        ];
        assert_eq!(
            next("30 2 * * *", "Europe/Berlin", "2027-10-29T12:00:00Z", 3),
            wanted
        );
        let wanted = [
            "2027-10-31T00:00:00Z",
            "2027-10-31T00:30:00Z",
            "2027-10-31T01:00:00Z",
            "2027-10-31T01:30:00Z",
            "2027-10-31T02:00:00Z",
        ];
        assert_eq!(
            next("*/30 * * * *", "Europe/Berlin", "2027-10-30T23:59:00Z", 5),
            wanted
        );
    }

    #[test]
    fn of_times_that_were_missed_the_last_is_found() {
        let minutes = Times::parse("* * * * *", "Etc/UTC").unwrap();
        let nights = Times::parse("0 2 * * *", "Europe/Berlin").unwrap();
        let never = Times::parse("0 0 30 2 *", "Etc/UTC").unwrap();
        for (times, since, now, wanted) in [
            (
                &minutes,
                "2020-01-01T00:00:00Z",
                "2026-11-30T02:00:30Z",
                Some("2026-11-30T02:00:00Z"),
            ),
            (
                &minutes,
                "2026-11-30T02:00:00Z",
                "2026-11-30T02:00:59Z",
                None,
            ),
            (
                &minutes,
                "2026-11-30T01:59:00Z",
                "2026-11-30T02:00:00Z",
                Some("2026-11-30T02:00:00Z"),
            ),
            (
                &nights,
                "2027-10-30T12:00:00Z",
                "2027-10-31T09:00:00Z",
                Some("2027-10-31T00:00:00Z"),
            ),
            // The hour that comes again is not another time.
            (
                &nights,
                "2027-10-31T00:00:00Z",
                "2027-10-31T09:00:00Z",
                None,
            ),
            (&never, "2020-01-01T00:00:00Z", "2026-11-30T02:00:00Z", None),
        ] {
            let found = times
                .last(at(since), at(now))
                .map(|found| found.to_string());
            assert_eq!(found.as_deref(), wanted, "{since} {now}");
        }
        assert_eq!(never.next(at("2026-11-30T02:00:00Z")), None);
    }

    #[test]
    fn what_is_no_schedule_is_said() {
        assert_eq!(
            Times::parse("0 2 * * *", "Mars/Olympus").unwrap_err(),
            Fault::Zone
        );
        for wrong in [
            "61 * * * *",
            "* * * *",
            "0 0 0 2 * *",
            "a b c d e",
            "",
            "@reboot",
        ] {
            let fault = Times::parse(wrong, "Etc/UTC").unwrap_err();
            assert!(matches!(fault, Fault::Schedule(_)), "{wrong}: {fault:?}");
        }
    }

    #[test]
    fn a_text_names_the_time_it_is_for() {
        let times = Times::parse("@daily", "Europe/Berlin").unwrap();
        let spelt = times.spell(
            "Report of {date}, {time} {other}",
            at("2026-11-30T23:00:00Z"),
        );
        assert_eq!(spelt, "Report of 2026-12-01, 00:00 {other}");
    }
}
