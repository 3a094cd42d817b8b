//! Ending a run that has not ended by itself: why, and by which steps.

use std::time::Duration;

use protocol::{EndReason, FailureClass, Outcome};

use crate::adapter::Ladder;
use crate::watchdog::Bark;

/// Why a run is stopped. The first reason stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The API says so; the verdict stands already.
    Commanded(EndReason),
    /// The pod was told to end.
    Terminated,
    /// The CLI ran for too long, this many seconds.
    TimedOut(u32),
    /// A watchdog barked.
    Watchdog(Bark),
    /// The model was asked so often as it may be, and would be asked again.
    Turns(u32),
}

impl StopCause {
    /// What it means for a run that has no better result.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let (class, message) = match self {
            Self::Commanded(EndReason::Cancelled) => {
                (FailureClass::Cancelled, "the task was cancelled".to_owned())
            }
            Self::Commanded(EndReason::Suspended) => {
                (FailureClass::Cancelled, "the task was suspended".to_owned())
            }
            Self::Commanded(EndReason::TimedOut) => (
                FailureClass::DeadlineExceeded,
                "the task's time ran out".to_owned(),
            ),
            Self::Commanded(EndReason::AgentDeleted) => (
                FailureClass::AgentDeleted,
                "the Agent was deleted".to_owned(),
            ),
            Self::Commanded(EndReason::Failed) => (
                FailureClass::Unknown,
                "the operator ended the attempt".to_owned(),
            ),
            Self::Terminated => (
                FailureClass::PodDeleted,
                "the pod was told to end while the agent worked".to_owned(),
            ),
            Self::TimedOut(seconds) => (
                FailureClass::TaskTimeout,
                format!("the agent did not end within {seconds} s"),
            ),
            Self::Watchdog(bark) => return bark.outcome(),
            Self::Turns(most) => (
                FailureClass::IterationLimit,
                format!(
                    "the model was asked {most} times, as often as maxTurns allows, and the agent was not done"
                ),
            ),
        };
        Outcome::failed(class, message)
    }

    /// What the timeline says when it begins.
    #[must_use]
    pub fn remark(&self) -> String {
        match self {
            Self::Commanded(reason) => format!("the operator ends this run: {reason:?}"),
            Self::Terminated => "the pod is told to end (TERM from outside)".to_owned(),
            Self::TimedOut(seconds) => {
                format!("the run is ended: it took longer than {seconds} s")
            }
            Self::Turns(most) => format!(
                "the run is ended: the model was asked {most} times, as often as maxTurns allows"
            ),
            Self::Watchdog(bark) => format!("the run is ended: {}", bark.words()),
        }
    }
}

/// A step of stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// The protocol's own interrupt.
    Interrupt,
    /// End of input.
    Close,
    /// TERM to everything.
    Term,
    /// KILL to everything.
    Kill,
}

/// When each step from `first` on is due, counted from now. The last one comes within `budget`: where the
/// ladder is longer, all steps move closer together.
#[must_use]
pub fn schedule(ladder: Ladder, first: Rung, budget: Duration) -> Vec<(Duration, Rung)> {
    let steps = [
        (Rung::Interrupt, ladder.interrupt),
        (Rung::Close, ladder.close),
        (Rung::Term, ladder.term),
        (Rung::Kill, Duration::ZERO),
    ];
    let steps = || {
        steps
            .iter()
            .filter(move |(rung, wait)| {
                *rung >= first && !(*rung == Rung::Interrupt && wait.is_zero())
            })
            .copied()
    };
    let total: Duration = steps().map(|(_, wait)| wait).sum();
    let scale = if total > budget {
        budget.as_secs_f64() / total.as_secs_f64()
    } else {
        1.0
    };
    let mut at = Duration::ZERO;
    steps()
        .map(|(rung, wait)| {
            let due = (at, rung);
            at += wait.mul_f64(scale);
            due
        })
        .collect()
}

/// How much of a grace period the CLI gets; the rest is for what comes after: last events, the result, the
/// termination message.
#[must_use]
pub fn budget(grace_seconds: u32) -> Duration {
    Duration::from_secs(grace_seconds.into()).saturating_sub(reserve(grace_seconds))
}

/// The part of a grace period that is left for the report.
#[must_use]
pub fn reserve(grace_seconds: u32) -> Duration {
    let quarter = Duration::from_secs(grace_seconds.into()) / 4;
    quarter.clamp(Duration::from_secs(1), Duration::from_secs(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn ladder(interrupt: f64) -> Ladder {
        Ladder {
            interrupt: seconds(interrupt),
            close: seconds(1.0),
            term: seconds(5.0),
        }
    }

    #[test]
    fn steps_follow_each_other_and_fit_the_grace_period() {
        use Rung::{Close, Interrupt, Kill, Term};
        let at = |steps: &[(f64, Rung)]| -> Vec<_> {
            steps
                .iter()
                .map(|(at, rung)| (seconds(*at), *rung))
                .collect()
        };
        let cases = [
            (
                ladder(2.0),
                Interrupt,
                20.0,
                at(&[(0.0, Interrupt), (2.0, Close), (3.0, Term), (8.0, Kill)]),
            ),
            (
                ladder(0.0),
                Interrupt,
                20.0,
                at(&[(0.0, Close), (1.0, Term), (6.0, Kill)]),
            ),
            (
                ladder(2.0),
                Close,
                20.0,
                at(&[(0.0, Close), (1.0, Term), (6.0, Kill)]),
            ),
            (
                ladder(2.0),
                Interrupt,
                4.0,
                at(&[(0.0, Interrupt), (1.0, Close), (1.5, Term), (4.0, Kill)]),
            ),
            (
                ladder(2.0),
                Interrupt,
                0.0,
                at(&[(0.0, Interrupt), (0.0, Close), (0.0, Term), (0.0, Kill)]),
            ),
        ];
        for (ladder, first, budget, wanted) in cases {
            assert_eq!(
                schedule(ladder, first, seconds(budget)),
                wanted,
                "{first:?} {budget}"
            );
        }
    }

    #[test]
    fn part_of_the_grace_period_is_left_for_the_report() {
        for (grace, wanted) in [(0, 0.0), (2, 1.0), (4, 3.0), (30, 25.0), (600, 595.0)] {
            assert_eq!(budget(grace), seconds(wanted));
        }
    }
}
