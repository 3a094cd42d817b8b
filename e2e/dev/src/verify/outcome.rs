//! How layers ended, and the table of them.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;

/// How one layer ended. Checks that are not tests count as one.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Outcome {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// What the table says beside the numbers; for skipped layers, why.
    pub(super) note: String,
    /// What each test that failed said, in short: all of it was shown when it failed, far above the table by now.
    pub(super) failures: Vec<String>,
}

/// Lines of what a test that failed said.
const SAID_LINES: usize = 20;

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) outcome: Outcome,
    pub(super) duration: Duration,
}

impl Outcome {
    /// One check that passed.
    pub(super) fn passed() -> Self {
        Self {
            passed: 1,
            ..Self::default()
        }
    }

    /// One check that failed.
    pub(super) fn failed(note: &str) -> Self {
        Self {
            failed: 1,
            note: note.to_owned(),
            ..Self::default()
        }
    }

    /// A layer that could not be run here.
    pub(super) fn skipped(why: &str) -> Self {
        Self {
            skipped: 1,
            note: why.to_owned(),
            ..Self::default()
        }
    }

    /// Whether a check passed.
    pub(super) fn of(passed: bool) -> Self {
        if passed {
            Self::passed()
        } else {
            Self::failed("see above")
        }
    }

    /// In CI nothing may be left out: what was skipped has failed.
    pub(super) fn in_ci(self, ci: bool) -> Self {
        if !ci || self.skipped == 0 {
            return self;
        }
        let note = format!("{} (skipped, which fails in CI)", self.note)
            .trim_start()
            .to_owned();
        Self {
            failed: self.failed + self.skipped,
            skipped: 0,
            note,
            ..self
        }
    }

    /// Adds the tests of one more binary.
    pub(super) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend_from_slice(&other.failures);
        if !other.note.is_empty() {
            self.note = [self.note.as_str(), other.note.as_str()]
                .into_iter()
                .filter(|note| !note.is_empty())
                .collect::<Vec<_>>()
                .join("; ");
        }
    }

    /// Reads what test binaries printed; a test that skips itself says `skipped: <why>` on a line of its own.
    pub(super) fn parse(output: &str, success: bool) -> Self {
        let mut outcome = Self::default();
        for line in output.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                outcome.passed += number_before(result, "passed");
                outcome.failed += number_before(result, "failed");
                outcome.skipped += number_before(result, "ignored");
            }
        }
        let reasons: Vec<&str> = output
            .lines()
            .filter_map(|line| line.strip_prefix("skipped: "))
            .collect();
        let skipped = reasons.len().min(outcome.passed);
        outcome.passed -= skipped;
        outcome.skipped += skipped;
        outcome.note = reasons
            .first()
            .map(|reason| (*reason).to_owned())
            .unwrap_or_default();
        if !success && outcome.failed == 0 {
            // It crashed, or was ended, before it could say so.
            outcome.failed = 1;
        }
        if outcome.failed > 0 {
            outcome.failures = failures(output);
        }
        outcome
    }
}

/// What the tests that failed said, without their backtraces; of a binary that crashed, its last lines.
fn failures(output: &str) -> Vec<String> {
    let short = |lines: Vec<&str>| lines.join("\n");
    // Before this heading comes what the other tests said.
    let Some((_, said)) = output.split_once("\nfailures:\n") else {
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let last = lines.len().saturating_sub(SAID_LINES);
        return vec![short(lines.into_iter().skip(last).collect())];
    };
    let of_one = |said: &str| {
        let lines = said.trim_end().lines();
        short(
            lines
                .take_while(|line| {
                    !["stack backtrace:", "Stack backtrace:", "failures:"].contains(line)
                })
                .take(SAID_LINES)
                .collect(),
        )
    };
    let said = said.replace(" stdout ----\n", "\n");
    let tests = said.split("\n---- ").skip(1);
    tests
        .map(|said| of_one(said).trim_end().to_owned())
        .collect()
}

