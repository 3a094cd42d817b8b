//! Not at once, but later.

use clap::Args;
use jiff::{SpanRelativeTo, Timestamp, Unit};

/// When somebody is woken.
#[derive(Debug, Default, Args)]
pub(crate) struct When {
    /// Wakes nobody before this moment, like 2026-01-31T12:00:00Z; at most 30 days ahead.
    #[arg(long, value_name = "TIME", conflicts_with = "after")]
    pub(super) at: Option<Timestamp>,
    /// Wakes nobody before so much time has passed, like 90m, 2h or 3d.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(super) after: Option<u32>,
}

/// Seconds of a length of time.
fn seconds(text: &str) -> Result<u32, String> {
    let wrong = || "give a length of time like 90m, 2h or 3d, at most 30d".to_owned();
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    // The clock counts, not the calendar: a day is 24 hours.
    let total = span
        .total((Unit::Second, SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| wrong())?;
    if !(1.0..=f64::from(protocol::limits::DEFER_DAYS) * 86_400.0).contains(&total) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was looked at above"
    )]
    Ok(total as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_in_words_that_people_use() {
        for (text, wanted) in [
            ("90m", Some(5_400)),
            ("2h", Some(7_200)),
            ("1h 30m", Some(5_400)),
            ("3d", Some(259_200)),
            ("30d", Some(2_592_000)),
            ("31d", None),
            ("1mo", None),
            ("0s", None),
            ("-2h", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(seconds(text).ok(), wanted, "{text}");
        }
    }
}