fn number_before(text: &str, word: &str) -> usize {
    let fields: Vec<&str> = text
        .split([' ', ';'])
        .filter(|field| !field.is_empty())
        .collect();
    let at = fields.iter().position(|field| *field == word);
    at.and_then(|at| fields.get(at.checked_sub(1)?))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Prints what failed, and the table; its last line is the sum.
pub(super) fn print(rows: &[Row]) -> Result<()> {
    let mut out = io::stdout();
    for Row { name, outcome, .. } in rows {
        for said in &outcome.failures {
            writeln!(out, "\n{name}: {said}")?;
        }
    }
    let total =
        |count: fn(&Outcome) -> usize| rows.iter().map(|row| count(&row.outcome)).sum::<usize>();
    writeln!(
        out,
        "\n{:<14} {:>6} {:>6} {:>7} {:>8}  note",
        "layer", "passed", "failed", "skipped", "seconds"
    )?;
    for Row {
        name,
        outcome,
        duration,
    } in rows
    {
        let Outcome {
            passed,
            failed,
            skipped,
            note,
            ..
        } = outcome;
        let seconds = duration.as_secs_f64();
        writeln!(
            out,
            "{}",
            format!("{name:<14} {passed:>6} {failed:>6} {skipped:>7} {seconds:>8.1}  {note}")
                .trim_end()
        )?;
    }
    let passed = total(|outcome| outcome.passed);
    let failed = total(|outcome| outcome.failed);
    let skipped = total(|outcome| outcome.skipped);
    Ok(writeln!(
        out,
        "\n{passed} passed, {failed} failed, {skipped} skipped"
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(passed: usize, failed: usize, skipped: usize, note: &str) -> Outcome {
        Outcome {
            passed,
            failed,
            skipped,
            note: note.to_owned(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn output_of_tests_is_counted() {
        let ok = "test result: ok. 15 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.11s\n";
        let bad = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s\n";
        for (name, output, success, expected) in [
            ("passed", ok.to_owned(), true, counted(15, 0, 1, "")),
            ("failed", bad.to_owned(), false, counted(2, 1, 0, "")),
            (
                "two binaries",
                format!("{ok}{bad}"),
                false,
                counted(17, 1, 1, ""),
            ),
            (
                "crashed",
                "Segmentation fault".to_owned(),
                false,
                counted(0, 1, 0, ""),
            ),
            (
                "skipped",
                format!("skipped: no cluster\n{ok}"),
                true,
                counted(14, 0, 2, "no cluster"),
            ),
        ] {
            let outcome = Outcome::parse(&output, success);
            assert_eq!(
                outcome.failures.len(),
                usize::from(outcome.failed > 0),
                "{name}"
            );
            let failures = Vec::new();
            assert_eq!(
                Outcome {
                    failures,
                    ..outcome
                },
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn what_failed_is_said_again_in_short() {
        let output = "test a ... FAILED\n\nsuccesses:\n\n---- b stdout ----\nall is well\n\nsuccesses:\n    b\n\n\
            failures:\n\n---- a stdout ----\n\nthread 'a' panicked at x.rs:1:1:\nnever\nstack backtrace:\n   0: f\n\n\
            ---- c stdout ----\nError: no volume\n\nStack backtrace:\n   0: g\n\n\nfailures:\n    a\n    c\n\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(
            Outcome::parse(output, false).failures,
            [
                "a\n\nthread 'a' panicked at x.rs:1:1:\nnever",
                "c\nError: no volume"
            ]
        );
        let crashed = (0..30)
            .map(|line| format!("line {line}\n"))
            .collect::<String>();
        let said = Outcome::parse(&crashed, false).failures;
        assert!(
            said[0].starts_with("line 10\n") && said[0].ends_with("line 29"),
            "{said:?}"
        );
    }

    #[test]
    fn skipping_fails_in_ci() {
        let skipped = Outcome::skipped("no network");
        assert_eq!(skipped.clone().in_ci(false), skipped);
        assert_eq!(
            skipped.in_ci(true),
            counted(0, 1, 0, "no network (skipped, which fails in CI)")
        );
        assert_eq!(Outcome::passed().in_ci(true), Outcome::passed());
    }
}
